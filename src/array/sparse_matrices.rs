//! Conversion of arrays from and to the sparse matrices of `sprs`.

use super::Array;
use super::error::{ArrayError, Cause};
use super::value::Value;
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_storage::{Array as Buffer, Duplicates, Tensor, Triples, Values};
use sprs::{CsMat, CsMatViewI, SpIndex};
use std::panic::Location;

impl Session {
    /// Returns an array of a `sprs` matrix, compressed along the same mode, with fill value zero.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let matrix = sprs::CsMat::new((2, 2), vec![0, 1, 2], vec![1, 0], vec![5.0, 6.0]);
    /// assert_eq!(session.from_sprs(matrix.view()).to_vec::<f64>()?, [0.0, 5.0, 6.0, 0.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn from_sprs<T: Value, I: SpIndex>(&self, matrix: CsMatViewI<'_, T, I>) -> Array {
        let build = || -> Result<Tensor, Cause> {
            let (rows, columns) = matrix.shape();
            let ty = TensorType {
                shape: vec![rows as u64, columns as u64],
                dtype: T::PRIM.into(),
                fill: Scalar::zero(T::PRIM),
                format: if matrix.is_csr() { Format::csr() } else { Format::csc() },
            };
            let (mut coordinates, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
            for (value, (row, column)) in &matrix {
                coordinates[0].push(row.index() as u64);
                coordinates[1].push(column.index() as u64);
                values.push(*value);
            }
            let values = Values::try_new(T::PRIM.into(), vec![T::into_buffer(values)])?;
            let triples = Triples { shape: ty.shape.clone(), coordinates, values };
            Ok(Tensor::from_triples(ty, &triples, Duplicates::Error)?.0)
        };
        self.array_from("from_sprs", Location::caller(), build())
    }
}

impl Array {
    /// Computes the matrix and returns it as a `sprs` matrix with compressed rows. The fill value
    /// must be zero.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let matrix = session.dense([2, 2], [0, 7, 0, 0]).to_sprs::<i32>()?;
    /// assert_eq!((matrix.nnz(), matrix.get(0, 1)), (1, Some(&7)));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::to_vec`]; also if the array is not a matrix, or its fill value is not
    /// zero.
    #[track_caller]
    pub fn to_sprs<T: Value>(&self) -> Result<CsMat<T>, Error> {
        let stored = self.derive("to_sprs", |state| {
            let fill = &state.expr.info().fill;
            let zero = state.prim().is_some_and(|p| fill.cast(p) == Some(Scalar::zero(p)));
            match state.rank() {
                2 if zero => Ok(state.with_expr(state.expr.clone().reformat(Format::csr())?)),
                2 => Err(Cause::Shape(format!(
                    "expected fill value 0, found {fill}; `refill(0)` stores the elements with this value"
                ))),
                rank => Err(Cause::Shape(format!("expected a matrix, found {rank} modes"))),
            }
        });
        let tensor = stored.collect()?;
        let values = T::of_buffer(&tensor.leaf()[0]).filter(|_| tensor.ty().dtype == T::PRIM.into());
        let Some(values) = values else { return Err(ArrayError::dtype("to_sprs", &tensor.ty().dtype, T::PRIM)) };
        let [ptr, idx] = &tensor.levels()[1][..] else { unreachable!("compressed rows have two arrays") };
        let at = |array: &Buffer| -> Vec<usize> {
            (0..array.len()).map(|k| array.scalar(k).to_i128().map_or(0, |i| i as usize)).collect()
        };
        let shape = (tensor.ty().shape[0] as usize, tensor.ty().shape[1] as usize);
        let (ptr, idx) = (at(ptr), at(idx));
        let first = ptr.first().copied().unwrap_or(0);
        let last = ptr.last().copied().unwrap_or(0);
        let ptr: Vec<usize> = ptr.into_iter().map(|p| p - first).collect();
        let (idx, values) = (idx[first..last].to_vec(), values[first..last].to_vec());
        Ok(CsMat::new(shape, ptr, idx, values))
    }
}
