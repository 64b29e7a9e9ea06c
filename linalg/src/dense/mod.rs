//! Functions of stacks of dense matrices, with the meaning of the extension `linalg` of the Python
//! Array API standard (2024.12).
//!
//! The last two modes of a tensor are its matrices; the modes before them number the matrices of
//! the stack. Tensors may have any format; they are converted to dense tensors under the memory
//! limit. An error of a single matrix names the index of the matrix in the stack.
//!
//! Functions of singular values and eigenvalues take finite numbers only. The other functions
//! return infinities or NaN for matrices with infinities or NaN, or report that such a matrix is
//! singular or not positive definite.

mod batches;
mod cholesky;
mod eigen;
mod least_squares;
mod lu;
mod qr;
mod scale;
pub(crate) mod stack;
mod svd;
mod tolerance;

pub(crate) use batches::{charged_buffer, zeros};
pub use cholesky::{Triangle, cholesky};
pub use eigen::{Eigh, eigh, eigvalsh};
pub use least_squares::{Lstsq, lstsq, matrix_rank, pinv};
pub use lu::{SlogDet, det, inv, slogdet, solve};
pub use qr::{Qr, QrMode, qr};
pub use svd::{Svd, SvdMode, svd, svdvals};
pub use tolerance::Tolerance;
