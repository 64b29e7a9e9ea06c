//! Order statistics: medians and quantiles.

use super::fibers::{StoredFibers, assemble, value_of};
use super::value::{OrderedValue, match_prim};
use crate::array::{Array, ArrayError, Axes};
use crate::error::Error;
use redpoll_logic::{Prim, Scalar};
use redpoll_storage::Array as Buffer;
use std::cmp::Ordering;

/// The treatment of NaN in order statistics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NanPolicy {
    /// A fiber with a NaN has the result NaN.
    Propagate,
    /// NaN is left out.
    Omit,
}

impl Array {
    /// Computes the median along axes: the middle value, or the mean of the two middle values. The
    /// median of no values, or of values with a NaN, is NaN. The method is not lazy.
    ///
    /// Results are `f32` for arrays of `f32`, otherwise `f64`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], [3, 1, 2, 9, 0, 0]);
    /// assert_eq!(a.median(1)?.to_vec::<f64>()?, [2.0, 0.0]);
    /// assert_eq!(a.median(..)?.item::<f64>()?, 1.5);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if there is no such axis, the values are structs, or
    /// there are 2^63 or more elements along the axes.
    #[track_caller]
    pub fn median(&self, axes: impl Into<Axes>) -> Result<Array, Error> {
        self.order_statistic("median", 0.5, &axes.into(), NanPolicy::Propagate)
    }

    /// Computes the median along axes like [`Array::median`], without the values that are NaN.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, f64::NAN, 5.0]).nan_median(0)?.item::<f64>()?, 3.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::median`].
    #[track_caller]
    pub fn nan_median(&self, axes: impl Into<Axes>) -> Result<Array, Error> {
        self.order_statistic("nan_median", 0.5, &axes.into(), NanPolicy::Omit)
    }

    /// Computes the quantile for a fraction from 0 (the minimum) to 1 (the maximum) along axes. A
    /// quantile between two values is interpolated linearly (definition 7 of R. J. Hyndman,
    /// Y. Fan, *Sample Quantiles in Statistical Packages*, The American Statistician 50, 1996).
    /// NaN and dtypes are treated as in [`Array::median`]. The method is not lazy.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([4.0, 1.0, 2.0, 3.0]);
    /// assert_eq!(a.quantile(0.5, 0)?.item::<f64>()?, 2.5);
    /// assert_eq!(a.quantile(1.0, 0)?.item::<f64>()?, 4.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::median`]; also if the fraction is not from 0 to 1.
    #[track_caller]
    pub fn quantile(&self, fraction: f64, axes: impl Into<Axes>) -> Result<Array, Error> {
        self.order_statistic("quantile", fraction, &axes.into(), NanPolicy::Propagate)
    }

    /// Computes the quantile as [`Array::quantile`], but leaves out NaN: the result is NaN only if
    /// all elements are NaN, or there is no element. The method is not lazy.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1.0, f64::NAN, 5.0]).nan_quantile(0.25, 0)?.item::<f64>()?, 2.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::quantile`].
    #[track_caller]
    pub fn nan_quantile(&self, fraction: f64, axes: impl Into<Axes>) -> Result<Array, Error> {
        self.order_statistic("nan_quantile", fraction, &axes.into(), NanPolicy::Omit)
    }

    #[track_caller]
    fn order_statistic(
        &self,
        operation: &'static str,
        fraction: f64,
        axes: &Axes,
        nan: NanPolicy,
    ) -> Result<Array, Error> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(ArrayError::shape(operation, format!("expected a fraction from 0 to 1, found {fraction}")));
        }
        let (tensor, along) = self.collect_along(operation, axes)?;
        let fibers = StoredFibers::of(&tensor, &along)?;
        let (values, fill) = match_prim!(fibers.prim(), T => quantiles::<T>(&fibers, fraction, nan));
        let (values, fill) = match fibers.prim() {
            Prim::F32 => (Buffer::from_vec(values.iter().map(|v| *v as f32).collect()), Scalar::F32(fill as f32)),
            _ => (Buffer::from_vec(values), Scalar::F64(fill)),
        };
        let of_fibers = |mode: &usize| fibers.fiber_coordinates(*mode).collect::<Vec<u64>>();
        let (shape, coordinates) = match axes.keep {
            false => {
                let shape = fibers.kept.iter().map(|mode| fibers.ty.shape[*mode]).collect();
                (shape, fibers.kept.iter().map(of_fibers).collect())
            }
            true => {
                let mut shape = fibers.ty.shape.clone();
                let mut coordinates = vec![vec![0; values.len()]; shape.len()];
                along.iter().for_each(|mode| shape[*mode] = 1);
                fibers.kept.iter().for_each(|mode| coordinates[*mode] = of_fibers(mode));
                (shape, coordinates)
            }
        };
        let order: Vec<usize> = (0..shape.len()).collect();
        let result = assemble((shape, fill), &order, coordinates, values, &tensor.ty().format)?;
        let names = match (axes.keep, self.names()?) {
            (_, None) => None,
            (true, names) => names,
            (false, Some(names)) => Some(fibers.kept.iter().map(|mode| names[*mode].clone()).collect()),
        };
        let array = self.session().array(result);
        Ok(names.map_or(array.clone(), |names| array.at(names)))
    }
}

/// Returns the quantile of each fiber with stored values, and the quantile of a fiber without
/// stored values.
fn quantiles<T: OrderedValue>(fibers: &StoredFibers, fraction: f64, nan: NanPolicy) -> (Vec<f64>, f64) {
    let (mut values, fill): (Vec<T>, T) = (fibers.values(), value_of(&fibers.ty.fill));
    let quantile = |values: &mut [T]| {
        let unstored = fibers.length - values.len() as u64;
        quantile(values, (fill, unstored), fraction, nan)
    };
    let results = fibers.ranges().map(|range| quantile(&mut values[range])).collect();
    (results, quantile(&mut []))
}

/// Returns the quantile of a fiber. The elements `values` differ from the fill value, and
/// `unstored` further elements have the fill value.
fn quantile<T: OrderedValue>(values: &mut [T], (fill, unstored): (T, u64), fraction: f64, nan: NanPolicy) -> f64 {
    values.sort_unstable_by(|a, b| a.compare(*b));
    let numbers = values.partition_point(|value| !value.is_nan());
    let unstored_numbers = if fill.is_nan() { 0 } else { unstored };
    let has_nan = numbers < values.len() || unstored_numbers < unstored;
    let count = numbers as u64 + unstored_numbers;
    if count == 0 || (has_nan && nan == NanPolicy::Propagate) {
        return f64::NAN;
    }
    let values = &values[..numbers];
    let before = values.partition_point(|value| value.compare(fill) == Ordering::Less) as u64;
    let at = |rank: u64| match rank {
        rank if rank < before => values[rank as usize],
        rank if rank < before + unstored_numbers => fill,
        rank => values[(rank - unstored_numbers) as usize],
    };
    let position = fraction * (count - 1) as f64;
    let low = (position.floor() as u64).min(count - 1);
    let (a, b) = (at(low).to_f64(), at((low + 1).min(count - 1)).to_f64());
    let weight = position - low as f64;
    if a == b || weight <= 0.0 {
        a
    } else if (b - a).is_finite() {
        a + (b - a) * weight
    } else {
        a * (1.0 - weight) + b * weight
    }
}
