//! Arrays from values in any order.

use super::Array;
use super::error::Cause;
use super::value::Value;
use crate::session::Session;
use redpoll_logic::op::Op;
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_physical::storage::{self, Tensor, Triples, Values};
use std::panic::Location;

/// Takes values at places in any order, and makes an array of them.
///
/// ```
/// use redpoll::logic::Format;
/// use redpoll::{Repeated, Session};
/// use redpoll::logic::op::{Builtin, Op};
///
/// let session = Session::default();
/// let mut builder = session.builder([2, 3]).format(Format::csr()).repeated(Repeated::Combine(Op::from(Builtin::Max)));
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
    repeated: Repeated,
    coordinates: Vec<Vec<u64>>,
    values: Vec<T>,
    /// The first entry of another rank: its number and its coordinates.
    unfit: Option<(usize, usize)>,
}

/// What becomes of values at the same place.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Repeated {
    /// They are an error.
    Error,
    /// The first one counts.
    First,
    /// The last one counts.
    Last,
    /// They are added up; integers wrap, booleans are or-ed.
    #[default]
    Add,
    /// They are folded with an operator, in the order in which they came.
    Combine(Op),
}

impl Session {
    /// A builder of an array of that shape; by default compressed in every mode, of fill value zero.
    pub fn builder<T: Value>(&self, shape: impl IntoIterator<Item = u64>) -> Builder<T> {
        let shape: Vec<u64> = shape.into_iter().collect();
        Builder {
            session: self.clone(),
            coordinates: vec![Vec::new(); shape.len()],
            shape,
            format: None,
            fill: None,
            repeated: Repeated::default(),
            values: Vec::new(),
            unfit: None,
        }
    }
}

impl<T: Value> Builder<T> {
    /// The builder with the format of the array.
    #[must_use]
    pub fn format(self, format: Format) -> Builder<T> {
        Builder { format: Some(format), ..self }
    }

    /// The builder with the value of all places that get none.
    #[must_use]
    pub fn fill(self, fill: T) -> Builder<T> {
        Builder { fill: Some(fill.into()), ..self }
    }

    /// The builder with what becomes of values at the same place.
    #[must_use]
    pub fn repeated(self, repeated: Repeated) -> Builder<T> {
        Builder { repeated, ..self }
    }

    /// Takes a value at a place.
    pub fn insert(&mut self, place: impl AsRef<[u64]>, value: T) {
        let place = place.as_ref();
        if place.len() != self.shape.len() {
            self.unfit.get_or_insert((self.values.len(), place.len()));
            return;
        }
        self.coordinates.iter_mut().zip(place).for_each(|(list, i)| list.push(*i));
        self.values.push(value);
    }

    /// The number of values taken.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no value was taken.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The array.
    #[track_caller]
    pub fn build(self) -> Array {
        let (session, location) = (self.session.clone(), Location::caller());
        session.made("build", location, self.tensor())
    }

    fn tensor(self) -> Result<Tensor, Cause> {
        if let Some((entry, found)) = self.unfit {
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
        let (tensor, _) = Tensor::from_triples(ty, &triples, self.repeated.of_storage())?;
        Ok(tensor)
    }
}

impl<T: Value, P: AsRef<[u64]>> Extend<(P, T)> for Builder<T> {
    fn extend<I: IntoIterator<Item = (P, T)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(place, value)| self.insert(place, value));
    }
}

impl Repeated {
    pub(crate) fn of_storage(&self) -> storage::Duplicates<'_> {
        match self {
            Repeated::Error => storage::Duplicates::Error,
            Repeated::First => storage::Duplicates::First,
            Repeated::Last => storage::Duplicates::Last,
            Repeated::Add => storage::Duplicates::Add,
            Repeated::Combine(op) => storage::Duplicates::Combine(op),
        }
    }
}
