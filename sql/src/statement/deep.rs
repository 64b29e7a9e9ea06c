//! Room for expressions that are nested deeply.
//!
//! Parsers and optimizers go down expressions by recursion, and a condition of thousands of parts is thousands of levels
//! deep. What is done with statements runs on a stack of its own, with room for them.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};

/// How large the stacks of threads are to be that run queries: room for expressions of tens of thousands of levels. What is
/// not used takes no memory.
pub const STACK: usize = 1 << 26;

/// Runs something where there is room for deep recursion.
pub(crate) fn on_deep_stack<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK / 2, STACK, run)
}

/// Drives a future where there is room for deep recursion.
pub async fn deep<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| on_deep_stack(|| Pin::as_mut(&mut future).poll(context))).await
}
