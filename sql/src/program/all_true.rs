//! Boolean tables that are true everywhere: a product with such a table is a product with 1.

use redpoll_logic::{DType, Expr, Field, Scalar};
use redpoll_storage::{Array, Tensor};

/// Returns whether a tensor is boolean, dense and true everywhere, and has elements.
pub(super) fn is_all_true(tensor: &Tensor) -> bool {
    let ty = tensor.ty();
    let has_only_true =
        || tensor.leaf().first().and_then(Array::bools).is_some_and(|all| all.iter().all(|&value| value == 1));
    ty.dtype == DType::BOOL && ty.format.is_dense() && !ty.shape.contains(&0) && has_only_true()
}

/// Removes the factors that are 1 everywhere, except the factors that must stay. Returns the other
/// factors, and the number by which their product must be multiplied: the number of combinations of
/// codes of the removed fields.
///
/// A factor stays if it alone has a field that is in the result or that a condition compares, or if
/// the number of combinations would exceed an `i64`. One factor with fill 0 stays, because a
/// result must list only the groups with rows. Factors with fill 1, such as the factors of
/// anti-joins, would list other groups, too.
pub(super) fn remove_all_true(
    mut args: Vec<Expr>,
    is_all_true: impl Fn(&Expr) -> bool,
    is_result_field: impl Fn(&Field) -> bool,
) -> (Vec<Expr>, i64) {
    let mut times = 1;
    let mut k = 0;
    while k < args.len() {
        let combinations = if is_all_true(&args[k]) && has_bounding_factor(&args, k) {
            removed_combinations(&args, k, &is_result_field)
        } else {
            None
        };
        match combinations.and_then(|combinations| combinations.checked_mul(times)) {
            Some(product) => {
                times = product;
                args.remove(k);
            }
            None => k += 1,
        }
    }
    (args, times)
}

/// Returns whether a value is 0 or false.
pub(super) fn is_zero(value: &Scalar) -> bool {
    value.prim().map(Scalar::zero).as_ref() == Some(value)
}

/// Returns whether another factor than `k` has fill 0 and dimensions in all its fields.
fn has_bounding_factor(args: &[Expr], k: usize) -> bool {
    // Comparisons of coordinates have no dimensions.
    let is_bounding = |arg: &Expr| arg.info().dimensions.iter().all(Option::is_some) && is_zero(&arg.info().fill);
    args.iter().enumerate().any(|(other, arg)| other != k && is_bounding(arg))
}

/// Returns the number of combinations of codes of the fields that factor `k` alone has; `None` if
/// the factor must stay.
fn removed_combinations(args: &[Expr], k: usize, is_result_field: impl Fn(&Field) -> bool) -> Option<i64> {
    let others = || args.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, arg)| arg);
    let info = args[k].info();
    info.fields.iter().zip(&info.dimensions).try_fold(1i64, |combinations, (field, size)| {
        if others().any(|arg| arg.info().dimension(field).is_some()) {
            return Some(combinations);
        }
        let is_own = !is_result_field(field) && !others().any(|arg| arg.info().fields.contains(field));
        combinations.checked_mul(i64::try_from((*size)?).ok()?).filter(|_| is_own)
    })
}
