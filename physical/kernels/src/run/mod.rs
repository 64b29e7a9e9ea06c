//! The runtime of kernels: their calling convention, their memory and its limits.
//!
//! An [`Invocation`] owns the buffers of one function. Inputs are shared with their tensors;
//! outputs and workspaces grow under [`Limits`], and outputs become Arrow buffers without a copy.
//! [`Workers`] are the threads that call kernels.

#[cfg(target_endian = "big")]
compile_error!("buffers are read as little-endian");

mod block;
mod crew;
mod frame;
mod invocation;
mod limits;
mod progress;
mod sort;
mod workers;

pub(crate) use frame::{Callbacks, EntryPoint, Frame, Slot};
pub use invocation::Invocation;
pub(crate) use invocation::Loan;
pub use limits::Limits;
pub use progress::{Progress, ProgressReporter};
pub use workers::Workers;
