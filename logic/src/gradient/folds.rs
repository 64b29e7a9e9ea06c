//! The derivatives of folds and scans. The *weight* of a folded value is the derivative of the fold
//! with respect to this value, times a tangent or cotangent.

use super::algebra::{build, size_of, sum_over};
use super::rows::is_sum;
use super::{Ties, is_float};
use crate::error::Error;
use crate::expr::{Expr, Node};
use crate::field::Field;
use crate::op::{Builtin, Op};
use crate::scalar::Scalar;

/// Returns `g` times the derivative of a fold with respect to each value of its argument. `g` is
/// the cotangent of the fold, or the tangent of the argument.
///
/// # Errors
/// Returns [`Error::NoDerivative`] if the operator has no derivative as a fold.
pub(super) fn fold_weight(fold: &Expr, g: &Expr, ties: Ties) -> Result<Expr, Error> {
    let Node::Aggregate { op, init, arg, fields } = fold.node() else { unreachable!("the node is a fold") };
    match op {
        op if is_sum(op) => Ok(g.clone()),
        Op::Builtin(Builtin::Mul | Builtin::MulSat | Builtin::MulChecked) => product_weight((arg, init, fields), g),
        Op::Builtin(Builtin::Min | Builtin::Max) => extreme_weight(fold, g, ties),
        op => Err(Error::NoDerivative { name: format!("fold by `{}`", op.name()), reason: REASON.to_owned() }),
    }
}

/// The operators whose folds have a derivative.
const REASON: &str = "only folds by +, *, min and max have one; express the fold by these";

/// Returns the weights of the values of a product. The derivative with respect to a value is the
/// product of the other values: the whole product divided by the value, unless a value is 0. If
/// exactly one value is 0, the derivative with respect to this value is the product of the others,
/// and all other derivatives are 0. If several values are 0, all derivatives are 0.
fn product_weight((arg, init, fields): (&Expr, &Scalar, &[Field]), g: &Expr) -> Result<Expr, Error> {
    let is_zero = build("(eq x 0)", &[("x", arg)])?;
    let zeros = Expr::aggregate(Builtin::Add, 0i64, is_zero.clone(), fields.iter().cloned())?;
    let others = build("(ifelse z 1 x)", &[("z", &is_zero), ("x", arg)])?;
    let others = Expr::aggregate(Builtin::Mul, init.clone(), others, fields.iter().cloned())?;
    let names = [("g", g), ("x", arg), ("z", &is_zero), ("n", &zeros), ("p", &others)];
    build("(ifelse z (ifelse (eq n 1) (* g p) 0) (ifelse (eq n 0) (/ (* g p) x) 0))", &names)
}

/// Returns the weights of the values of a minimum or maximum: the values that equal the result
/// share the derivative, or the first of these values has it. An initial value that equals the
/// result counts as the first of them.
fn extreme_weight(fold: &Expr, g: &Expr, ties: Ties) -> Result<Expr, Error> {
    let Node::Aggregate { init, arg, fields, .. } = fold.node() else { unreachable!("the node is a fold") };
    let is_hit = build("(eq x r)", &[("x", arg), ("r", fold)])?;
    let init = Expr::literal(init.clone());
    match ties {
        Ties::Shared => {
            let hits = Expr::aggregate(Builtin::Add, 0i64, is_hit.clone(), fields.iter().cloned())?;
            let names = [("g", g), ("h", &is_hit), ("n", &hits), ("i", &init), ("r", fold)];
            build("(ifelse h (/ g (+ n (eq i r))) 0)", &names)
        }
        Ties::First => {
            let mut number = Expr::number(0i64);
            for field in fields {
                let size = Expr::number(size_of(arg.info(), field)? as i64);
                let names = [("n", &number), ("size", &size), ("at", &Expr::coordinate(field.clone()))];
                number = build("(+ (* n size) at)", &names)?;
            }
            let none = Expr::literal(i64::MAX);
            let hit_number = build("(ifelse h n none)", &[("h", &is_hit), ("n", &number), ("none", &none)])?;
            let first = Expr::aggregate(Builtin::Min, i64::MAX, hit_number, fields.iter().cloned())?;
            let names = [("g", g), ("h", &is_hit), ("n", &number), ("first", &first), ("i", &init), ("r", fold)];
            build("(ifelse (and h (eq n first) (ne i r)) g 0)", &names)
        }
    }
}

/// Returns the cotangent of the argument of a scan for the cotangent `g` of the scan.
///
/// # Errors
/// Returns [`Error::NoDerivative`] if the operator is not a sum.
pub(super) fn pull_scan(scan: &Expr, g: Expr) -> Result<Expr, Error> {
    let Node::Scan { op, field, .. } = scan.node() else { unreachable!("the node is a scan") };
    check_scan(op)?;
    // A value is part of the sums from its own coordinate on.
    if !g.info().fields.contains(field) {
        let size = Expr::number(size_of(scan.info(), field)? as f64);
        return build("(* g (- n at))", &[("g", &g), ("n", &size), ("at", &Expr::coordinate(field.clone()))]);
    }
    Expr::scan(op.clone(), g.reverse(field.clone())?, field.clone())?.reverse(field.clone())
}

/// Checks that scans by an operator have a derivative.
pub(super) fn check_scan(op: &Op) -> Result<(), Error> {
    if is_sum(op) {
        return Ok(());
    }
    let reason = "only scans by + have one".to_owned();
    Err(Error::NoDerivative { name: format!("scan by `{}`", op.name()), reason })
}

/// Returns the tangent of a fold for the tangent of its argument.
pub(super) fn push_fold(fold: &Expr, tangent: &Expr, ties: Ties) -> Result<Expr, Error> {
    let Node::Aggregate { arg, fields, .. } = fold.node() else { unreachable!("the node is a fold") };
    debug_assert!(is_float(arg), "only floats have tangents");
    sum_over(fold_weight(fold, tangent, ties)?, fields, arg.info())
}
