//! Constructors of expressions, and predicates on expressions. The constructors fold constants, so
//! that lowering can write index arithmetic without simplifying it.
//!
//! Index expressions have the form `base + constant` where possible. Coordinates that differ by a
//! constant then have equal bases, which the prover can compare.

use crate::assembly::{BinaryOp, Buffer, CompareOp, Expr, Local, UnaryOp};
use redpoll_logic::{Prim, Scalar};

/// Returns an `i64` constant.
pub fn int(v: i64) -> Expr {
    Expr::Const(Scalar::I64(v))
}

/// Returns a `bool` constant.
pub(crate) fn truth(v: bool) -> Expr {
    Expr::Const(Scalar::Bool(v))
}

/// Returns the value of a local.
pub fn local(l: Local) -> Expr {
    Expr::Local(l)
}

/// Returns `buffer[at]`.
pub(crate) fn load(buffer: Buffer, at: Expr) -> Expr {
    Expr::Load { buffer, at: Box::new(at) }
}

/// Returns the value of an `i64` constant; `None` for other expressions.
pub(crate) fn as_int(e: &Expr) -> Option<i64> {
    match e {
        Expr::Const(Scalar::I64(v)) => Some(*v),
        _ => None,
    }
}

/// Returns the value of a `bool` constant; `None` for other expressions.
pub fn as_truth(e: &Expr) -> Option<bool> {
    match e {
        Expr::Const(Scalar::Bool(v)) => Some(*v),
        _ => None,
    }
}

/// Splits off the constant summand of an `i64` expression, which is the second operand of a sum.
/// Returns `(base, constant)`, with base `None` for a constant.
pub(crate) fn split(e: &Expr) -> (Option<&Expr>, i64) {
    match e {
        Expr::Const(Scalar::I64(v)) => (None, *v),
        Expr::Binary(BinaryOp::Add, a, c) => match as_int(c) {
            Some(v) => (Some(a), v),
            None => (Some(e), 0),
        },
        _ => (Some(e), 0),
    }
}

fn join(base: Option<Expr>, constant: i64) -> Expr {
    match base {
        None => int(constant),
        Some(base) if constant == 0 => base,
        Some(base) => Expr::Binary(BinaryOp::Add, Box::new(base), Box::new(int(constant))),
    }
}

/// Returns `a + b`.
pub(crate) fn add(a: &Expr, b: &Expr) -> Expr {
    let ((x, c), (y, d)) = (split(a), split(b));
    let base = match (x, y) {
        (Some(x), Some(y)) => Some(Expr::Binary(BinaryOp::Add, Box::new(x.clone()), Box::new(y.clone()))),
        (x, y) => x.or(y).cloned(),
    };
    join(base, c.wrapping_add(d))
}

/// Returns `a + c`.
pub fn plus(a: &Expr, c: i64) -> Expr {
    add(a, &int(c))
}

/// Returns `a - b`.
pub(crate) fn sub(a: &Expr, b: &Expr) -> Expr {
    let ((x, c), (y, d)) = (split(a), split(b));
    let base = match (x, y) {
        (Some(x), Some(y)) if x == y => None,
        (x, None) => x.cloned(),
        (None, Some(y)) => {
            let negated = Expr::Binary(BinaryOp::Sub, Box::new(int(c.wrapping_sub(d))), Box::new(y.clone()));
            return negated;
        }
        (Some(x), Some(y)) => Some(Expr::Binary(BinaryOp::Sub, Box::new(x.clone()), Box::new(y.clone()))),
    };
    join(base, c.wrapping_sub(d))
}

/// Returns `a * b`.
pub(crate) fn mul(a: &Expr, b: &Expr) -> Expr {
    match (as_int(a), as_int(b)) {
        (Some(x), Some(y)) => int(x.wrapping_mul(y)),
        (Some(0), _) | (_, Some(0)) => int(0),
        (Some(1), _) => b.clone(),
        (_, Some(1)) => a.clone(),
        _ => Expr::Binary(BinaryOp::Mul, Box::new(a.clone()), Box::new(b.clone())),
    }
}

/// Returns `a / by` rounded up, where `by` is at least 1.
pub(crate) fn ceil_div(a: &Expr, by: i64) -> Expr {
    match as_int(a) {
        _ if by == 1 => a.clone(),
        Some(a) => int(a.div_euclid(by) + i64::from(a.rem_euclid(by) != 0)),
        None if by.count_ones() == 1 => exact_div(&plus(a, by - 1), by),
        // Division truncates, which already rounds negative quotients up.
        None => exact_div(&add(a, &select(&lt(&int(0), a), &int(by - 1), &int(0))), by),
    }
}

/// Returns `a / by`, where `by` is at least 1 and divides `a`. If `by` does not divide `a`, the
/// quotient is rounded either towards zero or down.
pub(crate) fn exact_div(a: &Expr, by: i64) -> Expr {
    match as_int(a) {
        _ if by == 1 => a.clone(),
        Some(a) => int(a.div_euclid(by)),
        None => {
            let (op, by) = match by.count_ones() {
                1 => (BinaryOp::Shr, i64::from(by.trailing_zeros())),
                _ => (BinaryOp::Div, by),
            };
            Expr::Binary(op, Box::new(a.clone()), Box::new(int(by)))
        }
    }
}

/// Returns the condition that `by`, which is at least 1, divides `a`.
pub(crate) fn is_multiple(a: &Expr, by: i64) -> Expr {
    match as_int(a) {
        _ if by == 1 => truth(true),
        Some(a) => truth(a.rem_euclid(by) == 0),
        None => {
            let (op, by) = match by.count_ones() {
                1 => (BinaryOp::And, by - 1),
                _ => (BinaryOp::Rem, by),
            };
            eq(&Expr::Binary(op, Box::new(a.clone()), Box::new(int(by))), &int(0))
        }
    }
}

/// Returns `min(a, b)` of `i64` expressions.
pub fn min(a: &Expr, b: &Expr) -> Expr {
    extremum(BinaryOp::Min, a, b)
}

/// Returns `max(a, b)` of `i64` expressions.
pub fn max(a: &Expr, b: &Expr) -> Expr {
    extremum(BinaryOp::Max, a, b)
}

fn extremum(op: BinaryOp, a: &Expr, b: &Expr) -> Expr {
    let ((x, c), (y, d)) = (split(a), split(b));
    if x == y {
        return join(x.cloned(), if op == BinaryOp::Min { c.min(d) } else { c.max(d) });
    }
    match (x, y) {
        (Some(x), Some(y)) if c == d => join(Some(Expr::Binary(op, Box::new(x.clone()), Box::new(y.clone()))), c),
        _ => Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone())),
    }
}

/// Returns a comparison of `i64` expressions.
pub(crate) fn compare(op: CompareOp, a: &Expr, b: &Expr) -> Expr {
    let ((x, c), (y, d)) = (split(a), split(b));
    if x == y {
        return truth(match op {
            CompareOp::Eq => c == d,
            CompareOp::Ne => c != d,
            CompareOp::Lt => c < d,
            CompareOp::Le => c <= d,
        });
    }
    match (x, y) {
        (Some(x), Some(y)) if c == d => Expr::Compare(op, Box::new(x.clone()), Box::new(y.clone())),
        _ => Expr::Compare(op, Box::new(a.clone()), Box::new(b.clone())),
    }
}

/// Returns `a == b`.
pub(crate) fn eq(a: &Expr, b: &Expr) -> Expr {
    compare(CompareOp::Eq, a, b)
}

/// Returns `a < b`.
pub(crate) fn lt(a: &Expr, b: &Expr) -> Expr {
    compare(CompareOp::Lt, a, b)
}

/// Returns `a <= b`.
pub(crate) fn le(a: &Expr, b: &Expr) -> Expr {
    compare(CompareOp::Le, a, b)
}

/// Returns `a and b`; evaluates both unless one is a constant.
pub(crate) fn and(a: &Expr, b: &Expr) -> Expr {
    match (as_truth(a), as_truth(b)) {
        (Some(true), _) | (_, Some(false)) => b.clone(),
        (_, Some(true)) | (Some(false), _) => a.clone(),
        _ => Expr::Binary(BinaryOp::And, Box::new(a.clone()), Box::new(b.clone())),
    }
}

/// Returns `a or b`; evaluates both unless one is a constant.
pub(crate) fn or(a: &Expr, b: &Expr) -> Expr {
    match (as_truth(a), as_truth(b)) {
        (Some(false), _) | (_, Some(true)) => b.clone(),
        (_, Some(false)) | (Some(true), _) => a.clone(),
        _ => Expr::Binary(BinaryOp::Or, Box::new(a.clone()), Box::new(b.clone())),
    }
}

/// Returns `not a`.
pub(crate) fn not(a: &Expr) -> Expr {
    match (as_truth(a), a) {
        (Some(v), _) => truth(!v),
        (_, Expr::Unary(UnaryOp::Not, inner)) => (**inner).clone(),
        _ => Expr::Unary(UnaryOp::Not, Box::new(a.clone())),
    }
}

/// Returns `cond ? a : b`; evaluates both values unless they are equal or the condition is a
/// constant.
pub(crate) fn select(cond: &Expr, a: &Expr, b: &Expr) -> Expr {
    match as_truth(cond) {
        Some(true) => a.clone(),
        Some(false) => b.clone(),
        None if a == b => a.clone(),
        None => Expr::Select(Box::new(cond.clone()), Box::new(a.clone()), Box::new(b.clone())),
    }
}

/// Returns the `bool` as 0 or 1.
pub(crate) fn count(cond: &Expr) -> Expr {
    match as_truth(cond) {
        Some(v) => int(i64::from(v)),
        None => Expr::Cast(Prim::I64, Box::new(cond.clone())),
    }
}

/// Returns whether evaluating the expression twice costs no more than assigning it to a local. This
/// holds for a constant, a local, a parameter, and the sum of one of these and a constant.
pub(crate) fn is_cheap(e: &Expr) -> bool {
    match split(e).0 {
        None => true,
        Some(base) => matches!(base, Expr::Const(_) | Expr::Local(_) | Expr::Param(_)),
    }
}

/// Returns whether the expression reads no memory.
pub(crate) fn is_register_only(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => true,
        Expr::Load { .. } => false,
        Expr::Unary(_, a) | Expr::Cast(_, a) => is_register_only(a),
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => is_register_only(a) && is_register_only(b),
        Expr::Select(c, a, b) => is_register_only(c) && is_register_only(a) && is_register_only(b),
        Expr::Math(_, args) => args.iter().all(is_register_only),
    }
}
