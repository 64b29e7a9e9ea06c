//! The node types of physical plans.

use crate::affine::{Affine, Subscript};
use crate::expr::Computed;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::op::Op;
use crate::scalar::Scalar;
use std::sync::Arc;

/// Queries in order and what they produce.
#[derive(Clone, PartialEq, Debug)]
pub struct PhysicalPlan {
    /// The inputs that the queries read.
    pub inputs: Vec<(Alias, Arc<TensorType>)>,
    /// The loop nests, in order.
    pub queries: Vec<PhysicalQuery>,
    /// The results that the user wants.
    pub produces: Vec<Alias>,
}

/// One loop nest.
#[derive(Clone, PartialEq, Debug)]
pub struct PhysicalQuery {
    /// The loops that the outputs share, outermost first.
    pub loops: Vec<Loop>,
    /// Temporaries, each computed under its first `depth` loops of `loops`, in order: later ones may read earlier ones.
    pub temporaries: Vec<Temporaries>,
    /// What is written at the innermost place.
    pub outputs: Vec<Output>,
}

/// A loop of a nest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    /// The index that it binds.
    pub index: Field,
    /// The values that it takes.
    pub extent: Extent,
    /// In how many lanes its rounds are folded, side by side, where they do nothing but fold one value along a list: a power
    /// of two up to [`Loop::MOST_LANES`]; 1 for one after the other.
    pub lanes: u8,
}

impl Loop {
    /// There are no more lanes than this.
    pub const MOST_LANES: u8 = 16;
}

/// The values of a loop's index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// `0..n`
    Whole(u64),
    /// The places of one block: `0..min(block, size - block * outer)`; ragged at the end.
    Block {
        /// Places in a full block.
        block: u64,
        /// The index that counts blocks, bound further out.
        outer: Field,
        /// The size of the whole mode.
        size: u64,
    },
    /// Those `v` of `0..n` for which `0 <= v + with - shift < size`: the places of a diagonal, or the diagonals through
    /// a place.
    Skew {
        /// One past the largest value.
        n: u64,
        /// An index that is bound further out.
        with: Field,
        /// What is taken off the sum of both.
        shift: u64,
        /// The size of the mode whose coordinate that is.
        size: u64,
    },
}

/// Values computed in one pass where `depth` loops are bound.
#[derive(Clone, PartialEq, Debug)]
pub struct Temporaries {
    /// How many of the surrounding loops are outside.
    pub depth: usize,
    /// How many loops are outside of where the folds start: `depth` when they are computed anew each time; less when
    /// they go on from one round of the loops in between to the next, as a scan does.
    pub since: usize,
    /// The loops of their own.
    pub loops: Vec<Loop>,
    /// Temporaries that these loops need in turn; their `depth` counts `loops` from the surrounding `depth` on.
    pub temporaries: Vec<Temporaries>,
    /// The folds that share the loops.
    pub folds: Vec<Fold>,
}

/// A fold: `name = init` where it starts; `for the loops: name = op(name, value)` where it is computed.
#[derive(Clone, PartialEq, Debug)]
pub struct Fold {
    /// How values refer to it.
    pub name: Alias,
    /// Loops between the start and `depth`, in their order, for each value of which there is an accumulator of its own:
    /// the fold goes on along the other loops in between.
    pub at: Vec<Field>,
    /// The operator.
    pub op: Op,
    /// What the fold starts from.
    pub init: Scalar,
    /// What is folded.
    pub value: Point,
}

/// A tensor that a query writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Its name.
    pub alias: Alias,
    /// Shape, dtype, fill value and format.
    pub ty: Arc<TensorType>,
    /// The coordinate of each storage mode, outermost first, in terms of the loops' indices. A write at a
    /// [`Place::Value`] out of bounds is dropped.
    pub subscripts: Vec<Place>,
    /// The fold into what is there, which starts from `ty.fill`; without it every place is written at most once.
    pub fold: Option<Op>,
    /// What becomes of values that equal the fill value; dropped only without a fold.
    pub computed: Computed,
    /// A format for a temporary that takes the writes which come out of order, and how many loops are outside of it.
    /// It has the storage modes that those loops do not fix.
    pub workspace: Option<Workspace>,
    /// A tensor that the value reads at the same places, and that has the same format: the output stores a value wherever
    /// it does, and shares the arrays of its levels. Where it holds its fill value, nothing is written but the output's.
    pub pattern: Option<Alias>,
    /// The value.
    pub value: Point,
}

/// A temporary that takes random writes in place of an output, or looks up in place of an input.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Workspace {
    /// How many loops are outside of its scope, those around temporaries counted, too.
    pub depth: usize,
    /// Its format, over the storage modes that those loops do not fix, in their order: a tensor with one whole mode for
    /// each of them, of that storage mode's size.
    pub format: Format,
}

/// The coordinate at which a storage mode is read or written.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// A function of loop indices alone.
    Subscript(Subscript),
    /// An `i64` value: a gather when read, a scatter when written. Reads look it up ([`Protocol::Follow`]).
    Value(Point),
}

impl From<Subscript> for Place {
    fn from(subscript: Subscript) -> Place {
        Place::Subscript(subscript)
    }
}

/// How an access goes through a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Protocol {
    /// Visits the stored coordinates one by one.
    #[default]
    Walk,
    /// Leads or leaps: skips to the next coordinate that others ask for.
    Gallop,
    /// Looks up the coordinates that others lead to.
    Follow,
}

/// A pointwise expression at one place of the loops.
#[derive(Clone, PartialEq, Debug)]
pub enum Point {
    /// A constant.
    Literal(Scalar),
    /// The value of an affine form of loop indices, an `i64`.
    Coordinate(Affine),
    /// A temporary.
    Temporary(Alias),
    /// The value of a tensor.
    Access(Access),
    /// An operator, its arguments already of the operator's signature.
    Call(Op, Vec<Point>),
}

/// A read of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// Which tensor: an input or the output of an earlier query.
    pub tensor: Alias,
    /// The coordinate at each storage mode, outermost first.
    pub subscripts: Vec<Place>,
    /// The protocol at each storage mode; of those that a workspace has, how the workspace is gone through.
    pub protocols: Vec<Protocol>,
    /// A temporary that holds the fiber which the loops outside of it fix, and is read in its place. It has the innermost
    /// storage modes, each of them whole.
    pub workspace: Option<Workspace>,
    /// What a read out of bounds gives; without it all reads are in bounds.
    pub outside: Option<Scalar>,
}
