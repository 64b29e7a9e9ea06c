//! Execution of physical plans: level storage over Arrow, Notation, looplets, Assembly, code
//! generators, runtime.
//!
//! A query is compiled in the order `notation` (its loops) -> `lower` (looplets) -> `assembly` (its
//! arrays) -> `emit` (machine code) -> `run`. `levels` and `storage` hold the data that compiled
//! queries read and write.

#![cfg_attr(
    not(all(feature = "c", feature = "cuda")),
    allow(
        dead_code,
        unused_imports,
        reason = "tensors and launches of devices, and loaded kernels, have no user without them"
    )
)]

// The random programs of the workspace's tests name this crate `redpoll_physical`, as other crates
// do.
#[cfg(test)]
extern crate self as redpoll_physical;

pub mod assembly;
pub mod backend;
pub mod emit;
mod error;
pub mod grid;
pub mod kernel;
pub mod launch;
pub mod levels;
pub mod lower;
pub mod notation;
pub mod run;
pub mod storage;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use error::Error;
