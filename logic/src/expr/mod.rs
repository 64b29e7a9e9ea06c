//! Logic expressions: what to compute, over tables with named fields.
//!
//! An [`Expr`] is an immutable shared tree. Every node carries its [`Info`], inferred when it is built by the smart
//! constructors of this module, so a tree that exists is well-formed: a field never denotes two sizes, operators fit
//! their dtypes, fill values are known.

mod build;
mod fold;
mod index;
mod infer;
mod mode;
#[cfg(test)]
mod tests;
mod weak;

pub(crate) use fold::fold_dtype;
pub use fold::{fold_fill, fold_fill_over};
pub(crate) use infer::infer;
pub(crate) use weak::{fit, meets};

use crate::affine::Subscript;
use crate::dtype::DType;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::mode::FloatMode;
use crate::op::Op;
use crate::scalar::Scalar;
use std::sync::Arc;

/// A Logic expression; cloning shares it.
#[derive(Clone, Debug)]
pub struct Expr(Arc<ExprData>);

/// What an expression is made of.
#[derive(Debug)]
struct ExprData {
    node: Node,
    info: Info,
    /// The float mode in which fill values are inferred.
    mode: FloatMode,
}

/// What is inferred of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Info {
    /// Its fields, in order.
    pub fields: Vec<Field>,
    /// The size of each field; `None` while just a `coordinate` mentions it.
    pub dimensions: Vec<Option<u64>>,
    /// The type of its values.
    pub dtype: DType,
    /// The value wherever nothing is stored: what comes out where every table holds its fill value. Coordinates,
    /// reads outside and scans have no such places; they count as 0, the argument's fill and the argument's fill.
    pub fill: Scalar,
    /// A bare number: it takes the dtype that it meets.
    pub weak: bool,
}

/// A node of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// A tensor, an input or the result of an earlier query, with its modes named.
    Table {
        /// Which tensor.
        tensor: Alias,
        /// What is known of it.
        ty: Arc<TensorType>,
        /// One field a mode; a field may repeat (a diagonal).
        fields: Vec<Field>,
    },
    /// A constant.
    Literal(Scalar),
    /// The coordinate of a field as an `i64` value.
    Coordinate(Field),
    /// `op` applied at every place of the natural join of the arguments on field names; arguments without a field
    /// broadcast along it. Arguments are cast to the operator's signature.
    MapJoin {
        /// The operator.
        op: Op,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// The fold of `op` over `fields`, starting from `init`, ascending coordinates of the first field outermost.
    Aggregate {
        /// The operator.
        op: Op,
        /// What the fold starts from, in the dtype of `arg`, which is that of the operator's arguments and result.
        init: Scalar,
        /// What is folded.
        arg: Expr,
        /// The reduced fields.
        fields: Vec<Field>,
    },
    /// The inclusive prefix fold of `op` along `field`.
    Scan {
        /// The operator, associative, from the dtype of `arg` to that dtype.
        op: Op,
        /// What is folded.
        arg: Expr,
        /// Along which field.
        field: Field,
    },
    /// The same table with its fields in another order.
    Reorder {
        /// The table.
        arg: Expr,
        /// All its fields.
        fields: Vec<Field>,
    },
    /// The same table with other field names, by position.
    Relabel {
        /// The table.
        arg: Expr,
        /// One new field for each field.
        fields: Vec<Field>,
    },
    /// The table read at other coordinates.
    Index {
        /// Which coordinates.
        map: IndexMap,
        /// The table.
        arg: Expr,
    },
    /// The same table stored in a given format: a constraint for the optimizer.
    Reformat {
        /// The format, its modes in the order of the fields.
        format: Format,
        /// The table.
        arg: Expr,
    },
    /// The same table stored with a given fill value: a constraint for the optimizer. Values are the same; what is not
    /// stored reads as that value.
    Refill {
        /// The fill value of what is stored.
        fill: Scalar,
        /// What becomes of computed values that equal it.
        computed: Computed,
        /// The table.
        arg: Expr,
    },
}

/// What becomes of computed values that equal the fill value where they are stored in a level that could leave them out.
/// What is known to be the fill value before it is computed is never stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Computed {
    /// They are stored.
    #[default]
    Keep,
    /// They are not stored.
    Drop,
}

/// Reads a table `e` at other coordinates: the result at its fields is `e` with each mapped field set to its subscript.
///
/// Window, stride, reverse, offset, permissive reads, toeplitz, split, merge and diagonal are all such maps;
/// `index.rs` has the shorthands. The fields of the result are those of `e`, where in place of each mapped one stand
/// the introduced fields that its subscript mentions and that do not stand further left, in the order of `dimensions`;
/// introduced fields that no subscript mentions come last.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IndexMap {
    /// The mapped fields of the argument and the subscript, in terms of the result's fields, at which each is read.
    /// Fields of the argument that are not mapped stay.
    pub coordinates: Vec<(Field, Subscript)>,
    /// The fields that the map introduces and their sizes. They may have the names of mapped ones.
    pub dimensions: Vec<(Field, u64)>,
    /// What a read out of bounds gives; without it every read must be provably in bounds.
    pub outside: Option<Scalar>,
}

impl Node {
    /// The expressions that it is made from, in order.
    pub fn args(&self) -> &[Expr] {
        match self {
            Node::Table { .. } | Node::Literal(_) | Node::Coordinate(_) => &[],
            Node::MapJoin { args, .. } => args,
            Node::Aggregate { arg, .. }
            | Node::Scan { arg, .. }
            | Node::Reorder { arg, .. }
            | Node::Relabel { arg, .. }
            | Node::Index { arg, .. }
            | Node::Reformat { arg, .. }
            | Node::Refill { arg, .. } => std::slice::from_ref(arg),
        }
    }

    /// The operator that it applies or folds with.
    pub fn op(&self) -> Option<&Op> {
        match self {
            Node::MapJoin { op, .. } | Node::Aggregate { op, .. } | Node::Scan { op, .. } => Some(op),
            _ => None,
        }
    }
}

impl Expr {
    /// The node.
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// The float mode in which its fill value is inferred: the default one, unless [`Plan::in_mode`](crate::Plan::in_mode)
    /// made it.
    pub(crate) fn mode(&self) -> FloatMode {
        self.0.mode
    }

    /// What was inferred of it.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// A number that tells expressions apart as long as they live.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Whether two expressions are the same object.
    pub fn same(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Info {
    /// The size of a field; `None` when it is not known or there is no such field.
    pub fn dimension(&self, field: &Field) -> Option<u64> {
        self.fields.iter().position(|f| f == field).and_then(|k| self.dimensions[k])
    }

    /// The sizes of all fields in their order; `None` when one is not known.
    pub fn shape(&self) -> Option<Vec<u64>> {
        self.dimensions.iter().copied().collect()
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.same(other) || (self.0.info == other.0.info && self.0.node == other.0.node)
    }
}
