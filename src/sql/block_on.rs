//! Blocking on asynchronous results.

use super::datafusion::error::DataFusionError;
use crate::error::Error;
use std::future::Future;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Handle, Runtime};

/// Blocks on a future. A thread within a tokio runtime cannot block on a future; such a thread
/// waits for another thread that does.
pub(super) fn block_on<T: Send>(future: impl Future<Output = Result<T, DataFusionError>> + Send) -> Result<T, Error> {
    let runtime = runtime()?;
    let future = redpoll_sql::with_deep_stack(future);
    let result = match Handle::try_current() {
        Err(_) => runtime.block_on(future),
        Ok(_) => std::thread::scope(|scope| {
            let waiting = scope.spawn(|| runtime.block_on(future));
            waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }),
    };
    Ok(result?)
}

/// Returns the runtime shared by all sessions, and creates it on the first call.
fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let built = Builder::new_multi_thread()
        .thread_stack_size(redpoll_sql::STACK_SIZE)
        .enable_all()
        .build()
        .map_err(DataFusionError::IoError)?;
    Ok(RUNTIME.get_or_init(|| built))
}
