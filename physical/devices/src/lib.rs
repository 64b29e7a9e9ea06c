//! Devices of redpoll: kernels as grids of teams of lanes.
//!
//! [`grid`] maps a function of Assembly to teams of lanes and has an interpreter of grids, which
//! reports races. [`cuda`] prints grids as CUDA and runs them on devices. [`launch`] provides the
//! interpreter and the devices as backends. A backend cuts runs into chunks, gives each launch its
//! memory, and joins the parts of outputs.

#![cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, unused_imports, reason = "launches have no device without the feature `cuda`")
)]

pub mod cuda;
mod error;
pub mod grid;
pub mod launch;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
#[cfg(all(test, feature = "cuda"))]
mod tests;

pub use error::Error;
