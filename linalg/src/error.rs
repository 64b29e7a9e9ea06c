//! The error type of this crate.

use redpoll_logic::{DType, Scalar};

/// Errors of linear algebra.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array has another shape than the function takes. The fault is the caller's.
    #[error("`{function}` takes {expected}, found shape {shape:?}")]
    Shape {
        /// The name of the function.
        function: &'static str,
        /// The expected shape.
        expected: &'static str,
        /// The shape of the array.
        shape: Vec<u64>,
    },
    /// The shapes of two arrays do not fit each other. The fault is the caller's.
    #[error("`{function}`: shape {right:?} does not fit shape {left:?}; expected {expected}")]
    Mismatch {
        /// The name of the function.
        function: &'static str,
        /// The shape of the first array.
        left: Vec<u64>,
        /// The shape of the second array.
        right: Vec<u64>,
        /// The expected shape of the second array.
        expected: &'static str,
    },
    /// An array has values that are not real numbers. The fault is the caller's.
    #[error("`{function}` takes real numbers, found dtype {dtype}")]
    DType {
        /// The name of the function.
        function: &'static str,
        /// The dtype of the array.
        dtype: DType,
    },
    /// A matrix has no inverse: a pivot is exactly zero. The fault is the data's.
    #[error("`{function}`: {} is singular", matrix(.batch))]
    Singular {
        /// The name of the function.
        function: &'static str,
        /// The index of the matrix in the stack; empty for a single matrix.
        batch: Vec<u64>,
    },
    /// A matrix is not positive definite. The fault is the data's.
    #[error("`{function}`: {} is not positive definite, see row {row}", matrix(.batch))]
    NotPositiveDefinite {
        /// The name of the function.
        function: &'static str,
        /// The index of the matrix in the stack; empty for a single matrix.
        batch: Vec<u64>,
        /// A row whose pivot is not positive. The rows before it, in the order of the
        /// factorization, form a positive definite matrix.
        row: u64,
    },
    /// A matrix has an infinity or NaN, and the function takes finite numbers only. The fault is
    /// the data's.
    #[error("`{function}` takes finite numbers, but {} has an infinity or NaN", matrix(.batch))]
    NotFinite {
        /// The name of the function.
        function: &'static str,
        /// The index of the matrix in the stack; empty for a single matrix.
        batch: Vec<u64>,
    },
    /// The iteration that computes singular values or eigenvalues did not converge. Neither the
    /// caller nor the data is at fault.
    #[error("`{function}` did not converge for {}", matrix(.batch))]
    NotConverged {
        /// The name of the function.
        function: &'static str,
        /// The index of the matrix in the stack; empty for a single matrix.
        batch: Vec<u64>,
    },
    /// A sparse matrix has another fill value than zero. The fault is the caller's.
    #[error("`{function}` takes a matrix with fill value 0, found {fill}; change it with `refill(0)`")]
    FillValue {
        /// The name of the function.
        function: &'static str,
        /// The fill value.
        fill: Scalar,
    },
    /// A matrix stores other coordinates, or has another shape, than the matrix that was
    /// factorized. The fault is the caller's.
    #[error("`{function}` takes a matrix that stores the same coordinates as the factorized matrix")]
    PatternChanged {
        /// The name of the function.
        function: &'static str,
    },
    /// The matrices or the factors do not fit into memory. The fault is the caller's.
    #[error("`{function}`: the matrices or factors do not fit into memory")]
    TooLarge {
        /// The name of the function.
        function: &'static str,
    },
    /// A conversion failed, the memory limit is reached, or the caller cancelled the computation.
    /// The inner error says whose fault it is.
    #[error(transparent)]
    Storage(#[from] redpoll_storage::Error),
}

fn matrix(batch: &[u64]) -> String {
    if batch.is_empty() { "the matrix".to_owned() } else { format!("matrix {batch:?} of the stack") }
}
