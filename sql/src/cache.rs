//! Regions whose rows are encoded, kept while the tables that they come from stay as they are.

use crate::claim::Region;
use crate::encode::Encoded;
use crate::program::{Folds, Program};
use crate::sources::Version;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::LogicalPlan;
use std::sync::{Arc, Mutex, PoisonError};

/// A region ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) encoded: Encoded,
    pub(crate) folds: Folds,
    pub(crate) program: Program,
}

/// Which region over which plans.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) region: Arc<Region>,
    pub(crate) inputs: Arc<Vec<LogicalPlan>>,
}

/// The most bytes of tensors and rows that are kept.
const MOST_BYTES: usize = 1 << 30;

/// What is kept takes at most one part in so many of a memory limit.
const SHARE: usize = 4;

/// Encoded regions, those used last first.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    key: Key,
    version: Version,
    bytes: usize,
    ready: Arc<Ready>,
}

impl Cache {
    /// What was made of a region over tables in that state.
    pub(crate) fn find(&self, key: &Key, version: &Version) -> Option<Arc<Ready>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().position(|e| e.version == *version && e.key == *key)?;
        let entry = entries.remove(found);
        let ready = entry.ready.clone();
        entries.insert(0, entry);
        Some(ready)
    }

    /// Keeps what was made, up to a share of the memory that there is; what was used longest ago goes when there is too much.
    pub(crate) fn keep(&self, key: Key, version: Version, ready: Arc<Ready>, limit: &MemoryLimit) {
        let most = match limit {
            MemoryLimit::Finite(bytes) => MOST_BYTES.min(bytes / SHARE),
            _ => MOST_BYTES,
        };
        let bytes = ready.bytes();
        if bytes > most {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was made of the tables in an earlier state serves nobody any more.
        entries.retain(|e| e.key != key);
        entries.insert(0, Entry { key, version, bytes, ready });
        let mut total = 0;
        entries.retain(|e| {
            total += e.bytes;
            total <= most
        });
    }

    /// Forgets what was used longest ago; `false` when there is nothing.
    pub(crate) fn forget_oldest(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().is_some()
    }
}

impl Ready {
    /// The bytes of its rows, codes and tensors.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = self.program.bindings.iter().map(|(_, tensor)| tensor.bytes()).sum::<u64>();
        self.encoded.bytes().saturating_add(usize::try_from(tensors).unwrap_or(usize::MAX))
    }
}
