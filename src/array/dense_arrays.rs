//! Conversion of arrays from and to `ndarray`.

use super::Array;
use super::collect::values;
use super::value::Value;
use crate::error::Error;
use crate::session::Session;
use ndarray::{ArrayD, ArrayView, Dimension};

impl Session {
    /// Returns an array of the values of an `ndarray` array or view, which are copied in row-major
    /// order.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let array = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(session.from_ndarray(array.t()).to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn from_ndarray<'a, T: Value + 'a, D: Dimension + 'a>(&self, array: impl Into<ArrayView<'a, T, D>>) -> Array {
        let array = array.into();
        let shape: Vec<u64> = array.shape().iter().map(|n| *n as u64).collect();
        self.dense(shape, array.iter().copied())
    }
}

impl Array {
    /// Computes the array and returns it as an `ndarray` array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let array = session.dense([2, 2], [1, 2, 3, 4]).to_ndarray::<i32>()?;
    /// assert_eq!(array[[1, 0]], 3);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::to_vec`].
    #[track_caller]
    pub fn to_ndarray<T: Value>(&self) -> Result<ArrayD<T>, Error> {
        let tensor = self.collect()?;
        let shape: Vec<usize> = tensor.ty().shape.iter().map(|n| *n as usize).collect();
        Ok(ArrayD::from_shape_vec(shape, values("to_ndarray", &tensor)?).expect("there is one value per element"))
    }
}
