//! The optimizing tier: Assembly as C text, for an optimizing compiler.
//!
//! [`emit`] prints several kernels, usually all kernels of a plan, as one translation unit. The
//! text is readable: buffers and variables keep their names, and operators that C has are written
//! as C operators. The following rules keep the bits equal to those of the other targets:
//!
//! - integers wrap (`-fwrapv`), and values narrower than `int` are cast back after operations that
//!   may exceed their type;
//! - operators that C leaves undefined or defines differently (division of integers by 0 or -1,
//!   shifts by the width or more, casts of floats to integers, minimum and maximum of floats)
//!   become calls of helper functions that follow the operator table; a division of integers by a
//!   constant other than 0 and -1 needs no helper;
//! - floats are not contracted (`-ffp-contract=off`), and sums keep their order; lane folds are
//!   written with vectors, or lane by lane;
//! - elementary functions are computed step by step, in plain arithmetic; the other functions of
//!   the mathematical library are those that the other targets of the CPU call, and the text finds
//!   them in a table of the frame;
//! - buffers have the types of their elements, and only inputs, which are never modified, are
//!   `restrict`.

mod elementary;
#[doc(hidden)]
pub mod expr;
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod function;
#[doc(hidden)]
pub mod helpers;
#[doc(hidden)]
pub mod names;
mod options;
mod reading;
#[doc(hidden)]
pub mod stmt;
#[cfg(all(test, feature = "c"))]
mod tests;
#[cfg(feature = "c")]
mod toolchain;
#[cfg(not(feature = "c"))]
#[path = "absent.rs"]
mod toolchain;
#[doc(hidden)]
pub mod types;
mod unit;
mod vectors;

pub use options::{ToolchainCounters, ToolchainOptions};
pub use reading::reading_text;
pub use toolchain::{Toolchain, stop_compilers};
pub use unit::{emit, entry_name};
