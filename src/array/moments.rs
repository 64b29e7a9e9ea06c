//! Reductions made of several folds: means, variances, norms, places of extremes, running folds,
//! and differences, which undo running sums.

use super::error::Cause;
use super::reduce::{along, fold, identity, truth, widened};
use super::state::State;
use super::{Array, Axes};
use redpoll_logic::op::{Builtin, Op, pair_type};
use redpoll_logic::{Expr, Field, Scalar};

impl Array {
    /// The mean along axes, in floats; NaN of no places.
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
        self.derive("mean", |state| along(&state.floating()?, &axes, mean))
    }

    /// The variance along axes, in floats: the sum of squared differences from the mean, divided by the number of
    /// places less `correction` (0 for a population, 1 for a sample).
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

    /// The standard deviation along axes: the square root of [`Array::var`].
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
        self.derive("std", |state| call(Builtin::Sqrt, variance(state, &axes, correction)?))
    }

    /// The norm of that order along axes, in floats: the number of values that are not zero for 0, the sum of absolute
    /// values for 1, the square root of the sum of squares for 2 (along two axes the Frobenius norm), the largest or
    /// smallest absolute value for infinity or its negation, and `sum(|x|^p)^(1/p)` for other orders.
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
        self.derive("norm", |state| norm(&state.floating()?, order, &axes))
    }

    /// The coordinate of the smallest value along axes, the first one of equals, or of the first NaN. Along several axes it is the number of
    /// the place among theirs, row-major.
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
        self.derive("argmin", |state| extreme(state, &axes, Builtin::MinBy))
    }

    /// The coordinate of the largest value along axes, the first one of equals, or of the first NaN; see
    /// [`Array::argmin`].
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
        self.derive("argmax", |state| extreme(state, &axes, Builtin::MaxBy))
    }

    /// The sum of all values up to each place along an axis, in the dtypes of [`Array::sum`].
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
        self.derive("cumulative_sum", |state| scan(&widened(state)?, &axis, Builtin::Add.into()))
    }

    /// The product of all values up to each place along an axis, in the dtypes of [`Array::prod`].
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
        self.derive("cumulative_prod", |state| scan(&widened(state)?, &axis, Builtin::Mul.into()))
    }

    /// The differences of neighbours along an axis, `order` times over, 1000 times at most.
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
            let mode = super::axes::axis(axis, state.by_number()?.rank())?;
            super::differences::differences(self.session(), state, mode, order)
        })
    }

    /// The fold of all values up to each place along an axis, with an associative operator that has an identity.
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

fn call(op: Builtin, state: State) -> Result<State, Cause> {
    let State { expr, style, sources } = state;
    Ok(State { expr: Expr::mapjoin(op, [expr])?, style, sources })
}

/// The number of places of some fields.
fn places(expr: &Expr, fields: &[Field]) -> f64 {
    fields.iter().filter_map(|f| expr.info().dimension(f)).map(|n| n as f64).product()
}

/// `sum(x) / n`
fn mean(expr: Expr, fields: Vec<Field>) -> Result<Expr, Cause> {
    let count = places(&expr, &fields);
    average(Expr::aggregate(Builtin::Add, Scalar::I64(0), expr, fields)?, count)
}

/// The sum over its count; of no places it is NaN, as in NumPy, whatever the float mode.
fn average(sum: Expr, count: f64) -> Result<Expr, Cause> {
    let (op, by) = if count == 0.0 { (Builtin::Add, f64::NAN) } else { (Builtin::Div, count) };
    Ok(Expr::mapjoin(op, [sum, Expr::number(by)])?)
}

/// `sum((x - mean(x))^2) / (n - correction)`
fn variance(state: &State, axes: &Axes, correction: f64) -> Result<State, Cause> {
    along(&state.floating()?, axes, |expr, fields| {
        let count = (places(&expr, &fields) - correction).max(0.0);
        let order = expr.info().fields.clone();
        let difference = Expr::mapjoin(Builtin::Sub, [expr.clone(), mean(expr, fields.clone())?])?.reorder(order)?;
        let squares = Expr::mapjoin(Builtin::Square, [difference])?;
        average(Expr::aggregate(Builtin::Add, Scalar::I64(0), squares, fields)?, count)
    })
}

fn norm(state: &State, order: f64, axes: &Axes) -> Result<State, Cause> {
    let absolute = || call(Builtin::Abs, state.clone());
    let dtype = &state.expr.info().dtype;
    let of = |op: Builtin, values: State| fold(&values, axes, op, identity(&op.into(), dtype)?);
    if order == 0.0 {
        return of(Builtin::Add, truth(state)?.cast(dtype)?);
    }
    if order == 1.0 {
        return of(Builtin::Add, absolute()?);
    }
    if order == 2.0 {
        return call(Builtin::Sqrt, of(Builtin::Add, call(Builtin::Square, state.clone())?)?);
    }
    if order.is_infinite() {
        // No place is below 0.
        let (op, start) = if order > 0.0 { (Builtin::Max, 0.0) } else { (Builtin::Min, f64::INFINITY) };
        return fold(&absolute()?, axes, op, start);
    }
    let power =
        |x: &State, p: f64| Ok::<State, Cause>(x.with(Expr::mapjoin(Builtin::Pow, [x.expr.clone(), Expr::number(p)])?));
    power(&of(Builtin::Add, power(&absolute()?, order)?)?, 1.0 / order)
}

/// The second members of the extreme pairs of value and coordinate.
fn extreme(state: &State, axes: &Axes, op: Builtin) -> Result<State, Cause> {
    let Some(prim) = state.prim() else {
        return Err(Cause::Shape(format!("values of dtype {} have no order", state.expr.info().dtype)));
    };
    along(state, axes, |expr, fields| {
        let mut number = Expr::literal(0i64);
        for field in &fields {
            let size = expr.info().dimension(field).unwrap_or(0);
            if size == 0 {
                return Err(Cause::Shape(format!("there is no place along mode `{field}` of size 0")));
            }
            let above = Expr::mapjoin(Builtin::Mul, [number, Expr::literal(size as i64)])?;
            number = Expr::mapjoin(Builtin::Add, [above, Expr::coordinate(field.clone())])?;
        }
        let order = expr.info().fields.clone();
        let pairs = Expr::mapjoin(Builtin::Pair, [expr, number])?.reorder(order)?;
        let init = identity(&op.into(), &pair_type(prim))?;
        let best = Expr::aggregate(op, init, pairs, fields)?;
        Ok(Expr::mapjoin(Builtin::Second, [best])?)
    })
}

fn scan(state: &State, axis: &Axes, op: Op) -> Result<State, Cause> {
    let along = axis.resolve(state)?;
    let [mode] = along[..] else {
        return Err(Cause::Shape(format!("it goes along one axis, found {}", along.len())));
    };
    let field = state.fields()[mode].clone();
    if state.size(mode) == 0 {
        return Ok(state.clone());
    }
    Ok(state.with(Expr::scan(op, state.expr.clone(), field)?))
}
