//! The grids of a lowered program: the place of each buffer and the launches.

use super::count::counting;
use super::lists::{Lists, asked, coordinates, folds_in_lanes};
use super::map::{MOST_LANES, folds, map, map_to};
use super::nodes::{Grid, Place};
use super::rounds::{Walks, with_rounds};
use super::sections::{sectioned, with_bounds};
use crate::assembly::{Buffer, BufferDecl, BufferRole, Function};
use crate::levels::{Concatenation, level};
use crate::lower::{Binding, Lowered};
use crate::notation::{Join, Program, Role, Sections, TensorId, sections};
use redpoll_logic::FloatMode;
use std::collections::HashSet;

/// The launches of a lowered program, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Counts the elements that chunks append, so that the next launch has windows of the right
    /// sizes; absent if no output is appended.
    pub count: Option<Grid>,
    /// Computes the outputs.
    pub run: Grid,
    /// Sections that rounds are cut into; absent if rounds are not cut.
    pub sections: Option<Sections>,
}

/// The number of lanes of a team.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lanes {
    /// The most that folds and walks ask for, at least a warp if other loops are spread, otherwise
    /// one.
    #[default]
    AsUseful,
    /// A given number, a power of two up to 256.
    Exactly(u32),
}

impl Plan {
    /// Plans the grids of a program. Given the lengths of lists, folds along them get lanes as far
    /// as the mode of floats allows regrouping, and rounds are cut into sections. Without the
    /// lengths, everything runs in the order of the function.
    pub fn of(program: &Program, lowered: &Lowered, lanes: Lanes, over: Option<(&Lists, FloatMode)>) -> Plan {
        let asked = over.map_or_else(Vec::new, |(lists, _)| asked(lowered, lists));
        let in_lanes = over.map(|(_, mode)| folds_in_lanes(lowered, &asked, mode));
        let function = in_lanes.as_ref().unwrap_or(&lowered.function);
        let places = places(program, lowered);
        let how = lowered.cut.as_ref().ok().zip(over).and_then(|(cut, (_, mode))| sections(program, cut, mode));
        let cut = how.and_then(|how| Some((sectioned(program, lowered, &how, function)?, how)));
        let mode = over.map_or_else(FloatMode::default, |(_, mode)| mode);
        let walks = Walks { lanes: asked, distinct: coordinates(program, lowered), mode };
        let grid = |function: &Function, places: Vec<Place>| {
            let (function, walks) = with_rounds(function.clone(), walks.clone());
            match lanes {
                Lanes::AsUseful => map(&function, places, &walks),
                Lanes::Exactly(n) => map_to(&function, places, n.min(MOST_LANES), &walks),
            }
        };
        let appends = lowered.cut.as_ref().is_ok_and(|cut| cut.outputs.iter().any(|(_, join)| *join == Join::Appended));
        let count = appends.then(|| {
            let written = written(lowered);
            let counting = counting(function, &written);
            let is_kept = |b: &Buffer| !written.contains(b) || counting.kept.contains(b);
            let place = |(buffer, place): (Buffer, &Place)| if is_kept(&buffer) { *place } else { Place::Measured };
            let places = (0..).map(Buffer).zip(&places).map(place).collect();
            grid(&counting.function, places)
        });
        let Some((sectioned, how)) = cut else { return Plan { count, run: grid(function, places), sections: None } };
        let in_sections = |(place, binding): (&Place, &Binding)| match binding {
            Binding::Leaf { tensor, .. } if how.folds.iter().any(|(id, _)| id == tensor) => Place::Rounds,
            _ => *place,
        };
        let places = places.iter().zip(&lowered.bindings).map(in_sections).collect();
        let run = with_bounds(grid(&sectioned.function, places), sectioned.bounds);
        Plan { count, run, sections: Some(how) }
    }
}

/// Returns the buffers that a function writes, other than the lengths of its outputs.
fn written(lowered: &Lowered) -> HashSet<Buffer> {
    let owned = |(_, (decl, binding)): &(Buffer, (&BufferDecl, &Binding))| {
        decl.role == BufferRole::Owned && **binding != Binding::Lengths
    };
    let buffers = (0..).map(Buffer).zip(lowered.function.buffers.iter().zip(&lowered.bindings));
    buffers.filter(owned).map(|(buffer, _)| buffer).collect()
}

/// Returns the place of each buffer. If the outermost loop is not cut, one chunk has all outputs.
fn places(program: &Program, lowered: &Lowered) -> Vec<Place> {
    let join = |id: TensorId| {
        let cut = lowered.cut.as_ref().ok()?;
        cut.outputs.iter().find(|(output, _)| *output == id).map(|(_, join)| join)
    };
    let place = |(decl, binding): (&BufferDecl, &Binding)| match binding {
        _ if decl.role == BufferRole::Input => Place::Input,
        Binding::Lengths => Place::Chunk,
        Binding::Scratch => Place::Team,
        Binding::Level { tensor, .. } | Binding::Leaf { tensor, .. } => match join(*tensor) {
            None if program.tensors[tensor.index()].role == Role::Output => Place::Chunk,
            None => Place::Team,
            Some(Join::Shared) => Place::Shared,
            Some(Join::Folded(_)) if is_folded_in_place(program, lowered, *tensor) => Place::Shared,
            Some(Join::Folded(_)) => Place::Chunk,
            Some(Join::Appended) => appended(program, *tensor, binding),
        },
    };
    lowered.function.buffers.iter().zip(&lowered.bindings).map(place).collect()
}

/// Returns whether an output that all chunks fold into is dense and folds by atomic operations, so
/// that no partial results are needed.
fn is_folded_in_place(program: &Program, lowered: &Lowered, id: TensorId) -> bool {
    let dense = program.tensors[id.index()].ty.format.is_dense();
    let own = |(_, b): &(Buffer, &Binding)| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id);
    let mut leaves = (0..).map(Buffer).zip(&lowered.bindings).filter(own);
    dense && leaves.all(|(buffer, _)| folds(&lowered.function, buffer).is_some())
}

/// Returns the place of an array of an appended output. The rounds of a chunk determine its
/// positions in all levels down to the first list.
fn appended(program: &Program, id: TensorId, binding: &Binding) -> Place {
    let levels = &program.tensors[id.index()].ty.format.levels;
    let list = levels.iter().position(|l| level(l.kind).concatenation() == Concatenation::List);
    let known = list.is_none_or(|list| match binding {
        Binding::Level { level, array, .. } => *level < list || *level == list && *array == 0 && list > 0,
        _ => false,
    });
    if known { Place::Rounds } else { Place::Chunk }
}
