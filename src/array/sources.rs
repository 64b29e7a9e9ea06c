//! The sources of expressions: the tensors behind their tables.

use super::kept::{KeptTensor, Origin};
use redpoll_logic::Alias;
use redpoll_storage::Tensor;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The tensor behind a table of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A tensor that redpoll did not compute, or that it cannot compute again.
    Input(Tensor),
    /// The tensor of a computed array, kept for the expression.
    Kept(Arc<KeptTensor>),
    /// The tensor of a computed array, if it is kept for others, and the origin of that array.
    Origin(Weak<KeptTensor>, Arc<Origin>),
}

/// The sources of an expression, by the names of its tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Arc<BTreeMap<Alias, Source>>);

/// Returns a name of a table that no other source of the process has.
pub(crate) fn unique_name(prefix: &str) -> Alias {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Alias::from(format!("{prefix}{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

impl Sources {
    pub(crate) fn one(name: Alias, source: Source) -> Sources {
        Sources(Arc::new(BTreeMap::from([(name, source)])))
    }

    /// Returns the source of a table.
    pub(crate) fn get(&self, name: &Alias) -> Option<&Source> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Alias, &Source)> {
        self.0.iter()
    }

    /// Returns the sources of both expressions. Names are unique in a process.
    pub(crate) fn union(&self, other: &Sources) -> Sources {
        let contains = |a: &Sources, b: &Sources| b.0.keys().all(|name| a.0.contains_key(name));
        if contains(self, other) {
            return self.clone();
        }
        if contains(other, self) {
            return other.clone();
        }
        let both = self.iter().chain(other.iter());
        Sources(Arc::new(both.map(|(name, source)| (name.clone(), source.clone())).collect()))
    }

    /// Returns the sources for an expression that is computed again only after an eviction. They
    /// keep no tensor that can be computed again.
    pub(crate) fn without_kept(&self) -> Sources {
        let origin = |source: &Source| match source {
            Source::Kept(kept) => match kept.is_evictable() {
                true => Source::Origin(Arc::downgrade(kept), kept.origin().clone()),
                false => source.clone(),
            },
            _ => source.clone(),
        };
        Sources(Arc::new(self.iter().map(|(name, source)| (name.clone(), origin(source))).collect()))
    }

    /// Returns the largest number of computed arrays in sequence behind the expression.
    pub(crate) fn depth(&self) -> usize {
        let depth = |source: &Source| match source {
            Source::Kept(kept) if kept.is_evictable() => kept.origin().depth,
            Source::Origin(_, origin) => origin.depth,
            Source::Kept(_) | Source::Input(_) => 0,
        };
        self.0.values().map(depth).max().unwrap_or(0)
    }
}
