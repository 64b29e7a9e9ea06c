//! The caches of the cost model, and the accesses that miss them.

use super::cost;
use super::events::{Event, Work};

/// The sizes of the caches, each with the event of a miss.
pub(crate) const CACHES: [(Event, f64); 3] =
    [(Event::CloseMiss, cost::CLOSE_CACHE), (Event::NearMiss, cost::NEAR_CACHE), (Event::FarMiss, cost::FAR_CACHE)];

impl Work {
    /// Adds the cache misses of `count` accesses to positions, where `bytes` other bytes are
    /// accessed between two accesses to the same position.
    pub(crate) fn add_misses(&mut self, count: f64, bytes: f64) {
        for (event, cache) in CACHES {
            self.add(event, count * miss_fraction(cache, bytes));
        }
    }
}

/// Returns the fraction of `bytes` that a cache of `cache` bytes does not hold.
pub(crate) fn miss_fraction(cache: f64, bytes: f64) -> f64 {
    1.0 - cache / bytes.max(cache)
}
