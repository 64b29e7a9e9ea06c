//! What lowering asks of a level kind: the looplets of its fibers, and its write protocol.

use super::cx::Cx;
use super::levels::join::Comparable;
use super::looplets::Looplet;
use super::state::Fiber;
use super::storage::{LevelCode, Tables};
use crate::assembly::{BufferRole, Expr};
use crate::levels::{
    Band, BitMap, BlockList, ByteMap, Dense, FixedWidth, Hash, Interval, Pinpoint, RunLength, Singleton, SparseList,
    SparseRunLength,
};
use crate::notation::TensorId;
use redpoll_logic::LevelKind;
use redpoll_logic::physical::Protocol;

/// A level of a tensor of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct At {
    pub(crate) tensor: TensorId,
    pub(crate) level: usize,
}

impl At {
    /// The next level, or the leaf.
    pub(crate) fn below(self) -> At {
        At { level: self.level + 1, ..self }
    }
}

/// What making room must do with places that were there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// Nothing: they hold the fill value.
    Fresh,
    /// Reset them.
    Reset,
    /// Reset them, and nothing else: all of them were there before.
    Again,
}

/// The positions below which a level is written.
pub(crate) struct Parents {
    /// Their number.
    pub(crate) count: Expr,
    /// Those below which something may have been written since the kernel was called.
    pub(crate) written: (Expr, Expr),
}

/// The second half of a level kind's contract; the first is [`crate::levels::Level`].
pub(crate) trait LevelLowering: Sync {
    /// Makes the counters and scratch buffers that the level needs besides its arrays.
    fn tables(&self, cx: &mut Cx<'_>, tables: &mut Tables, at: At, level: (BufferRole, &mut LevelCode));

    /// What a read meets in a fiber.
    fn read(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Looplet;

    /// What a read that walks or gallops meets in a fiber when it goes through it from the end, in negated coordinates:
    /// what is stored at `c` is met at `-c`. `None`: what [`read`](LevelLowering::read) gives is turned around where it
    /// does not step, and else looked up.
    fn read_backward(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let _ = (cx, at, fiber, protocol);
        None
    }

    /// What a write meets in a fiber.
    fn write(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber) -> Looplet;

    /// Starts writing: no coordinate is stored.
    fn declare(&self, cx: &mut Cx<'_>, at: At);

    /// Makes room for the fibers below the parent positions `lo..hi`.
    fn assemble(&self, cx: &mut Cx<'_>, at: At, range: (&Expr, &Expr), room: Room);

    /// Ends writing and gives the number of own positions.
    fn freeze(&self, cx: &mut Cx<'_>, at: At, parents: &Parents) -> Expr;

    /// The level as one whose fibers can be compared while it is written.
    fn comparable(&self) -> Option<&dyn Comparable> {
        None
    }

    /// The number of elements of each array when frozen, from the numbers of parent and own positions.
    fn lengths(&self, cx: &Cx<'_>, at: At, positions: (&Expr, &Expr)) -> Vec<Expr>;
}

/// The lowering of a level kind.
pub(crate) fn lowering(kind: LevelKind) -> &'static dyn LevelLowering {
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
