//! Conversion of arrays from and to Arrow record batches, and to lists of entries and of
//! coordinates.

use super::Array;
use super::builder::DuplicatePolicy;
use super::error::{ArrayError, Cause};
use super::value::Value;
use crate::error::Error;
use crate::session::Session;
use arrow_array::RecordBatch;
use redpoll_logic::{Format, Scalar};
use redpoll_storage::{Import, Tensor, Triples, convert};
use std::panic::Location;

impl Session {
    /// Returns an array with an entry for each row of a record batch. `coordinates` names an
    /// integer column for each mode, and `value` names the column of values. Without a column of
    /// values, every value is `true`. `duplicates` is the policy for rows with equal coordinates.
    ///
    /// The size of each mode is the largest coordinate plus 1, and the fill value is zero. NULLs
    /// are rejected. The array shares the memory of the columns where possible.
    ///
    /// ```
    /// use redpoll::{DuplicatePolicy, Session};
    ///
    /// let session = Session::default();
    /// let edges = session.vector([0u32, 2]).collect()?.to_record_batch(&["node"])?;
    /// let policy = DuplicatePolicy::Error;
    /// let array = session.from_record_batch(&edges, &["node"], Some("value"), &policy);
    /// assert_eq!(array.to_vec::<u32>()?, [0, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn from_record_batch(
        &self,
        batch: &RecordBatch,
        coordinates: &[&str],
        value: Option<&str>,
        duplicates: &DuplicatePolicy,
    ) -> Array {
        let import = Import { duplicates: duplicates.to_storage(), ..Import::new(coordinates, value) };
        let imported = Tensor::from_record_batch(batch, import);
        self.array_from(
            "from_record_batch",
            Location::caller(),
            imported.map(|(tensor, _)| tensor).map_err(Cause::from),
        )
    }
}

impl Array {
    /// Computes the array and returns its stored entries as a record batch, with one column of
    /// coordinates per name in `names`, and the column `value`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.triples([2, 2], redpoll::logic::Format::csr(), [([1, 0], 5.0)]);
    /// let batch = a.to_record_batch(&["i", "j"])?;
    /// assert_eq!((batch.num_rows(), batch.num_columns()), (1, 3));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the number of names differs from the number of
    /// modes, names repeat, or a name is `value`.
    pub fn to_record_batch(&self, names: &[&str]) -> Result<RecordBatch, Error> {
        Ok(self.collect()?.to_record_batch(names)?)
    }

    /// Computes the array and returns the coordinates and values of all entries that differ from
    /// its fill value, in row-major order.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [0, 7, 0, 0]);
    /// assert_eq!(a.entries::<i32>()?, [(vec![0, 1], 7)]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::to_vec`].
    #[track_caller]
    pub fn entries<T: Value>(&self) -> Result<Vec<(Vec<u64>, T)>, Error> {
        let tensor = self.collect()?;
        let triples = row_major(&tensor)?;
        let values = T::of_buffer(&triples.values.columns()[0]).filter(|_| tensor.ty().dtype == T::PRIM.into());
        let Some(values) = values else { return Err(ArrayError::dtype("entries", &tensor.ty().dtype, T::PRIM)) };
        let fill = &tensor.ty().fill;
        let entries = values.into_iter().enumerate().filter(|(_, value)| (*value).into() != *fill);
        Ok(entries.map(|(k, value)| (triples.coordinates_of(k), value)).collect())
    }

    /// Computes the array and returns the coordinates of its nonzero elements in row-major order,
    /// as one vector per mode. The method is not lazy because the number of coordinates depends on
    /// the data.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let [rows, columns] = &session.dense([2, 2], [0, 7, 8, 0]).nonzero()?[..] else { unreachable!() };
    /// assert_eq!(rows.to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(columns.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    pub fn nonzero(&self) -> Result<Vec<Array>, Error> {
        let mask = self.derive("nonzero", super::reduce::to_bool).collect()?;
        self.session().coordinates_where(&mask)
    }
}

impl Session {
    /// Returns, in row-major order, the coordinates at which a mask is true, as one vector per
    /// mode.
    pub(super) fn coordinates_where(&self, tensor: &Tensor) -> Result<Vec<Array>, Error> {
        let coordinates = match tensor.ty().fill == true.into() {
            false => {
                let triples = row_major(tensor)?;
                let flags = triples.values.columns()[0].bools().expect("the values are booleans");
                let list = |list: &Vec<u64>| {
                    list.iter().zip(flags).filter(|(_, flag)| **flag == 1).map(|(i, _)| *i).collect::<Vec<u64>>()
                };
                triples.coordinates.iter().map(list).collect::<Vec<_>>()
            }
            // If the fill value is `true`, elements that equal it are not stored, so the dense
            // values are scanned.
            true => true_coordinates(&tensor.ty().shape, &tensor.to_dense_scalars()?),
        };
        let vector = |list: &Vec<u64>| self.vector(list.iter().map(|i| *i as i64));
        Ok(coordinates.iter().map(vector).collect())
    }
}

/// Returns the coordinates of the true elements in row-major order, as one list per mode.
fn true_coordinates(shape: &[u64], values: &[Scalar]) -> Vec<Vec<u64>> {
    let mut coordinates = vec![Vec::new(); shape.len()];
    for (mut index, _) in (0u64..).zip(values).filter(|(_, value)| **value == true.into()) {
        for (list, size) in coordinates.iter_mut().zip(shape).rev() {
            list.push(index % size);
            index /= size;
        }
    }
    coordinates
}

/// Returns the stored entries in row-major order.
fn row_major(tensor: &Tensor) -> Result<Triples, Error> {
    if tensor.is_row_major() {
        return Ok(tensor.to_triples()?);
    }
    let ordered = convert(tensor, &Format::csf(tensor.ty().shape.len()))?;
    Ok(ordered.to_triples()?)
}
