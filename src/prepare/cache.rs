//! Cache of the compiled forms of a session. Congruent plans over similar tensors share a form, and
//! so do equal programs over tensors of the same types and array widths.
//!
//! A compiled plan is reused for inputs that agree in these properties:
//! - types, and widths of arrays
//! - numbers of positions of the levels, rounded to a power of two
//! - stored infinities and NaN
//! - facts that the optimizer requested
//!
//! Other statistics of the values only influence the choices of the optimizer, not the results. The
//! names of the inputs may differ, unless there are schedules, which may refer to the names.
//!
//! A compiled program is reused for inputs of the same types and widths of arrays whose values are
//! in the assumed ranges. Numbers of positions are not part of the key of a program, because a user
//! may run a program repeatedly over a growing tensor.

use super::form::{CompiledForm, CompiledKind};
use super::request::Request;
use crate::bindings::Bindings;
use crate::schedules::Schedules;
use lru::LruCache;
use redpoll_logic::{Alias, Prim, Special, TensorType};
use redpoll_storage::{Array, Tensor};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached forms; the least recently used forms are evicted.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(320).expect("not zero");

/// Cache of compiled forms.
pub(crate) struct CompilationCache(Mutex<LruCache<CacheKey, Arc<CachedForm>>>);

struct CachedForm {
    /// The inputs of a plan, in the order of the key; empty for a program.
    names: Vec<Alias>,
    form: Arc<CompiledForm>,
}

/// The cache key of a plan or program over tensors.
#[derive(PartialEq, Eq, Hash)]
struct CacheKey {
    source: KeySource,
    /// The properties of the inputs. The inputs of a plan are in the order of
    /// [`Plan::inputs`](redpoll_logic::Plan::inputs), the inputs of a program are sorted by name.
    inputs: Vec<InputProperties>,
    /// The schedules, and the names of the inputs of a plan, to which schedules may refer; `None`
    /// without a schedule.
    schedules: Option<(String, Vec<Alias>)>,
}

#[derive(PartialEq, Eq, Hash)]
enum KeySource {
    /// A hash that is equal for congruent plans.
    Plan(u64),
    /// The text of a program, which contains the names of its inputs.
    Program(Arc<str>),
}

/// The properties in which an input must agree with the input of a cached form.
#[derive(PartialEq, Eq, Hash)]
enum InputProperties {
    /// The properties of an input of a plan, apart from its type, which is in the plan.
    Plan {
        /// The types of the arrays of the levels.
        prims: Vec<Prim>,
        /// The bit lengths of the numbers of positions of the levels.
        sizes: Vec<u32>,
        /// The stored special values that kernels depend on.
        special: Special,
    },
    /// The properties of an input of a program.
    Program {
        /// The type.
        ty: Arc<TensorType>,
        /// The types of the arrays of the levels.
        prims: Vec<Prim>,
    },
}

/// The key of a request, and the names of the inputs of a plan in the order of the key.
pub(super) struct RequestKey {
    key: CacheKey,
    names: Vec<Alias>,
}

impl RequestKey {
    /// Returns the key of a request, or `None` if a tensor of a plan is missing or was lost by its
    /// device.
    pub(super) fn new(request: &Request<'_>, schedules: &Schedules, bindings: &Bindings) -> Option<RequestKey> {
        let (source, names, inputs) = match request {
            Request::Plan(plan, _) => {
                let (congruence, names) = plan.congruence();
                let mut inputs = Vec::with_capacity(names.len());
                for name in &names {
                    inputs.push(InputProperties::of_plan(bindings.get(name.as_str())?)?);
                }
                (KeySource::Plan(congruence), names, inputs)
            }
            Request::Program(program) => {
                let inputs = bindings.iter().map(|(_, tensor)| InputProperties::of_program(tensor)).collect();
                (KeySource::Program(program.text.clone()), Vec::new(), inputs)
            }
        };
        let schedules = (!schedules.is_empty()).then(|| (schedules.to_string(), names.clone()));
        Some(RequestKey { key: CacheKey { source, inputs, schedules }, names })
    }
}

impl InputProperties {
    fn of_plan(tensor: &Tensor) -> Option<InputProperties> {
        let positions = tensor.level_positions().ok()?;
        Some(InputProperties::Plan {
            prims: array_prims(tensor),
            sizes: positions.into_iter().map(|n| u64::BITS - n.leading_zeros()).collect(),
            special: tensor.special(),
        })
    }

    fn of_program(tensor: &Tensor) -> InputProperties {
        InputProperties::Program { ty: tensor.ty().clone(), prims: array_prims(tensor) }
    }
}

fn array_prims(tensor: &Tensor) -> Vec<Prim> {
    tensor.levels().iter().flatten().map(Array::prim).collect()
}

impl CompilationCache {
    /// Returns a compiled form that serves a request over these tensors, or `None`. For a plan,
    /// also returns the tensors under the names that the compiled plan gives its inputs. The
    /// request may use other names.
    pub(super) fn find(
        &self,
        RequestKey { key, names }: &RequestKey,
        request: &Request<'_>,
        bindings: &Bindings,
    ) -> Option<(Arc<CompiledForm>, Option<Bindings>)> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key)?.clone();
        let renamed = match (&entry.form.kind, request) {
            (CompiledKind::Plan(compiled), Request::Plan(plan, _)) => {
                if !compiled.plan.is_congruent(plan) {
                    return None;
                }
                let renamed = |(to, from): (&Alias, &Alias)| Some((to.clone(), bindings.get(from.as_str())?.clone()));
                Some(entry.names.iter().zip(names).map(renamed).collect::<Option<Bindings>>()?)
            }
            _ => None,
        };
        let serves = entry.form.serves(renamed.as_ref().unwrap_or(bindings));
        serves.then(|| (entry.form.clone(), renamed))
    }

    /// Caches a compiled form.
    pub(super) fn insert(&self, RequestKey { key, names }: RequestKey, form: Arc<CompiledForm>) {
        let entry = Arc::new(CachedForm { names, form });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key, entry);
    }
}

impl Default for CompilationCache {
    fn default() -> CompilationCache {
        CompilationCache(Mutex::new(LruCache::new(CAPACITY)))
    }
}

impl std::fmt::Debug for CompilationCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CompilationCache")
    }
}
