//! From physical plans to results: level storage over Arrow, Notation, looplets, Assembly, code generators, runtime.
//!
//! The pipeline of a query is `notation` (in which loops) -> `lower` (looplets) -> `assembly` (over which arrays) ->
//! `emit` (machine code) -> `run`. `levels` and `storage` hold the data that it runs over.

// The random programs of the workspace's tests name this crate as others do.
#[cfg(test)]
extern crate self as redpoll_physical;

pub mod assembly;
pub mod emit;
mod error;
pub mod grid;
pub mod kernel;
pub mod levels;
pub mod lower;
pub mod notation;
pub mod run;
mod special;
pub mod storage;
#[doc(hidden)]
pub mod testing;

pub use error::Error;
pub use special::Special;
