//! Searches for the values of one array among the values of another array.

use super::fibers::{StoredValues, map_values, prim_of};
use super::value::{OrderedValue, match_prim};
use crate::array::{Array, ArrayError, Axes, Operand};
use crate::error::Error;
use redpoll_logic::op::promote;
use redpoll_logic::{Prim, Scalar};
use redpoll_storage::Tensor;
use std::cmp::Ordering;

/// The side of equal values at which [`Array::searchsorted`] inserts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// Before equal values.
    #[default]
    Left,
    /// After equal values.
    Right,
}

/// The sorted values of an array.
struct SortedValues<T> {
    /// The stored values, and the fill value.
    sorted: StoredValues<T>,
    /// The number of stored elements before each stored value, followed by the number of all stored
    /// elements; `None` if each value stands for one element.
    counts_before: Option<Vec<u64>>,
}

impl<T: OrderedValue> SortedValues<T> {
    fn of(tensor: &Tensor) -> Result<SortedValues<T>, Error> {
        let mut sorted = StoredValues::of(tensor)?;
        sorted.sort()?;
        let counts_before = sorted.counts.as_ref().map(|counts| {
            let after = counts.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            });
            [0].into_iter().chain(after).collect()
        });
        Ok(SortedValues { sorted, counts_before })
    }

    fn contains(&self, value: T) -> bool {
        let StoredValues { values, fill, unstored, .. } = &self.sorted;
        let is_fill = *unstored > 0 && fill.compare(value) == Ordering::Equal;
        is_fill || values.binary_search_by(|stored| stored.compare(value)).is_ok()
    }

    /// Returns the number of values that are less than `value`; for [`Side::Right`], less than or
    /// equal to it.
    fn rank(&self, value: T, side: Side) -> i64 {
        let StoredValues { values, fill, unstored, .. } = &self.sorted;
        let is_before = |other: T| match other.compare(value) {
            Ordering::Less => true,
            Ordering::Equal => side == Side::Right,
            Ordering::Greater => false,
        };
        let unstored = if is_before(*fill) { *unstored } else { 0 };
        let stored = values.partition_point(|stored| is_before(*stored));
        let stored = self.counts_before.as_ref().map_or(stored as u64, |before| before[stored]);
        (stored + unstored) as i64
    }
}

impl Array {
    /// Returns whether each element is among the given values. NaN is equal to itself. The method
    /// is not lazy.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([1, 0, 3]);
    /// assert_eq!(a.isin(session.vector([3, 0]))?.to_vec::<bool>()?, [false, true, true]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if an array has structs for values, or 2^63 or more
    /// elements.
    #[track_caller]
    pub fn isin(&self, values: impl Into<Operand>) -> Result<Array, Error> {
        let (array, values) = self.with_common_dtype("isin", values.into())?;
        let (elements, _) = array.collect_along("isin", &(..).into())?;
        let (values, _) = values.collect_along("isin", &Axes::from(..))?;
        let tensor = match_prim!(prim_of(&values), T => {
            let sorted = SortedValues::<T>::of(&values)?;
            map_values::<T, bool>(&elements, |value| sorted.contains(value))?
        });
        self.with_modes_of(tensor)
    }

    /// Returns the coordinates of a sorted vector at which the given values can be inserted so that
    /// the vector stays sorted. The result has the shape of `values`. The method is not lazy.
    ///
    /// ```
    /// use redpoll::{Session, Side};
    ///
    /// let session = Session::default();
    /// let sorted = session.vector([1, 3, 3, 7]);
    /// let values = session.vector([0, 3, 9]);
    /// assert_eq!(sorted.searchsorted(&values, Side::Left)?.to_vec::<i64>()?, [0, 1, 4]);
    /// assert_eq!(sorted.searchsorted(&values, Side::Right)?.to_vec::<i64>()?, [0, 3, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if this array is not a vector, or an array has
    /// structs for values, or 2^63 or more elements.
    #[track_caller]
    pub fn searchsorted(&self, values: impl Into<Operand>, side: Side) -> Result<Array, Error> {
        let rank = self.rank()?;
        if rank != 1 {
            return Err(ArrayError::shape("searchsorted", format!("expected a sorted vector, found {rank} modes")));
        }
        let (sorted, values) = self.with_common_dtype("searchsorted", values.into())?;
        let (wanted, _) = values.collect_along("searchsorted", &Axes::from(..))?;
        let (sorted, _) = sorted.collect_along("searchsorted", &Axes::from(..))?;
        let tensor: Tensor = match_prim!(prim_of(&sorted), T => {
            let sorted = SortedValues::<T>::of(&sorted)?;
            map_values::<T, i64>(&wanted, |value| sorted.rank(value, side))?
        });
        values.with_modes_of(tensor)
    }

    /// Casts this array and another to their common dtype. A number takes the dtype of this array
    /// if this dtype can represent the number.
    #[track_caller]
    fn with_common_dtype(&self, operation: &'static str, other: Operand) -> Result<(Array, Array), Error> {
        let other = self.combine(operation, &[other], |states| Ok(states[1].clone()));
        let prims = (self.state()?.prim(), other.state()?.prim());
        let (Some(a), Some(b)) = prims else {
            return Err(ArrayError::shape(operation, "values that are structs have no order".to_owned()));
        };
        let keeps_dtype = other.state()?.expr.info().weak && can_represent(a, &other.collect()?.get(&[])?);
        let prim = promote(if keeps_dtype { vec![a] } else { vec![a, b] }).unwrap_or(a);
        Ok((self.astype(prim), other.astype(prim)))
    }
}

/// Returns whether values of a primitive type can represent a number. Floats can represent every
/// number, with rounding.
fn can_represent(prim: Prim, number: &Scalar) -> bool {
    match (prim.is_float(), number.to_i128()) {
        (true, _) => true,
        (false, Some(integer)) => number.cast(prim).and_then(|cast| cast.to_i128()) == Some(integer),
        (false, None) => false,
    }
}
