//! Reductions that leave out NaN.

use super::error::Cause;
use super::reduce::{along, identity};
use super::state::ArrayState;
use super::{Array, Axes};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Expr, Field, Scalar};

macro_rules! nan_folds {
    ($($name:ident $op:ident $fold:ident $doc:literal $y:tt;)*) => {
        impl Array {$(
            #[doc = $doc]
            /// Integers have no NaN and are computed as floats. In the default float mode, an
            /// operation before this reduction may return a number where IEEE 754 has NaN, see
            /// [`FloatMode`](crate::logic::FloatMode).
            ///
            /// ```
            /// # let session = redpoll::Session::default();
            /// let x = session.dense([2, 2], [3.0, f64::NAN, 4.0, 2.0]);
            #[doc = concat!("assert_eq!(x.", stringify!($name), "(0).to_vec::<f64>()?, ", stringify!($y), ");")]
            /// # Ok::<(), redpoll::Error>(())
            /// ```
            #[track_caller]
            #[must_use]
            pub fn $name(&self, axes: impl Into<Axes>) -> Array {
                let axes = axes.into();
                self.derive(stringify!($name), |state| {
                    along(&state.to_float()?, &axes, |expr, fields| $fold(&expr, &fields, Builtin::$op))
                })
            }
        )*}
    };
}

nan_folds! {
    nan_sum Add fold_numbers "Computes the sum along axes, without the values that are NaN; 0 if no values remain."
        [7.0, 2.0];
    nan_prod Mul fold_numbers "Computes the product along axes, without the values that are NaN; 1 if no values remain."
        [12.0, 2.0];
    nan_min Min fold_numbers_or_nan "Returns the minimum along axes, without the values that are NaN; NaN if no values remain."
        [3.0, 2.0];
    nan_max Max fold_numbers_or_nan "Returns the maximum along axes, without the values that are NaN; NaN if no values remain."
        [4.0, 2.0];
}

impl Array {
    /// Computes the mean along axes, without the values that are NaN; NaN if no values remain.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, f64::NAN, 4.0]).nan_mean(0).item::<f64>()?, 2.5);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn nan_mean(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("nan_mean", |state| along(&state.to_float()?, &axes, |expr, fields| mean(&expr, &fields)))
    }

    /// Computes the variance along axes as [`Array::var`] does, without the values that are NaN.
    /// The variance is NaN if no values remain, or if their number is at most `correction`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, f64::NAN, 3.0]).nan_var(0, 1.0).item::<f64>()?, 2.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn nan_var(&self, axes: impl Into<Axes>, correction: f64) -> Array {
        let axes = axes.into();
        self.derive("nan_var", |state| variance(state, &axes, correction))
    }

    /// Computes the standard deviation along axes, without the values that are NaN: the square root
    /// of [`Array::nan_var`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, f64::NAN, 5.0]).nan_std(0, 0.0).item::<f64>()?, 2.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn nan_std(&self, axes: impl Into<Axes>, correction: f64) -> Array {
        let axes = axes.into();
        self.derive("nan_std", |state| {
            let variance = variance(state, &axes, correction)?;
            Ok(variance.with_expr(Expr::mapjoin(Builtin::Sqrt, [variance.expr.clone()])?))
        })
    }
}

/// Folds the values that are not NaN, from the identity of the operator.
fn fold_numbers(expr: &Expr, fields: &[Field], op: Builtin) -> Result<Expr, Cause> {
    let init = identity(&Op::from(op), &expr.info().dtype)?;
    let numbers = Expr::mapjoin(Builtin::Coalesce, [expr.clone(), Expr::literal(init.clone())])?;
    Ok(Expr::aggregate(op, init, numbers, fields.iter().cloned())?)
}

/// Folds the values that are not NaN; NaN if there are none.
fn fold_numbers_or_nan(expr: &Expr, fields: &[Field], op: Builtin) -> Result<Expr, Cause> {
    nan_unless_more_than(&count_numbers(expr, fields)?, 0.0, fold_numbers(expr, fields, op)?)
}

/// Returns the number of values that are not NaN, in the dtype of the values.
fn count_numbers(expr: &Expr, fields: &[Field]) -> Result<Expr, Cause> {
    let is_nan = Expr::mapjoin(Builtin::IsNan, [expr.clone()])?;
    let is_number = Expr::mapjoin(Builtin::Not, [is_nan])?.cast(&DType::I64)?;
    let count = Expr::aggregate(Builtin::Add, Scalar::I64(0), is_number, fields.iter().cloned())?;
    Ok(count.cast(&expr.info().dtype)?)
}

/// Replaces `value` by NaN where `count` is at most `least`.
fn nan_unless_more_than(count: &Expr, least: f64, value: Expr) -> Result<Expr, Cause> {
    let has_numbers = Expr::mapjoin(Builtin::Gt, [count.clone(), Expr::number(least)])?;
    Ok(Expr::mapjoin(Builtin::IfElse, [has_numbers, value, Expr::number(f64::NAN)])?)
}

/// Computes `sum(x) / n` over the `n` values that are not NaN.
fn mean(expr: &Expr, fields: &[Field]) -> Result<Expr, Cause> {
    let count = count_numbers(expr, fields)?;
    let mean = Expr::mapjoin(Builtin::Div, [fold_numbers(expr, fields, Builtin::Add)?, count.clone()])?;
    nan_unless_more_than(&count, 0.0, mean)
}

/// Computes `sum((x - mean(x))^2) / (n - correction)` over the `n` values that are not NaN.
fn variance(state: &ArrayState, axes: &Axes, correction: f64) -> Result<ArrayState, Cause> {
    along(&state.to_float()?, axes, |expr, fields| {
        let order = expr.info().fields.clone();
        let difference = Expr::mapjoin(Builtin::Sub, [expr.clone(), mean(&expr, &fields)?])?.reorder(order)?;
        let squares = Expr::mapjoin(Builtin::Square, [difference])?;
        let count = count_numbers(&expr, &fields)?;
        let freedom = Expr::mapjoin(Builtin::Sub, [count.clone(), Expr::number(correction)])?;
        let variance = Expr::mapjoin(Builtin::Div, [fold_numbers(&squares, &fields, Builtin::Add)?, freedom])?;
        nan_unless_more_than(&count, correction.max(0.0), variance)
    })
}
