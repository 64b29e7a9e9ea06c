//! Errors of linear algebra.

use crate::error::Error;

/// The cause of a failed function of linear algebra: a shape or dtype that the function does not
/// take, or a matrix without the factorization that the function computes.
pub use redpoll_linalg::Error as LinalgError;

impl From<LinalgError> for Error {
    fn from(error: LinalgError) -> Error {
        match error {
            LinalgError::Storage(error) => error.into(),
            error => Error::Linalg(error),
        }
    }
}
