//! Logic expressions: computations over tables with named fields.
//!
//! An [`Expr`] is an immutable tree with shared subtrees. The smart constructors of this module
//! check every node and infer its [`Info`]. Every existing tree is therefore well-formed: a field
//! never has two sizes, operators fit their dtypes, and fill values are known.

mod build;
mod constants;
mod fold;
mod index;
mod infer;
mod mode;
mod offsets;
mod order;
#[cfg(test)]
mod tests;
mod weak;

pub use constants::{LiftedConstant, LiftedPlan};
pub(crate) use fold::fold_dtype;
pub use fold::{fold_fill, fold_fill_over};
pub(crate) use infer::infer;
pub use order::topological_order;
pub(crate) use weak::{fit, weak_dtype};

use crate::affine::{Parameter, Subscript};
use crate::dtype::DType;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::mode::FloatMode;
use crate::op::Op;
use crate::scalar::Scalar;
use std::sync::Arc;

/// A Logic expression; clones share its nodes.
#[derive(Clone, Debug)]
pub struct Expr(Arc<ExprData>);

/// The contents of an expression.
#[derive(Debug)]
struct ExprData {
    node: Node,
    info: Info,
    /// Float mode in which fill values are inferred.
    mode: FloatMode,
    /// Number of nodes on the longest path to a node without arguments; see [`Expr::depth`].
    depth: u32,
}

/// The inferred properties of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Info {
    /// Fields, in order.
    pub fields: Vec<Field>,
    /// Size of each field; `None` while only a `coordinate` mentions the field.
    pub dimensions: Vec<Option<u64>>,
    /// Dtype of the values.
    pub dtype: DType,
    /// The fill value. For a mapjoin or an aggregate, the fill value is the result for arguments
    /// that all have their fill values. For a literal it is the value of the literal, for a
    /// coordinate it is 0, and for a refill it is the value that the refill specifies. Other nodes
    /// have the fill value of their tensor or argument.
    pub fill: Scalar,
    /// Whether the expression is a bare number, which takes its dtype from the other arguments of
    /// an operator.
    pub weak: bool,
}

/// A node of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// A tensor with named modes: an input or the result of an earlier query.
    Table {
        /// Name of the tensor.
        tensor: Alias,
        /// Type of the tensor.
        ty: Arc<TensorType>,
        /// One field per mode; a repeated field reads the diagonal.
        fields: Vec<Field>,
    },
    /// A constant.
    Literal(Scalar),
    /// The coordinate of a field, as an `i64` value.
    Coordinate(Field),
    /// `op` applied at all coordinates of the natural join of the arguments on field names. An
    /// argument that lacks a field is broadcast along it. Arguments are cast to the operator's
    /// signature.
    MapJoin {
        /// The operator.
        op: Op,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// A fold with `op` over `fields`, from `init`, in ascending coordinates; the first field is
    /// outermost.
    Aggregate {
        /// The operator, which takes and returns the dtype of `arg`.
        op: Op,
        /// Initial value of the fold, in the dtype of `arg`.
        init: Scalar,
        /// Folded table.
        arg: Expr,
        /// Reduced fields.
        fields: Vec<Field>,
    },
    /// An inclusive prefix fold with `op` along `field`.
    Scan {
        /// The operator, which is associative, and takes and returns the dtype of `arg`.
        op: Op,
        /// Folded table.
        arg: Expr,
        /// Field along which the fold runs.
        field: Field,
    },
    /// The same table with its fields in another order.
    Reorder {
        /// The table.
        arg: Expr,
        /// All fields of the table, in the new order.
        fields: Vec<Field>,
    },
    /// The same table with its fields renamed, by position.
    Relabel {
        /// The table.
        arg: Expr,
        /// One new name per field.
        fields: Vec<Field>,
    },
    /// A table read at other coordinates.
    Index {
        /// Coordinates to read.
        map: IndexMap,
        /// The table.
        arg: Expr,
    },
    /// The same table stored in a given format: a constraint for the optimizer.
    Reformat {
        /// The format; its modes are the fields in order.
        format: Format,
        /// The table.
        arg: Expr,
    },
    /// The same table stored with a given fill value: a constraint for the optimizer. The values do
    /// not change; entries that are not stored read as the fill value.
    Refill {
        /// Fill value of the stored table.
        fill: Scalar,
        /// Treatment of computed values that equal the fill value.
        computed_fills: ComputedFills,
        /// The table.
        arg: Expr,
    },
}

/// The treatment of computed values that equal the fill value, in levels that can omit them.
/// Entries that are proved to equal the fill value before they are computed are never stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ComputedFills {
    /// Such values are stored.
    #[default]
    Keep,
    /// Such values are not stored.
    Drop,
}

/// A map that reads a table at other coordinates: each mapped field of the table is read at its
/// subscript.
///
/// Window, stride, reverse, offset, permissive reads, toeplitz, split, merge and diagonal are all
/// index maps; `index.rs` has shorthands for them. The result has the fields of the table, with
/// each mapped field replaced by the introduced fields that its subscript mentions, in the order of
/// `dimensions`. A field that already occurs earlier is not repeated. Last come the introduced
/// fields that no subscript mentions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IndexMap {
    /// Mapped fields of the argument, each with the subscript at which the field is read.
    /// Subscripts are over the fields of the result. Other fields of the argument are unchanged.
    pub coordinates: Vec<(Field, Subscript)>,
    /// Introduced fields and their sizes. An introduced field may have the name of a mapped one.
    pub dimensions: Vec<(Field, u64)>,
    /// Value of reads out of bounds; without one, every read must be proved in bounds.
    pub outside: Option<Scalar>,
}

impl Node {
    /// Returns the argument expressions, in order.
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

    /// Returns the node with each of its arguments replaced by a new argument.
    pub(crate) fn with_args(&self, args: Vec<Expr>) -> Node {
        let mut one = args.iter().cloned();
        let mut arg = || one.next().expect("the node has one argument");
        match self {
            Node::Table { .. } | Node::Literal(_) | Node::Coordinate(_) => self.clone(),
            Node::MapJoin { op, .. } => Node::MapJoin { op: op.clone(), args },
            Node::Aggregate { op, init, fields, .. } => {
                Node::Aggregate { op: op.clone(), init: init.clone(), arg: arg(), fields: fields.clone() }
            }
            Node::Scan { op, field, .. } => Node::Scan { op: op.clone(), arg: arg(), field: field.clone() },
            Node::Reorder { fields, .. } => Node::Reorder { arg: arg(), fields: fields.clone() },
            Node::Relabel { fields, .. } => Node::Relabel { arg: arg(), fields: fields.clone() },
            Node::Index { map, .. } => Node::Index { map: map.clone(), arg: arg() },
            Node::Reformat { format, .. } => Node::Reformat { format: format.clone(), arg: arg() },
            Node::Refill { fill, computed_fills, .. } => {
                Node::Refill { fill: fill.clone(), computed_fills: *computed_fills, arg: arg() }
            }
        }
    }

    /// Returns the parameters in the subscripts of an index map, in order, with repetitions. Other
    /// nodes have no parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        let coordinates = match self {
            Node::Index { map, .. } => &map.coordinates[..],
            _ => &[],
        };
        coordinates.iter().flat_map(|(_, at)| &at.form().parameters).map(|(parameter, _)| parameter)
    }

    /// Returns the operator that the node applies or folds with; `None` for other nodes.
    pub fn op(&self) -> Option<&Op> {
        match self {
            Node::MapJoin { op, .. } | Node::Aggregate { op, .. } | Node::Scan { op, .. } => Some(op),
            _ => None,
        }
    }
}

impl Expr {
    /// Returns the node.
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Returns the float mode in which the fill value is inferred: the default mode, unless
    /// [`Plan::to_mode`](crate::Plan::to_mode) created the expression or one of its arguments.
    pub(crate) fn mode(&self) -> FloatMode {
        self.0.mode
    }

    /// Returns the inferred properties.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// Returns the address of the node, which identifies the expression until its last clone is
    /// dropped.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Returns whether two expressions are the same object.
    pub fn ptr_eq(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Info {
    /// Returns the size of a field; `None` if the size is unknown or the field does not exist.
    pub fn dimension(&self, field: &Field) -> Option<u64> {
        self.fields.iter().position(|f| f == field).and_then(|k| self.dimensions[k])
    }

    /// Returns the sizes of all fields, in order; `None` if a size is unknown.
    pub fn shape(&self) -> Option<Vec<u64>> {
        self.dimensions.iter().copied().collect()
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.ptr_eq(other)
            || (self.0.depth == other.0.depth && self.0.info == other.0.info && self.0.node == other.0.node)
    }
}
