//! The lowering of a level kind: the looplets of its fibers and its write protocol.

use super::cx::Cx;
use super::levels::Comparable;
use super::looplets::Looplet;
use super::state::Fiber;
use super::storage::{FunctionTables, LevelCode};
use crate::assembly::{BufferRole, Expr};
use crate::notation::TensorId;
use redpoll_logic::LevelKind;
use redpoll_logic::physical::Protocol;

/// A level of a tensor of the program, or its leaf, which has the number after the last level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LevelId {
    pub(crate) tensor: TensorId,
    pub(crate) level: usize,
}

impl LevelId {
    /// Returns the next level, or the leaf.
    pub(crate) fn below(self) -> LevelId {
        LevelId { level: self.level + 1, ..self }
    }
}

/// The treatment of existing positions when memory is assembled for a range of positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AssembleMode {
    /// All positions are new and have the fill value.
    New,
    /// The arrays grow, and existing positions are reset.
    GrowAndReset,
    /// All positions exist and are reset; the arrays do not grow.
    ResetOnly,
}

/// The parent positions of a level that is written.
pub(crate) struct Parents {
    /// The number of parent positions.
    pub(crate) count: Expr,
    /// The range of parent positions whose fibers the current call of the function may have
    /// written.
    pub(crate) written: (Expr, Expr),
}

/// The interface by which a level kind is lowered. [`redpoll_storage::levels::Level`] is the
/// interface of its storage.
pub(crate) trait LevelLowering: Sync {
    /// Adds the counters and scratch buffers that the level needs besides its arrays.
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        tables: &mut FunctionTables,
        at: LevelId,
        level: (BufferRole, &mut LevelCode),
    );

    /// Returns the looplet of a fiber for reads.
    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet;

    /// Returns the looplet of a fiber for reads that walk or gallop from the end. The coordinates
    /// of this looplet are negated: the entry at `c` appears at `-c`. If this function returns
    /// `None`, lowering mirrors the looplet of [`read`](LevelLowering::read), or looks coordinates
    /// up if that looplet steps.
    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let _ = (cx, at, fiber, protocol);
        None
    }

    /// Returns the looplet of a fiber for writes.
    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet;

    /// Starts writing: resets the counters of the level, and the memory that
    /// [`assemble`](LevelLowering::assemble) does not reset.
    fn declare(&self, cx: &mut Cx<'_>, at: LevelId);

    /// Makes room for the fibers below the parent positions `lo..hi`.
    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr), mode: AssembleMode);

    /// Ends writing and returns the number of positions of the level.
    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, parents: &Parents) -> Expr;

    /// Returns the comparison of fibers while the level is written; `None` if the level has no such
    /// comparison.
    fn comparable(&self) -> Option<&dyn Comparable> {
        None
    }

    /// Returns the number of elements of each frozen array, given the number of parent positions
    /// and the number of positions of the level.
    fn lengths(&self, cx: &Cx<'_>, at: LevelId, positions: (&Expr, &Expr)) -> Vec<Expr>;
}

/// Defines [`lowering`] from the list of kinds: the type of a level has the name of its kind.
macro_rules! registry {
    ($($(#[$doc:meta])* $kind:ident $name:literal = $base:ident { $($traits:tt)* };)*) => {
        /// Returns the lowering of a level kind.
        pub(crate) fn lowering(kind: LevelKind) -> &'static dyn LevelLowering {
            match kind {
                $(LevelKind::$kind => &redpoll_storage::levels::$kind,)*
            }
        }
    };
}

redpoll_logic::level_kinds!(registry);
