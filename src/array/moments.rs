//! Reductions that do more than fold the values with one operator (means, variances, norms,
//! coordinates of extremes), running folds, and differences of adjacent elements.

use super::error::Cause;
use super::reduce::{along, fold, identity, to_bool, widen};
use super::state::ArrayState;
use super::{Array, Axes};
use redpoll_logic::op::{Builtin, Op, pair_type};
use redpoll_logic::{Expr, Field, Scalar};

impl Array {
    /// Computes the mean along axes, in floats. The mean of no elements is NaN.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 4, 5]);
    /// assert_eq!(a.mean(1).to_vec::<f64>()?, [1.5, 4.5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn mean(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("mean", |state| along(&state.to_float()?, &axes, mean))
    }

    /// Computes the variance along axes, in floats: the sum of squared differences from the mean,
    /// divided by the number of elements minus `correction` (0 for a population, 1 for a sample).
    /// The variance is NaN if the number of elements is at most `correction`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, 2.0, 3.0]).var(0, 1.0).to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn var(&self, axes: impl Into<Axes>, correction: f64) -> Array {
        let axes = axes.into();
        self.derive("var", |state| variance(state, &axes, correction))
    }

    /// Computes the standard deviation along axes: the square root of [`Array::var`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, 5.0]).std(0, 0.0).to_vec::<f64>()?, [2.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn std(&self, axes: impl Into<Axes>, correction: f64) -> Array {
        let axes = axes.into();
        self.derive("std", |state| apply_unary(Builtin::Sqrt, variance(state, &axes, correction)?))
    }

    /// Computes the norm of the given order along axes, in floats:
    /// - 0: the number of nonzero values
    /// - 1: the sum of absolute values
    /// - 2: the square root of the sum of squares (along two axes, the Frobenius norm)
    /// - infinity or its negation: the largest or smallest absolute value
    /// - other orders `p`: `sum(|x|^p)^(1/p)`
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [3.0, -4.0, 0.0, 12.0]);
    /// assert_eq!(a.norm(2.0, 1).to_vec::<f64>()?, [5.0, 12.0]);
    /// assert_eq!(a.norm(2.0, ..).to_vec::<f64>()?, [13.0]);
    /// assert_eq!(a.norm(f64::INFINITY, 0).to_vec::<f64>()?, [3.0, 12.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn norm(&self, order: f64, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("norm", |state| norm(&state.to_float()?, order, &axes))
    }

    /// Returns the coordinate of the smallest value along axes. If several values are smallest, the
    /// first coordinate is returned. If some values are NaN, the coordinate of the first NaN is
    /// returned. Along several axes, the result is the row-major index over these axes. An axis of
    /// size 0 is an error.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], [3, 1, 2, 4, 5, 0]);
    /// assert_eq!(a.argmin(1).to_vec::<i64>()?, [1, 2]);
    /// assert_eq!(a.argmin(..).to_vec::<i64>()?, [5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn argmin(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("argmin", |state| arg_extreme(state, &axes, Builtin::MinBy))
    }

    /// Returns the coordinate of the largest value along axes. Equal values, NaN and several axes
    /// are treated as in [`Array::argmin`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], [3, 1, 2, 4, 5, 0]);
    /// assert_eq!(a.argmax(0).to_vec::<i64>()?, [1, 1, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn argmax(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("argmax", |state| arg_extreme(state, &axes, Builtin::MaxBy))
    }

    /// Computes the running sum along an axis, in the dtypes of [`Array::sum`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2, 3]).cumulative_sum(0).to_vec::<i64>()?, [1, 3, 6]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn cumulative_sum(&self, axis: impl Into<Axes>) -> Array {
        let axis = axis.into();
        self.derive("cumulative_sum", |state| scan(&widen(state)?, &axis, Builtin::Add.into()))
    }

    /// Computes the running product along an axis, in the dtypes of [`Array::prod`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2, 3]).cumulative_prod(0).to_vec::<i64>()?, [1, 2, 6]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn cumulative_prod(&self, axis: impl Into<Axes>) -> Array {
        let axis = axis.into();
        self.derive("cumulative_prod", |state| scan(&widen(state)?, &axis, Builtin::Mul.into()))
    }

    /// Computes the differences of adjacent elements along an axis, `order` times. The highest
    /// order is 1000, unless the result is empty.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 4, 9]).diff(1, 0).to_vec::<i32>()?, [3, 5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn diff(&self, order: usize, axis: i64) -> Array {
        self.derive("diff", |state| {
            let mode = super::axes::axis(axis, state.require_numbered()?.rank())?;
            super::differences::differences(self.session(), state, mode, order)
        })
    }

    /// Computes the running fold along an axis, with an associative operator that has an identity.
    ///
    /// ```
    /// # use redpoll::logic::op::Builtin;
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([2, 1, 3]).scan(Builtin::Max, 0).to_vec::<i32>()?, [2, 2, 3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn scan(&self, op: impl Into<Op>, axis: impl Into<Axes>) -> Array {
        let (op, axis) = (op.into(), axis.into());
        self.derive("scan", |state| scan(state, &axis, op))
    }
}

fn apply_unary(op: Builtin, state: ArrayState) -> Result<ArrayState, Cause> {
    let ArrayState { expr, style, sources } = state;
    Ok(ArrayState { expr: Expr::mapjoin(op, [expr])?, style, sources })
}

/// Returns the number of elements along the given fields.
fn element_count(expr: &Expr, fields: &[Field]) -> f64 {
    fields.iter().filter_map(|f| expr.info().dimension(f)).map(|n| n as f64).product()
}

/// Computes `sum(x) / n`.
fn mean(expr: Expr, fields: Vec<Field>) -> Result<Expr, Cause> {
    let count = element_count(&expr, &fields);
    average(Expr::aggregate(Builtin::Add, Scalar::I64(0), expr, fields)?, count)
}

/// Divides a sum by a count. For a count of 0 the result is NaN in every float mode, as in NumPy.
fn average(sum: Expr, count: f64) -> Result<Expr, Cause> {
    let (op, by) = if count == 0.0 { (Builtin::Add, f64::NAN) } else { (Builtin::Div, count) };
    Ok(Expr::mapjoin(op, [sum, Expr::number(by)])?)
}

/// Computes `sum((x - mean(x))^2) / (n - correction)`.
fn variance(state: &ArrayState, axes: &Axes, correction: f64) -> Result<ArrayState, Cause> {
    along(&state.to_float()?, axes, |expr, fields| {
        let count = (element_count(&expr, &fields) - correction).max(0.0);
        let order = expr.info().fields.clone();
        let difference = Expr::mapjoin(Builtin::Sub, [expr.clone(), mean(expr, fields.clone())?])?.reorder(order)?;
        let squares = Expr::mapjoin(Builtin::Square, [difference])?;
        average(Expr::aggregate(Builtin::Add, Scalar::I64(0), squares, fields)?, count)
    })
}

fn norm(state: &ArrayState, order: f64, axes: &Axes) -> Result<ArrayState, Cause> {
    let absolute = || apply_unary(Builtin::Abs, state.clone());
    let dtype = &state.expr.info().dtype;
    let of = |op: Builtin, values: ArrayState| fold(&values, axes, op, identity(&op.into(), dtype)?);
    if order == 0.0 {
        return of(Builtin::Add, to_bool(state)?.cast(dtype)?);
    }
    if order == 1.0 {
        return of(Builtin::Add, absolute()?);
    }
    if order == 2.0 {
        return apply_unary(Builtin::Sqrt, of(Builtin::Add, apply_unary(Builtin::Square, state.clone())?)?);
    }
    if order.is_infinite() {
        // The maximum may start at 0, because no absolute value is below 0.
        let (op, start) = if order > 0.0 { (Builtin::Max, 0.0) } else { (Builtin::Min, f64::INFINITY) };
        return fold(&absolute()?, axes, op, start);
    }
    let power = |x: &ArrayState, p: f64| {
        Ok::<ArrayState, Cause>(x.with_expr(Expr::mapjoin(Builtin::Pow, [x.expr.clone(), Expr::number(p)])?))
    };
    power(&of(Builtin::Add, power(&absolute()?, order)?)?, 1.0 / order)
}

/// Folds pairs of a value and its coordinate to the extreme pair, and returns the coordinate of
/// this pair.
fn arg_extreme(state: &ArrayState, axes: &Axes, op: Builtin) -> Result<ArrayState, Cause> {
    let Some(prim) = state.prim() else {
        return Err(Cause::Shape(format!("values of dtype {} have no order", state.expr.info().dtype)));
    };
    along(state, axes, |expr, fields| {
        let sizes = fields.iter().map(|field| expr.info().dimension(field).unwrap_or(0));
        let count = sizes.fold(1u128, |count, size| count.saturating_mul(size.into()));
        if i64::try_from(count).is_err() {
            let message = "the axes have more than 2^63 elements, so an element has no number; use one axis at a time";
            return Err(Cause::Shape(message.to_owned()));
        }
        let mut number = Expr::literal(0i64);
        for field in &fields {
            let size = expr.info().dimension(field).unwrap_or(0);
            if size == 0 {
                return Err(Cause::Shape("an axis of size 0 has no largest or smallest element".to_owned()));
            }
            let offset = Expr::mapjoin(Builtin::Mul, [number, Expr::literal(size as i64)])?;
            number = Expr::mapjoin(Builtin::Add, [offset, Expr::coordinate(field.clone())])?;
        }
        let order = expr.info().fields.clone();
        let pairs = Expr::mapjoin(Builtin::Pair, [expr, number])?.reorder(order)?;
        let init = identity(&op.into(), &pair_type(prim))?;
        let extreme = Expr::aggregate(op, init, pairs, fields)?;
        Ok(Expr::mapjoin(Builtin::Second, [extreme])?)
    })
}

fn scan(state: &ArrayState, axis: &Axes, op: Op) -> Result<ArrayState, Cause> {
    let along = axis.resolve(state)?;
    let [mode] = along[..] else {
        return Err(Cause::Shape(format!("expected one axis, found {}", along.len())));
    };
    let field = state.fields()[mode].clone();
    if state.size(mode) == 0 {
        return Ok(state.clone());
    }
    Ok(state.with_expr(Expr::scan(op, state.expr.clone(), field)?))
}
