//! Values during lowering: one Assembly expression for each primitive of a dtype.

use crate::assembly::{Expr, Local, Stmt};
use redpoll_logic::{DType, Prim, Scalar};

/// A value of some dtype. Structs are flattened depth first into one expression for each primitive.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LoweredValue {
    /// The dtype.
    pub(crate) dtype: DType,
    /// One expression for each of `dtype.prims()`.
    pub(crate) parts: Vec<Expr>,
}

impl LoweredValue {
    /// Returns a constant.
    pub(crate) fn constant(scalar: &Scalar) -> LoweredValue {
        LoweredValue { dtype: scalar.dtype(), parts: scalar.flatten().into_iter().map(Expr::Const).collect() }
    }

    /// Returns a value of a primitive dtype.
    pub(crate) fn prim(prim: Prim, part: Expr) -> LoweredValue {
        LoweredValue { dtype: DType::Prim(prim), parts: vec![part] }
    }

    /// Returns the constant, if the value consists of one constant.
    pub(crate) fn as_constant(&self) -> Option<Scalar> {
        match &self.parts[..] {
            [Expr::Const(value)] => Some(value.clone()),
            _ => None,
        }
    }

    /// Returns the only expression of a primitive value.
    pub(crate) fn single(&self) -> &Expr {
        debug_assert_eq!(self.parts.len(), 1, "a primitive value has one part");
        &self.parts[0]
    }
}

/// A receiver of the statements that must run before an expression.
pub(crate) trait StmtSink {
    /// Adds a local.
    fn local(&mut self, name: &str, prim: Prim) -> Local;
    /// Appends a statement.
    fn push(&mut self, stmt: Stmt);
}
