//! Folds: the dtype in which an operator folds, and folds of many equal fill values.

use super::Expr;
use crate::dtype::DType;
use crate::error::Error;
use crate::field::Field;
use crate::mode::FloatMode;
use crate::op::{Op, eval_repeat};
use crate::scalar::Scalar;

/// Largest number of floats that are folded one by one even if the fold has a closed form, so that
/// the fill value has the bits of the strict fold.
const MAX_STRICT_STEPS: u64 = 1024;

/// Maximal number of steps of a fold without closed form.
const MAX_STEPS: u64 = 1 << 20;

/// Returns the dtype D with `op: (D, D) -> D` in which values of dtype `from` are folded. D is
/// `from`, unless the operator promotes `from`, as `+` promotes `bool`.
///
/// # Errors
/// Returns an error if the operator has no such dtype.
pub(crate) fn fold_dtype(op: &Op, from: &DType, node: &'static str) -> Result<DType, Error> {
    let signature = op.signature(&[from.clone(), from.clone()])?;
    if signature.args.iter().all(|t| *t == signature.result) {
        return Ok(signature.result);
    }
    let args = signature.args.iter().map(DType::to_string).collect::<Vec<_>>().join(" ");
    Err(Error::Fold {
        op: op.name().to_owned(),
        node,
        dtype: from.clone(),
        reason: format!(
            "it maps {args} to {}, but a fold requires a single dtype; map the values first",
            signature.result
        ),
    })
}

/// Returns the fill value of an aggregate: the fold of the argument's fill value over the whole
/// extent of the fields.
///
/// # Errors
/// Returns an error if a field has no size, and the errors of [`fold_fill_over`].
pub(super) fn aggregate_fill(
    op: &Op,
    init: &Scalar,
    arg: &Expr,
    fields: &[Field],
    mode: FloatMode,
) -> Result<Scalar, Error> {
    let size = |field: &Field| {
        let unknown = || Error::UnknownSize { field: field.clone(), location: "an aggregate over it".to_owned() };
        arg.info().dimension(field).ok_or_else(unknown)
    };
    let sizes = fields.iter().map(size).collect::<Result<Vec<u64>, Error>>()?;
    fold_fill_over(op, init, &arg.info().fill, &sizes, mode)
}

/// Folds the value `fill` over fields of the given sizes, like [`fold_fill`].
///
/// # Errors
/// Returns the errors of [`fold_fill`]. Also returns an error if the product of the sizes exceeds
/// 64 bits, except in two cases: `op(init, fill)` is `init`; or the operator is associative, and
/// [`eval_repeat`] has a result for each size.
pub fn fold_fill_over(op: &Op, init: &Scalar, fill: &Scalar, sizes: &[u64], mode: FloatMode) -> Result<Scalar, Error> {
    if sizes.contains(&0) {
        return fold_fill(op, init, fill, 0, mode);
    }
    if let Some(n) = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size)) {
        return fold_fill(op, init, fill, n, mode);
    }
    // `repeat(x, n)` folds n values x:
    // op(init, repeat(fill, a * b)) = op(init, repeat(repeat(fill, a), b))
    let fault = |fault| Error::Fault { location: format!("the fold of the fill value {fill} with `{op}`"), fault };
    if op.eval_in(&[init.clone(), fill.clone()], mode).map_err(fault)? == *init {
        return Ok(init.clone());
    }
    let mut all = fill.clone();
    for size in sizes {
        let repeated = match op.is_associative(&init.dtype(), FloatMode::Relaxed) {
            true => eval_repeat(op, &all, *size, FloatMode::Relaxed),
            false => None,
        };
        let no_closed_form = || Error::Fold {
            op: op.name().to_owned(),
            node: "fold",
            dtype: init.dtype(),
            reason: format!(
                "the extent of the aggregate exceeds 64 bits, and the fold of that many fill values {fill} has no closed \
                 form; map the fill value to an identity"
            ),
        };
        all = repeated.ok_or_else(no_closed_form)?.map_err(fault)?;
    }
    op.eval_in(&[init.clone(), all], mode).map_err(fault)
}

/// Folds `n` copies of `fill`, starting with `init`; returns `init` for n = 0. Most folds with an
/// associative operator have the closed form `op(init, repeat(fill, n))`, where `repeat(x, n)`
/// folds n values x. The others run step by step, and end early once the value no longer changes:
/// short folds of floats, folds with operators that are not associative, and folds for which
/// [`eval_repeat`] has no result.
///
/// # Errors
/// Returns a fault of the operator, or an error if the value still changes after `MAX_STEPS`
/// steps.
pub fn fold_fill(op: &Op, init: &Scalar, fill: &Scalar, n: u64, mode: FloatMode) -> Result<Scalar, Error> {
    let fault = |fault| Error::Fault { location: format!("the fold of the fill value {fill} with `{op}`"), fault };
    let dtype = init.dtype();
    if n == 0 {
        return Ok(init.clone());
    }
    let exact = dtype.prims().iter().all(|p| !p.is_float());
    if op.is_associative(&dtype, FloatMode::Relaxed)
        && (exact || n > MAX_STRICT_STEPS)
        && let Some(repeated) = eval_repeat(op, fill, n, FloatMode::Relaxed)
    {
        return op.eval_in(&[init.clone(), repeated.map_err(fault)?], mode).map_err(fault);
    }
    let mut acc = init.clone();
    for step in 0..n {
        if step >= MAX_STEPS {
            return Err(Error::Fold {
                op: op.name().to_owned(),
                node: "fold",
                dtype,
                reason: format!(
                    "the operator is not associative, and the fold of {n} fill values {fill} still changes after \
                     {MAX_STEPS} steps; declare the operator associative, or map the fill value to an identity"
                ),
            });
        }
        let next = op.eval_in(&[acc.clone(), fill.clone()], mode).map_err(fault)?;
        if next == acc {
            break;
        }
        acc = next;
    }
    Ok(acc)
}
