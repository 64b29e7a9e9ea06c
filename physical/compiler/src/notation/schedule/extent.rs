//! Arithmetic on extents. Sums and products are linear forms where possible, so that constants are
//! folded.

use super::super::linear::Linear;
use super::super::{Atom, Expr};
use redpoll_logic::op::Builtin;

/// Returns a linear form as an expression.
pub(super) fn form_expr(form: &Linear) -> Expr {
    form.to_expr(&|atom: Atom| atom)
}

/// Returns `a + b`.
pub(super) fn plus(a: &Expr, b: &Expr) -> Expr {
    if a.as_int() == Some(0) {
        return b.clone();
    }
    let sum = Linear::of(a).zip(Linear::of(b)).and_then(|(a, b)| a.plus(&b));
    sum.map_or_else(|| Expr::call(Builtin::Add, [a.clone(), b.clone()]), |sum| form_expr(&sum))
}

/// Returns `factor * a`.
pub(super) fn times(a: &Expr, factor: i64) -> Expr {
    let product = Linear::of(a).and_then(|a| a.times(factor));
    product.map_or_else(|| Expr::call(Builtin::Mul, [Expr::int(factor), a.clone()]), |product| form_expr(&product))
}

/// Returns `a - b`.
pub(super) fn minus(a: &Expr, b: &Expr) -> Expr {
    plus(a, &times(b, -1))
}

/// Returns `a / by`, rounded down; `by` is positive.
pub(super) fn div_floor(a: &Expr, by: i64) -> Expr {
    match a.as_int() {
        Some(a) => Expr::int(a.div_euclid(by)),
        None if by == 1 => a.clone(),
        None => Expr::call(Builtin::FloorDiv, [a.clone(), Expr::int(by)]),
    }
}

/// Returns `a / by`, rounded up; `by` is positive.
pub(super) fn div_ceil(a: &Expr, by: i64) -> Expr {
    div_floor(&plus(a, &Expr::int(by - 1)), by)
}

/// Returns `min(a, b)`.
pub(super) fn min(a: Expr, b: Expr) -> Expr {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => Expr::int(a.min(b)),
        _ => Expr::call(Builtin::Min, [a, b]),
    }
}

/// Returns `max(a, b)`.
pub(super) fn max(a: Expr, b: Expr) -> Expr {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => Expr::int(a.max(b)),
        _ => Expr::call(Builtin::Max, [a, b]),
    }
}
