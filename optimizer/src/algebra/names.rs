//! Names of the fields of extracted terms.

use redpoll_logic::Field;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The names of a nest's fields.
#[derive(Clone, Default)]
pub(super) struct FieldPool {
    /// The names available for fields of folds, with their sizes.
    pub(super) names: Vec<(Field, u64)>,
    /// Names that generated fields must not have.
    pub(super) reserved: Vec<Field>,
}

/// Names of fields that are not in the plan. Each name is allocated once.
#[derive(Default)]
pub(super) struct GeneratedFields {
    /// Names of the slots of plain terms, by slot and size.
    slots: RefCell<FxHashMap<(usize, u64), Field>>,
    /// Names of the fields of folds in plain terms. The key is the number of the field within its
    /// term, and its size.
    bound: RefCell<FxHashMap<(usize, u64), Field>>,
    /// Names of the fields of folds in other terms, by number.
    numbered: RefCell<FxHashMap<usize, Field>>,
}

impl GeneratedFields {
    /// Returns the name of a slot of a plain term.
    pub(super) fn slot(&self, slot: usize, size: u64) -> Field {
        let name = || Field::from(format!("#{slot} of {size}"));
        self.slots.borrow_mut().entry((slot, size)).or_insert_with(name).clone()
    }

    /// Returns the name of a field of a fold in a plain term.
    pub(super) fn bound(&self, number: usize, size: u64) -> Field {
        let name = || Field::from(format!("e{number} of {size}"));
        self.bound.borrow_mut().entry((number, size)).or_insert_with(name).clone()
    }

    /// Returns the name of a field of a fold in another term.
    pub(super) fn numbered(&self, number: usize) -> Field {
        self.numbered.borrow_mut().entry(number).or_insert_with(|| Field::from(format!("e{number}"))).clone()
    }
}
