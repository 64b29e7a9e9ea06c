//! Arrays of random numbers.

use super::Array;
use crate::error::Error;
use crate::session::Session;
use redpoll_datasets::generate::{Amount, Distribution, GenerateOptions, Uniform, generate};
use redpoll_logic::{Format, Prim};

impl Session {
    /// Returns a description of an array of random numbers: by default dense, of `f64`, and
    /// uniformly distributed from 0 (included) to 1 (excluded).
    ///
    /// The same description gives the same array on every machine and in every version. The module
    /// [`generate`](crate::datasets::generate) generates graphs, bands, blocks and more.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// let session = Session::default();
    /// let weights = session.random([100, 8]).seed(1).normal(0.0, 0.1).array()?;
    /// assert!(weights.mean(..).abs().item::<f64>()? < 0.05);
    /// let graph = session.random([1000, 1000]).density(0.01).integers(1, 9).array()?;
    /// assert!((9_000..11_000).contains(&graph.count_nonzero(..).item::<i64>()?));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn random(&self, shape: impl IntoIterator<Item = u64>) -> RandomArray {
        RandomArray {
            session: self.clone(),
            shape: shape.into_iter().collect(),
            stored: None,
            format: None,
            options: GenerateOptions::default(),
        }
    }
}

/// A description of an array of random numbers; see [`Session::random`].
#[derive(Clone, Debug)]
#[must_use = "nothing is drawn until `array` is called"]
pub struct RandomArray {
    session: Session,
    shape: Vec<u64>,
    /// The number or the density of the stored elements; `None` if all elements are stored.
    stored: Option<Amount>,
    format: Option<Format>,
    options: GenerateOptions,
}

impl RandomArray {
    /// Sets the seed, by default 0.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.random([4]).seed(1).array()?.to_vec::<f64>()?;
    /// assert_eq!(session.random([4]).seed(1).array()?.to_vec::<f64>()?, a);
    /// assert_ne!(session.random([4]).seed(2).array()?.to_vec::<f64>()?, a);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> RandomArray {
        self.options.seed = seed;
        self
    }

    /// Makes the array sparse: each element is stored with this probability, from 0 to 1.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.random([100, 100]).density(0.1).array()?;
    /// assert!((800..1200).contains(&a.collect()?.count_stored()?));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn density(mut self, density: f64) -> RandomArray {
        self.stored = Some(Amount::Density(density));
        self
    }

    /// Makes the array sparse: this many elements are stored.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.random([100, 100]).entries(250).array()?;
    /// assert_eq!(a.collect()?.count_stored()?, 250);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn entries(mut self, count: u64) -> RandomArray {
        self.stored = Some(Amount::Count(count));
        self
    }

    /// Draws real numbers from `low` (included) to `high` (excluded).
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.random([50]).uniform(-1.0, 1.0).array()?;
    /// assert!(a.to_vec::<f64>()?.iter().all(|x| (-1.0..1.0).contains(x)));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn uniform(self, low: f64, high: f64) -> RandomArray {
        self.distribution(Distribution::Uniform { low, high })
    }

    /// Draws normally distributed numbers.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.random([1000]).normal(5.0, 0.1).array()?;
    /// assert!((a.mean(..).item::<f64>()? - 5.0).abs() < 0.1);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn normal(self, mean: f64, deviation: f64) -> RandomArray {
        self.distribution(Distribution::Normal { mean, deviation })
    }

    /// Draws integers from `low` to `high`, both included, except 0. The dtype is `i64`, unless
    /// [`RandomArray::dtype`] sets another.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.random([50]).integers(1, 6).array()?;
    /// assert!(a.to_vec::<i64>()?.iter().all(|x| (1..=6).contains(x)));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn integers(self, low: i64, high: i64) -> RandomArray {
        self.distribution(Distribution::Integer { low, high })
    }

    /// Sets the distribution of the values.
    ///
    /// ```
    /// use redpoll::datasets::generate::Distribution;
    ///
    /// # let session = redpoll::Session::default();
    /// let a = session.random([100, 100]).entries(250).distribution(Distribution::One).array()?;
    /// assert_eq!(a.count_nonzero(..).item::<i64>()?, 250);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn distribution(mut self, distribution: Distribution) -> RandomArray {
        self.options.values = Some(distribution);
        self
    }

    /// Sets the dtype of the values.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// let a = session.random([3]).dtype(Prim::F32).array()?;
    /// assert_eq!(a.dtype()?, Prim::F32.into());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dtype(mut self, dtype: Prim) -> RandomArray {
        self.options.dtype = Some(dtype);
        self
    }

    /// Sets the format. By default, a sparse array is stored as CSR if it is a matrix whose rows do
    /// not far outnumber the entries, and otherwise as CSF; other arrays are dense.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// let a = session.random([20, 20]).density(0.2).format(Format::csc()).array()?;
    /// assert_eq!(a.collect()?.ty().format, Format::csc());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn format(mut self, format: Format) -> RandomArray {
        self.format = Some(format);
        self
    }

    /// Draws the numbers.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.random([2, 3]).array()?.shape()?, [2, 3]);
    /// assert!(session.random([2, 3]).density(1.5).array().is_err());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a parameter is out of range, values do not fit the dtype, or the format does not
    /// match the shape. Also fails if the array does not fit the memory limit of the session, or
    /// its entries need more than 8 GiB.
    pub fn array(&self) -> Result<Array, Error> {
        let entries = self.stored.unwrap_or(Amount::Density(1.0));
        let limit = self.session.limits().memory.limit() as u64;
        let options = GenerateOptions { memory: self.options.memory.min(limit), ..self.options.clone() };
        let content = generate(&Uniform { shape: self.shape.clone(), entries }, &options, &mut |_| ())?;
        let dense = || self.stored.is_none().then(|| Format::dense(self.shape.len()));
        let tensor = content.into_tensor(self.format.clone().or_else(dense))?;
        let charged = tensor.charged(&self.session.limits().memory);
        let out_of_memory = redpoll_storage::Error::Stopped(redpoll_storage::Status::OutOfMemory);
        Ok(self.session.array(charged.ok_or(out_of_memory)?))
    }
}
