//! The level kinds, one file each, and the registry that lists them.
//!
//! A level stores the fibers of one storage mode. A fiber is a half-open range of positions of the parent level, one
//! long under a unique parent; the level maps each stored coordinate of a fiber to a position (or range) of its own,
//! which the next level, or the leaf, takes as parent position.
//!
//! A kind is one file that holds both halves of its contract: [`Level`], what its arrays are and how they are checked,
//! built and enumerated in Rust, and `LevelLowering` (in `crate::lower`), its looplets and its write protocol.

mod band;
mod bit_map;
mod block_list;
mod blocks;
mod byte_map;
mod dense;
mod fibers;
mod fixed_width;
mod hash;
mod interval;
mod list;
mod pinpoint;
mod run_length;
mod runs;
mod singleton;
mod sparse_list;
mod sparse_run_length;

pub use band::Band;
pub use bit_map::BitMap;
pub use block_list::BlockList;
pub use byte_map::ByteMap;
pub use dense::Dense;
pub(crate) use dense::full_positions;
pub use fibers::Fibers;
pub use fixed_width::FixedWidth;
pub use hash::{Hash, hash_slot, table_len};
pub use interval::Interval;
pub use pinpoint::Pinpoint;
pub use run_length::RunLength;
pub use runs::{Run, RunLevel};
pub use singleton::Singleton;
pub use sparse_list::SparseList;
pub use sparse_run_length::SparseRunLength;

pub(crate) use list::lower_bound;

use crate::storage::Array;
use redpoll_logic::{Format, LevelFormat, LevelKind, Prim};
use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

/// The level of that kind: the registry.
pub fn level(kind: LevelKind) -> &'static dyn Level {
    match kind {
        LevelKind::Dense => &Dense,
        LevelKind::SparseList => &SparseList,
        LevelKind::Singleton => &Singleton,
        LevelKind::Hash => &Hash,
        LevelKind::ByteMap => &ByteMap,
        LevelKind::BlockList => &BlockList,
        LevelKind::Band => &Band,
        LevelKind::RunLength => &RunLength,
        LevelKind::SparseRunLength => &SparseRunLength,
        LevelKind::Interval => &Interval,
        LevelKind::BitMap => &BitMap,
        LevelKind::Pinpoint => &Pinpoint,
        LevelKind::FixedWidth => &FixedWidth,
    }
}

/// The format as which a kernel writes a tensor of that one.
pub(crate) fn written_format(format: &Format) -> Cow<'_, Format> {
    let written = |l: &LevelFormat| LevelFormat { kind: level(l.kind).written_as(), ..*l };
    if format.levels.iter().all(|l| written(l) == *l) {
        return Cow::Borrowed(format);
    }
    Cow::Owned(Format { levels: format.levels.iter().map(written).collect(), ..format.clone() })
}

/// What the elements of a level's array are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayClass {
    /// Positions: `i32`, or `i64` from 2^31 positions on (Arrow offsets).
    Position,
    /// Coordinates: `u32`, or `u64` when the dimension exceeds 2^32.
    Coordinate,
    /// Coordinates, or the dimension where there is none: `u32`, or `u64` from dimension 2^32 on.
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
    /// Its name: `ptr`, `idx`, ..
    pub name: &'static str,
    /// What it holds.
    pub class: ArrayClass,
}

/// One level of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct LevelData<'a> {
    /// Its kind and flags.
    pub format: LevelFormat,
    /// The size of its storage mode.
    pub dimension: u64,
    /// Its arrays, in the order of [`Level::arrays`].
    pub arrays: &'a [Array],
}

/// What becomes of the arrays of a level when fibers below some parent positions are put behind those below others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Concatenation {
    /// It cannot be said array by array.
    None,
    /// There are none, and `n` own positions for each parent.
    Full,
    /// The first array has the ends of fibers, which are shifted, the other ones an element for each own position.
    List,
    /// Own positions are those of the parents, and arrays have an element for each.
    Entry,
}

/// The fibers of one level as data: everything that is not about generating code.
pub trait Level: Sync {
    /// The kind.
    fn kind(&self) -> LevelKind;

    /// The arrays, in the order in which a tensor holds them.
    fn arrays(&self) -> &'static [ArraySpec];

    /// Whether there is a position for every coordinate below every parent.
    fn is_table(&self) -> bool {
        false
    }

    /// Checks a level whose arrays have the right number and types, below the given fibers, and gives the fibers that
    /// it hands down.
    ///
    /// # Errors
    /// What is wrong and where: lengths, unsorted, repeated or out-of-range entries.
    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String>;

    /// Builds the arrays from entries that are sorted by parent position and then coordinate, replaces each entry's
    /// parent position in `positions` by its own, and gives the number of own positions. Equal entries share a position
    /// where the level is unique. Where a fiber has one entry at most, so do those given.
    ///
    /// # Errors
    /// When the arrays would exceed the memory that can be had, or positions exceed `i64`.
    fn build(
        &self,
        format: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), crate::Error>;

    /// The entries below `parents` positions, read off the arrays without going through the coordinates: as many as there
    /// are stored coordinates, or runs of them where a run has one position, or places for them in arrays of fixed length.
    fn entries(&self, data: LevelData<'_>, parents: u64) -> Range<u64>;

    /// One more than the last of its positions below `parents` positions.
    fn positions(&self, data: LevelData<'_>, parents: u64) -> u64 {
        self.entries(data, parents).end
    }

    /// Calls `visit(coordinate, own positions)` for every stored coordinate of the fiber below the parent positions
    /// `fiber`, ascending when the level is ordered.
    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>));

    /// Counts the own positions of each stored coordinate of the fiber below `fiber`, in addition to what `counts` has, and
    /// gives how many they are.
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

    /// As [`Level::for_each`], over the stored coordinates in a range, until `visit` breaks. Levels that find coordinates
    /// look at no others.
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

    /// The own positions of a coordinate of the fiber below `fiber`, if it is stored; the first run of it where the
    /// level is neither ordered nor unique.
    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>>;

    /// As what a kernel writes it: what is known only once all is written is laid out when the kernel has run.
    fn written_as(&self) -> LevelKind {
        self.kind()
    }

    /// How the fibers of a tensor that was written in parts come to lie behind each other.
    fn concatenation(&self) -> Concatenation {
        Concatenation::None
    }

    /// The level as one whose positions are those of runs, if it is one.
    fn as_runs(&self) -> Option<&dyn RunLevel> {
        None
    }
}

/// The element type of an array of that class for a level of `dimension` coordinates and up to `positions` positions.
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

/// Whether an array of that class may have elements of that type. Narrow and wide ones are both taken, as their
/// contents are checked against dimension and length.
pub fn accepts(class: ArrayClass, prim: Prim) -> bool {
    match class {
        ArrayClass::Position | ArrayClass::End => matches!(prim, Prim::I32 | Prim::I64),
        ArrayClass::Coordinate | ArrayClass::Bound => matches!(prim, Prim::U32 | Prim::U64),
        ArrayClass::Flag => prim == Prim::U8,
        ArrayClass::Word => prim == Prim::U64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the registry: each kind stands where it is looked for.
    #[test]
    fn kinds_are_registered() {
        for kind in LevelKind::all() {
            assert_eq!(level(kind).kind(), kind);
        }
    }

    /// Protects generated code that probes tables: the slots are part of the layout.
    #[test]
    fn slots_are_fixed() {
        let slots = [(0, 0, 8), (0, 1, 8), (1, 0, 8), (3, 1 << 40, 1 << 20), (1 << 40, 12345, 1 << 33)];
        let found = slots.map(|(p, i, len)| hash_slot(p, i, len));
        assert_eq!(found, [0, 1, 6, 289_291, 8_199_757_099]);
    }
}
