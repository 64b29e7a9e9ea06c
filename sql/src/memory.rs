//! The memory of claimed regions, counted by the session's memory pool.

use crate::engine::{RunError, RunLimits};
use crate::error::{Error, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use redpoll_storage::{Account, MemoryBudget};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cache whose entries can be dropped to make room for a query.
pub(crate) trait Evict: fmt::Debug + Send + Sync {
    /// Drops the least recently used entry; returns `false` if there is no entry.
    fn evict_oldest(&self) -> bool;
}

/// The largest number of bytes that a cache may use.
const MAX_CACHE: usize = 1 << 30;

/// The number by which a memory limit is divided to get the capacity of a cache.
const LIMIT_DIVISOR: usize = 4;

/// Returns the capacity of a cache in bytes under a memory limit.
pub(crate) fn cache_capacity(limit: &MemoryLimit) -> usize {
    match limit {
        MemoryLimit::Finite(bytes) => MAX_CACHE.min(bytes / LIMIT_DIVISOR),
        _ => MAX_CACHE,
    }
}

/// Bytes reserved in a memory pool, released when the account is dropped. If the pool is exhausted,
/// entries of `cache` are dropped to make room.
#[derive(Debug)]
struct PoolAccount {
    reservation: MemoryReservation,
    /// The cache whose entries may be dropped; `None` for work that no query waits for.
    cache: Option<Arc<dyn Evict>>,
    /// The largest reservation in bytes.
    max_bytes: usize,
}

impl Account for PoolAccount {
    fn charge(&self, bytes: usize) -> bool {
        if self.reservation.size().saturating_add(bytes) > self.max_bytes {
            return false;
        }
        loop {
            if self.reservation.try_grow(bytes).is_ok() {
                return true;
            }
            if !self.cache.as_ref().is_some_and(|cache| cache.evict_oldest()) {
                return false;
            }
        }
    }

    fn release(&self, bytes: usize) {
        self.reservation.shrink(bytes);
    }
}

/// The memory of a region in bytes, and its cancellation flag. Clones share one account.
///
/// ```
/// use redpoll_sql::Allowance;
///
/// let allowance = Allowance::unlimited();
/// allowance.reserve("the rows", 1 << 20)?;
/// allowance.release(1 << 20);
/// # Ok::<(), redpoll_sql::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Allowance {
    account: Arc<dyn Account>,
    cancelled: Arc<AtomicBool>,
}

impl Allowance {
    /// Returns an allowance without a limit.
    pub fn unlimited() -> Allowance {
        Allowance { account: Arc::new(MemoryBudget::new(usize::MAX)), cancelled: Arc::default() }
    }

    /// Returns an allowance of a pool; cached regions and columns are dropped if the pool is
    /// exhausted.
    pub(crate) fn from_pool(
        pool: &Arc<dyn MemoryPool>,
        cache: Arc<dyn Evict>,
        cancelled: Arc<AtomicBool>,
    ) -> Allowance {
        let reservation = MemoryConsumer::new("redpoll: claimed region").register(pool);
        Allowance {
            account: Arc::new(PoolAccount { reservation, cache: Some(cache), max_bytes: usize::MAX }),
            cancelled,
        }
    }

    /// Returns an allowance of at most `max_bytes` bytes of a pool, for work that no query waits
    /// for. Such work drops nothing from the cache.
    pub(crate) fn for_background(
        pool: &Arc<dyn MemoryPool>,
        max_bytes: usize,
        cancelled: Arc<AtomicBool>,
    ) -> Allowance {
        let reservation = MemoryConsumer::new("redpoll: region in preparation").register(pool);
        Allowance { account: Arc::new(PoolAccount { reservation, cache: None, max_bytes }), cancelled }
    }

    /// Reserves bytes until they are released or the last clone is dropped. `purpose` names the use
    /// of the bytes in the error.
    ///
    /// # Errors
    /// If too few bytes are left, or the region is cancelled.
    pub fn reserve(&self, purpose: &'static str, bytes: usize) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled.into());
        }
        if self.account.charge(bytes) { Ok(()) } else { Err(Error::Memory { purpose, bytes }) }
    }

    /// Releases bytes.
    pub fn release(&self, bytes: usize) {
        self.account.release(bytes);
    }

    /// Returns the limits of a run.
    pub(crate) fn run_limits(&self) -> RunLimits {
        RunLimits { cancelled: self.cancelled.clone(), memory: Some(self.account.clone()) }
    }
}

/// A guard that asks a run to stop when the caller drops the future of the run.
pub(crate) struct CancelOnDrop(pub(crate) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
