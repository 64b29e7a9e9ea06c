//! What a run may use: a budget of bytes, and a flag that asks it to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A number of bytes that may be allocated at one time, shared by all that charge it.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of that many bytes.
    pub fn new(limit: usize) -> MemoryBudget {
        MemoryBudget { limit, used: AtomicUsize::new(0) }
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes bytes; `false` and nothing taken when they are not left.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|total| *total <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Gives bytes back.
    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The limits of a run. Clones share the budget and the flag.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Charged by owned buffers while they live, after they were handed out too.
    pub memory: Arc<MemoryBudget>,
    /// Kernels return [`Status::Cancelled`](crate::assembly::Status::Cancelled) at their next growth once it is set;
    /// callers look at it between chunks.
    pub cancel: Arc<AtomicBool>,
}

impl Limits {
    /// A limit of that many bytes.
    pub fn memory(bytes: usize) -> Limits {
        Limits { memory: Arc::new(MemoryBudget::new(bytes)), cancel: Arc::default() }
    }
}

impl Default for Limits {
    /// No limit but the address space.
    fn default() -> Limits {
        Limits::memory(isize::MAX as usize)
    }
}
