//! The grids of a lowered program: the memory space of each buffer and the launches.

use super::count::{to_counting_function, without_writes};
use super::interchange::interchange_loops;
use super::lists::{coordinates_of_cursors, lanes_of_cursors, widen_folds};
use super::map::{MAX_TEAM_LANES, atomic_buffers, atomic_op, map, map_to};
use super::nodes::{Grid, MemorySpace};
use super::rounds::{Walks, walks_to_loops};
use super::sections::{cut_into_sections, set_section_bounds};
use redpoll_compiler::assembly::{Buffer, BufferDecl, BufferRole, Function};
use redpoll_compiler::lower::{Binding, Draft, ListLengths, LoweredFunction};
use redpoll_compiler::notation::{Join, Program, Role, Sections, TensorId, find_sections};
use redpoll_logic::FloatMode;
use redpoll_storage::levels::{Concatenation, level};
use std::collections::HashSet;

/// The launches of a lowered program, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct GridPlan {
    /// The grid that counts the elements that chunks append, so that the next launch has windows of
    /// the right sizes; absent if no output is appended.
    pub count: Option<Grid>,
    /// The grid that computes the outputs.
    pub run: Grid,
    /// The division of rounds into sections; absent if rounds are not cut.
    pub sections: Option<Sections>,
}

/// The number of lanes of a team.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TeamSize {
    /// The maximum of the numbers of lanes of the function's folds and walks, but at least the size
    /// of a warp if other loops are spread, and at least one.
    #[default]
    Automatic,
    /// A given number, a power of two up to 256.
    Exact(u32),
}

impl GridPlan {
    /// Returns the grids, the counting grid first.
    pub fn grids(&self) -> impl Iterator<Item = &Grid> {
        self.count.iter().chain([&self.run])
    }

    /// Plans the grids of a draft.
    pub fn of(draft: &Draft, team_size: TeamSize) -> GridPlan {
        let Some(lists) = draft.lists() else {
            return GridPlan::of_function(draft.program(), draft.lowered(), team_size, None);
        };
        let lowered = draft.lowered_in_rounds(lists);
        GridPlan::of_function(draft.program(), &lowered, team_size, Some((lists, draft.mode())))
    }

    /// Plans the grids of a program. Given the lengths of lists, folds along lists get lanes if the
    /// float mode allows their regrouping, and rounds are cut into sections if the program and its
    /// code allow that. Without the lengths, all folds run in the order of the function.
    pub(crate) fn of_function(
        program: &Program,
        lowered: &LoweredFunction,
        team_size: TeamSize,
        lists: Option<(&ListLengths, FloatMode)>,
    ) -> GridPlan {
        let cursor_lanes = lists.map_or_else(Vec::new, |(lists, _)| lanes_of_cursors(program, lowered, lists));
        let widened = lists.map(|(_, mode)| widen_folds(lowered, &cursor_lanes, mode));
        let function = widened.as_ref().unwrap_or(&lowered.function);
        let spaces = memory_spaces(program, lowered);
        let lengths = (0..).map(Buffer).zip(&lowered.bindings).find(|(_, binding)| **binding == Binding::Lengths);
        let unused = lengths.filter(|(buffer, _)| spaces[buffer.index()] == MemorySpace::Unused);
        let without_lengths = unused.map(|(buffer, _)| without_writes(function, buffer));
        let function = without_lengths.as_ref().unwrap_or(function);
        let division =
            lowered.cut.as_ref().ok().zip(lists).and_then(|(cut, (_, mode))| find_sections(program, cut, mode));
        let cut =
            division.and_then(|division| Some((cut_into_sections(program, lowered, &division, function)?, division)));
        let mode = lists.map_or_else(FloatMode::default, |(_, mode)| mode);
        let list_coordinates = coordinates_of_cursors(program, lowered);
        let walks = Walks { lanes: cursor_lanes, list_coordinates, mode, ..Walks::none() };
        let grid = |function: &Function, spaces: Vec<MemorySpace>| {
            let atomic = atomic_buffers(function, &spaces);
            let (function, interchanged) = interchange_loops(function.clone(), &|buffer| atomic.contains(&buffer));
            let (function, walks) = walks_to_loops(function, Walks { interchanged, ..walks.clone() });
            match team_size {
                TeamSize::Automatic => map(&function, spaces, &walks),
                TeamSize::Exact(n) => map_to(&function, spaces, n.min(MAX_TEAM_LANES), &walks),
            }
        };
        let appends =
            lowered.cut.as_ref().is_ok_and(|cut| cut.outputs.iter().any(|(_, join)| matches!(join, Join::Appended(_))));
        let count = appends.then(|| {
            let written = written_buffers(lowered);
            let counting = to_counting_function(function, &written);
            let is_used = |b: &Buffer| !written.contains(b) || counting.retained.contains(b);
            let space =
                |(buffer, space): (Buffer, &MemorySpace)| if is_used(&buffer) { *space } else { MemorySpace::Measured };
            let spaces = (0..).map(Buffer).zip(&spaces).map(space).collect();
            grid(&counting.function, spaces)
        });
        let Some((sectioned, division)) = cut else {
            return GridPlan { count, run: grid(function, spaces), sections: None };
        };
        let in_sections = |(space, binding): (&MemorySpace, &Binding)| match binding {
            Binding::Leaf { tensor, .. } if division.folds.iter().any(|(id, _)| id == tensor) => MemorySpace::Sections,
            _ => *space,
        };
        let spaces = spaces.iter().zip(&lowered.bindings).map(in_sections).collect();
        let run = set_section_bounds(grid(&sectioned.function, spaces), sectioned.bounds);
        GridPlan { count, run, sections: Some(division) }
    }
}

/// Returns the owned buffers of a function, other than the lengths of its outputs.
fn written_buffers(lowered: &LoweredFunction) -> HashSet<Buffer> {
    let owned = |(_, (decl, binding)): &(Buffer, (&BufferDecl, &Binding))| {
        decl.role == BufferRole::Owned && **binding != Binding::Lengths
    };
    let buffers = (0..).map(Buffer).zip(lowered.function.buffers.iter().zip(&lowered.bindings));
    buffers.filter(owned).map(|(buffer, _)| buffer).collect()
}

/// Returns the memory space of each buffer. If the outermost loop is not cut, one chunk writes all
/// outputs.
fn memory_spaces(program: &Program, lowered: &LoweredFunction) -> Vec<MemorySpace> {
    let join = |id: TensorId| lowered.cut.as_ref().ok()?.join(id);
    // The program determines the lengths of outputs that all chunks share, so no chunk records
    // them.
    let are_shared = lowered.cut.as_ref().is_ok_and(|cut| {
        cut.outputs.iter().all(|(id, join)| match join {
            Join::Shared => true,
            Join::Folded(_) => is_folded_in_place(program, lowered, *id),
            Join::Appended(_) => false,
        })
    });
    let space = |(decl, binding): (&BufferDecl, &Binding)| match binding {
        _ if decl.role == BufferRole::Input => MemorySpace::Input,
        Binding::Lengths if are_shared => MemorySpace::Unused,
        Binding::Lengths => MemorySpace::Chunk,
        Binding::Scratch => MemorySpace::Team,
        Binding::Level { tensor, .. } | Binding::Leaf { tensor, .. } => match join(*tensor) {
            None if program.tensors[tensor.index()].role == Role::Output => MemorySpace::Chunk,
            None => MemorySpace::Team,
            Some(Join::Shared) => MemorySpace::Shared,
            Some(Join::Folded(_)) if is_folded_in_place(program, lowered, *tensor) => MemorySpace::Shared,
            Some(Join::Folded(_)) => MemorySpace::Chunk,
            Some(Join::Appended(_)) => space_of_appended(program, *tensor, binding),
        },
    };
    lowered.function.buffers.iter().zip(&lowered.bindings).map(space).collect()
}

/// Returns whether an output that all chunks fold into is dense and folds by atomic operations, so
/// that no partial results are needed.
fn is_folded_in_place(program: &Program, lowered: &LoweredFunction, id: TensorId) -> bool {
    let dense = program.tensors[id.index()].ty.format.is_dense();
    let is_leaf = |(_, b): &(Buffer, &Binding)| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id);
    let mut leaves = (0..).map(Buffer).zip(&lowered.bindings).filter(is_leaf);
    dense && leaves.all(|(buffer, _)| atomic_op(&lowered.function, buffer).is_some())
}

/// Returns the memory space of an array of an appended output. The rounds of a chunk determine the
/// positions that the chunk writes in some arrays: the arrays of the levels above the first list,
/// and the `ptr` array of this list if it is not the outermost level. If there is no list, the
/// rounds determine these positions in all arrays.
fn space_of_appended(program: &Program, id: TensorId, binding: &Binding) -> MemorySpace {
    let levels = &program.tensors[id.index()].ty.format.levels;
    let list = levels.iter().position(|l| level(l.kind).concatenation() == Concatenation::List);
    let is_determined = list.is_none_or(|list| match binding {
        Binding::Level { level, array, .. } => *level < list || *level == list && *array == 0 && list > 0,
        _ => false,
    });
    if is_determined { MemorySpace::Rounds } else { MemorySpace::Chunk }
}
