//! Iterative solvers of linear systems, least squares, eigenvalues and exponentials.
//!
//! The functions need only products with a [`LinearOperator`]: a matrix in any format, a lazy
//! expression of matrices, or a closure. The plan of a product is made once and run in each
//! iteration. Vectors are `f64`, also for matrices of other dtypes, and results do not depend on
//! the number of threads.
//!
//! | problem | function |
//! |---|---|
//! | `A x = b`, symmetric positive definite | [`cg`] |
//! | `A x = b`, symmetric | [`minres`] |
//! | `A x = b`, square | [`gmres`], [`bicgstab`] |
//! | least squares, any shape | [`lsqr`] |
//! | eigenvalues, singular values | [`eigsh`], [`svds`] |
//! | eigenvalues with a preconditioner | [`lobpcg`] |
//! | `exp(t A) B` | [`expm_multiply`] |
//!
//! [`jacobi`], [`ilu0`] and [`ic0`] make preconditioners.
//!
//! ```
//! use redpoll::linalg::iterative::{SolverOptions, cg};
//!
//! let session = redpoll::Session::default();
//! let off = session.eye(100, 100, 1, redpoll::logic::Prim::F64) + session.eye(100, 100, -1, redpoll::logic::Prim::F64);
//! let laplacian = (session.eye(100, 100, 0, redpoll::logic::Prim::F64) * 2.0 - off).to_csr();
//! let b = session.ones([100], redpoll::logic::Prim::F64);
//! let solution = cg(&laplacian, &b, SolverOptions::default())?;
//! assert!(solution.converged());
//! let residual = (laplacian.matmul(&solution.x) - &b).square().sum(..).item::<f64>()?.sqrt();
//! assert!(residual <= 1.1e-5 * 10.0);
//! # Ok::<(), redpoll::Error>(())
//! ```

mod arithmetic;
mod bicgstab;
mod block;
mod cg;
mod eigen;
mod error;
mod expm;
mod gmres;
mod lanczos;
mod lobpcg;
mod lsqr;
mod minres;
mod operator;
mod options;
mod preconditioner;
mod product;
mod rows;
mod system;

pub use bicgstab::bicgstab;
pub use cg::cg;
pub use eigen::{EigenOptions, Eigenpairs, InnerProduct, Shift, SingularTriplets, eigsh, svds};
pub use error::SolverError;
pub use expm::expm_multiply;
pub use gmres::gmres;
pub use lanczos::Which;
pub use lobpcg::{LobpcgOptions, LobpcgSolution, SpectrumEnd, lobpcg};
pub use lsqr::{LeastSquaresSolution, LsqrOptions, LsqrTermination, lsqr};
pub use minres::minres;
pub use operator::{FunctionOperator, LinearOperator, Orientation};
pub use options::{Callback, Iteration, Solution, SolverOptions, Termination};
pub use preconditioner::{Preconditioner, ic0, ilu0, jacobi};
pub use product::Product;
