//! Tables that have a row for every choice of codes: a product with one is a product with 1.

use redpoll_logic::{DType, Expr, Field, LevelKind, Scalar};
use redpoll_physical::storage::{Array, Tensor};

/// Whether a tensor of booleans holds true everywhere.
pub(super) fn is_whole(tensor: &Tensor) -> bool {
    let ty = tensor.ty();
    let has_all = || tensor.leaf().first().and_then(Array::bools).is_some_and(|all| all.iter().all(|&held| held == 1));
    ty.dtype == DType::BOOL
        && ty.format.levels.iter().all(|level| level.kind == LevelKind::Dense)
        && !ty.shape.contains(&0)
        && has_all()
}

/// Leaves out as many factors that are 1 everywhere as it can, and tells how often the product of the others counts: how
/// many choices of codes there are of the fields that it does not have any more. Fields that stay must be another factor's,
/// and so must those that a condition compares. One factor whose fill is 0 stays, since a result lists the groups that have
/// rows: beside factors that are 1 where nothing is stored, as those of anti-joins are, it would list the others.
pub(super) fn without_whole(
    mut args: Vec<Expr>,
    is_whole: impl Fn(&Expr) -> bool,
    stays: impl Fn(&Field) -> bool,
) -> (Vec<Expr>, i64) {
    let mut times = 1;
    let mut k = 0;
    while k < args.len() {
        let lost = if is_whole(&args[k]) && bounded(&args, k) { lost(&args, k, &stays) } else { None };
        match lost.and_then(|lost| lost.checked_mul(times)) {
            Some(more) => {
                times = more;
                args.remove(k);
            }
            None => k += 1,
        }
    }
    (args, times)
}

/// Whether a value is 0 or false.
pub(super) fn is_zero(value: &Scalar) -> bool {
    value.prim().map(Scalar::zero).as_ref() == Some(value)
}

/// Whether the product of the factors other than `k` is 0 where none of them has an entry.
fn bounded(args: &[Expr], k: usize) -> bool {
    // Comparisons of coordinates have no places without an entry.
    let lists = |arg: &Expr| arg.info().dimensions.iter().all(Option::is_some) && is_zero(&arg.info().fill);
    args.iter().enumerate().any(|(other, arg)| other != k && lists(arg))
}

/// How many choices there are of the fields that factor `k` alone has; `None` where it cannot be left out.
fn lost(args: &[Expr], k: usize, stays: impl Fn(&Field) -> bool) -> Option<i64> {
    let others = || args.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, arg)| arg);
    let info = args[k].info();
    info.fields.iter().zip(&info.dimensions).try_fold(1i64, |lost, (field, size)| {
        if others().any(|arg| arg.info().dimension(field).is_some()) {
            return Some(lost);
        }
        let is_own = !stays(field) && !others().any(|arg| arg.info().fields.contains(field));
        lost.checked_mul(i64::try_from((*size)?).ok()?).filter(|_| is_own)
    })
}
