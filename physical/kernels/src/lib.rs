//! Kernels of redpoll: compiled functions of Assembly that run over tensors.
//!
//! A [`Backend`](backend::Backend) compiles drafts to code: the interpreter of Assembly, machine
//! code by [`cranelift`] (the instant tier), or C text by [`c`] for the compiler of the machine
//! (the optimizing tier). A [`Kernel`](kernel::Kernel) binds tensors to the code, calls the code in
//! chunks on threads, and collects its outputs. [`run`] has the memory of a call and its limits.

#![cfg_attr(
    not(feature = "c"),
    allow(dead_code, unused_imports, reason = "loaded kernels have no user without the feature `c`")
)]

pub mod backend;
pub mod c;
#[cfg(feature = "cache")]
#[doc(hidden)]
pub mod cache;
mod cache_folder;
mod compiled_kernel;
pub mod cranelift;
mod error;
pub mod kernel;
pub mod run;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod vectors;

pub use cache_folder::{CacheFolder, MAX_CACHE_BYTES};
pub use compiled_kernel::CompiledKernel;
pub use error::Error;
