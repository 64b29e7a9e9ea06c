//! Grids as CUDA C++ text, for the run-time compiler of CUDA.
//!
//! [`emit`] prints grids as one translation unit that needs no headers. Expressions and names are written as in C; what keeps
//! the bits equal to those of the other engines:
//!
//! - integers with a sign wrap: sums and products of values are computed without it (positions do not overflow);
//! - operators that differ from the machine's are helper functions that follow the operator table, as in C;
//! - the unit is to be compiled with the options of [`OPTIONS`]: floats are not contracted, and division, square roots and
//!   numbers close to 0 are exact;
//! - lane folds combine their lanes in the order of Assembly.
//!
//! [`Cuda`] compiles units for a device of this machine and runs them. What a device is asked for is a trait (`machine`), so that
//! tests run text on the host; above it are the memory of a device under a limit (`memory`), launches (`launch`), what teams have of
//! the memory of their blocks (`block`), and what puts results of launches together there (`runner`).
//!
//! Functions of the mathematical library are those of the host, so [`emit`] declines grids with them.

mod block;
mod device;
mod function;
mod launch;
mod machine;
mod memory;
mod ptx;
mod runner;
mod stmt;
#[cfg(test)]
mod tests;
mod unit;

pub use device::Cuda;
pub use unit::{OPTIONS, emit, entry_name};
