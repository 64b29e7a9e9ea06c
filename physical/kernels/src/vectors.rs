//! Properties of expressions and folds that decide whether backends compute several adjacent
//! elements at once.

use redpoll_compiler::assembly::{BinaryOp, Expr, Local};
use redpoll_logic::Scalar;

/// Returns whether a position is the variable, plus or minus expressions that do not mention the
/// variable.
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

/// Returns whether folding `start` into a lane that began with `start` never changes the lane. For
/// sums, `start` is 0: a sum that began with 0 is never -0, the only number that adding 0 changes.
pub(crate) fn absorbs(op: BinaryOp, start: &Scalar) -> bool {
    let is_number = |number: i128| match start {
        Scalar::F32(x) => *x == number as f32,
        Scalar::F64(x) => *x == number as f64,
        value => value.to_i128() == Some(number),
    };
    match op {
        BinaryOp::Add | BinaryOp::Xor => is_number(0),
        BinaryOp::Mul => is_number(1),
        BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or => true,
        _ => false,
    }
}
