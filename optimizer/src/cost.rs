//! The constants of the cost model, in units of one step of a loop over a sorted list.

use redpoll_logic::LevelKind;

/// One round of a loop.
pub(crate) const ROUND: f64 = 0.5;
/// A fold or write at the innermost place.
pub(crate) const COMPUTE: f64 = 0.5;
/// A write that is appended or goes into a dense level.
pub(crate) const APPEND: f64 = 1.0;
/// A write into a workspace of one fiber, and its part of the flush.
pub(crate) const FIBER_WORKSPACE: f64 = 6.0;
/// A write into a workspace of the whole output, and its part of the flush.
pub(crate) const WHOLE_WORKSPACE: f64 = 25.0;
/// A stored place that is copied into another order.
pub(crate) const COPY: f64 = 40.0;
/// A place of an intermediate tensor that is written and read again.
pub(crate) const STORE: f64 = 4.0;
/// An output level whose stored fraction is estimated above this is dense.
pub(crate) const DENSE_FRACTION: f64 = 0.5;
/// Members of an intersection gallop when their fibers' lengths differ by more than this factor.
pub(crate) const GALLOP_RATIO: f64 = 8.0;
/// The largest dimension that a byte map of a workspace has; a hash table takes over.
pub(crate) const BYTE_MAP_LIMIT: u64 = 1 << 22;
/// The largest number of places of a scattered output that is dense whatever its density.
pub(crate) const SCATTER_LIMIT: f64 = (1u64 << 24) as f64;
/// Orders of more loops than this are not searched through, but built greedily.
pub(crate) const EXHAUSTIVE_LOOPS: usize = 7;

/// What the algebra prices has its orders searched up to so many loops.
pub(crate) const ESTIMATED_LOOPS: usize = 4;

/// Going to the next coordinate of a level.
pub(crate) fn walk(kind: LevelKind) -> f64 {
    match kind {
        LevelKind::Dense | LevelKind::Band => 0.2,
        LevelKind::SparseList | LevelKind::Singleton | LevelKind::Hash => 1.0,
        LevelKind::ByteMap | LevelKind::Pinpoint => 0.5,
        LevelKind::BlockList => 0.4,
        LevelKind::BitMap | LevelKind::FixedWidth => 1.0,
        LevelKind::RunLength | LevelKind::SparseRunLength | LevelKind::Interval => 1.0,
    }
}

/// Looking up a coordinate of a level.
pub(crate) fn follow(kind: LevelKind) -> f64 {
    match kind {
        LevelKind::Dense => 1.5,
        LevelKind::ByteMap | LevelKind::BitMap | LevelKind::Band | LevelKind::Interval | LevelKind::Pinpoint => 2.0,
        LevelKind::Hash => 5.0,
        LevelKind::SparseList | LevelKind::Singleton | LevelKind::BlockList | LevelKind::FixedWidth => 8.0,
        LevelKind::RunLength | LevelKind::SparseRunLength => 8.0,
    }
}
