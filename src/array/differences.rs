//! Differences of adjacent elements, of the first and higher orders.

use super::align::map;
use super::error::Cause;
use super::join::along;
use super::slice::slice_range;
use super::state::{ArrayState, position, positions};
use crate::session::Session;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, DType, Expr, Field, IndexMap, Prim, Scalar, Subscript};

/// Highest order computed as nested differences. Each further order doubles the number of reads of
/// a kernel.
const MAX_NESTED_ORDER: usize = 4;

/// Highest order that is accepted, unless the result is empty. Up to this order, the weights are
/// finite floats.
const MAX_ORDER: usize = 1000;

/// Takes the differences of adjacent elements along a mode, `order` times.
pub(super) fn differences(
    session: &Session,
    state: &ArrayState,
    mode: usize,
    order: usize,
) -> Result<ArrayState, Cause> {
    let difference = |state: &ArrayState| {
        let (after, before) =
            (slice_range(state, mode, Some(1), None, 1)?, slice_range(state, mode, None, Some(-1), 1)?);
        map(Builtin::Sub, &[after, before])
    };
    let remaining = usize::try_from(state.size(mode)).map_or(usize::MAX, |size| size.saturating_sub(order));
    match order {
        0..=MAX_NESTED_ORDER => (0..order).try_fold(state.clone(), |state, _| difference(&state)),
        _ if remaining == 0 => along(&difference(state)?, mode, 0, Subscript::Affine(Affine::constant(0))),
        _ if order <= MAX_ORDER => weighted_sum(session, state, &difference(state)?.expr.info().dtype, (mode, order)),
        _ => Err(Cause::Shape(format!("differences of order {order}, expected at most {MAX_ORDER}"))),
    }
}

/// Computes `d[i] = sum(w[k] * x[i + k], k)`, where `w[k]` is the coefficient of `z^k` in
/// `(z - 1)^order`.
fn weighted_sum(
    session: &Session,
    state: &ArrayState,
    dtype: &DType,
    (mode, order): (usize, usize),
) -> Result<ArrayState, Cause> {
    let is_float = dtype.prim().is_none_or(Prim::is_float);
    // Integer sums wrap in the dtype of the values, as nested differences do. Float sums use `f64`
    // to round less.
    let wide = if is_float { DType::F64 } else { dtype.clone() };
    let weights = match is_float {
        true => session.vector(coefficients(order, 1.0, |a, b| a - b)),
        false => session.vector(coefficients(order, 1i64, i64::wrapping_sub)),
    };
    let weights = weights.state.get().map_err(|e| Cause::Shape(e.to_string()))?.cast(&wide)?;
    let (begin, within) = (position(mode), Field::from("within"));
    let at = Affine::field(begin.clone()).plus(&Affine::field(within.clone()));
    let windows = state.cast(&wide)?.expr.index(IndexMap {
        coordinates: vec![(begin.clone(), Subscript::Affine(at))],
        dimensions: vec![(begin, state.size(mode) - order as u64), (within.clone(), order as u64 + 1)],
        outside: None,
    })?;
    let products = Expr::mapjoin(Builtin::Mul, [windows, weights.label(std::slice::from_ref(&within))?])?;
    let sum = Expr::aggregate(Builtin::Add, Scalar::I64(0), products, [within])?;
    let sources = ArrayState::sources([state, &weights]);
    ArrayState { sources, ..state.clone() }.number_modes(sum.cast(dtype)?, &positions(state.rank()))
}

/// Returns the coefficients of `(z - 1)^order` in ascending order of the powers of `z`.
fn coefficients<T: Copy + Default>(order: usize, one: T, subtract: impl Fn(T, T) -> T) -> Vec<T> {
    let mut row = vec![one];
    for _ in 0..order {
        let above = std::iter::once(T::default()).chain(row.iter().copied());
        row = above.zip(row.iter().copied().chain([T::default()])).map(|(above, own)| subtract(above, own)).collect();
    }
    row
}
