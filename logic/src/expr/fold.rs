//! Folds: the dtype in which an operator folds, and the fold of many equal fill values.

use super::Expr;
use crate::dtype::DType;
use crate::error::Error;
use crate::field::Field;
use crate::mode::FloatMode;
use crate::op::{Op, repeat_eval};
use crate::scalar::Scalar;

/// Below this many places floats are folded one by one, so that a fill value has the bits of the strict fold.
const PLAIN: u64 = 1024;

/// Steps of a fold that has no closed form.
const STEPS: u64 = 1 << 20;

/// The dtype D with `op: (D, D) -> D` in which values of dtype `from` are folded; `from` itself unless the operator
/// promotes it, as `+` does `bool`.
///
/// # Errors
/// When the operator has no such dtype.
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
        why: format!("it takes {args} to {}, a fold needs one dtype; map the values first", signature.result),
    })
}

/// The fill value of an aggregate: the fold of the argument's fill value over all places of the fields.
///
/// # Errors
/// When a field has no known size, and as [`fold_fill_over`].
pub(super) fn aggregate_fill(
    op: &Op,
    init: &Scalar,
    arg: &Expr,
    fields: &[Field],
    mode: FloatMode,
) -> Result<Scalar, Error> {
    let size = |field: &Field| {
        let unknown = || Error::Unsized { field: field.clone(), place: "an aggregate over it".to_owned() };
        arg.info().dimension(field).ok_or_else(unknown)
    };
    let sizes = fields.iter().map(size).collect::<Result<Vec<u64>, Error>>()?;
    fold_fill_over(op, init, &arg.info().fill, &sizes, mode)
}

/// The fold of values `fill` over all places of fields of those sizes, as [`fold_fill`].
///
/// # Errors
/// When there are more places than 64 bits can count and the operator is not associative, and as [`fold_fill`].
pub fn fold_fill_over(op: &Op, init: &Scalar, fill: &Scalar, sizes: &[u64], mode: FloatMode) -> Result<Scalar, Error> {
    if sizes.contains(&0) {
        return fold_fill(op, init, fill, 0, mode);
    }
    if let Some(n) = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size)) {
        return fold_fill(op, init, fill, n, mode);
    }
    // op(init, repeat(fill, a * b)) = op(init, repeat(repeat(fill, a), b))
    let fault = |fault| Error::Fault { place: format!("the fold of the fill value {fill} with `{op}`"), fault };
    if op.eval_in(&[init.clone(), fill.clone()], mode).map_err(fault)? == *init {
        return Ok(init.clone());
    }
    let mut all = fill.clone();
    for size in sizes {
        let repeated = match op.is_associative(&init.dtype(), FloatMode::Relaxed) {
            true => repeat_eval(op, &all, *size, FloatMode::Relaxed),
            false => None,
        };
        all = repeated.ok_or_else(too_large)?.map_err(fault)?;
    }
    op.eval_in(&[init.clone(), all], mode).map_err(fault)
}

fn too_large() -> Error {
    Error::TooLarge { what: "the extent of an aggregate".to_owned(), places: u128::MAX, limit: u64::MAX }
}

/// The fold of `n` values `fill` from `init`: `op(init, repeat(fill, n))` where the operator is associative, `init`
/// for n = 0. Floats over few places, and operators that are not associative, are folded step by step until the value
/// settles.
///
/// # Errors
/// A fault of the operator; a value that does not settle within [`STEPS`].
pub fn fold_fill(op: &Op, init: &Scalar, fill: &Scalar, n: u64, mode: FloatMode) -> Result<Scalar, Error> {
    let fault = |fault| Error::Fault { place: format!("the fold of the fill value {fill} with `{op}`"), fault };
    let dtype = init.dtype();
    if n == 0 {
        return Ok(init.clone());
    }
    let exact = dtype.prims().iter().all(|p| !p.is_float());
    if op.is_associative(&dtype, FloatMode::Relaxed)
        && (exact || n > PLAIN)
        && let Some(repeated) = repeat_eval(op, fill, n, FloatMode::Relaxed)
    {
        return op.eval_in(&[init.clone(), repeated.map_err(fault)?], mode).map_err(fault);
    }
    let mut acc = init.clone();
    for step in 0..n {
        if step > STEPS {
            return Err(Error::Fold {
                op: op.name().to_owned(),
                node: "fold",
                dtype,
                why: format!(
                    "the fill value {fill} is folded over {n} places, the operator is not associative, and its value \
                     does not settle within {STEPS}; declare it associative or map the fill value to an identity"
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
