//! Runs of plans that do not hold the lock of the interpreter. Ctrl-C ends a run.

use crate::array::{Array, Core};
use crate::error::exception;
use crate::tensor::Tensor;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use redpoll::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The largest work of a run on the thread of the caller; see [`Core::work`]. Once its plan is
/// compiled, a run of this work takes a few milliseconds, and at most about 50 milliseconds with
/// expensive operators; Ctrl-C takes effect after the run. A separate thread would cost 30
/// microseconds and start with cold caches.
const INLINE_WORK: u64 = 1 << 20;

/// The interval between two polls for signals.
const POLL: Duration = Duration::from_millis(20);

/// The time that an interrupted run has to end. A plan that is still being compiled does not end
/// within this time: the thread of the run continues in the background and stops at the first
/// kernel.
const GRACE: Duration = Duration::from_millis(50);

/// The size of the stack of a thread that runs a plan, the same as for the main thread of a
/// process. Plans are expressions, which may be deeply nested.
const STACK: usize = 8 << 20;

/// Runs a computation of the given estimated work without the lock of the interpreter. `compute`
/// takes the cancellation flag of this run. A long computation runs on a thread of its own, while
/// this thread polls for signals.
///
/// # Errors
/// Raises the exception of the computation or of a signal handler, such as `KeyboardInterrupt`;
/// `RuntimeError` if the computation panics; `OSError` if no thread can be started.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: u64,
    compute: impl FnOnce(&Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let cancel = Arc::new(AtomicBool::new(false));
    if work <= INLINE_WORK {
        let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| compute(&cancel))));
        return result.map_err(|_| defect())?.map_err(exception);
    }
    let (sender, receiver) = mpsc::channel();
    let flag = cancel.clone();
    // The caller may have returned after an interrupt; then nobody receives the result.
    let thread = move || drop(sender.send(compute(&flag)));
    thread::Builder::new().name("redpoll run".to_owned()).stack_size(STACK).spawn(thread)?;
    wait(py, receiver, || cancel.store(true, Ordering::Relaxed))?.map_err(exception)
}

/// Waits for the result of a computation on another thread, while this thread polls for signals.
/// `cancel` requests that the computation ends.
///
/// # Errors
/// Raises the exception of a signal handler, such as `KeyboardInterrupt`, and `RuntimeError` if the
/// computation ended without a result.
pub(crate) fn wait<T: Send>(py: Python<'_>, mut receiver: Receiver<T>, cancel: impl FnOnce()) -> PyResult<T> {
    loop {
        let result;
        (receiver, result) = py.detach(move || {
            let result = receiver.recv_timeout(POLL);
            (receiver, result)
        });
        match result {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => return Err(defect()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(interrupt) = py.check_signals() {
            cancel();
            py.detach(move || drop(receiver.recv_timeout(GRACE)));
            return Err(interrupt);
        }
    }
}

/// Returns the exception for a defect of redpoll.
fn defect() -> PyErr {
    PyRuntimeError::new_err("redpoll stopped because of a defect; please report it with the message on standard error")
}

/// Computes several arrays in one plan, so that shared subexpressions are computed once, and keeps
/// the tensors of the arrays.
#[pyfunction]
pub(crate) fn compute_all(py: Python<'_>, arrays: Vec<Bound<'_, Array>>) -> PyResult<Vec<Tensor>> {
    let Some(first) = arrays.first() else { return Ok(Vec::new()) };
    let session = first.get().core().inner.session().clone();
    let work = arrays.iter().fold(0, |work: u64, array| work.saturating_add(array.get().core().work));
    let cores: Vec<Arc<Core>> = arrays.iter().map(|array| array.get().core()).collect();
    let inner: Vec<redpoll::Array> = cores.iter().map(|core| core.inner.clone()).collect();
    let tensors = run(py, work, move |cancel| session.cancelled_by(cancel).compute_all(&inner))?;
    for ((array, core), tensor) in arrays.iter().zip(&cores).zip(&tensors) {
        array.get().note_computed(core, tensor);
    }
    Ok(tensors.into_iter().map(Tensor).collect())
}
