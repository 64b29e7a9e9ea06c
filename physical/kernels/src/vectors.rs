//! Facts on the expressions that backends compute for adjacent elements at once.

use redpoll_compiler::assembly::{BinaryOp, Expr, Local};

/// Returns whether a position is the variable plus an invariant.
pub(crate) fn steps_by_one(at: &Expr, var: Local) -> bool {
    match at {
        Expr::Local(local) => *local == var,
        Expr::Binary(BinaryOp::Add, a, b) => {
            (steps_by_one(a, var) && !b.mentions(var)) || (steps_by_one(b, var) && !a.mentions(var))
        }
        Expr::Binary(BinaryOp::Sub, a, b) => steps_by_one(a, var) && !b.mentions(var),
        _ => false,
    }
}
