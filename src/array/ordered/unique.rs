//! Distinct values.

use super::fibers::{StoredFibers, assemble, value_of};
use super::sort::SortOrder;
use super::value::{OrderedValue, match_prim, sorted_places};
use crate::array::Array;
use crate::error::Error;
use redpoll_logic::{Format, Scalar};
use redpoll_storage::Array as Buffer;

/// The distinct values of an array, see [`Array::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// The values in ascending order, a vector.
    pub values: Array,
    /// The row-major index of the first element with each value.
    pub indices: Array,
    /// The number of elements with each value.
    pub counts: Array,
    /// The index in `values` of each element, in the shape of the array.
    pub inverse: Array,
}

impl Array {
    /// Returns the distinct values, the first element with each, and their numbers of elements, at
    /// once. The fill value is one of them if an element has it. All NaN are one value.
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
    /// The errors of [`Array::collect`]; also if the values are structs.
    #[track_caller]
    pub fn unique(&self) -> Result<Unique, Error> {
        let (tensor, along) = self.collect_along("unique", &(..).into())?;
        let fibers = StoredFibers::of(&tensor, &along)?;
        let DistinctValues { values, indices, counts, inverse, fill } =
            match_prim!(fibers.prim(), T => distinct::<T>(&fibers));
        let shape = &fibers.ty.shape;
        let mut coordinates = vec![Vec::with_capacity(inverse.len()); shape.len()];
        for mut index in fibers.indices {
            for (list, size) in coordinates.iter_mut().zip(shape).rev() {
                list.push(index % size);
                index /= size;
            }
        }
        let order: Vec<usize> = (0..shape.len()).collect();
        let ty = (shape.clone(), Scalar::I64(fill));
        let inverse = assemble(ty, &order, coordinates, Buffer::from_vec(inverse), &tensor.ty().format)?;
        Ok(Unique {
            values: self.vector_of(values)?,
            indices: self.vector_of(Buffer::from_vec(indices))?,
            counts: self.vector_of(Buffer::from_vec(counts))?,
            inverse: self.with_modes_of(inverse)?,
        })
    }

    /// Returns a dense vector.
    fn vector_of(&self, values: Buffer) -> Result<Array, Error> {
        let (size, prim) = (values.len() as u64, values.prim());
        let coordinates = vec![(0..size).collect()];
        let dense = Format::dense(1);
        Ok(self.session().array(assemble((vec![size], Scalar::zero(prim)), &[0], coordinates, values, &dense)?))
    }
}

/// The distinct values of one fiber.
struct DistinctValues {
    values: Buffer,
    indices: Vec<i64>,
    counts: Vec<i64>,
    /// The number of the distinct value of each stored value.
    inverse: Vec<i64>,
    /// The number of the fill value among the distinct ones, or 0.
    fill: i64,
}

fn distinct<T: OrderedValue>(fibers: &StoredFibers) -> DistinctValues {
    let (stored, fill): (Vec<T>, T) = (fibers.values(), value_of(&fibers.ty.fill));
    let unstored = fibers.length - stored.len() as u64;
    let order = sorted_places(&stored, 0, SortOrder::Ascending);
    let before = order.partition_point(|place| place.key() < fill.key());
    let mut values: Vec<T> = Vec::new();
    let mut last = None;
    let (mut indices, mut counts, mut inverse) = (Vec::new(), Vec::new(), vec![0; stored.len()]);
    let mut fill_number = 0;
    for (k, place) in order.iter().map(Some).chain([None]).enumerate() {
        if k == before && unstored > 0 {
            fill_number = values.len() as i64;
            values.push(fill);
            indices.push(first_unstored(&fibers.indices) as i64);
            counts.push(unstored as i64);
        }
        let Some(place) = place else { break };
        if last.replace(place.key()) != Some(place.key()) {
            values.push(stored[place.place()]);
            indices.push(fibers.indices[place.place()] as i64);
            counts.push(0);
        }
        *counts.last_mut().expect("there is a value") += 1;
        inverse[place.place()] = values.len() as i64 - 1;
    }
    DistinctValues { values: T::into_buffer(values), indices, counts, inverse, fill: fill_number }
}

/// Returns the first index that is not listed.
fn first_unstored(indices: &[u64]) -> u64 {
    let after = (0..).zip(indices).position(|(k, index): (u64, _)| *index != k);
    after.unwrap_or(indices.len()) as u64
}
