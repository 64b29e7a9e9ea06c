//! Bindings: the tensors that a plan or a program reads.

use redpoll_logic::Alias;
use redpoll_storage::Tensor;
use std::collections::BTreeMap;

/// The tensors that a plan or a program reads, by the names of its tables or inputs.
#[derive(Clone, Debug, Default)]
pub struct Bindings(BTreeMap<Alias, Tensor>);

impl Bindings {
    /// Returns empty bindings.
    ///
    /// ```
    /// assert_eq!(redpoll::Bindings::new().iter().count(), 0);
    /// ```
    pub fn new() -> Bindings {
        Bindings::default()
    }

    /// Adds a tensor to the bindings, replacing a tensor of the same name.
    ///
    /// ```
    /// use redpoll::{Bindings, Session};
    ///
    /// let x = Session::default().vector([1.0, 2.0]).collect()?;
    /// let bindings = Bindings::new().with("x", x.clone()).with("y", x);
    /// assert_eq!(bindings.iter().count(), 2);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn with(mut self, table: impl Into<Alias>, tensor: Tensor) -> Bindings {
        self.insert(table, tensor);
        self
    }

    /// Binds a tensor to a name, replacing a tensor of the same name.
    ///
    /// ```
    /// use redpoll::{Bindings, Session};
    ///
    /// let x = Session::default().vector([1.0, 2.0]).collect()?;
    /// let mut bindings = Bindings::new();
    /// bindings.insert("x", x);
    /// assert!(bindings.get("x").is_some());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn insert(&mut self, table: impl Into<Alias>, tensor: Tensor) {
        self.0.insert(table.into(), tensor);
    }

    /// Removes the tensor of the given name.
    #[cfg(feature = "linalg")]
    pub(crate) fn remove(&mut self, table: &str) {
        self.0.remove(table);
    }

    /// Returns the tensor of the given name.
    ///
    /// ```
    /// use redpoll::{Bindings, Session};
    ///
    /// let x = Session::default().vector([1.0, 2.0]).collect()?;
    /// let bindings = Bindings::new().with("x", x);
    /// assert_eq!(bindings.get("x").map(|x| x.ty().shape.clone()), Some(vec![2]));
    /// assert!(bindings.get("y").is_none());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn get(&self, table: &str) -> Option<&Tensor> {
        self.0.get(table)
    }

    /// Iterates over all tensors, ordered by name.
    ///
    /// ```
    /// use redpoll::{Bindings, Session};
    ///
    /// let x = Session::default().vector([1.0, 2.0]).collect()?;
    /// let bindings = Bindings::new().with("b", x.clone()).with("a", x);
    /// let names: Vec<String> = bindings.iter().map(|(name, _)| name.to_string()).collect();
    /// assert_eq!(names, ["a", "b"]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&Alias, &Tensor)> {
        self.0.iter()
    }
}

impl<A: Into<Alias>> FromIterator<(A, Tensor)> for Bindings {
    fn from_iter<I: IntoIterator<Item = (A, Tensor)>>(tensors: I) -> Bindings {
        Bindings(tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect())
    }
}
