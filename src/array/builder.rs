//! Arrays built from entries in any order.

use super::Array;
use super::error::Cause;
use super::value::Value;
use crate::session::Session;
use redpoll_logic::op::Op;
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_storage::{Tensor, Triples, Values};
use std::panic::Location;

/// Builder of an array from entries in any order.
///
/// ```
/// use redpoll::logic::Format;
/// use redpoll::{DuplicatePolicy, Session};
/// use redpoll::logic::op::{Builtin, Op};
///
/// let session = Session::default();
/// let max = DuplicatePolicy::Combine(Op::from(Builtin::Max));
/// let mut builder = session.builder([2, 3]).format(Format::csr()).duplicates(max);
/// builder.insert([1, 2], 4.0);
/// builder.insert([0, 1], 1.0);
/// builder.insert([1, 2], 3.0);
/// assert_eq!(builder.build().to_vec::<f64>()?, [0.0, 1.0, 0.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder<T> {
    session: Session,
    shape: Vec<u64>,
    format: Option<Format>,
    fill: Option<Scalar>,
    duplicates: DuplicatePolicy,
    coordinates: Vec<Vec<u64>>,
    values: Vec<T>,
    /// The index and the rank of the first entry whose rank differs from the rank of the shape.
    rank_mismatch: Option<(usize, usize)>,
}

/// Policy for several values at equal coordinates.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum DuplicatePolicy {
    /// An error.
    Error,
    /// The first value.
    First,
    /// The last value.
    Last,
    /// The sum of the values: integers wrap, booleans are or-ed.
    #[default]
    Add,
    /// The fold of the values with an operator, in the order of insertion.
    Combine(Op),
}

impl Session {
    /// Returns a builder of an array of the given shape. By default every mode is compressed and
    /// the fill value is zero.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let mut builder = session.builder([2, 2]);
    /// builder.insert([0, 1], 3);
    /// builder.insert([0, 1], 4);
    /// assert_eq!(builder.build().to_vec::<i32>()?, [0, 7, 0, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn builder<T: Value>(&self, shape: impl IntoIterator<Item = u64>) -> Builder<T> {
        let shape: Vec<u64> = shape.into_iter().collect();
        Builder {
            session: self.clone(),
            coordinates: vec![Vec::new(); shape.len()],
            shape,
            format: None,
            fill: None,
            duplicates: DuplicatePolicy::default(),
            values: Vec::new(),
            rank_mismatch: None,
        }
    }
}

impl<T: Value> Builder<T> {
    /// Sets the format of the array.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// let mut builder = session.builder([2, 2]).format(Format::csr());
    /// builder.insert([0, 1], 3.0);
    /// assert_eq!(builder.build().collect()?.ty().format, Format::csr());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn format(self, format: Format) -> Builder<T> {
        Builder { format: Some(format), ..self }
    }

    /// Sets the fill value of the array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let mut builder = session.builder([3]).fill(f64::INFINITY);
    /// builder.insert([1], 2.0);
    /// assert_eq!(builder.build().to_vec::<f64>()?, [f64::INFINITY, 2.0, f64::INFINITY]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn fill(self, fill: T) -> Builder<T> {
        Builder { fill: Some(fill.into()), ..self }
    }

    /// Sets the policy for values at equal coordinates.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// let mut builder = session.builder([2]).duplicates(DuplicatePolicy::Last);
    /// builder.insert([0], 1);
    /// builder.insert([0], 5);
    /// assert_eq!(builder.build().to_vec::<i32>()?, [5, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn duplicates(self, duplicates: DuplicatePolicy) -> Builder<T> {
        Builder { duplicates, ..self }
    }

    /// Adds a value at the given coordinates. Unless there is one coordinate for each mode, the
    /// value is not added, and [`Builder::build`] returns an array that carries the error.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let mut builder = session.builder([2, 2]);
    /// builder.insert([1, 0], 4.0);
    /// assert_eq!(builder.build().get::<f64>([1, 0])?, 4.0);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn insert(&mut self, coordinates: impl AsRef<[u64]>, value: T) {
        let coordinates = coordinates.as_ref();
        if coordinates.len() != self.shape.len() {
            self.rank_mismatch.get_or_insert((self.values.len(), coordinates.len()));
            return;
        }
        self.coordinates.iter_mut().zip(coordinates).for_each(|(list, i)| list.push(*i));
        self.values.push(value);
    }

    /// Returns the number of values added.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let mut builder = session.builder([2, 2]);
    /// builder.insert([0, 1], 3.0);
    /// builder.insert([0, 1], 4.0);
    /// assert_eq!(builder.len(), 2);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether no value was added.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let mut builder = session.builder([2, 2]);
    /// assert!(builder.is_empty());
    /// builder.insert([0, 1], 3.0);
    /// assert!(!builder.is_empty());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Builds the array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let mut builder = session.builder([2, 2]);
    /// builder.insert([1], 3.0);
    /// let error = builder.build().check().unwrap_err();
    /// assert!(error.to_string().contains("entry 0 has 1 coordinates"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn build(self) -> Array {
        let (session, location) = (self.session.clone(), Location::caller());
        session.array_from("build", location, self.tensor())
    }

    pub(super) fn tensor(self) -> Result<Tensor, Cause> {
        if let Some((entry, found)) = self.rank_mismatch {
            let shape = self.shape;
            return Err(Cause::Shape(format!("entry {entry} has {found} coordinates, but the shape is {shape:?}")));
        }
        let ty = TensorType {
            dtype: T::PRIM.into(),
            fill: self.fill.unwrap_or_else(|| Scalar::zero(T::PRIM)),
            format: self.format.unwrap_or_else(|| Format::csf(self.shape.len())),
            shape: self.shape.clone(),
        };
        let values = Values::try_new(T::PRIM.into(), vec![T::into_buffer(self.values)])?;
        let triples = Triples { shape: self.shape, coordinates: self.coordinates, values };
        let (tensor, _) = Tensor::from_triples(ty, &triples, self.duplicates.to_storage())?;
        Ok(tensor)
    }
}

impl<T: Value, P: AsRef<[u64]>> Extend<(P, T)> for Builder<T> {
    fn extend<I: IntoIterator<Item = (P, T)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(coordinates, value)| self.insert(coordinates, value));
    }
}

impl DuplicatePolicy {
    pub(crate) fn to_storage(&self) -> redpoll_storage::Duplicates<'_> {
        match self {
            DuplicatePolicy::Error => redpoll_storage::Duplicates::Error,
            DuplicatePolicy::First => redpoll_storage::Duplicates::First,
            DuplicatePolicy::Last => redpoll_storage::Duplicates::Last,
            DuplicatePolicy::Add => redpoll_storage::Duplicates::Add,
            DuplicatePolicy::Combine(op) => redpoll_storage::Duplicates::Combine(op),
        }
    }
}
