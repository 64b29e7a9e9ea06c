//! Support for tests of this and other crates.

use crate::Error;
use crate::kernel::Kernel;
use crate::run::Invocation;
use redpoll_compiler::assembly::Counts;
use std::ops::Range;

pub mod case;
pub mod sanitized;

/// Calls the code of a kernel over a chunk of the outermost loop. The kernel must have bound the
/// invocation to validated tensors.
///
/// # Errors
/// The errors of the call.
pub fn call_chunk(kernel: &Kernel, invocation: &mut Invocation, chunk: Range<i64>) -> Result<Option<Counts>, Error> {
    kernel.call_chunk(invocation, chunk)
}
