//! The limits of a run: memory, threads, and a flag that asks the run to stop; also the kept copies
//! and the progress reports that the run uses.

use super::{ProgressReporter, Workers};
use redpoll_storage::{KeptCopies, MemoryBudget};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The limits of a run. Clones share the budget, the threads and the flag.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The budget to which owned buffers are charged during their lifetime, also after the run has
    /// returned them as outputs.
    pub memory: Arc<MemoryBudget>,
    /// The limit, in bytes, for the memory of a device that inputs, results and windows use. The
    /// device's own limit also applies.
    pub device_memory: usize,
    /// The threads that run the chunks of kernels.
    pub workers: Arc<Workers>,
    /// A flag that asks kernels to stop with
    /// [`Status::Cancelled`](redpoll_storage::Status::Cancelled): before their next chunk, when a
    /// buffer next grows beyond its capacity, or at the next round of a loop that contains a loop.
    pub cancel: Arc<AtomicBool>,
    /// The copies of inputs in other formats, which later runs read again.
    pub copies: Arc<KeptCopies>,
    /// The callback for the progress of the chunks of kernels.
    pub progress: Option<ProgressReporter>,
}

impl Limits {
    /// Makes limits with a budget of this many bytes, for runs on the caller's thread.
    pub fn memory(bytes: usize) -> Limits {
        let workers = Workers::caller().clone();
        let memory = Arc::new(MemoryBudget::new(bytes));
        let copies = KeptCopies::within(&memory);
        Limits { memory, device_memory: usize::MAX, workers, cancel: Arc::default(), copies, progress: None }
    }

    /// Returns limits for one run. The limits have a budget of their own, which records the peak of
    /// the run. Each charge is also made to the budget of `self`.
    #[must_use]
    pub fn for_one_run(&self) -> Limits {
        let memory = MemoryBudget::with_accounts(self.memory.limit(), vec![self.memory.clone()]);
        let progress = self.progress.as_ref().map(ProgressReporter::for_one_run);
        Limits { memory: Arc::new(memory), progress, ..self.clone() }
    }

    /// Returns the limits with other threads.
    #[must_use]
    pub fn with_workers(self, workers: &Arc<Workers>) -> Limits {
        Limits { workers: workers.clone(), ..self }
    }
}

impl Default for Limits {
    /// Returns limits with a budget of `isize::MAX` bytes, for runs on the caller's thread.
    fn default() -> Limits {
        Limits::memory(isize::MAX as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_storage::Account;

    #[test]
    fn each_run_has_its_own_peak() {
        let limits = Limits::memory(100);
        assert!(limits.memory.charge(30));
        let run = limits.for_one_run();
        assert!(run.memory.charge(40) && !run.memory.charge(40));
        run.memory.release(40);
        assert!(run.memory.charge(10));
        assert_eq!((run.memory.used(), run.memory.peak(), limits.memory.peak()), (10, 40, 70));
        limits.memory.reset_peak();
        assert_eq!(limits.memory.peak(), 40);
    }
}
