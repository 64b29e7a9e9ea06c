//! The sources of expressions: the tensors of their tables.

#[cfg(feature = "files")]
use super::files::ScannedFile;
use super::kept::{KeptTensor, Origin};
use crate::error::Error;
use redpoll_logic::Alias;
use redpoll_storage::Tensor;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The tensor of a table of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A tensor in memory that the array was made from. It is never evicted.
    Input(Arc<Tensor>),
    /// The tensor in a file, which is read when it is first needed.
    #[cfg(feature = "files")]
    File(Arc<ScannedFile>),
    /// The tensor of a computed array, kept for the expression.
    Kept(Arc<KeptTensor>),
    /// The tensor of a computed array as long as other expressions keep this tensor, and the origin
    /// of the array.
    Origin(Weak<KeptTensor>, Arc<Origin>),
}

impl Source {
    /// Returns the tensor of an input, or `None` for a computed array.
    ///
    /// # Errors
    /// Fails if a file cannot be read or has changed.
    pub(crate) fn input(&self) -> Result<Option<Tensor>, Error> {
        match self {
            Source::Input(tensor) => Ok(Some(Tensor::clone(tensor))),
            #[cfg(feature = "files")]
            Source::File(file) => file.tensor().map(Some),
            Source::Kept(_) | Source::Origin(..) => Ok(None),
        }
    }
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

    /// Returns the sources for an expression that is computed again only after an eviction. These
    /// sources keep no tensor that can be computed again.
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

    /// Returns the length of the longest chain of computed arrays that must be computed one after
    /// another to compute the sources again.
    pub(crate) fn depth(&self) -> usize {
        let depth = |source: &Source| match source {
            Source::Kept(kept) if kept.is_evictable() => kept.origin().depth,
            Source::Origin(_, origin) => origin.depth,
            _ => 0,
        };
        self.0.values().map(depth).max().unwrap_or(0)
    }
}
