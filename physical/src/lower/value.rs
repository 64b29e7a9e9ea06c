//! Values while lowering: one Assembly expression for each primitive of a dtype.

use crate::assembly::{Expr, Local, Stmt};
use redpoll_logic::{DType, Prim, Scalar};

/// A value of some dtype: structs are taken apart, one expression a primitive, depth first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value {
    /// Its dtype.
    pub(crate) dtype: DType,
    /// One expression for each of `dtype.prims()`.
    pub(crate) parts: Vec<Expr>,
}

impl Value {
    /// A constant.
    pub(crate) fn constant(scalar: &Scalar) -> Value {
        Value { dtype: scalar.dtype(), parts: scalar.flatten().into_iter().map(Expr::Const).collect() }
    }

    /// A value of a primitive dtype.
    pub(crate) fn prim(prim: Prim, part: Expr) -> Value {
        Value { dtype: DType::Prim(prim), parts: vec![part] }
    }

    /// The constant that a primitive value is, if it is one.
    pub(crate) fn as_constant(&self) -> Option<Scalar> {
        match &self.parts[..] {
            [Expr::Const(value)] => Some(value.clone()),
            _ => None,
        }
    }

    /// The only expression of a primitive value.
    pub(crate) fn single(&self) -> &Expr {
        debug_assert_eq!(self.parts.len(), 1, "a primitive value has one part");
        &self.parts[0]
    }
}

/// Where code goes that an expression needs to run before it.
pub(crate) trait Emitter {
    /// A new local.
    fn local(&mut self, name: &str, prim: Prim) -> Local;
    /// Appends a statement.
    fn push(&mut self, stmt: Stmt);
}
