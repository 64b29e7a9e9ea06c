//! Factorizations of dense and sparse tensors by faer.
//!
//! [`dense`] has functions of stacks of dense matrices: the last two modes of a tensor are the
//! matrices, and the modes before them number the matrices of the stack. [`sparse`] has
//! factorizations of sparse matrices, which are values that solve many systems. Tensors may have
//! any format. Results are dense tensors.
//!
//! Values of dtype `f32` are computed as `f32`; all other numbers and booleans are computed as
//! `f64`. A [`Context`] has the number of threads, the memory limit and the cancel flag of a call.
//! Results do not depend on the number of threads.

mod context;
pub mod dense;
mod error;
mod real;
mod scaling;
pub mod sparse;

pub use context::{Context, Reservation};
pub use error::Error;
