//! Cache of the compiled programs of a session, by text and the types of inputs, including the
//! widths of their arrays.

use crate::bindings::Bindings;
use crate::program::CompiledProgram;
use lru::LruCache;
use redpoll_logic::{Alias, Prim, TensorType};
use redpoll_storage::Array;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached programs; the least recently used programs are evicted.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// The text, and the name, type and array widths of each input.
type ProgramKey = (String, Vec<(Alias, Arc<TensorType>, Vec<Prim>)>);

/// Cache of compiled programs.
pub(crate) struct ProgramCache(Mutex<LruCache<ProgramKey, Arc<CompiledProgram>>>);

fn key(text: &str, bindings: &Bindings) -> ProgramKey {
    let input = |(name, tensor): (&Alias, &redpoll_storage::Tensor)| {
        (name.clone(), tensor.ty().clone(), tensor.levels().iter().flatten().map(Array::prim).collect())
    };
    (text.to_owned(), bindings.iter().map(input).collect())
}

impl ProgramCache {
    pub(crate) fn find(&self, text: &str, bindings: &Bindings) -> Option<Arc<CompiledProgram>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(text, bindings)).cloned()
    }

    pub(crate) fn insert(&self, text: &str, bindings: &Bindings, compiled: &Arc<CompiledProgram>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key(text, bindings), compiled.clone());
    }
}

impl Default for ProgramCache {
    fn default() -> ProgramCache {
        ProgramCache(Mutex::new(LruCache::new(CAPACITY)))
    }
}

impl std::fmt::Debug for ProgramCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgramCache")
    }
}
