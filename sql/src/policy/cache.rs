//! The cache of encoded regions. An entry is valid while the versions of the region's tables stay
//! the same.

use super::prepared::PreparedRegion;
use crate::claim::Region;
use crate::columns::ColumnStore;
use crate::error::FallbackReason;
use crate::input_tables::{InputTables, Version};
use crate::memory::{Evict, cache_capacity};
use crate::options::TargetChoice;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::LogicalPlan;
use std::sync::{Arc, Mutex, PoisonError};

/// The key of an encoded region: the region, the plans of its inputs, and the target of its
/// kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegionKey {
    pub(crate) region: Arc<Region>,
    pub(crate) inputs: Arc<Vec<LogicalPlan>>,
    pub(crate) target: TargetChoice,
}

/// The key and version under which an encoded region is cached.
#[derive(Clone, Debug)]
pub(crate) struct CacheSlot {
    /// The tables below the inputs.
    pub(crate) tables: InputTables,
    /// The version of `tables` when the inputs were planned.
    pub(crate) version: Version,
    pub(crate) key: RegionKey,
}

impl CacheSlot {
    /// Returns the cache key and version of a region, or `None` if its rows depend on more than its
    /// tables, or a table has no version.
    pub(crate) fn new(tables: Option<InputTables>, key: RegionKey) -> Option<CacheSlot> {
        let tables = tables?;
        let version = tables.version()?;
        Some(CacheSlot { tables, version, key })
    }

    /// Returns whether the tables are still in the version that was planned.
    pub(crate) fn is_current(&self) -> bool {
        self.tables.have_version(&self.version)
    }
}

/// The outcome of an insertion into the cache: `TooLarge` if the region exceeds the cache's
/// capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insertion {
    Inserted,
    TooLarge,
}

/// The largest number of remembered plans that were left to DataFusion. A region may have several
/// plans.
const MAX_FALLBACKS: usize = 256;

/// Encoded regions, regions that are left to DataFusion, and the columns of tables.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The columns of files, and the codes of columns.
    pub(crate) columns: Arc<ColumnStore>,
    /// Encoded regions, most recently used first.
    regions: Mutex<Vec<RegionEntry>>,
    /// The plans of regions that are left to DataFusion, newest first.
    fallbacks: Mutex<Vec<FallbackEntry>>,
}

#[derive(Debug)]
struct RegionEntry {
    key: RegionKey,
    version: Version,
    bytes: usize,
    region: Arc<PreparedRegion>,
}

/// A plan that was left to DataFusion, with the reason.
#[derive(Debug)]
struct FallbackEntry {
    plan: LogicalPlan,
    version: Version,
    target: TargetChoice,
    reason: FallbackReason,
}

impl Cache {
    /// Returns the encoded region of a key over tables in the given version, if the region is
    /// cached. The region then counts as the most recently used.
    pub(crate) fn find(&self, key: &RegionKey, version: &Version) -> Option<Arc<PreparedRegion>> {
        let mut entries = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let index = entries.iter().position(|e| e.version == *version && e.key == *key)?;
        let entry = entries.remove(index);
        let region = entry.region.clone();
        entries.insert(0, entry);
        Some(region)
    }

    /// Inserts an encoded region. The entries used least recently are dropped if the cached regions
    /// exceed [`cache_capacity`].
    pub(crate) fn insert(
        &self,
        key: RegionKey,
        version: Version,
        region: Arc<PreparedRegion>,
        limit: &MemoryLimit,
    ) -> Insertion {
        let capacity = cache_capacity(limit);
        let bytes = region.bytes();
        if bytes > capacity {
            return Insertion::TooLarge;
        }
        let mut entries = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops the entry over an earlier version of the tables.
        entries.retain(|e| e.key != key);
        entries.insert(0, RegionEntry { key, version, bytes, region });
        let mut total = 0;
        entries.retain(|e| {
            total += e.bytes;
            total <= capacity
        });
        Insertion::Inserted
    }

    /// Records that a region over tables of this version is left to DataFusion; `forms` are the
    /// plan and its forms after later passes of the optimizer.
    pub(crate) fn insert_fallbacks(
        &self,
        forms: Vec<LogicalPlan>,
        version: &Version,
        target: &TargetChoice,
        reason: &FallbackReason,
    ) {
        let mut fallbacks = self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner);
        fallbacks.retain(|entry| entry.target != *target || !forms.contains(&entry.plan));
        let entry =
            |plan| FallbackEntry { plan, version: version.clone(), target: target.clone(), reason: reason.clone() };
        fallbacks.splice(0..0, forms.into_iter().map(entry));
        fallbacks.truncate(MAX_FALLBACKS);
    }

    /// Returns the reason why a region was left to DataFusion, if the tables have not changed since
    /// then.
    pub(crate) fn fallback_reason(&self, plan: &LogicalPlan, target: &TargetChoice) -> Option<FallbackReason> {
        let fallbacks = self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = fallbacks.iter().find(|entry| entry.target == *target && entry.plan == *plan)?;
        InputTables::of(&[plan])?.have_version(&entry.version).then(|| entry.reason.clone())
    }
}

impl Evict for Cache {
    fn evict_oldest(&self) -> bool {
        let region = self.regions.lock().unwrap_or_else(PoisonError::into_inner).pop();
        region.is_some() || self.columns.evict_oldest()
    }
}
