//! The node types of physical plans.

use crate::affine::{Affine, Subscript};
use crate::expr::ComputedFills;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::op::Op;
use crate::scalar::Scalar;
use std::sync::Arc;

/// Queries in order, with their inputs and the results to return.
#[derive(Clone, PartialEq, Debug)]
pub struct PhysicalPlan {
    /// Inputs that the queries read.
    pub inputs: Vec<(Alias, Arc<TensorType>)>,
    /// Loop nests, in order.
    pub queries: Vec<PhysicalQuery>,
    /// Results that the plan returns.
    pub produces: Vec<Alias>,
}

/// One loop nest.
#[derive(Clone, PartialEq, Debug)]
pub struct PhysicalQuery {
    /// Loops that the outputs share, outermost first.
    pub loops: Vec<Loop>,
    /// Temporaries in order, each computed inside the outermost [`depth`](TemporaryNest::depth)
    /// loops; later temporaries may read earlier ones.
    pub temporaries: Vec<TemporaryNest>,
    /// Outputs, written in the innermost loop.
    pub outputs: Vec<Output>,
}

/// A loop of a nest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    /// Index that the loop binds.
    pub index: Field,
    /// Range of the index.
    pub extent: Extent,
    /// Number of lanes that fold the iterations side by side: 1 for a sequential loop, otherwise a
    /// power of two up to [`Loop::MAX_LANES`]. The optimizer gives more than one lane only to a
    /// loop that folds one value along a list.
    pub lanes: u8,
}

impl Loop {
    /// Maximal number of lanes.
    pub const MAX_LANES: u8 = 16;
}

/// The range of a loop's index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// The range `0..n`.
    Range(u64),
    /// The coordinates of one block: `0..min(block, size - block * outer)`; the last block may be
    /// ragged.
    Block {
        /// Coordinates in a full block.
        block: u64,
        /// Index that counts the blocks, bound by an outer loop.
        outer: Field,
        /// Dimension of the whole mode.
        size: u64,
    },
    /// The values `v` of `0..n` with `0 <= v + outer - shift < size`: the coordinates along a
    /// diagonal, or the diagonals through a coordinate.
    Skew {
        /// End of the range `0..n`.
        n: u64,
        /// Index that an outer loop binds.
        outer: Field,
        /// Offset subtracted from the sum of both indices.
        shift: u64,
        /// Dimension of the mode whose coordinate is `v + outer - shift`.
        size: u64,
    },
}

/// A nest of loops that computes temporaries in one pass, inside `depth` of the surrounding loops.
#[derive(Clone, PartialEq, Debug)]
pub struct TemporaryNest {
    /// Number of surrounding loops outside the pass.
    pub depth: usize,
    /// Number of surrounding loops outside the point at which the folds start. The number equals
    /// `depth` if every pass starts its folds again. The number is smaller if the folds accumulate
    /// across iterations of the loops between both depths, as a scan does.
    pub start_depth: usize,
    /// Inner loops of the pass.
    pub loops: Vec<Loop>,
    /// Temporaries used in the inner loops; their depths count the loops of `loops` only, not the
    /// surrounding loops.
    pub temporaries: Vec<TemporaryNest>,
    /// Folds that share the loops.
    pub folds: Vec<TemporaryFold>,
}

/// A fold into a temporary: `name = init` at its start, then `name = op(name, value)` in each
/// iteration of the inner loops.
#[derive(Clone, PartialEq, Debug)]
pub struct TemporaryFold {
    /// Name by which values refer to the fold.
    pub name: Alias,
    /// Indices of some loops between `start_depth` and `depth`, in loop order. Each combination of
    /// the values of these indices has its own accumulator. The fold accumulates along the other
    /// loops between both depths.
    pub accumulator_indices: Vec<Field>,
    /// The operator.
    pub op: Op,
    /// Initial value.
    pub init: Scalar,
    /// Folded value.
    pub value: ScalarExpr,
}

/// A tensor that a query writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Name of the output.
    pub alias: Alias,
    /// Shape, dtype, fill value and format.
    pub ty: Arc<TensorType>,
    /// Coordinate of each storage mode, outermost first, in terms of the loop indices. A write at a
    /// [`StorageCoordinate::Computed`] out of bounds is dropped.
    pub subscripts: Vec<StorageCoordinate>,
    /// Operator that folds the value into the stored value, initially `ty.fill`; without a fold,
    /// every entry is written at most once.
    pub fold: Option<Op>,
    /// Treatment of values that equal the fill value; they can be dropped only without a fold and
    /// without a pattern.
    pub computed_fills: ComputedFills,
    /// Workspace that takes writes out of order, over the storage modes that the loops outside it
    /// do not fix.
    pub workspace: Option<Workspace>,
    /// Tensor whose level arrays the output shares, so that both store the same coordinates. The
    /// output and the tensor have the same shape, storage modes and levels. The value of the output
    /// reads the tensor at the coordinates of the write. Where the tensor has its fill value, the
    /// value must be the fill value of the output.
    pub pattern: Option<Alias>,
    /// Value to write.
    pub value: ScalarExpr,
}

/// A temporary tensor that takes random writes in place of an output, or random reads in place of a
/// tensor that the query reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Workspace {
    /// Number of loops outside the scope of the workspace. For an access in a temporary, the loops
    /// of the surrounding passes count too.
    pub depth: usize,
    /// Format over the storage modes that the loops outside the scope do not fix, in order. Each of
    /// these storage modes is a whole mode of the workspace, with the same dimension.
    pub format: Format,
}

/// The coordinate at which a storage mode is read or written.
#[derive(Clone, PartialEq, Debug)]
pub enum StorageCoordinate {
    /// A function of loop indices and parameters only.
    Subscript(Subscript),
    /// A computed `i64`: a gather in a read, a scatter in a write. Reads look the coordinate up
    /// ([`Protocol::Follow`]).
    Computed(ScalarExpr),
}

impl From<Subscript> for StorageCoordinate {
    fn from(subscript: Subscript) -> StorageCoordinate {
        StorageCoordinate::Subscript(subscript)
    }
}

/// The protocol by which an access reads a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Protocol {
    /// Visits the stored coordinates one by one.
    #[default]
    Walk,
    /// Seeks the stored coordinates at or after those that the other accesses have reached, and
    /// lets the loop skip to them.
    Gallop,
    /// Looks up the coordinates that the other accesses lead to.
    Follow,
}

/// A scalar expression, evaluated in one iteration of the loops.
#[derive(Clone, PartialEq, Debug)]
pub enum ScalarExpr {
    /// A constant.
    Literal(Scalar),
    /// The value of an affine form of loop indices and parameters, an `i64`.
    Coordinate(Affine),
    /// A temporary.
    Temporary(Alias),
    /// The value of a tensor.
    Access(Access),
    /// An operator; the arguments already have the dtypes of its signature.
    Call(Op, Vec<ScalarExpr>),
}

/// A read of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// The tensor: an input or the output of an earlier query.
    pub tensor: Alias,
    /// Coordinate of each storage mode, outermost first.
    pub subscripts: Vec<StorageCoordinate>,
    /// Protocol of each storage mode; for modes in a workspace, the protocol on the workspace.
    pub protocols: Vec<Protocol>,
    /// Workspace that stores the fiber fixed by the loops outside it, and is read instead of the
    /// tensor. The workspace covers the innermost storage modes, which are whole.
    pub workspace: Option<Workspace>,
    /// Value of reads out of bounds; without one, all reads are in bounds.
    pub outside: Option<Scalar>,
}
