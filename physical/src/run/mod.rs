//! The runtime of kernels: their calling convention, the memory that they work on and its limits.
//!
//! An [`Invocation`] owns the buffers of one function: inputs shared with the tensors they come from, and outputs and
//! workspaces that grow under [`Limits`] and leave as Arrow buffers without a copy.

#[cfg(target_endian = "big")]
compile_error!("buffers are read as little-endian");

mod block;
mod charged;
mod frame;
mod invocation;
mod limits;
mod sort;

pub(crate) use charged::charged;
pub use frame::{Callbacks, Entry, Frame, Slot};
pub use invocation::{Invocation, Signature};
pub use limits::{Account, Limits, MemoryBudget};
