//! Linear operators: arrays, preconditioners, and functions of Python.

use super::preconditioner::Preconditioner;
use crate::array::Array;
use crate::buffer::{SharedBuffer, values_of};
use crate::run::run;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use redpoll::kernels;
use redpoll::linalg::iterative::{Iteration, LinearOperator, Orientation, Product, SolverError};
use redpoll::storage::{self, Status};
use redpoll::{Error, Session};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// An operator as an argument: an array, a preconditioner, or the numbers of rows and columns with
/// the products of an operator of Python. The products take and return buffers of `float64`.
#[derive(FromPyObject)]
pub(crate) enum OperatorArgument<'py> {
    Array(Bound<'py, Array>),
    Preconditioner(Bound<'py, Preconditioner>),
    Functions((u64, u64), Py<PyAny>, Option<Py<PyAny>>),
}

/// The values of an [`OperatorArgument`].
pub(super) enum Operator {
    Array(redpoll::Array),
    Preconditioner(Arc<redpoll::linalg::iterative::Preconditioner>),
    Functions { size: (u64, u64), multiply: Py<PyAny>, multiply_transposed: Option<Py<PyAny>> },
}

impl From<OperatorArgument<'_>> for Operator {
    fn from(argument: OperatorArgument<'_>) -> Self {
        match argument {
            OperatorArgument::Array(array) => Operator::Array(array.get().core().inner.clone()),
            OperatorArgument::Preconditioner(object) => Operator::Preconditioner(object.get().inner.clone()),
            OperatorArgument::Functions(size, multiply, multiply_transposed) => {
                Operator::Functions { size, multiply, multiply_transposed }
            }
        }
    }
}

impl Operator {
    /// Returns whether products call Python.
    pub(super) fn is_python(&self) -> bool {
        matches!(self, Operator::Functions { .. })
    }

    /// Returns the session that computes the products: the session of an array, or else `session`.
    pub(super) fn session<'a>(&'a self, session: &'a Session) -> &'a Session {
        match self {
            Operator::Array(array) => array.session(),
            _ => session,
        }
    }

    /// Returns the operator for a run in the given session; the flag `cancel` ends the run.
    pub(super) fn bind(
        self,
        session: &Session,
        cancel: &Arc<AtomicBool>,
        failure: &Failure,
    ) -> Box<dyn LinearOperator> {
        let session = session.cancelled_by(cancel);
        match self {
            Operator::Array(array) => Box::new(array.cancelled_by(cancel)),
            Operator::Preconditioner(inner) => Box::new(PreconditionerOfRun { inner, session }),
            Operator::Functions { size, multiply, multiply_transposed } => {
                Box::new(PythonOperator { session, size, multiply, multiply_transposed, failure: failure.clone() })
            }
        }
    }
}

/// The exception that a function of Python raised during a run.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// Calls Python. Keeps the exception, and returns an error that ends the run.
    fn call<T>(&self, function: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, Error> {
        let result = Python::attach(|py| {
            py.check_signals()?;
            function(py)
        });
        result.map_err(|exception| {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(exception);
            Error::from(kernels::Error::KernelStopped(Status::Cancelled))
        })
    }

    /// Calls a callback of Python. If the callback raises an exception, the solver stops.
    pub(super) fn call_back(
        &self,
        callback: &Py<PyAny>,
        kind: CallbackKind,
        iteration: &Iteration<'_>,
    ) -> ControlFlow<()> {
        let result = match (kind, iteration.x) {
            (CallbackKind::Solution, None) => return ControlFlow::Continue(()),
            (CallbackKind::Solution, Some(x)) => self.call(|py| callback.call1(py, (shared(x),))),
            (CallbackKind::Norm, _) => self.call(|py| callback.call1(py, (iteration.residual_norm,))),
        };
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Runs a computation. If the computation calls Python, it runs on this thread, and each of its
    /// calls checks for signals.
    ///
    /// # Errors
    /// Raises the exception of a function of Python, or the exceptions of [`run`].
    pub(super) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        calls_python: bool,
        compute: impl FnOnce(&Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let result = run(py, if calls_python { 0 } else { super::UNKNOWN_WORK }, compute);
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(exception) => Err(exception),
            None => result,
        }
    }
}

/// The argument of a callback.
#[derive(Clone, Copy)]
pub(super) enum CallbackKind {
    /// The approximate solution, where the solver has formed it.
    Solution,
    /// The norm of the residual.
    Norm,
}

/// An operator whose products are functions of Python.
struct PythonOperator {
    session: Session,
    size: (u64, u64),
    multiply: Py<PyAny>,
    multiply_transposed: Option<Py<PyAny>>,
    failure: Failure,
}

impl PythonOperator {
    fn function(&self, orientation: Orientation) -> Result<&Py<PyAny>, Error> {
        match orientation {
            Orientation::Plain => Ok(&self.multiply),
            Orientation::Transposed => Ok(self.multiply_transposed.as_ref().ok_or(SolverError::NoTranspose)?),
        }
    }

    fn call(&self, orientation: Orientation, x: &[f64]) -> Result<Vec<f64>, Error> {
        let function = self.function(orientation)?;
        self.failure.call(|py| {
            let y = values_of(function.call1(py, (shared(x),))?.bind(py))?;
            let values = y.as_slice::<f64>().ok_or_else(|| PyTypeError::new_err("expected values of float64"))?;
            Ok(values.to_vec())
        })
    }

    fn multiply_array(&self, orientation: Orientation, x: &redpoll::Array) -> Result<redpoll::Array, Error> {
        let x = x.astype(redpoll::logic::Prim::F64).to_vec::<f64>()?;
        Ok(self.session.vector(self.call(orientation, &x)?))
    }
}

impl LinearOperator for PythonOperator {
    fn session(&self) -> &Session {
        &self.session
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        Ok(self.size)
    }

    fn multiply(&self, x: &redpoll::Array) -> Result<redpoll::Array, Error> {
        self.multiply_array(Orientation::Plain, x)
    }

    fn multiply_transposed(&self, x: &redpoll::Array) -> Result<redpoll::Array, Error> {
        self.multiply_array(Orientation::Transposed, x)
    }

    fn product(&self, orientation: Orientation) -> Result<Product<'_>, Error> {
        self.function(orientation)?;
        let (rows, columns) = self.size;
        let size = if orientation == Orientation::Plain { (rows, columns) } else { (columns, rows) };
        Ok(Product::of_function(size, move |x| self.call(orientation, x)))
    }
}

/// A preconditioner in the session of a run.
struct PreconditionerOfRun {
    inner: Arc<redpoll::linalg::iterative::Preconditioner>,
    session: Session,
}

impl LinearOperator for PreconditionerOfRun {
    fn session(&self) -> &Session {
        &self.session
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        self.inner.size()
    }

    fn multiply(&self, x: &redpoll::Array) -> Result<redpoll::Array, Error> {
        self.inner.multiply(x)
    }

    fn multiply_transposed(&self, x: &redpoll::Array) -> Result<redpoll::Array, Error> {
        self.inner.multiply_transposed(x)
    }

    fn product(&self, orientation: Orientation) -> Result<Product<'_>, Error> {
        self.inner.product(orientation)
    }
}

/// Returns a copy of values as a buffer.
fn shared(values: &[f64]) -> SharedBuffer {
    SharedBuffer::new(storage::Array::from_vec(values.to_vec()))
}
