//! Arrays made from tensors in memory, lists of values, lists of entries, and single numbers.

use super::Array;
use super::error::{ArrayError, Cause};
use super::operand::Operand;
use super::sources::{Source, Sources, unique_name};
use super::state::{ArrayState, ModeStyle, SharedState, positions};
use super::value::Value;
use crate::session::Session;
use redpoll_logic::{Expr, Format, Scalar, TensorType};
use redpoll_storage::{Tensor, Values};
use std::panic::Location;
use std::sync::Arc;

impl Session {
    /// Returns an array of the values of a tensor.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let tensor = session.vector([1, 2, 3]).cumulative_sum(0).collect()?;
    /// assert_eq!(session.array(tensor).max(0).to_vec::<i64>()?, [6]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn array(&self, tensor: Tensor) -> Array {
        let name = unique_name("t");
        let fields = positions(tensor.ty().shape.len());
        let expr = Expr::table(name.clone(), tensor.ty().clone(), fields).expect("each mode has one field");
        let sources = Sources::one(name, Source::Input(Arc::new(tensor)));
        Array::new(self.clone(), ArrayState { expr, style: ModeStyle::Positional, sources })
    }

    /// Returns a dense array of the values in row-major order, with fill value zero.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.dense([2, 2], [1, 2, 3, 4]).t().to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn dense<T: Value>(&self, shape: impl IntoIterator<Item = u64>, values: impl IntoIterator<Item = T>) -> Array {
        let location = Location::caller();
        let shape: Vec<u64> = shape.into_iter().collect();
        let build = || -> Result<Tensor, Cause> {
            let dtype = T::PRIM.into();
            let values = Values::try_new(T::PRIM.into(), vec![T::into_buffer(values.into_iter().collect())])?;
            let format = Format::dense(shape.len());
            Ok(Tensor::from_dense(TensorType { shape, dtype, fill: Scalar::zero(T::PRIM), format }, &values)?)
        };
        self.array_from("dense", location, build())
    }

    /// Returns a dense vector of the values, with fill value zero.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2, 3]).sum(..).to_vec::<i64>()?, [6]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn vector<T: Value>(&self, values: impl IntoIterator<Item = T>) -> Array {
        let values: Vec<T> = values.into_iter().collect();
        self.dense([values.len() as u64], values)
    }

    /// Returns an array of the given entries, with fill value zero. An entry has a coordinate per
    /// mode and a value. Values at equal coordinates are added.
    ///
    /// ```
    /// use redpoll::logic::Format;
    ///
    /// let session = redpoll::Session::default();
    /// let a = session.triples([2, 2], Format::csr(), [([0, 1], 2.0), ([1, 0], 3.0), ([0, 1], 5.0)]);
    /// assert_eq!(a.to_vec::<f64>()?, [0.0, 7.0, 3.0, 0.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn triples<T: Value, const N: usize>(
        &self,
        shape: [u64; N],
        format: Format,
        entries: impl IntoIterator<Item = ([u64; N], T)>,
    ) -> Array {
        let mut builder = self.builder(shape).format(format);
        builder.extend(entries);
        self.array_from("triples", Location::caller(), builder.tensor())
    }

    /// Returns the array of a tensor, or an array that carries the error.
    pub(crate) fn array_from(
        &self,
        operation: &'static str,
        location: &'static Location<'static>,
        tensor: Result<Tensor, Cause>,
    ) -> Array {
        match tensor {
            Ok(tensor) => self.array(tensor),
            Err(cause) => self.error_array(operation, location, cause),
        }
    }

    /// Returns an array that carries an error.
    pub(crate) fn error_array(
        &self,
        operation: &'static str,
        location: &'static Location<'static>,
        cause: Cause,
    ) -> Array {
        let error = Arc::new(ArrayError { operation, location, cause });
        Array { session: self.clone(), state: SharedState::new(Err(error)) }
    }
}

impl Array {
    /// Returns a number as an array of rank 0 of the same session. As in [`Operand`], the dtype of
    /// the number adapts to the arrays that the number is combined with.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([1.0f32, 2.0]);
    /// assert_eq!(a.number(3.0).subtract(&a).to_vec::<f32>()?, [2.0, 1.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn number(&self, number: impl Into<Scalar>) -> Array {
        Array { session: self.session.clone(), state: SharedState::new(Operand::from(number.into()).state()) }
    }
}
