//! What a run may use: a budget of bytes, threads, and a flag that asks it to stop.

use super::Workers;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where bytes are taken from before they are allocated, and given back to.
pub trait Account: fmt::Debug + Send + Sync {
    /// Takes bytes; `false` and nothing taken when they are not left.
    fn charge(&self, bytes: usize) -> bool;

    /// Gives bytes back.
    fn release(&self, bytes: usize);
}

// What is charged or released is so in one step, which a panic elsewhere leaves whole.
impl RefUnwindSafe for MemoryBudget {}
impl UnwindSafe for MemoryBudget {}

/// A number of bytes that may be allocated at one time, shared by all that charge it.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    /// The most that was in use at one time.
    most: AtomicUsize,
    /// What is charged besides.
    outer: Vec<Arc<dyn Account>>,
}

impl MemoryBudget {
    /// A budget of that many bytes.
    pub fn new(limit: usize) -> MemoryBudget {
        MemoryBudget::within(limit, Vec::new())
    }

    /// A budget of that many bytes, whose bytes are taken from other accounts, too.
    pub fn within(limit: usize, outer: Vec<Arc<dyn Account>>) -> MemoryBudget {
        MemoryBudget { limit, used: AtomicUsize::new(0), most: AtomicUsize::new(0), outer }
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were in use at one time, since it was made or [`MemoryBudget::restart_most`] was called.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Begins [`MemoryBudget::most`] anew, with what is in use now.
    pub fn restart_most(&self) {
        self.most.store(self.used(), Ordering::Relaxed);
    }
}

impl Account for MemoryBudget {
    fn charge(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|total| *total <= self.limit);
        let Ok(before) = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) else { return false };
        if let Some(refused) = self.outer.iter().position(|account| !account.charge(bytes)) {
            self.outer[..refused].iter().for_each(|account| account.release(bytes));
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.most.fetch_max(before + bytes, Ordering::Relaxed);
        true
    }

    fn release(&self, bytes: usize) {
        self.outer.iter().for_each(|account| account.release(bytes));
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The limits of a run. Clones share the budget, the threads and the flag.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Charged by owned buffers while they live, after they were handed out too.
    pub memory: Arc<MemoryBudget>,
    /// The bytes of a device's memory that inputs, results and windows may take at one time, if that is less than the device
    /// itself gives.
    pub device_memory: usize,
    /// What chunks of kernels run on.
    pub workers: Arc<Workers>,
    /// Kernels return [`Status::Cancelled`](crate::assembly::Status::Cancelled) once it is set: at their next growth, or at
    /// the next round of a loop around loops.
    pub cancel: Arc<AtomicBool>,
}

impl Limits {
    /// A limit of that many bytes, on the caller's thread.
    pub fn memory(bytes: usize) -> Limits {
        let workers = Workers::caller().clone();
        Limits {
            memory: Arc::new(MemoryBudget::new(bytes)),
            device_memory: usize::MAX,
            workers,
            cancel: Arc::default(),
        }
    }

    /// The same for one run: a budget of its own, which takes its bytes from this one, tells what that run held.
    #[must_use]
    pub fn of_one_run(&self) -> Limits {
        let memory = MemoryBudget::within(self.memory.limit(), vec![self.memory.clone()]);
        Limits { memory: Arc::new(memory), ..self.clone() }
    }

    /// The same on other threads.
    #[must_use]
    pub fn on(self, workers: &Arc<Workers>) -> Limits {
        Limits { workers: workers.clone(), ..self }
    }
}

impl Default for Limits {
    /// No limit but the address space and the caller's thread.
    fn default() -> Limits {
        Limits::memory(isize::MAX as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects that nothing stays taken of any account when one of them refuses.
    #[test]
    fn bytes_are_taken_of_all_accounts_or_of_none() {
        let [wide, narrow] = [100, 50].map(|limit| Arc::new(MemoryBudget::new(limit)));
        let budget = MemoryBudget::within(80, vec![wide.clone(), narrow.clone()]);
        let used = || [budget.used(), wide.used(), narrow.used()];
        assert!(budget.charge(40));
        assert_eq!(used(), [40; 3]);
        assert!(!budget.charge(20), "the narrow one has 10 left");
        assert!(!budget.charge(60), "the budget itself has 40 left");
        assert_eq!(used(), [40; 3]);
        budget.release(40);
        assert_eq!(used(), [0; 3]);
        assert_eq!([budget.most(), narrow.most()], [40; 2], "what was refused does not count");
    }

    #[test]
    fn runs_have_a_mark_of_their_own_of_the_most_that_was_in_use() {
        let limits = Limits::memory(100);
        assert!(limits.memory.charge(30));
        let run = limits.of_one_run();
        assert!(run.memory.charge(40) && !run.memory.charge(40));
        run.memory.release(40);
        assert!(run.memory.charge(10));
        assert_eq!((run.memory.used(), run.memory.most(), limits.memory.most()), (10, 40, 70));
        limits.memory.restart_most();
        assert_eq!(limits.memory.most(), 40);
    }
}
