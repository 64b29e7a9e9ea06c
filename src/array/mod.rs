//! Lazy arrays: operators and methods build plans, and [`Array::collect`] runs them.
//!
//! The type [`Array`] has two styles:
//! - *Positional*, as in NumPy and the Python Array API standard: modes are numbered, operands are
//!   aligned at their last modes, and a mode of size 1 is broadcast.
//! - *Named*, as in Finch-Logic: [`Array::at`] names each mode, and operands join on equal names in
//!   any order. [`Array::by_position`] returns to numbered modes.
//!
//! ```
//! use redpoll::{Array, Session};
//!
//! # fn main() -> Result<(), redpoll::Error> {
//! let session = Session::default();
//! let a = session.dense([2, 3], [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
//! let b = session.dense([3], [1.0, 10.0, 100.0]);
//! let positional = (&a * &b).sum(-1);
//! let named = (a.at(["i", "k"]) * b.at(["k"])).sum("k");
//! assert_eq!(positional.to_vec::<f64>()?, [201.0, 300.0]);
//! assert_eq!(named.to_vec::<f64>()?, [201.0, 300.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Each call of [`Array::collect`] runs a plan of its own, unless the array is stored, and keeps
//! nothing. [`Array::compute`] keeps the tensor with the array, and later expressions read it.
//!
//! A method that cannot be applied (shapes that do not align, an axis out of range) returns an
//! array that carries the error and the line of the call. [`Array::collect`] and [`Array::check`]
//! report the error, so chains of operators need no `?`. Methods that compute their results when
//! they are called, such as [`Array::sort`], [`Array::top_k`] and [`Array::unique`], return a
//! `Result`.

mod align;
mod axes;
mod builder;
mod collect;
mod compute;
mod create;
#[cfg(feature = "ndarray")]
mod dense_arrays;
mod differences;
mod display;
mod dot;
mod einsum;
mod elementwise;
mod error;
mod exchange;
#[cfg(feature = "files")]
mod files;
mod formats;
mod functions;
mod gradient;
mod join;
mod kept;
mod moments;
mod nan;
mod operand;
mod ordered;
mod place;
mod products;
#[cfg(feature = "files")]
mod random;
mod reduce;
mod resolve;
mod runs;
mod scatter;
mod schedule;
mod shape;
mod slice;
mod source;
mod sources;
#[cfg(feature = "sprs")]
mod sparse_matrices;
mod state;
mod subexpressions;
mod triangles;
mod value;
mod windows;

pub use axes::Axes;
pub use builder::{Builder, DuplicatePolicy};
pub use create::RangeValue;
pub use error::{ArrayError, Cause};
#[cfg(feature = "files")]
pub use files::{CoordinateNames, FileScan};
pub use gradient::{WithRespectTo, wrt};
pub use operand::Operand;
pub use ordered::{Side, SortOrder, Unique};
pub use products::Contraction;
#[cfg(feature = "files")]
pub use random::RandomArray;
pub use schedule::ScheduledArray;
pub use slice::Index;
pub use value::Value;
pub use windows::Overlap;

pub(crate) use kept::KeptTensors;

use crate::error::Error;
use crate::session::Session;
use redpoll_logic::{DType, Field, FloatMode, Scalar};
use state::{ArrayState, ModeStyle, SharedState};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A lazy array: an expression over tensors. Clones share the expression, and the tensor that
/// [`Array::compute`] keeps.
#[derive(Clone)]
pub struct Array {
    session: Session,
    state: SharedState,
}

impl Array {
    /// Returns the size of each mode. Shapes, dtypes and fill values are inferred without computing
    /// values.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.full([2, 3], 4.0).sqrt();
    /// assert_eq!((a.shape()?, a.rank()?, a.fill()?), (vec![2, 3], 2, 2.0.into()));
    /// assert_eq!(a.sum(0).shape()?, [3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of the first operation that could not be applied.
    pub fn shape(&self) -> Result<Vec<u64>, Error> {
        self.state.read(ArrayState::shape).map_err(Error::Array)
    }

    /// Returns the number of modes.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([2, 3], 0..6).sum(0).rank()?, 1);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::shape`].
    pub fn rank(&self) -> Result<usize, Error> {
        self.state.read(ArrayState::rank).map_err(Error::Array)
    }

    /// Returns the type of the values.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// let a = session.vector([1.5, 2.5]);
    /// assert_eq!(a.dtype()?, DType::F64);
    /// assert_eq!(a.greater(2.0).dtype()?, DType::BOOL);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::shape`].
    pub fn dtype(&self) -> Result<DType, Error> {
        self.state.read(|state| state.expr.info().dtype.clone()).map_err(Error::Array)
    }

    /// Returns the fill value in the float mode of the session: the value of all elements that are
    /// not stored.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.full([2, 3], 4.0).sqrt().fill()?, 2.0.into());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::shape`]; also if an operation is invalid in the float mode.
    pub fn fill(&self) -> Result<Scalar, Error> {
        match self.session.config().optimizer.float_mode {
            FloatMode::Relaxed => self.state.read(|state| state.expr.info().fill.clone()).map_err(Error::Array),
            mode => self.state()?.expr.fill_in(mode).map_err(Error::Verify),
        }
    }

    /// Returns the names of the modes, or `None` if the modes are numbered.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], 0..6);
    /// assert_eq!(a.names()?, None);
    /// assert_eq!(a.at(["i", "j"]).names()?, Some(vec!["i".into(), "j".into()]));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::shape`].
    pub fn names(&self) -> Result<Option<Vec<Field>>, Error> {
        let state = self.state()?;
        Ok((state.style == ModeStyle::Named).then(|| state.expr.info().fields.clone()))
    }

    /// Returns the array itself if all of its operations could be applied.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.vector([1, 2]), session.vector([1, 2, 3]));
    /// let error = (&a + &b).sum(..).check().unwrap_err();
    /// assert!(error.to_string().contains("shapes [2], [3] do not align"));
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::shape`].
    pub fn check(self) -> Result<Array, Error> {
        self.state()?;
        Ok(self)
    }

    /// Names the modes of the array, in order. A repeated name selects a diagonal.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.dense([2, 2], [1, 2, 3, 4]), session.vector([10, 1]));
    /// assert_eq!((a.at(["i", "k"]) * b.at(["k"])).sum("k").to_vec::<i64>()?, [12, 34]);
    /// assert_eq!(a.at(["i", "i"]).to_vec::<i32>()?, [1, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn at<F: Into<Field>>(&self, names: impl IntoIterator<Item = F>) -> Array {
        let names: Vec<Field> = names.into_iter().map(Into::into).collect();
        self.derive("at", |state| state.name_modes(&names))
    }

    /// Numbers the modes of the array in the given order of their names.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 3, 4]).at(["i", "j"]);
    /// assert_eq!(a.by_position(["j", "i"]).to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn by_position<F: Into<Field>>(&self, names: impl IntoIterator<Item = F>) -> Array {
        let names: Vec<Field> = names.into_iter().map(Into::into).collect();
        self.derive("by_position", |state| state.number_by_name(&names))
    }

    /// Returns the same array with another cancel flag: computations of the returned array, and of
    /// arrays built from it, stop once the flag is set; see [`Session::cancelled_by`]. Both arrays
    /// share the expression, and the tensor that [`Array::compute`] keeps for either array.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// # let session = redpoll::Session::default();
    /// let (sum, cancel) = (session.vector([1, 2]).sum(..), Arc::new(AtomicBool::new(false)));
    /// assert_eq!(sum.cancelled_by(&cancel).item::<i64>()?, 3);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn cancelled_by(&self, cancel: &Arc<AtomicBool>) -> Array {
        Array { session: self.session.cancelled_by(cancel), state: self.state.clone() }
    }

    /// Returns the session that computes the array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// fn doubled_and_shifted(a: &redpoll::Array) -> redpoll::Array {
    ///     a * 2.0 + a.session().vector([10.0, 20.0])
    /// }
    ///
    /// let a = session.vector([1.0, 2.0]);
    /// assert_eq!(doubled_and_shifted(&a).to_vec::<f64>()?, [12.0, 24.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn new(session: Session, state: ArrayState) -> Array {
        Array { session, state: SharedState::new(Ok(state)) }
    }

    pub(crate) fn state(&self) -> Result<ArrayState, Error> {
        self.state.get().map_err(Error::Array)
    }

    /// Applies an operation to this array and records the caller's line for errors.
    #[track_caller]
    pub(crate) fn derive(
        &self,
        operation: &'static str,
        transform: impl FnOnce(&ArrayState) -> Result<ArrayState, error::Cause>,
    ) -> Array {
        let location = Location::caller();
        let derived = |state| transform(&state).map_err(|cause| Arc::new(ArrayError { operation, location, cause }));
        Array { session: self.session.clone(), state: SharedState::new(self.state.get().and_then(derived)) }
    }

    /// Applies an operation to this array and others, and records the caller's line for errors.
    #[track_caller]
    pub(crate) fn combine(
        &self,
        operation: &'static str,
        others: &[Operand],
        transform: impl FnOnce(&[ArrayState]) -> Result<ArrayState, error::Cause>,
    ) -> Array {
        let location = Location::caller();
        let states = || -> Result<ArrayState, Arc<ArrayError>> {
            let mut states = vec![self.state.get()?];
            for other in others {
                states.push(other.state()?);
            }
            transform(&states).map_err(|cause| Arc::new(ArrayError { operation, location, cause }))
        };
        Array { session: self.session.clone(), state: SharedState::new(states()) }
    }
}
