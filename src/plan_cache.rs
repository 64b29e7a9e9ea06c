//! Cache of the compiled plans of a session, which congruent plans over similar tensors share.
//!
//! A compiled plan depends on these properties of its inputs:
//! - types, and widths of arrays
//! - numbers of entries, rounded to a power of two
//! - stored infinities and NaN
//! - facts that the optimizer requested
//!
//! It does not depend on the names or other values of inputs.

use crate::bindings::Bindings;
use crate::prepared_plan::CompiledPlan;
use lru::LruCache;
use redpoll_logic::Special;
use redpoll_logic::{Alias, Plan, Prim};
use redpoll_storage::{Array, Tensor};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached plans; the least recently used plans are evicted.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// Cache of compiled plans.
pub(crate) struct PlanCache(Mutex<LruCache<u64, Arc<CachedPlan>>>);

struct CachedPlan {
    /// The inputs of the plan, in the order of [`Plan::inputs`].
    inputs: Vec<PlanInput>,
    compiled: Arc<CompiledPlan>,
}

/// Properties of the storage of an input, apart from its type, which is in the plan.
#[derive(PartialEq, Eq, Hash)]
struct StorageProperties {
    /// The types of the arrays of the levels.
    prims: Vec<Prim>,
    /// The bit lengths of the numbers of positions of the levels.
    sizes: Vec<u32>,
    /// The stored special values that kernels depend on.
    special: Special,
}

struct PlanInput {
    name: Alias,
    storage: StorageProperties,
}

/// The cache key of a plan over tensors.
pub(crate) struct PlanKey {
    hash: u64,
    inputs: Vec<PlanInput>,
}

impl PlanKey {
    /// Returns the key of a plan over tensors, or `None` if a tensor is missing or was lost by its
    /// device.
    pub(crate) fn new(plan: &Plan, bindings: &Bindings) -> Option<PlanKey> {
        let (congruence, names) = plan.congruence();
        let mut inputs = Vec::with_capacity(names.len());
        for name in names {
            let storage = StorageProperties::of(bindings.get(name.as_str())?)?;
            inputs.push(PlanInput { name, storage });
        }
        let mut hasher = DefaultHasher::new();
        congruence.hash(&mut hasher);
        inputs.iter().for_each(|i| i.storage.hash(&mut hasher));
        Some(PlanKey { hash: hasher.finish(), inputs })
    }
}

impl StorageProperties {
    fn of(tensor: &Tensor) -> Option<StorageProperties> {
        let positions = tensor.level_positions().ok()?;
        Some(StorageProperties {
            prims: tensor.levels().iter().flatten().map(Array::prim).collect(),
            sizes: positions.into_iter().map(|n| u64::BITS - n.leading_zeros()).collect(),
            special: tensor.special(),
        })
    }
}

impl PlanCache {
    /// Returns a compiled congruent plan over similar tensors, and the tensors by the names of its
    /// inputs.
    pub(crate) fn find(
        &self,
        key: &PlanKey,
        plan: &Plan,
        bindings: &Bindings,
    ) -> Option<(Arc<CompiledPlan>, Bindings)> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key.hash)?.clone();
        let matches = entry.inputs.len() == key.inputs.len()
            && entry.inputs.iter().zip(&key.inputs).all(|(a, b)| a.storage == b.storage)
            && entry.compiled.plan.is_congruent(plan);
        let tensor = |input: &PlanInput| bindings.get(input.name.as_str()).cloned();
        let renamed = entry.inputs.iter().zip(&key.inputs).map(|(to, from)| Some((to.name.clone(), tensor(from)?)));
        let matches = matches
            && entry.compiled.facts().all(|(input, fact, holds)| {
                let position = entry.inputs.iter().position(|i| i.name == *input);
                let tensor = position.and_then(|k| tensor(&key.inputs[k]));
                tensor.is_some_and(|tensor| tensor.holds(*fact) == *holds)
            });
        if matches { Some((entry.compiled.clone(), renamed.collect::<Option<_>>()?)) } else { None }
    }

    /// Caches a compiled plan.
    pub(crate) fn insert(&self, key: PlanKey, compiled: Arc<CompiledPlan>) {
        let entry = Arc::new(CachedPlan { inputs: key.inputs, compiled });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key.hash, entry);
    }
}

impl Default for PlanCache {
    fn default() -> PlanCache {
        PlanCache(Mutex::new(LruCache::new(CAPACITY)))
    }
}

impl std::fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanCache")
    }
}
