//! The plans of a session that were taken to kernels: a congruent one over tensors alike finds everything made.
//!
//! What was made of a plan depends on the types of its inputs, on the widths of their arrays, on how many entries they have,
//! which is kept to a power of two, on which infinities and NaN they store, and on the facts of them that the optimizer asked
//! for; not on their names or other values.

use crate::prepared::Made;
use crate::session::Bindings;
use lru::LruCache;
use redpoll_logic::{Alias, Plan, Prim};
use redpoll_physical::Special;
use redpoll_physical::storage::{Array, Tensor};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// The plans that are kept; those that were not used for longest leave first.
const KEPT: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// What was made of plans.
pub(crate) struct PlanCache(Mutex<LruCache<u64, Arc<Entry>>>);

struct Entry {
    /// The inputs of its plan, as [`Plan::inputs`] orders them.
    inputs: Vec<Input>,
    made: Arc<Made>,
}

/// What matters of the storage of an input beside its type, which is in the plan.
#[derive(PartialEq, Eq, Hash)]
struct Storage {
    /// The types of the arrays of its levels.
    prims: Vec<Prim>,
    /// The powers of two that the numbers of positions below its levels have.
    sizes: Vec<u32>,
    /// The special values that it stores, which kernels ask for.
    special: Special,
}

struct Input {
    name: Alias,
    storage: Storage,
}

/// A plan over tensors, as the cache knows it.
pub(crate) struct Key {
    hash: u64,
    inputs: Vec<Input>,
}

impl Key {
    /// The key of a plan over tensors; `None` when one is missing, or a device has lost it.
    pub(crate) fn new(plan: &Plan, bindings: &Bindings) -> Option<Key> {
        let (congruence, names) = plan.congruence();
        let mut inputs = Vec::with_capacity(names.len());
        for name in names {
            let storage = Storage::of(bindings.get(name.as_str())?)?;
            inputs.push(Input { name, storage });
        }
        let mut hasher = DefaultHasher::new();
        congruence.hash(&mut hasher);
        inputs.iter().for_each(|i| i.storage.hash(&mut hasher));
        Some(Key { hash: hasher.finish(), inputs })
    }
}

impl Storage {
    fn of(tensor: &Tensor) -> Option<Storage> {
        let positions = tensor.level_positions().ok()?;
        Some(Storage {
            prims: tensor.levels().iter().flatten().map(Array::prim).collect(),
            sizes: positions.into_iter().map(|n| u64::BITS - n.leading_zeros()).collect(),
            special: tensor.special(),
        })
    }
}

impl PlanCache {
    /// What was made of a congruent plan over tensors alike, and the tensors by the names that it has for them.
    pub(crate) fn find(&self, key: &Key, plan: &Plan, bindings: &Bindings) -> Option<(Arc<Made>, Bindings)> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key.hash)?.clone();
        let alike = entry.inputs.len() == key.inputs.len()
            && entry.inputs.iter().zip(&key.inputs).all(|(a, b)| a.storage == b.storage)
            && entry.made.plan.is_congruent(plan);
        let tensor = |input: &Input| bindings.get(input.name.as_str()).cloned();
        let renamed = entry.inputs.iter().zip(&key.inputs).map(|(to, from)| Some((to.name.clone(), tensor(from)?)));
        let alike = alike
            && entry.made.facts().all(|(input, fact, holds)| {
                let of = entry.inputs.iter().position(|i| i.name == *input);
                let tensor = of.and_then(|k| tensor(&key.inputs[k]));
                tensor.is_some_and(|tensor| tensor.holds(*fact) == *holds)
            });
        if alike { Some((entry.made.clone(), renamed.collect::<Option<_>>()?)) } else { None }
    }

    /// Keeps what was made of a plan.
    pub(crate) fn keep(&self, key: Key, made: Arc<Made>) {
        let entry = Arc::new(Entry { inputs: key.inputs, made });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key.hash, entry);
    }
}

impl Default for PlanCache {
    fn default() -> PlanCache {
        PlanCache(Mutex::new(LruCache::new(KEPT)))
    }
}

impl std::fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanCache")
    }
}
