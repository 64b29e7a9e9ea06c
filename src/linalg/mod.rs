//! Linear algebra on arrays: factorizations, systems of equations, eigenvalues and singular values.
//!
//! - Functions of dense matrices ([`solve`], [`svd`], [`eigh`], ..) take stacks: the last two modes
//!   of an array are the modes of its matrices, and the modes before them number the matrices.
//!   These functions follow the extension `linalg` of the Python Array API standard, and compute
//!   their results at once.
//! - [`sparse_lu`], [`sparse_cholesky`], [`sparse_ldlt`] and [`sparse_qr`] factorize sparse
//!   matrices once, to solve many systems.
//! - [`iterative`] solves systems, least squares and eigenvalue problems by products with matrices,
//!   lazy expressions or closures.
//! - The products of the extension `linalg` are lazy methods of arrays:
//!   [`Array::matmul`](crate::Array::matmul), [`tensordot`](crate::Array::tensordot),
//!   [`vecdot`](crate::Array::vecdot), [`outer`](crate::Array::outer),
//!   [`trace`](crate::Array::trace), [`diagonal`](crate::Array::diagonal), [`t`](crate::Array::t)
//!   and, for norms of vectors, [`norm`](crate::Array::norm). [`cross`], [`matrix_norm`] and
//!   [`matrix_power`] are here.
//!
//! Integers and booleans are computed as `f64`. Functions use the threads, the memory limit and the
//! cancel flag of the session of their first array. Results do not depend on the number of threads.
//!
//! ```
//! use redpoll::{Session, linalg};
//!
//! let session = Session::default();
//! let a = session.dense([2, 2], [4.0, 1.0, 1.0, 3.0]);
//! let b = session.vector([1.0, 2.0]);
//! let x = linalg::solve(&a, &b)?;
//! let residual = (a.matmul(&x) - b).norm(2.0, ..);
//! assert!(residual.item::<f64>()? < 1e-12);
//! # Ok::<(), redpoll::Error>(())
//! ```

mod call;
mod dense;
mod error;
pub mod iterative;
mod products;
mod sparse;
mod tolerance;

pub use dense::{
    Eigh, Lstsq, Qr, QrMode, SlogDet, Svd, SvdMode, Triangle, cholesky, det, eigh, eigvalsh, inv, lstsq, matrix_rank,
    pinv, qr, slogdet, solve, svd, svdvals,
};
pub use error::LinalgError;
pub use products::{MatrixNorm, cross, matrix_norm, matrix_power};
pub use sparse::{
    LogDeterminant, SparseCholesky, SparseLu, SparseQr, sparse_cholesky, sparse_ldlt, sparse_lu, sparse_qr, spsolve,
};
pub use tolerance::Tolerance;
