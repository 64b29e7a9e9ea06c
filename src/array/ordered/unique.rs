//! Distinct values.

use super::fibers::{StoredFibers, StoredValues, assemble, prim_of};
use super::value::{OrderedValue, match_prim};
use crate::array::Array;
use crate::error::Error;
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_storage::{Array as Buffer, Tensor, order_of_numbers};
use std::cmp::Ordering;

/// The distinct values of an array, see [`Array::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// The values in ascending order, a vector.
    pub values: Array,
    /// The row-major index of the first element with each value.
    pub indices: Array,
    /// The number of elements with each value.
    pub counts: Array,
    /// For each element, the index of its value in `values`, in the shape of the array.
    pub inverse: Array,
}

impl Array {
    /// Returns the distinct values. For each value, also returns the index of the first element
    /// with the value and the number of such elements; for each element, the index of its value.
    /// The fill value is included if an element has it. All NaN are one value. The method is not
    /// lazy.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let unique = session.dense([2, 2], [5, 0, 5, 3]).unique()?;
    /// assert_eq!(unique.values.to_vec::<i32>()?, [0, 3, 5]);
    /// assert_eq!(unique.counts.to_vec::<i64>()?, [1, 1, 2]);
    /// assert_eq!(unique.indices.to_vec::<i64>()?, [1, 3, 0]);
    /// assert_eq!(unique.inverse.to_vec::<i64>()?, [2, 0, 2, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the values are structs, or there are 2^63 or more
    /// elements.
    #[track_caller]
    pub fn unique(&self) -> Result<Unique, Error> {
        let (tensor, along) = self.collect_along("unique", &(..).into())?;
        let fibers = StoredFibers::of(&tensor, &along)?;
        let DistinctValues { values, indices, counts, inverse, fill } =
            match_prim!(fibers.prim(), T => distinct::<T>(&fibers)?);
        let (inverse, fill) = (Buffer::from_vec(inverse), Scalar::I64(fill));
        let inverse = match fibers.tensor.with_values(&inverse, fill.clone())? {
            Some(inverse) => inverse,
            None => {
                let order: Vec<usize> = (0..fibers.ty.shape.len()).collect();
                let ty = (fibers.ty.shape.clone(), fill);
                assemble(ty, &order, fibers.coordinates, inverse, &tensor.ty().format)?
            }
        };
        Ok(Unique {
            values: self.vector_of(values)?,
            indices: self.vector_of(Buffer::from_vec(indices))?,
            counts: self.vector_of(Buffer::from_vec(counts))?,
            inverse: self.with_modes_of(inverse)?,
        })
    }

    /// Returns a vector of the distinct values in ascending order, in less time than
    /// [`Array::unique`]. The fill value is included if an element has it. All NaN are one value.
    /// The method is not lazy.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([5, 0, 5, 3]).unique_values()?.to_vec::<i32>()?, [0, 3, 5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::unique`].
    #[track_caller]
    pub fn unique_values(&self) -> Result<Array, Error> {
        Ok(self.counts_of("unique_values")?.0)
    }

    /// Returns the distinct values like [`Array::unique_values`], and the number of elements for
    /// each value.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (values, counts) = session.vector([5, 0, 5, 3]).unique_counts()?;
    /// assert_eq!(values.to_vec::<i32>()?, [0, 3, 5]);
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::unique`].
    #[track_caller]
    pub fn unique_counts(&self) -> Result<(Array, Array), Error> {
        self.counts_of("unique_counts")
    }

    /// Returns the distinct values and their counts for the given operation.
    #[track_caller]
    fn counts_of(&self, operation: &'static str) -> Result<(Array, Array), Error> {
        let (tensor, _) = self.collect_along(operation, &(..).into())?;
        let (values, counts) = match_prim!(prim_of(&tensor), T => counted::<T>(StoredValues::of(&tensor)?)?);
        Ok((self.vector_of(values)?, self.vector_of(Buffer::from_vec(counts))?))
    }

    /// Returns a dense vector of the given values.
    fn vector_of(&self, values: Buffer) -> Result<Array, Error> {
        let (shape, prim) = (vec![values.len() as u64], values.prim());
        let ty = TensorType { shape, dtype: prim.into(), fill: Scalar::zero(prim), format: Format::dense(1) };
        Ok(self.session().array(Tensor::try_new(ty, vec![vec![]], vec![values])?))
    }
}

/// The distinct values of an array, whose elements form a single fiber.
struct DistinctValues {
    values: Buffer,
    indices: Vec<i64>,
    counts: Vec<i64>,
    /// The index in `values` of each stored value.
    inverse: Vec<i64>,
    /// The index of the fill value in `values`, or 0 if no element has the fill value.
    fill: i64,
}

fn distinct<T: OrderedValue>(fibers: &StoredFibers) -> Result<DistinctValues, Error> {
    let (stored, fill): (Vec<T>, T) = (fibers.values(), fibers.fill());
    let all_indices = fibers.indices();
    let unstored = fibers.length - stored.len() as u64;
    let mut order = Vec::new();
    order_of_numbers(&stored.iter().map(|value| value.key()).collect::<Vec<u64>>(), &mut order)?;
    let sorted: Vec<T> = order.iter().map(|place| stored[*place as usize]).collect();
    let begins_run = |k: &usize| *k == 0 || sorted[k - 1].compare(sorted[*k]) != Ordering::Equal;
    let starts: Vec<usize> = (0..sorted.len()).filter(begins_run).chain([sorted.len()]).collect();
    let firsts = &starts[..starts.len() - 1];
    let mut values: Vec<T> = firsts.iter().map(|start| sorted[*start]).collect();
    let mut indices: Vec<i64> = firsts.iter().map(|start| all_indices[order[*start] as usize] as i64).collect();
    let mut counts: Vec<i64> = starts.windows(2).map(|run| (run[1] - run[0]) as i64).collect();
    let mut fill_number = None;
    if unstored > 0 {
        // No stored value equals the fill value.
        let at = values.partition_point(|value| value.compare(fill) == Ordering::Less);
        values.insert(at, fill);
        indices.insert(at, first_unstored(&all_indices) as i64);
        counts.insert(at, unstored as i64);
        fill_number = Some(at);
    }
    let mut inverse = vec![0; stored.len()];
    for (k, run) in starts.windows(2).enumerate() {
        let number = k + usize::from(fill_number.is_some_and(|at| at <= k));
        order[run[0]..run[1]].iter().for_each(|place| inverse[*place as usize] = number as i64);
    }
    let fill = fill_number.unwrap_or(0) as i64;
    Ok(DistinctValues { values: T::into_buffer(values), indices, counts, inverse, fill })
}

/// Returns the distinct values in ascending order, and the number of elements with each value.
fn counted<T: OrderedValue>(mut stored: StoredValues<T>) -> Result<(Buffer, Vec<i64>), Error> {
    stored.sort()?;
    let StoredValues { values: stored, counts: elements, fill, unstored } = stored;
    let (mut values, mut counts): (Vec<T>, Vec<i64>) = (Vec::new(), Vec::new());
    for (k, value) in stored.iter().enumerate() {
        if values.last().is_none_or(|last| last.compare(*value) != Ordering::Equal) {
            values.push(*value);
            counts.push(0);
        }
        *counts.last_mut().expect("there is a value") += elements.as_ref().map_or(1, |elements| elements[k] as i64);
    }
    if unstored > 0 {
        // No stored value equals the fill value.
        let at = values.partition_point(|value| value.compare(fill) == Ordering::Less);
        values.insert(at, fill);
        counts.insert(at, unstored as i64);
    }
    Ok((T::into_buffer(values), counts))
}

/// Returns the smallest index that is missing in an ascending list of indices.
fn first_unstored(indices: &[u64]) -> u64 {
    let after = (0..).zip(indices).position(|(k, index): (u64, _)| *index != k);
    after.unwrap_or(indices.len()) as u64
}
