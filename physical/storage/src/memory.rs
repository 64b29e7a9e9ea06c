//! Accounts of allocated bytes, and their limits.

mod charge;

pub(crate) use charge::Charge;
pub use charge::charge_buffer;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// An account to which bytes are charged before they are allocated.
pub trait Account: fmt::Debug + Send + Sync {
    /// Charges bytes; returns `false` and charges nothing if fewer bytes remain.
    fn charge(&self, bytes: usize) -> bool;

    /// Releases charged bytes.
    fn release(&self, bytes: usize);
}

/// Charged buffers that can be dropped: a budget evicts some of them when its limit is reached.
pub trait Evictable: fmt::Debug + Send + Sync {
    /// Drops some buffers; returns `false` if none are left. The caller may hold locks, so this
    /// function must not charge bytes to a budget.
    fn evict(&self) -> bool;
}

/// A limit on the bytes allocated at any one time, shared by all allocations charged to it.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    /// The peak of the bytes in use.
    peak: AtomicUsize,
    /// Accounts to which the same bytes are charged.
    outer: Vec<Arc<dyn Account>>,
    /// The buffers that are evicted before a charge is refused, in this order.
    evictable: Mutex<Vec<Weak<dyn Evictable>>>,
}

// The counters are atomic, so a panic elsewhere leaves them consistent.
impl RefUnwindSafe for MemoryBudget {}
impl UnwindSafe for MemoryBudget {}

impl MemoryBudget {
    /// Makes a budget of this many bytes.
    pub fn new(limit: usize) -> MemoryBudget {
        MemoryBudget::with_accounts(limit, Vec::new())
    }

    /// Makes a budget of this many bytes. Each charge is also made to the accounts `outer`.
    pub fn with_accounts(limit: usize, outer: Vec<Arc<dyn Account>>) -> MemoryBudget {
        let (used, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        MemoryBudget { limit, used, peak, outer, evictable: Mutex::default() }
    }

    /// Adds buffers to evict before a charge is refused. Buffers that were added earlier are
    /// evicted first. A charge that exceeds the whole limit evicts nothing.
    pub fn evict_from(&self, evictable: Weak<dyn Evictable>) {
        self.evictable.lock().unwrap_or_else(PoisonError::into_inner).push(evictable);
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the peak of the bytes in use since the budget was made or
    /// [`MemoryBudget::reset_peak`] was called.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Sets [`MemoryBudget::peak`] to the bytes in use.
    pub fn reset_peak(&self) {
        self.peak.store(self.used(), Ordering::Relaxed);
    }

    /// Charges bytes without an eviction.
    fn try_charge(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|total| *total <= self.limit);
        let Ok(before) = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) else { return false };
        if let Some(refused) = self.outer.iter().position(|account| !account.charge(bytes)) {
            self.outer[..refused].iter().for_each(|account| account.release(bytes));
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        true
    }
}

impl Account for MemoryBudget {
    fn charge(&self, bytes: usize) -> bool {
        // The list is cloned and unlocked before buffers are evicted, because an eviction takes the
        // locks of the owners of the buffers.
        let evictable = || self.evictable.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let evict = || evictable().iter().filter_map(Weak::upgrade).any(|buffers| buffers.evict());
        while !self.try_charge(bytes) {
            if bytes > self.limit {
                return false;
            }
            // If nothing is left to evict, another thread may have just evicted the last buffers,
            // so the charge is tried once more.
            if !evict() {
                return self.try_charge(bytes);
            }
        }
        true
    }

    fn release(&self, bytes: usize) {
        self.outer.iter().for_each(|account| account.release(bytes));
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refused charge leaves nothing charged to any account.
    #[test]
    fn bytes_are_charged_to_all_accounts_or_to_none() {
        let [wide, narrow] = [100, 50].map(|limit| Arc::new(MemoryBudget::new(limit)));
        let budget = MemoryBudget::with_accounts(80, vec![wide.clone(), narrow.clone()]);
        let used = || [budget.used(), wide.used(), narrow.used()];
        assert!(budget.charge(40));
        assert_eq!(used(), [40; 3]);
        assert!(!budget.charge(20), "the narrow account has 10 bytes left");
        assert!(!budget.charge(60), "the budget itself has 40 bytes left");
        assert_eq!(used(), [40; 3]);
        budget.release(40);
        assert_eq!(used(), [0; 3]);
        assert_eq!([budget.peak(), narrow.peak()], [40; 2], "refused bytes do not count");
    }

    /// Charges of a budget, dropped one by one.
    #[derive(Debug)]
    struct Charges(std::sync::Mutex<Vec<Arc<Charge>>>);

    impl Evictable for Charges {
        fn evict(&self) -> bool {
            self.0.lock().unwrap().pop().is_some()
        }
    }

    /// A charge within the limit evicts buffers until the charge fits, also if it is made through
    /// an inner budget. A charge above the limit evicts nothing.
    #[test]
    fn buffers_are_evicted_before_a_charge_is_refused() {
        let budget = Arc::new(MemoryBudget::new(100));
        let charges = Arc::new(Charges(Default::default()));
        let evictable: Arc<dyn Evictable> = charges.clone();
        budget.evict_from(Arc::downgrade(&evictable));
        for _ in 0..3 {
            charges.0.lock().unwrap().push(Charge::new(30, &budget).unwrap());
        }
        assert!(!budget.charge(101));
        let inner = MemoryBudget::with_accounts(100, vec![budget.clone()]);
        assert!(inner.charge(40));
        assert_eq!((budget.used(), inner.used()), (100, 40));
        assert!(inner.charge(60) && !inner.charge(1));
        assert_eq!((budget.used(), inner.used()), (100, 100));
    }
}
