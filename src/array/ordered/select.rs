//! Selections whose shape depends on values.

use crate::array::place::stored_tensor;
use crate::array::reduce::to_bool;
use crate::array::state::ModeStyle;
use crate::array::{Array, ArrayError, Index};
use crate::error::Error;
use redpoll_logic::{Format, TensorType};
use redpoll_storage::Tensor;

impl Array {
    /// Returns the elements at which a mask is true or nonzero, in row-major order. The shape of
    /// the mask must be a prefix of the shape of the array; the remaining modes of the array are
    /// kept. The mask is computed immediately, because the shape of the result depends on the
    /// values of the mask. The elements are computed lazily, unless the array is stored as a tensor
    /// whose levels share their memory with the levels of the computed mask, as in
    /// `a.select(&a.greater(5))`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [5, 6, 7, 8]);
    /// assert_eq!(a.select(&a.greater(5))?.to_vec::<i32>()?, [6, 7, 8]);
    /// assert_eq!(a.select(&session.vector([false, true]))?.to_vec::<i32>()?, [7, 8]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the mask has no modes, its shape is not a prefix
    /// of the shape of the array, the modes of the array are named, or elements that are computed
    /// lazily are structs.
    #[track_caller]
    pub fn select(&self, mask: &Array) -> Result<Array, Error> {
        let (shape, mask_shape) = (self.shape()?, mask.shape()?);
        if mask_shape.is_empty() || !shape.starts_with(&mask_shape) {
            let message = format!("a mask of shape {mask_shape:?} does not match an array of shape {shape:?}");
            return Err(ArrayError::shape("select", message));
        }
        let mask = mask.derive("select", to_bool).collect()?;
        if let Some(selected) = self.select_stored(&mask)? {
            return Ok(self.session().array(selected));
        }
        let indices: Vec<Index> = self.session().coordinates_where(&mask)?.into_iter().map(Index::Gather).collect();
        self.slice(indices).check()
    }

    /// Returns the elements at which a mask is true, if the array is stored and
    /// [`Tensor::values_where`] accepts the mask. Returns `None` otherwise, and if the modes are
    /// named.
    fn select_stored(&self, mask: &Tensor) -> Result<Option<Tensor>, Error> {
        let state = self.state()?;
        let Some(tensor) = stored_tensor(self.session(), &state)?.filter(|_| state.style == ModeStyle::Positional)
        else {
            return Ok(None);
        };
        let Some(values) = tensor.values_where(mask)? else { return Ok(None) };
        let (dtype, fill) = (tensor.ty().dtype.clone(), tensor.ty().fill.clone());
        let ty = TensorType { shape: vec![values.len() as u64], dtype, fill, format: Format::dense(1) };
        Ok(Some(Tensor::from_dense(ty, &values)?))
    }

    /// Returns the array without the coordinates of an axis at which a vector is false or zero. The
    /// vector is computed immediately, because the shape of the result depends on the values of the
    /// vector. The elements are computed lazily.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [5, 6, 7, 8]);
    /// assert_eq!(a.compress(&session.vector([false, true]), 1)?.to_vec::<i32>()?, [6, 8]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if there is no such axis, the condition is not a
    /// vector of the size of the axis, the modes of the array are named, or its values are structs.
    #[track_caller]
    pub fn compress(&self, condition: &Array, axis: i64) -> Result<Array, Error> {
        let (_, size) = self.mode_of("compress", axis)?;
        let (shape, condition_shape) = (self.shape()?, condition.shape()?);
        if condition_shape != [size] {
            let message = format!(
                "a condition of shape {condition_shape:?} does not match axis {axis} of an array of shape {shape:?}"
            );
            return Err(ArrayError::shape("compress", message));
        }
        self.take(Index::Gather(condition.nonzero()?.swap_remove(0)), axis).check()
    }

    /// Returns the coordinates of the nonzero elements in row-major order, as a matrix with a row
    /// for each element. [`Array::nonzero`] returns the columns of the matrix. The method is not
    /// lazy.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [0, 6, 7, 0]);
    /// assert_eq!(a.argwhere()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    #[track_caller]
    pub fn argwhere(&self) -> Result<Array, Error> {
        let columns = self.nonzero()?;
        match columns.split_first() {
            Some((first, others)) => first.stack(others, 1).check(),
            None => {
                let count = self.count_nonzero(..).item::<i64>()?;
                self.session().zeros([count as u64, 0], redpoll_logic::Prim::I64).check()
            }
        }
    }
}
