//! The primitive types of expressions.

use super::{Expr, Function};
use redpoll_logic::Prim;

impl Function {
    /// Returns the type of an expression that passes the verifier, without a check of its operands.
    ///
    /// # Panics
    /// When the type depends on a local or buffer that the function does not have, on a struct
    /// constant, or on a mathematical function without arguments.
    pub fn prim_of(&self, expr: &Expr) -> Prim {
        match expr {
            Expr::Const(value) => value.prim().expect("constants of Assembly are primitives"),
            Expr::Local(local) => self.locals[local.index()].prim,
            Expr::Param(_) => Prim::I64,
            Expr::Load { buffer, .. } => self.buffers[buffer.index()].value_prim(),
            Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Select(_, a, _) => self.prim_of(a),
            Expr::Compare(..) => Prim::Bool,
            Expr::Cast(to, _) => *to,
            Expr::Math(_, args) => self.prim_of(&args[0]),
        }
    }
}
