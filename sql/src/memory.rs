//! The memory of claimed regions, which the session's memory pool counts.

use crate::cache::Cache;
use crate::engine::{RunError, Stop};
use crate::error::{Error, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use redpoll_physical::run::{Account, MemoryBudget};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a memory pool, given back when the account is dropped. Where the pool has none left, encoded regions that were
/// kept for later are forgotten.
#[derive(Debug)]
struct PoolAccount {
    reservation: MemoryReservation,
    /// What may be forgotten for it.
    kept: Option<Arc<Cache>>,
    /// It may have no more.
    most: usize,
}

impl Account for PoolAccount {
    fn charge(&self, bytes: usize) -> bool {
        if self.reservation.size().saturating_add(bytes) > self.most {
            return false;
        }
        loop {
            if self.reservation.try_grow(bytes).is_ok() {
                return true;
            }
            if !self.kept.as_ref().is_some_and(|kept| kept.forget_oldest()) {
                return false;
            }
        }
    }

    fn release(&self, bytes: usize) {
        self.reservation.shrink(bytes);
    }
}

/// What a region may use: memory that an account has, until it is asked to stop. Clones take from one account.
#[derive(Clone, Debug)]
pub struct Allowance {
    account: Arc<dyn Account>,
    cancelled: Arc<AtomicBool>,
}

impl Allowance {
    /// All memory that there is.
    pub fn unlimited() -> Allowance {
        Allowance { account: Arc::new(MemoryBudget::new(usize::MAX)), cancelled: Arc::default() }
    }

    /// What a pool has.
    pub(crate) fn of_pool(pool: &Arc<dyn MemoryPool>, kept: Arc<Cache>, cancelled: Arc<AtomicBool>) -> Allowance {
        let reservation = MemoryConsumer::new("a region that redpoll claimed").register(pool);
        Allowance { account: Arc::new(PoolAccount { reservation, kept: Some(kept), most: usize::MAX }), cancelled }
    }

    /// So much of what a pool has, for what nobody waits for: nothing is forgotten for it.
    pub(crate) fn in_background(pool: &Arc<dyn MemoryPool>, most: usize, cancelled: Arc<AtomicBool>) -> Allowance {
        let reservation = MemoryConsumer::new("a region that redpoll prepares").register(pool);
        Allowance { account: Arc::new(PoolAccount { reservation, kept: None, most }), cancelled }
    }

    /// Takes bytes for something, until the last clone is gone.
    ///
    /// # Errors
    /// When they are not left, or the region is asked to stop.
    pub fn take(&self, what: &'static str, bytes: usize) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled.into());
        }
        if self.account.charge(bytes) { Ok(()) } else { Err(Error::Memory { what, bytes }) }
    }

    /// Gives bytes back.
    pub fn give_back(&self, bytes: usize) {
        self.account.release(bytes);
    }

    /// What an engine may use.
    pub(crate) fn stop(&self) -> Stop {
        Stop { cancelled: self.cancelled.clone(), memory: Some(self.account.clone()) }
    }
}
