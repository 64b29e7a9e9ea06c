//! Names of fields that terms of the graph get.

use redpoll_logic::Field;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The fields that terms have beside those of the plan, each made once: of one text there is one name.
#[derive(Default)]
pub(super) struct MadeFields {
    /// Those of the slots of plain terms, by their sizes.
    slots: RefCell<FxHashMap<(usize, u64), Field>>,
    /// Those of the folds of plain terms, by their numbers in a term and their sizes.
    bound: RefCell<FxHashMap<(usize, u64), Field>>,
    /// Those of the folds of other terms, by their numbers.
    further: RefCell<FxHashMap<usize, Field>>,
}

impl MadeFields {
    pub(super) fn slot(&self, slot: usize, size: u64) -> Field {
        let name = || Field::from(format!("#{slot} of {size}"));
        self.slots.borrow_mut().entry((slot, size)).or_insert_with(name).clone()
    }

    pub(super) fn bound(&self, number: usize, size: u64) -> Field {
        let name = || Field::from(format!("e{number} of {size}"));
        self.bound.borrow_mut().entry((number, size)).or_insert_with(name).clone()
    }

    pub(super) fn further(&self, number: usize) -> Field {
        self.further.borrow_mut().entry(number).or_insert_with(|| Field::from(format!("e{number}"))).clone()
    }
}
