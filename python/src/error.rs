//! Errors of redpoll as exceptions of Python.

use pyo3::exceptions::{
    PyFileNotFoundError, PyIndexError, PyKeyError, PyMemoryError, PyNotImplementedError, PyOSError, PyOverflowError,
    PyPermissionError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use redpoll::linalg::LinalgError;
use redpoll::linalg::iterative::SolverError;
use redpoll::storage::Status;
use redpoll::{ArrayError, Cause, Error, kernels, storage};
use std::io;

pyo3::import_exception!(redpoll._errors, LinAlgError);

/// Operations whose errors about shapes are `IndexError`s, because these errors concern
/// coordinates.
const INDEXING: [&str; 3] = ["slice", "take", "get"];

/// Returns the exception for an error.
#[expect(clippy::needless_pass_by_value, reason = "the signature of `map_err`")]
pub(crate) fn exception(error: Error) -> PyErr {
    match &error {
        Error::Array(error) => array_exception(error),
        Error::TooLarge { .. } => PyMemoryError::new_err(error.to_string()),
        Error::UnknownSample { .. } | Error::UnboundTables(_) => PyKeyError::new_err(error.to_string()),
        Error::Linalg(error) => linalg_exception(error),
        Error::Solver(error) => solver_exception(error),
        Error::Data(data) => data_exception(data),
        Error::Dump { source, .. } => system_exception(source, error.to_string()),
        Error::Query { source, .. } | Error::Storage(source) => kernel_exception(source, error.to_string()),
        Error::VerifyPhysical(_) | Error::Interpret(_) => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Returns the exception for an operation that cannot be applied. The message leaves out the line
/// of Rust code, because the traceback of Python has the line of the user.
fn array_exception(error: &ArrayError) -> PyErr {
    let ArrayError { operation, cause, .. } = error;
    let message = format!("{operation}: {cause}");
    match cause {
        Cause::Axis { .. } => crate::operand::axis_error(message),
        Cause::UnknownMode { .. } => PyKeyError::new_err(message),
        Cause::MixedStyles { .. } | Cause::NamedModes(_) | Cause::Logic(_) | Cause::DType { .. } => {
            PyTypeError::new_err(message)
        }
        Cause::Storage(source) => storage_exception(source, message),
        Cause::Shape(_) if INDEXING.contains(operation) => PyIndexError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

fn kernel_exception(error: &kernels::Error, message: String) -> PyErr {
    match error {
        kernels::Error::KernelStopped(status) => status_exception(*status, message),
        kernels::Error::Storage(error) => storage_exception(error, message),
        _ => PyRuntimeError::new_err(message),
    }
}

fn storage_exception(error: &storage::Error, message: String) -> PyErr {
    match error {
        storage::Error::Stopped(status) => status_exception(*status, message),
        storage::Error::TooLarge { .. } | storage::Error::TooManyPositions { .. } => PyMemoryError::new_err(message),
        storage::Error::DTypeMismatch { .. } => PyTypeError::new_err(message),
        storage::Error::InvalidCoordinates(_) | storage::Error::CoordinateOutOfRange { .. } => {
            PyIndexError::new_err(message)
        }
        _ => PyValueError::new_err(message),
    }
}

fn status_exception(status: Status, message: String) -> PyErr {
    match status {
        Status::OutOfMemory => PyMemoryError::new_err(message),
        Status::CheckedOverflow => PyOverflowError::new_err(message),
        Status::OutOfBounds => PyIndexError::new_err(message),
        Status::SecondRun | Status::SecondEntry => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

fn linalg_exception(error: &LinalgError) -> PyErr {
    let message = error.to_string();
    match error {
        LinalgError::Shape { .. }
        | LinalgError::Singular { .. }
        | LinalgError::NotPositiveDefinite { .. }
        | LinalgError::NotFinite { .. }
        | LinalgError::NotConverged { .. } => LinAlgError::new_err(message),
        LinalgError::DType { .. } => PyTypeError::new_err(message),
        LinalgError::TooLarge { .. } => PyMemoryError::new_err(message),
        LinalgError::Storage(error) => storage_exception(error, message),
        _ => PyValueError::new_err(message),
    }
}

fn solver_exception(error: &SolverError) -> PyErr {
    let message = error.to_string();
    match error {
        SolverError::Pivot { .. } | SolverError::NotConverged { .. } => LinAlgError::new_err(message),
        SolverError::DType { .. } => PyTypeError::new_err(message),
        SolverError::NoTranspose => {
            let message = "the linear operator has no transposed product `rmatvec`";
            PyNotImplementedError::new_err(message)
        }
        _ => PyValueError::new_err(message),
    }
}

fn data_exception(error: &redpoll::datasets::Error) -> PyErr {
    match error {
        redpoll::datasets::Error::Io { source, .. } => system_exception(source, error.to_string()),
        redpoll::datasets::Error::LostFile { .. } | redpoll::datasets::Error::ChangedFile { .. } => {
            PyOSError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn system_exception(error: &io::Error, message: String) -> PyErr {
    match error.kind() {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
        io::ErrorKind::OutOfMemory => PyMemoryError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}
