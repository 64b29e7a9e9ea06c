//! Cached results for terms and folds.

use crate::facts::estimate::{EstimateCache, Marginal, SupportProfile};
use crate::term::Fold;
use crate::term::sizes::Sizes;
use crate::work::Work;
use redpoll_logic::Field;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Cached results for terms and folds; valid while their fields have the same sizes.
#[derive(Default)]
pub(crate) struct TermMemo {
    sizes: RefCell<Sizes>,
    pins: RefCell<Vec<Vec<Field>>>,
    /// The work of folds; depends on the pins.
    work: RefCell<FxHashMap<FoldKey, Work>>,
    pub(crate) estimates: EstimateCache,
}

/// A fold in its context.
#[derive(Clone, PartialEq, Eq, Hash)]
struct FoldKey {
    fold: Fold,
    /// For a fold inside loops: the loops, the fraction of their iterations that run (as bits), and
    /// the marginals of these iterations. `None` for a fold in a query of its own.
    inside: Option<(Vec<Field>, u64, BTreeMap<Field, Marginal>)>,
}

impl Clone for TermMemo {
    /// Returns an empty memo, because a copy of the facts may define other tensors under the same
    /// names.
    fn clone(&self) -> TermMemo {
        TermMemo::default()
    }
}

impl TermMemo {
    /// Drops all results if they are for other sizes of fields, and the work of folds if it is for
    /// other pinned orders.
    pub(crate) fn retain_for(&self, sizes: &Sizes, pins: &[Vec<Field>]) {
        let mut known_sizes = self.sizes.borrow_mut();
        if known_sizes.agrees_with(sizes) {
            known_sizes.extend(sizes);
        } else {
            self.clear();
            *known_sizes = sizes.clone();
        }
        if *self.pins.borrow() != pins {
            self.work.borrow_mut().clear();
            *self.pins.borrow_mut() = pins.to_vec();
        }
    }

    /// Returns the work of a fold, which `count` computes on the first request. `inside` has the
    /// loops around the fold and the profile of their iterations; it is `None` for a fold in a
    /// query of its own.
    pub(crate) fn fold_work(
        &self,
        fold: &Fold,
        inside: Option<(&[Field], &SupportProfile)>,
        count: impl FnOnce() -> Work,
    ) -> Work {
        let inside =
            inside.map(|(prefix, visited)| (prefix.to_vec(), visited.fraction.to_bits(), visited.marginals.clone()));
        let key = FoldKey { fold: fold.clone(), inside };
        if let Some(cached) = self.work.borrow().get(&key) {
            return *cached;
        }
        // Storing a fold can require storing the same fold, if it is a scan that no loop order
        // allows. Such recursion ends here, with infinite cost.
        self.work.borrow_mut().insert(key.clone(), Work::IMPOSSIBLE);
        let work = count();
        self.work.borrow_mut().insert(key, work);
        work
    }

    /// Drops all results.
    pub(crate) fn clear(&self) {
        self.work.borrow_mut().clear();
        self.estimates.clear();
    }
}
