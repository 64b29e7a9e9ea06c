//! Values during lowering: one Assembly expression for each primitive of a dtype.

use crate::assembly::{Expr, Local, Stmt};
use redpoll_logic::{DType, Prim, Scalar};

/// A value of some dtype. Structs are flattened depth first into one expression for each primitive.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value {
    /// The dtype.
    pub(crate) dtype: DType,
    /// One expression for each of `dtype.prims()`.
    pub(crate) parts: Vec<Expr>,
}

impl Value {
    /// Returns a constant.
    pub(crate) fn constant(scalar: &Scalar) -> Value {
        Value { dtype: scalar.dtype(), parts: scalar.flatten().into_iter().map(Expr::Const).collect() }
    }

    /// Returns a value of a primitive dtype.
    pub(crate) fn prim(prim: Prim, part: Expr) -> Value {
        Value { dtype: DType::Prim(prim), parts: vec![part] }
    }

    /// Returns the constant, if a primitive value is one.
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
pub(crate) trait Emitter {
    /// Adds a local.
    fn local(&mut self, name: &str, prim: Prim) -> Local;
    /// Appends a statement.
    fn push(&mut self, stmt: Stmt);
}
