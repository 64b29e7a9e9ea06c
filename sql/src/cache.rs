//! The cache of encoded regions, valid while the versions of their tables stay the same.

use crate::claim::Region;
use crate::cost::{is_competitive, max_datafusion_time};
use crate::encode::EncodedRegion;
use crate::error::FallbackReason;
use crate::input_tables::{InputTables, Version};
use crate::memory::Evict;
use crate::options::EngineChoice;
use crate::program::{RegionFolds, RegionProgram};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::LogicalPlan;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A region with its encoded rows and its program, ready to run.
#[derive(Debug)]
pub(crate) struct PreparedRegion {
    pub(crate) encoded: EncodedRegion,
    pub(crate) folds: RegionFolds,
    pub(crate) program: RegionProgram,
    /// Time to encode the rows and build the program.
    pub(crate) encode_time: Duration,
    runs: Mutex<RunTimes>,
}

/// The times of earlier runs.
#[derive(Clone, Copy, Default, Debug)]
struct RunTimes {
    /// Number of runs with everything cached.
    count: u32,
    /// The fastest of these runs.
    best: Duration,
    /// Time of DataFusion's own plan, if it ran.
    datafusion_time: Option<Duration>,
}

/// Number of runs after which the fastest one is compared with DataFusion, because other work
/// disturbs single runs.
pub(crate) const TRIAL_RUNS: u32 = 3;

/// The key of a region: its plans, and the processor of its kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegionKey {
    pub(crate) region: Arc<Region>,
    pub(crate) inputs: Arc<Vec<LogicalPlan>>,
    pub(crate) engine: EngineChoice,
}

/// The largest number of bytes of tensors and rows that are cached.
const MAX_BYTES: usize = 1 << 30;

/// The divisor of a memory limit that gives the share of the cache.
const LIMIT_DIVISOR: usize = 4;

/// Returns the capacity of the cache in bytes under a memory limit.
pub(crate) fn capacity(limit: &MemoryLimit) -> usize {
    match limit {
        MemoryLimit::Finite(bytes) => MAX_BYTES.min(bytes / LIMIT_DIVISOR),
        _ => MAX_BYTES,
    }
}

/// The outcome of an insertion into the cache: `TooLarge` if the region exceeds its capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insertion {
    Inserted,
    TooLarge,
}

/// Number of regions left to DataFusion that the cache remembers.
const MAX_FALLBACKS: usize = 256;

/// Encoded regions, and regions that are left to DataFusion.
#[derive(Debug, Default)]
pub(crate) struct Cache {
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
    engine: EngineChoice,
    reason: FallbackReason,
}

impl Cache {
    /// Returns the encoded region of a key over tables in the given version.
    pub(crate) fn find(&self, key: &RegionKey, version: &Version) -> Option<Arc<PreparedRegion>> {
        let mut entries = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let index = entries.iter().position(|e| e.version == *version && e.key == *key)?;
        let entry = entries.remove(index);
        let region = entry.region.clone();
        entries.insert(0, entry);
        Some(region)
    }

    /// Inserts an encoded region. The entries used least recently are dropped if the cache exceeds
    /// its share of the memory limit.
    pub(crate) fn insert(
        &self,
        key: RegionKey,
        version: Version,
        region: Arc<PreparedRegion>,
        limit: &MemoryLimit,
    ) -> Insertion {
        let capacity = capacity(limit);
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

    /// Records that a region over tables of this version is left to DataFusion, in each of the
    /// given forms of its plan.
    pub(crate) fn insert_fallbacks(
        &self,
        forms: Vec<LogicalPlan>,
        version: &Version,
        engine: EngineChoice,
        reason: &FallbackReason,
    ) {
        let mut fallbacks = self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner);
        fallbacks.retain(|entry| entry.engine != engine || !forms.contains(&entry.plan));
        let entry = |plan| FallbackEntry { plan, version: version.clone(), engine, reason: reason.clone() };
        fallbacks.splice(0..0, forms.into_iter().map(entry));
        fallbacks.truncate(MAX_FALLBACKS);
    }

    /// Returns the reason why a region is left to DataFusion, if its tables have not changed since.
    pub(crate) fn fallback_reason(&self, plan: &LogicalPlan, engine: EngineChoice) -> Option<FallbackReason> {
        let fallbacks = self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = fallbacks.iter().find(|entry| entry.engine == engine && entry.plan == *plan)?;
        InputTables::of(&[plan])?.have_version(&entry.version).then(|| entry.reason.clone())
    }
}

impl Evict for Cache {
    fn evict_oldest(&self) -> bool {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner).pop().is_some()
    }
}

impl PreparedRegion {
    /// Returns a region that took `encode_time` to prepare.
    pub(crate) fn new(
        encoded: EncodedRegion,
        folds: RegionFolds,
        program: RegionProgram,
        encode_time: Duration,
    ) -> PreparedRegion {
        PreparedRegion { encoded, folds, program, encode_time, runs: Mutex::default() }
    }

    /// Records the time of DataFusion's own plan.
    pub(crate) fn record_datafusion_time(&self, time: Duration) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).datafusion_time = Some(time);
    }

    /// Records the time of a run with everything cached.
    ///
    /// # Errors
    /// If the fastest of [`TRIAL_RUNS`] runs does not pay, compared with the time that DataFusion
    /// took. If DataFusion has not run, an upper bound of its time is used.
    pub(crate) fn record_run(&self, region: &Region, time: Duration) -> Result<(), FallbackReason> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.best = if runs.count == 0 { time } else { runs.best.min(time) };
        runs.count += 1;
        if runs.count < TRIAL_RUNS {
            return Ok(());
        }
        // If the bound cannot be computed, the region stays.
        let datafusion_time =
            runs.datafusion_time.unwrap_or_else(|| max_datafusion_time(region, &self.encoded).unwrap_or(Duration::MAX));
        if is_competitive(runs.best, datafusion_time) {
            Ok(())
        } else {
            Err(FallbackReason::Slower { redpoll_time: runs.best, datafusion_time })
        }
    }

    /// Returns the size of the region's rows, codes and tensors in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = self.program.bindings.iter().map(|(_, tensor)| tensor.bytes()).sum::<u64>();
        self.encoded.bytes().saturating_add(usize::try_from(tensors).unwrap_or(usize::MAX))
    }
}
