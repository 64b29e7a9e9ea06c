//! Grids as CUDA C++ text, for the run-time compiler of CUDA.
//!
//! [`emit`] prints grids as one translation unit that needs no headers. Expressions and names are
//! written as in C. The following rules make results equal to those of the other targets, bit for
//! bit, except for folds of floats whose rounds the lanes of a team share:
//!
//! - signed integers wrap: sums and products of values are computed unsigned (positions do not
//!   overflow);
//! - if an operator of the machine differs from the operator table, a helper function follows the
//!   table instead, as in C;
//! - the unit must be compiled with [`OPTIONS`]: floats are not contracted, and divisions, square
//!   roots and subnormal numbers are exact;
//! - lane folds combine their lanes in the order of Assembly.
//!
//! [`Cuda`] compiles units for a device of this machine and runs them; `ptx` caches the compiled
//! text. Traits (`interface`) abstract from the device, so that tests run the text on the host.
//! Above the traits are the memory of a device under a limit (`memory`), launches (`launch`), the
//! shares of teams in the memory of their blocks (`block`), and the gathering of results
//! (`runner`).
//!
//! On a device, functions of the mathematical library give other bits than on the host, so [`emit`]
//! rejects grids that call them.

mod appends;
#[cfg(feature = "cuda")]
mod block;
#[cfg(feature = "cuda")]
mod device;
#[cfg(not(feature = "cuda"))]
#[path = "absent.rs"]
mod device;
mod function;
#[cfg(feature = "cuda")]
mod interface;
#[cfg(feature = "cuda")]
mod launch;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(feature = "cuda")]
mod ptx;
#[cfg(feature = "cuda")]
mod runner;
mod stmt;
#[cfg(all(test, feature = "cuda"))]
mod tests;
mod unit;

pub use device::Cuda;
pub use unit::{OPTIONS, emit, entry_name};
