//! Regions whose rows are encoded, kept while the tables that they come from stay as they are.

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

/// A region ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) encoded: Encoded,
    pub(crate) folds: Folds,
    pub(crate) program: Program,
    /// How long it took to make it of rows.
    pub(crate) encode: Duration,
    runs: Mutex<Runs>,
}

/// What runs took.
#[derive(Clone, Copy, Default, Debug)]
struct Runs {
    /// How many had everything cached.
    count: u32,
    /// What the fastest of those took.
    best: Duration,
    /// What DataFusion's own plan took, if it ran.
    theirs: Option<Duration>,
}

/// So many runs tell how long one takes on a machine that does something else meanwhile.
pub(crate) const ENOUGH_RUNS: u32 = 3;

/// Which region over which plans, on which processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) region: Arc<Region>,
    pub(crate) inputs: Arc<Vec<LogicalPlan>>,
    pub(crate) runs_on: RunsOn,
}

/// The most bytes of tensors and rows that are kept.
const MOST_BYTES: usize = 1 << 30;

/// What is kept takes at most one part in so many of a memory limit.
const SHARE: usize = 4;

/// How many bytes are kept where memory is so limited.
pub(crate) fn most_kept(limit: &MemoryLimit) -> usize {
    match limit {
        MemoryLimit::Finite(bytes) => MOST_BYTES.min(bytes / SHARE),
        _ => MOST_BYTES,
    }
}

/// Whether something is kept, which it is not where it takes more than may be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    Yes,
    No,
}

/// So many regions that were left to DataFusion are remembered.
const MOST_LEFT: usize = 256;

/// What is known of regions.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Encoded ones, those used last first.
    ready: Mutex<Vec<Entry>>,
    /// Those whose rows are for DataFusion, as they stood in the plan, the newest first.
    left: Mutex<Vec<Memory>>,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    version: Version,
    bytes: usize,
    ready: Arc<Ready>,
}

/// Why a region was left to DataFusion.
#[derive(Debug)]
struct Memory {
    plan: LogicalPlan,
    version: Version,
    runs_on: RunsOn,
    why: Left,
}

impl Cache {
    /// What was made of a region over tables in that state.
    pub(crate) fn find(&self, key: &Key, version: &Version) -> Option<Arc<Ready>> {
        let mut entries = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().position(|e| e.version == *version && e.key == *key)?;
        let entry = entries.remove(found);
        let ready = entry.ready.clone();
        entries.insert(0, entry);
        Some(ready)
    }

    /// Keeps what was made, up to a share of the memory that there is; what was used longest ago goes when there is too much.
    pub(crate) fn keep(&self, key: Key, version: Version, ready: Arc<Ready>, limit: &MemoryLimit) -> Kept {
        let most = most_kept(limit);
        let bytes = ready.bytes();
        if bytes > most {
            return Kept::No;
        }
        let mut entries = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        // What was made of the tables in an earlier state serves nobody any more.
        entries.retain(|e| e.key != key);
        entries.insert(0, Entry { key, version, bytes, ready });
        let mut total = 0;
        entries.retain(|e| {
            total += e.bytes;
            total <= most
        });
        Kept::Yes
    }

    /// Remembers that a region over tables in that state is for DataFusion, whichever of those forms its plan has.
    pub(crate) fn leave(&self, forms: Vec<LogicalPlan>, version: &Version, runs_on: RunsOn, why: &Left) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|known| known.runs_on != runs_on || !forms.contains(&known.plan));
        let memory = |plan| Memory { plan, version: version.clone(), runs_on, why: why.clone() };
        left.splice(0..0, forms.into_iter().map(memory));
        left.truncate(MOST_LEFT);
    }

    /// Why a region is for DataFusion, if that was found while its tables were as they are.
    pub(crate) fn left(&self, plan: &LogicalPlan, runs_on: RunsOn) -> Option<Left> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let known = left.iter().find(|known| known.runs_on == runs_on && known.plan == *plan)?;
        Sources::of(&[plan])?.are(&known.version).then(|| known.why.clone())
    }

    /// Forgets what was used longest ago; `false` when there is nothing.
    pub(crate) fn forget_oldest(&self) -> bool {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).pop().is_some()
    }
}

impl Ready {
    /// A region that was made ready in so long.
    pub(crate) fn new(encoded: Encoded, folds: Folds, program: Program, encode: Duration) -> Ready {
        Ready { encoded, folds, program, encode, runs: Mutex::default() }
    }

    /// Notes that DataFusion's own plan took so long.
    pub(crate) fn theirs(&self, took: Duration) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).theirs = Some(took);
    }

    /// Notes a run of the region with everything cached.
    ///
    /// # Errors
    /// When the fastest of enough runs was not worth it, beside what DataFusion took, or where that is not known, takes at
    /// most.
    pub(crate) fn ran(&self, region: &Region, took: Duration) -> Result<(), Left> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.best = if runs.count == 0 { took } else { runs.best.min(took) };
        runs.count += 1;
        if runs.count < ENOUGH_RUNS {
            return Ok(());
        }
        // What cannot be read is no reason.
        let theirs = runs.theirs.unwrap_or_else(|| most(region, &self.encoded).unwrap_or(Duration::MAX));
        if is_worth(runs.best, theirs) { Ok(()) } else { Err(Left::Cost { ours: runs.best, theirs }) }
    }

    /// The bytes of its rows, codes and tensors.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = self.program.bindings.iter().map(|(_, tensor)| tensor.bytes()).sum::<u64>();
        self.encoded.bytes().saturating_add(usize::try_from(tensors).unwrap_or(usize::MAX))
    }
}
