//! Bindings: the tensors that a plan or a program reads.

use redpoll_logic::Alias;
use redpoll_storage::Tensor;
use std::collections::BTreeMap;

/// The tensors that a plan reads, by the names of its tables.
#[derive(Clone, Debug, Default)]
pub struct Bindings(BTreeMap<Alias, Tensor>);

impl Bindings {
    /// Returns empty bindings.
    pub fn new() -> Bindings {
        Bindings::default()
    }

    /// Adds a tensor to the bindings, replacing a tensor of the same name.
    #[must_use]
    pub fn with(mut self, table: impl Into<Alias>, tensor: Tensor) -> Bindings {
        self.insert(table, tensor);
        self
    }

    /// Binds a tensor to a name, replacing a tensor of the same name.
    pub fn insert(&mut self, table: impl Into<Alias>, tensor: Tensor) {
        self.0.insert(table.into(), tensor);
    }

    /// Returns the tensor of the given name.
    pub fn get(&self, table: &str) -> Option<&Tensor> {
        self.0.get(table)
    }

    /// Iterates over all tensors, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Alias, &Tensor)> {
        self.0.iter()
    }
}

impl<A: Into<Alias>> FromIterator<(A, Tensor)> for Bindings {
    fn from_iter<I: IntoIterator<Item = (A, Tensor)>>(tensors: I) -> Bindings {
        Bindings(tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect())
    }
}
