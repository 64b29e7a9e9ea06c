//! The cache of encoded regions, valid while the versions of their tables stay the same.

use crate::claim::Region;
use crate::cost::{is_worth, most};
use crate::encode::Encoded;
use crate::error::Left;
use crate::options::RunsOn;
use crate::program::{Folds, Program};
use crate::sources::{Sources, Version};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::LogicalPlan;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A region that is ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) encoded: Encoded,
    pub(crate) folds: Folds,
    pub(crate) program: Program,
    /// Time to encode the rows and to make the program.
    pub(crate) encode: Duration,
    runs: Mutex<Runs>,
}

/// The times of earlier runs.
#[derive(Clone, Copy, Default, Debug)]
struct Runs {
    /// Number of runs with everything cached.
    count: u32,
    /// The fastest of these runs.
    best: Duration,
    /// Time of DataFusion's own plan, if it ran.
    theirs: Option<Duration>,
}

/// Number of runs after which the fastest one is compared with DataFusion, because other work
/// disturbs single runs.
pub(crate) const ENOUGH_RUNS: u32 = 3;

/// The key of a region: its plans, and the processor of its kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) region: Arc<Region>,
    pub(crate) inputs: Arc<Vec<LogicalPlan>>,
    pub(crate) runs_on: RunsOn,
}

/// The largest number of bytes of tensors and rows that are cached.
const MOST_BYTES: usize = 1 << 30;

/// The divisor of a memory limit that gives the share of the cache.
const SHARE: usize = 4;

/// Returns the capacity of the cache in bytes under a memory limit.
pub(crate) fn most_kept(limit: &MemoryLimit) -> usize {
    match limit {
        MemoryLimit::Finite(bytes) => MOST_BYTES.min(bytes / SHARE),
        _ => MOST_BYTES,
    }
}

/// The outcome of an insertion into the cache: `No` if the region exceeds its capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    Yes,
    No,
}

/// Number of regions left to DataFusion that are remembered.
const MOST_LEFT: usize = 256;

/// Encoded regions, and regions that are left to DataFusion.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Encoded regions, most recently used first.
    ready: Mutex<Vec<Entry>>,
    /// The plans of regions that are left to DataFusion, newest first.
    left: Mutex<Vec<Memory>>,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    version: Version,
    bytes: usize,
    ready: Arc<Ready>,
}

/// A plan that was left to DataFusion, with the reason.
#[derive(Debug)]
struct Memory {
    plan: LogicalPlan,
    version: Version,
    runs_on: RunsOn,
    why: Left,
}

impl Cache {
    /// Returns the encoded region of a key over tables in the given version.
    pub(crate) fn find(&self, key: &Key, version: &Version) -> Option<Arc<Ready>> {
        let mut entries = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().position(|e| e.version == *version && e.key == *key)?;
        let entry = entries.remove(found);
        let ready = entry.ready.clone();
        entries.insert(0, entry);
        Some(ready)
    }

    /// Inserts an encoded region. The entries used least recently are dropped if the cache exceeds
    /// its share of the memory limit.
    pub(crate) fn keep(&self, key: Key, version: Version, ready: Arc<Ready>, limit: &MemoryLimit) -> Kept {
        let most = most_kept(limit);
        let bytes = ready.bytes();
        if bytes > most {
            return Kept::No;
        }
        let mut entries = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops the entry over an earlier version of the tables.
        entries.retain(|e| e.key != key);
        entries.insert(0, Entry { key, version, bytes, ready });
        let mut total = 0;
        entries.retain(|e| {
            total += e.bytes;
            total <= most
        });
        Kept::Yes
    }

    /// Remembers that a region over tables of this version is left to DataFusion, in each of the
    /// given forms of its plan.
    pub(crate) fn leave(&self, forms: Vec<LogicalPlan>, version: &Version, runs_on: RunsOn, why: &Left) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|known| known.runs_on != runs_on || !forms.contains(&known.plan));
        let memory = |plan| Memory { plan, version: version.clone(), runs_on, why: why.clone() };
        left.splice(0..0, forms.into_iter().map(memory));
        left.truncate(MOST_LEFT);
    }

    /// Returns the reason why a region is left to DataFusion, if its tables have not changed since.
    pub(crate) fn left(&self, plan: &LogicalPlan, runs_on: RunsOn) -> Option<Left> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let known = left.iter().find(|known| known.runs_on == runs_on && known.plan == *plan)?;
        Sources::of(&[plan])?.are(&known.version).then(|| known.why.clone())
    }

    /// Drops the entry used least recently; returns `false` if the cache is empty.
    pub(crate) fn forget_oldest(&self) -> bool {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).pop().is_some()
    }
}

impl Ready {
    /// Returns a region that took `encode` to prepare.
    pub(crate) fn new(encoded: Encoded, folds: Folds, program: Program, encode: Duration) -> Ready {
        Ready { encoded, folds, program, encode, runs: Mutex::default() }
    }

    /// Records the time of DataFusion's own plan.
    pub(crate) fn theirs(&self, took: Duration) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).theirs = Some(took);
    }

    /// Records the time of a run with everything cached.
    ///
    /// # Errors
    /// If the fastest of [`ENOUGH_RUNS`] runs does not pay, compared with the time that DataFusion
    /// took. If DataFusion has not run, an upper bound of its time is used.
    pub(crate) fn ran(&self, region: &Region, took: Duration) -> Result<(), Left> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.best = if runs.count == 0 { took } else { runs.best.min(took) };
        runs.count += 1;
        if runs.count < ENOUGH_RUNS {
            return Ok(());
        }
        // If the bound cannot be computed, the region stays.
        let theirs = runs.theirs.unwrap_or_else(|| most(region, &self.encoded).unwrap_or(Duration::MAX));
        if is_worth(runs.best, theirs) { Ok(()) } else { Err(Left::Cost { ours: runs.best, theirs }) }
    }

    /// Returns the size of the region's rows, codes and tensors in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = self.program.bindings.iter().map(|(_, tensor)| tensor.bytes()).sum::<u64>();
        self.encoded.bytes().saturating_add(usize::try_from(tensors).unwrap_or(usize::MAX))
    }
}
