//! The interface of a level kind, and the types of its arrays.

use super::Fibers;
use crate::{Array, Error};
use redpoll_logic::{LevelFormat, LevelKind, Prim};
use std::ops::{ControlFlow, Range};

/// The meaning of the elements of a level's array. The types given here are those of the arrays
/// that redpoll builds; [`can_store`] says which types are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayClass {
    /// Positions: `i32`, or `i64` from 2^31 positions on (Arrow offsets).
    Position,
    /// Coordinates: `u32`, or `u64` if the dimension exceeds 2^32.
    Coordinate,
    /// Coordinates, or the dimension where there is no coordinate: `u32`, or `u64` from dimension
    /// 2^32 on.
    Bound,
    /// Ends of runs: `i32`, or `i64` from dimension 2^31 on (Arrow run ends).
    End,
    /// Flags: one byte each.
    Flag,
    /// Words of bits: `u64`.
    Word,
}

/// An array of a level kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArraySpec {
    /// The name: `ptr`, `idx`, ..
    pub name: &'static str,
    /// The class of its elements.
    pub class: ArrayClass,
}

/// One level of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct LevelData<'a> {
    /// The kind and flags.
    pub format: LevelFormat,
    /// The size of the storage mode.
    pub dimension: u64,
    /// The arrays, in the order of [`Level::arrays`].
    pub arrays: &'a [Array],
}

/// The effect on a level's arrays of appending the fibers of further parent positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Concatenation {
    /// The arrays of fibers cannot be appended to the arrays of earlier fibers.
    None,
    /// The level has no arrays; every parent has the same number of own positions.
    Full,
    /// The first array has the ends of fibers, to which the number of earlier positions is added.
    /// The other arrays have one element for each own position.
    List,
    /// The own positions are the parent positions, and each array has one element per position.
    Entry,
}

/// The interface of a level kind: its arrays, with their validation, construction and iteration.
/// Own positions are positions in the level itself; parent positions are positions in the level
/// above.
pub trait Level: Sync {
    /// Returns the names and classes of the arrays, in the order in which a tensor stores the
    /// arrays.
    fn arrays(&self) -> &'static [ArraySpec];

    /// Returns whether every coordinate below every parent has a position of its own.
    fn is_table(&self) -> bool {
        false
    }

    /// Checks a level below the given fibers, and returns the fibers of the next level. The arrays
    /// already have the right number and types.
    ///
    /// # Errors
    /// The fault and its position: wrong lengths, or unsorted, repeated or out-of-range entries.
    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String>;

    /// Builds the arrays from entries sorted by parent position and then coordinate, and returns
    /// them with the number of own positions. Replaces each entry's parent position in `positions`
    /// with its own position. Equal entries share a position if the level is unique. If the level
    /// allows only one entry per fiber, the caller passes at most one per fiber.
    ///
    /// # Errors
    /// When the arrays exceed the available memory, or positions exceed `i64`.
    fn build(
        &self,
        format: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error>;

    /// Returns the range of entries of a level with `parents` parent positions, without iterating
    /// over coordinates. An entry is a stored coordinate, a run (its coordinates share one
    /// position), or a slot of an array of fixed length.
    fn entries(&self, data: LevelData<'_>, parents: u64) -> Range<u64>;

    /// Returns one more than the last own position of a level with `parents` parent positions.
    fn positions(&self, data: LevelData<'_>, parents: u64) -> u64 {
        self.entries(data, parents).end
    }

    /// Calls `visit(coordinate, own positions)` for every stored coordinate of the fiber below the
    /// parent positions `fiber`, in ascending order if the level is ordered.
    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>));

    /// Adds the number of own positions of each stored coordinate below `fiber` to `counts`, and
    /// returns the sum of these numbers. A count saturates at `u32::MAX`.
    fn tally(&self, data: LevelData<'_>, fiber: Range<u64>, counts: &mut [u32]) -> u64 {
        let mut all = 0;
        self.for_each(data, fiber, &mut |i, positions| {
            let own = positions.end - positions.start;
            all += own;
            let count = &mut counts[i as usize];
            *count = count.saturating_add(u32::try_from(own).unwrap_or(u32::MAX));
        });
        all
    }

    /// Visits the stored coordinates in a range, like [`Level::for_each`], until `visit` breaks.
    /// Dense levels and ordered sparse lists skip the coordinates outside the range; the default
    /// implementation iterates over all coordinates.
    fn for_each_within(
        &self,
        data: LevelData<'_>,
        fiber: Range<u64>,
        range: Range<u64>,
        visit: &mut dyn FnMut(u64, Range<u64>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        self.for_each(data, fiber, &mut |i, positions| {
            if flow.is_continue() && range.contains(&i) {
                flow = visit(i, positions);
            }
        });
        flow
    }

    /// Returns the own positions of a coordinate of the fiber below `fiber`, if the coordinate is
    /// stored. If the level is neither ordered nor unique, a coordinate can have several runs of
    /// positions; only the first run is returned.
    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>>;

    /// Returns the kind that kernels write instead, if kernels cannot write this kind. The arrays
    /// of this kind are then built from the complete data after the kernel has run.
    fn kernel_kind(&self) -> Option<LevelKind> {
        None
    }

    /// Returns how the fibers of a tensor that was written in parts are concatenated.
    fn concatenation(&self) -> Concatenation {
        Concatenation::None
    }

    /// Returns the level as a level of runs, if it is one.
    fn as_runs(&self) -> Option<&dyn RunLevel> {
        None
    }
}

/// A run of coordinates below a parent position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoordinateRun {
    /// The parent position.
    pub parent: u64,
    /// The first coordinate.
    pub left: u64,
    /// One past the last coordinate.
    pub right: u64,
}

/// The additional interface of a level kind that stores runs.
pub trait RunLevel {
    /// Builds the arrays from runs, which are not empty, do not overlap, and are sorted by parent
    /// and coordinate. If the level allows only one run per fiber, the caller passes at most one
    /// per fiber. Appends the own position of each run to `positions`, and returns the arrays with
    /// the number of own positions.
    ///
    /// # Errors
    /// When the arrays exceed the available memory.
    fn build_runs(
        &self,
        dimension: u64,
        parents: u64,
        runs: &[CoordinateRun],
        positions: &mut Vec<u64>,
    ) -> Result<(Vec<Array>, u64), Error>;

    /// Calls `visit(coordinates, own position)` for each run of the fiber below a parent position,
    /// in ascending order.
    fn for_each_run(&self, data: LevelData<'_>, parent: u64, visit: &mut dyn FnMut(Range<u64>, u64));
}

/// Returns the element type of an array for a level of `dimension` coordinates and up to
/// `positions` positions.
pub fn array_prim(class: ArrayClass, dimension: u64, positions: u64) -> Prim {
    match class {
        ArrayClass::Position if positions < 1 << 31 => Prim::I32,
        ArrayClass::Position => Prim::I64,
        ArrayClass::Coordinate if dimension <= 1 << 32 => Prim::U32,
        ArrayClass::Coordinate => Prim::U64,
        ArrayClass::Bound if dimension < 1 << 32 => Prim::U32,
        ArrayClass::Bound | ArrayClass::Word => Prim::U64,
        ArrayClass::End if dimension < 1 << 31 => Prim::I32,
        ArrayClass::End => Prim::I64,
        ArrayClass::Flag => Prim::U8,
    }
}

/// Returns whether an array of the class may have elements of this type. Narrow and wide types are
/// both accepted, because validation checks the elements against dimension and length.
pub fn can_store(class: ArrayClass, prim: Prim) -> bool {
    match class {
        ArrayClass::Position | ArrayClass::End => matches!(prim, Prim::I32 | Prim::I64),
        ArrayClass::Coordinate | ArrayClass::Bound => matches!(prim, Prim::U32 | Prim::U64),
        ArrayClass::Flag => prim == Prim::U8,
        ArrayClass::Word => prim == Prim::U64,
    }
}
