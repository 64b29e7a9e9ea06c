//! The cache of a tensor's statistics.

use redpoll_logic::statistics::{Answer, Fact, ModeSet, Weights};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The distinct coordinate pairs of stored elements in two modes, sorted.
pub type Links = Arc<[(u32, u32)]>;

/// The statistics of a tensor computed so far.
#[derive(Debug, Default)]
pub(super) struct StatisticsCache {
    pub(super) counts: OnceLock<StoredCounts>,
    pub(super) censuses: KeyedCache<ModeSet, Option<Arc<Census>>>,
    pub(super) degrees: KeyedCache<(ModeSet, ModeSet), Option<Answer>>,
    pub(super) marginals: KeyedCache<(ModeSet, usize), Option<Weights>>,
    pub(super) facts: KeyedCache<Fact, bool>,
    pub(super) links: KeyedCache<(usize, usize), Option<Links>>,
    pub(super) values: OnceLock<Option<(i64, i64)>>,
}

impl StatisticsCache {
    /// Returns the links from one mode to another, from the cache or else from `find`.
    pub(super) fn links(&self, from: usize, to: usize, find: impl FnOnce() -> Option<Links>) -> Option<Links> {
        get_or_compute(&self.links, (from, to), find)
    }
}

/// Counts of stored elements.
#[derive(Debug)]
pub(super) struct StoredCounts {
    pub(super) all: u64,
    /// The counts for each coordinate of each storage mode; `None` for modes that are too long.
    pub(super) by_mode: Vec<Option<Vec<u32>>>,
}

/// Counts of the distinct coordinates of stored elements in a set of modes.
#[derive(Debug)]
pub(super) struct Census {
    pub(super) distinct: u64,
    /// The largest number of elements with the same coordinates.
    pub(super) max_count: u64,
    /// The number of distinct coordinates for each coordinate of each mode of the set; other modes
    /// have zeros. `None` if all stored elements have distinct coordinates in the set: then the
    /// counts are those of [`StoredCounts`].
    pub(super) by_mode: Option<Vec<Option<Vec<u32>>>>,
}

type KeyedCache<K, V> = Mutex<HashMap<K, V>>;

/// Returns the cached value for a key, or computes it. Two threads may compute the same value at
/// once.
pub(super) fn get_or_compute<K: Hash + Eq, V: Clone>(
    cache: &KeyedCache<K, V>,
    key: K,
    compute: impl FnOnce() -> V,
) -> V {
    let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = lock().get(&key) {
        return value.clone();
    }
    let value = compute();
    lock().insert(key, value.clone());
    value
}
