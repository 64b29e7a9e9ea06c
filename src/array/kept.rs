//! The tensors of computed arrays, kept until no array needs them or memory runs out.
//!
//! [`Array::compute`] replaces the expression of an array by a table, whose source is a
//! [`KeptTensor`]. The array, its clones and the arrays built from them share the kept tensor. If
//! the memory limit of the session is reached, the least recently read tensors are evicted;
//! expressions then read the [`Origin`] in place of the table. Arrays built before the computation
//! contain the original expression, so a session also finds a kept tensor by the address of this
//! expression.
//!
//! An origin does not keep the tensors of other computed arrays that can be computed again; it
//! reads such a tensor only while another owner keeps the tensor. So a loop that computes each
//! array from the previous one keeps two tensors, not one per iteration. A chain of origins has at
//! most [`MAX_DEPTH`] computed arrays: the array that would exceed this length is never computed
//! again, so its tensor is never evicted.
//!
//! [`Array::compute`]: super::Array::compute

use super::sources::Sources;
use super::state::ArrayState;
use redpoll_logic::{Alias, Expr, FloatMode};
use redpoll_storage::{Evictable, MemoryBudget, Tensor};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Maximum length of a chain of computed arrays that are computed again after evictions. Each array
/// of a chain is computed from the previous one.
const MAX_DEPTH: usize = 16;

/// The expression of a computed array.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) expr: Expr,
    /// The sources of the expression, or `None` if the array is never computed again.
    pub(crate) sources: Option<Sources>,
    /// The length of the longest chain of computed arrays that ends with this array. Apart from
    /// this array, arrays that are never computed again do not count.
    pub(crate) depth: usize,
}

/// The tensor of a computed array, unless it is evicted.
pub(crate) struct KeptTensor {
    name: Alias,
    origin: Arc<Origin>,
    /// The float mode in which the tensor was computed.
    mode: FloatMode,
    tensor: Mutex<Option<Tensor>>,
    /// The time of the last read, by the clock of [`next_time`].
    last_read: AtomicU64,
    /// The kept tensors of the session that computed this tensor.
    session: Weak<KeptTensors>,
}

/// The kept tensors of a session. The key of a kept tensor is the address of the expression that it
/// was computed from. The kept tensor owns this expression, so no other expression has the same
/// address.
#[derive(Default)]
pub(crate) struct KeptTensors {
    by_expr: Mutex<HashMap<usize, Weak<KeptTensor>>>,
    this: Weak<KeptTensors>,
}

/// Returns a larger number at every call.
fn next_time() -> u64 {
    static CLOCK: AtomicU64 = AtomicU64::new(0);
    CLOCK.fetch_add(1, Ordering::Relaxed)
}

impl Origin {
    fn new(state: &ArrayState) -> Origin {
        let depth = state.sources.depth() + 1;
        let sources = (depth <= MAX_DEPTH).then(|| state.sources.without_kept());
        Origin { expr: state.expr.clone(), sources, depth }
    }
}

impl KeptTensor {
    /// Returns the name of the table of the tensor.
    pub(crate) fn name(&self) -> &Alias {
        &self.name
    }

    pub(crate) fn origin(&self) -> &Arc<Origin> {
        &self.origin
    }

    /// Returns whether the tensor can be computed again after an eviction.
    pub(crate) fn is_evictable(&self) -> bool {
        self.origin.sources.is_some()
    }

    /// Returns the tensor for a plan in the given float mode, unless it is evicted or was computed
    /// in another mode.
    pub(crate) fn read(&self, mode: FloatMode) -> Option<Tensor> {
        if self.mode != mode {
            return None;
        }
        self.last_read.store(next_time(), Ordering::Relaxed);
        self.locked().clone()
    }

    /// Returns the tensor for a table in an expression. A tensor that cannot be computed again
    /// serves every float mode.
    pub(crate) fn read_table(&self, mode: FloatMode) -> Option<Tensor> {
        self.read(if self.is_evictable() { mode } else { self.mode })
    }

    /// Keeps a tensor that was computed again after an eviction, unless it was computed in another
    /// float mode. Returns whether the modes are equal.
    pub(crate) fn restore(&self, mode: FloatMode, tensor: &Tensor) -> bool {
        if self.mode == mode {
            self.locked().get_or_insert_with(|| tensor.clone());
        }
        self.mode == mode
    }

    /// Drops the tensor if it can be computed again; returns whether a tensor was dropped.
    pub(crate) fn evict(&self) -> bool {
        let evicted = if self.is_evictable() { self.locked().take() } else { None };
        evicted.is_some()
    }

    fn locked(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.tensor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeptTensor {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.remove(self);
        }
    }
}

impl fmt::Debug for KeptTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptTensor").field("name", &self.name).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl KeptTensors {
    /// Returns an empty set of kept tensors, and registers the set with the budget, which evicts
    /// tensors from the set.
    pub(crate) fn within(budget: &MemoryBudget) -> Arc<KeptTensors> {
        let kept = Arc::new_cyclic(|this| KeptTensors { by_expr: Mutex::default(), this: this.clone() });
        let evictable: Weak<KeptTensors> = Arc::downgrade(&kept);
        budget.evict_from(evictable);
        kept
    }

    /// Returns whether the session has no [`KeptTensor`].
    pub(crate) fn is_empty(&self) -> bool {
        self.locked().is_empty()
    }

    /// Returns the kept tensor of an expression.
    pub(crate) fn find(&self, expr: &Expr) -> Option<Arc<KeptTensor>> {
        self.locked().get(&expr.address())?.upgrade()
    }

    /// Keeps the tensor of an array under the given name.
    pub(crate) fn insert(&self, name: Alias, state: &ArrayState, mode: FloatMode, tensor: Tensor) -> Arc<KeptTensor> {
        let kept = Arc::new(KeptTensor {
            name,
            origin: Arc::new(Origin::new(state)),
            mode,
            tensor: Mutex::new(Some(tensor)),
            last_read: AtomicU64::new(next_time()),
            session: self.this.clone(),
        });
        self.locked().insert(state.expr.address(), Arc::downgrade(&kept));
        kept
    }

    /// Removes a dropped tensor from the map, unless another tensor was inserted for the same
    /// expression.
    fn remove(&self, kept: &KeptTensor) {
        let address = kept.origin.expr.address();
        let mut by_expr = self.locked();
        if by_expr.get(&address).is_some_and(|found| std::ptr::eq(found.as_ptr(), kept)) {
            by_expr.remove(&address);
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<usize, Weak<KeptTensor>>> {
        self.by_expr.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evictable for KeptTensors {
    fn evict(&self) -> bool {
        // The lock is released before any `KeptTensor` is dropped, because the drop of a
        // `KeptTensor` locks the map again.
        let mut kept: Vec<Arc<KeptTensor>> = self.locked().values().filter_map(Weak::upgrade).collect();
        kept.sort_by_key(|kept| Reverse(kept.last_read.load(Ordering::Relaxed)));
        while let Some(oldest) = kept.pop() {
            if oldest.evict() {
                return true;
            }
        }
        false
    }
}

impl fmt::Debug for KeptTensors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptTensors")
    }
}
