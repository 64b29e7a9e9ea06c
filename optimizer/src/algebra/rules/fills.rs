//! A rule that splits a fold in two: one part folds the values that differ from the fill, the other
//! combines the fills.
//!
//! If the fill changes the result of a fold, the loops visit the fills, or at least runs of fills.
//! The rule folds only the values that differ from the fill, and counts these values. The loops of
//! both folds visit only the stored entries, in any loop order. The fills are at the remaining
//! coordinates, so the count determines their number. For example, the maximum of each column of a
//! CSR matrix profits: the matrix is stored by rows, so the fills of a column form no runs.

use super::{MatchSite, RewriteRule, Round, ScopedNode, Subject, TermDraft, select_value};
use crate::algebra::language::ClassUse;
use crate::term::is_regroupable;
use redpoll_logic::op::{Builtin, Op, RepeatMethod};
use redpoll_logic::{DType, FloatMode, Prim, Scalar};

pub(super) const RULES: &[RewriteRule] = &[RewriteRule {
    name: "count-fills",
    subject: Subject::Aggregates,
    round: Some(Round::Spread),
    equation: "max(i, x) = max(max(i, x where x != f), f if count(i, x != f) < n)    f the fill of x",
    drafts: count_fills,
}];

fn count_fills(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    let (fill, dtype, mode) = (site.fill(arg).clone(), site.dtype(arg).clone(), site.mode());
    let depends_on_all = !bound.is_empty() && bound.iter().all(|slot| arg.has(*slot));
    let is_split = depends_on_all && !site.is_full(arg) && init.dtype() == dtype;
    if !is_split || op.skips(&fill, init, &dtype, mode) || is_nan(&fill) {
        return;
    }
    let (Some(identity), true) = (op.fold_identity(&dtype, mode), is_regroupable(op, &dtype, mode)) else { return };
    let size = |n: i64, slot| n.checked_mul(i64::try_from(site.size(slot)).ok()?);
    let Some(all) = bound.iter().try_fold(1i64, |n, slot| size(n, *slot)) else { return };
    let count = TermDraft::Call(Builtin::Cast(Prim::I64).into(), vec![differs(arg, &fill, mode)]);
    let zero = Scalar::I64(0);
    let count = TermDraft::Fold(Builtin::Add.into(), zero, Box::new(count), bound.clone());
    let Some(fills) = repeated_fill(op, (&fill, &identity), (count, all), mode) else { return };
    let other = other_bool(&fill);
    // A `bool` has only one value other than the fill. If the fold skips that value, the fills
    // alone determine the result.
    if other.is_some_and(|other| op.skips(&other, init, &dtype, mode)) {
        return match op.is_identity(init, &dtype, 0, mode) {
            true => site.propose(fills),
            false => site.propose(TermDraft::Call(op.clone(), vec![TermDraft::Literal(init.clone()), fills])),
        };
    }
    let value = TermDraft::Class(arg.clone());
    let value =
        TermDraft::Call(Builtin::IfElse.into(), vec![differs(arg, &fill, mode), value, TermDraft::Literal(identity)]);
    let values = TermDraft::Fold(op.clone(), init.clone(), Box::new(value), bound.clone());
    site.propose(TermDraft::Call(op.clone(), vec![values, fills]));
}

/// Drafts the condition that a class differs from its fill; in strict mode also by the sign of
/// zero.
fn differs(arg: &ClassUse, fill: &Scalar, mode: FloatMode) -> TermDraft {
    let call = |op: Builtin, args: Vec<TermDraft>| TermDraft::Call(op.into(), args);
    let class = || TermDraft::Class(arg.clone());
    let value = call(Builtin::Ne, vec![class(), TermDraft::Literal(fill.clone())]);
    match as_float(fill).filter(|x| *x == 0.0 && mode == FloatMode::StrictIeee) {
        Some(zero) => {
            let sign = TermDraft::Literal(Scalar::Bool(zero.is_sign_negative()));
            let sign = call(Builtin::Ne, vec![call(Builtin::SignBit, vec![class()]), sign]);
            call(Builtin::Or, vec![value, sign])
        }
        None => value,
    }
}

/// Drafts the fold of the fills among `all` values; `count` of these values differ from the fill.
/// `None` if the fold of a repeated value has no short form for the fill.
fn repeated_fill(
    op: &Op,
    (fill, identity): (&Scalar, &Scalar),
    (count, all): (TermDraft, i64),
    mode: FloatMode,
) -> Option<TermDraft> {
    let dtype = fill.dtype();
    let number = |n: i64| TermDraft::Literal(Scalar::I64(n));
    let call = |op: Builtin, args: Vec<TermDraft>| TermDraft::Call(op.into(), args);
    let is_stable = op.eval_in(&[fill.clone(), fill.clone()], mode).as_ref() == Ok(fill);
    let method = op.repeat_method(&dtype, mode)?;
    if method == RepeatMethod::Idempotent || is_stable {
        return Some(select_value(call(Builtin::Eq, vec![count, number(all)]), [identity.clone(), fill.clone()]));
    }
    let fills = call(Builtin::Sub, vec![number(all), count]);
    let in_dtype = |n: TermDraft| match dtype {
        DType::Prim(Prim::I64) => Some(n),
        DType::Prim(prim) => Some(call(Builtin::Cast(prim), vec![n])),
        _ => None,
    };
    let literal = TermDraft::Literal(fill.clone());
    match method {
        RepeatMethod::Multiply => Some(call(Builtin::Mul, vec![literal, in_dtype(fills)?])),
        RepeatMethod::Power if as_float(fill).is_some() => Some(call(Builtin::Pow, vec![literal, in_dtype(fills)?])),
        RepeatMethod::Parity => {
            let odd = call(Builtin::Eq, vec![call(Builtin::BitAnd, vec![fills, number(1)]), number(1)]);
            Some(select_value(odd, [fill.clone(), identity.clone()]))
        }
        _ => None,
    }
}

/// Returns the `bool` that differs from the given one; `None` for values of other dtypes.
fn other_bool(of: &Scalar) -> Option<Scalar> {
    if let Scalar::Bool(value) = of { Some(Scalar::Bool(!value)) } else { None }
}

fn as_float(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::F32(x) => Some(f64::from(*x)),
        Scalar::F64(x) => Some(*x),
        _ => None,
    }
}

fn is_nan(value: &Scalar) -> bool {
    as_float(value).is_some_and(f64::is_nan)
}
