//! Stack space for deeply nested expressions.
//!
//! Parsers and optimizers recurse into expressions, and a condition of thousands of parts is
//! thousands of levels deep. Statements are therefore processed on a larger stack.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};

/// The stack size, in bytes, for threads that run queries: enough for expressions of tens of
/// thousands of levels. Unused stack takes no memory.
pub const STACK_SIZE: usize = 1 << 26;

/// Runs a function on a stack that is large enough for deep recursion.
pub(crate) fn on_deep_stack<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_SIZE / 2, STACK_SIZE, run)
}

/// Awaits a future on a stack that is large enough for deep recursion.
pub async fn with_deep_stack<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| on_deep_stack(|| Pin::as_mut(&mut future).poll(context))).await
}
