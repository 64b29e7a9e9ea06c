//! Generators of matrices and tensors: graphs, stencils, bands, blocks, ratings, uniform tensors,
//! images.
//!
//! A generator is a struct of parameters that implements [`Generator`]. [`generate`] returns
//! [`Content`]: sorted entries without repetitions, or all elements of an image.
//! [`write_content`](crate::write_content) writes the content to a file, and
//! [`Content::into_tensor`] stores it as a tensor.
//!
//! Equal parameters and seeds give bit-identical results on every machine. Random numbers come from
//! ChaCha8 (see [`random`]), and mathematical functions from the portable `libm` crate. Results do
//! not depend on threads, hash orders or the clock.
//!
//! ```
//! use redpoll_datasets::generate::{GenerateOptions, Rmat, generate};
//!
//! let graph = generate(&Rmat::new(10, 8_000), &GenerateOptions::default(), &mut |_| ())?;
//! assert_eq!(graph.shape, [1024, 1024]);
//! # Ok::<(), redpoll_datasets::Error>(())
//! ```

mod banded;
mod blocks;
mod distribution;
mod erdos_renyi;
mod grid;
mod image;
pub mod random;
mod ratings;
mod rmat;
mod sampling;
mod uniform;

pub use banded::Banded;
pub use blocks::Blocks;
pub use distribution::Distribution;
pub use erdos_renyi::ErdosRenyi;
pub use grid::{Grid, Stencil};
pub use image::Image;
pub use ratings::Ratings;
pub use rmat::Rmat;
pub use uniform::{Amount, Uniform};

use crate::content::{Content, Data, Layout, MAX_DIMENSION, MAX_RANK};
use crate::error::{Count, Error, Fault};
use crate::values::Values;
use distribution::DefaultValues;
use random::Random;
use redpoll_logic::{Prim, Scalar};

/// A generator of a matrix or tensor, whose fields are its parameters. The trait is sealed.
pub trait Generator: sealed::Draw {
    /// Returns the name on the command line.
    fn name(&self) -> &'static str;
}

/// Options of all generators.
#[derive(Clone, PartialEq, Debug)]
pub struct GenerateOptions {
    /// The seed of the random numbers.
    pub seed: u64,
    /// The dtype of the values, by default the dtype that suits their distribution.
    pub dtype: Option<Prim>,
    /// The distribution of the values, by default the distribution of the generator.
    pub values: Option<Distribution>,
    /// Maximum number of bytes for entries, and for other items of a generator such as pixels.
    pub memory: u64,
}

impl Default for GenerateOptions {
    /// Returns options with seed 0, the default values of the generator, and 8 GiB of memory.
    fn default() -> GenerateOptions {
        GenerateOptions { seed: 0, dtype: None, values: None, memory: 8 << 30 }
    }
}

/// Progress of a generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The current step.
    pub step: &'static str,
    /// The number of items of this step that are done, such as entries or rows.
    pub done: u64,
    /// The total number of items of this step, possibly an estimate.
    pub total: u64,
}

/// Direction of the edges of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Edges {
    /// Edges from row to column.
    #[default]
    Directed,
    /// Undirected edges: both `(i, j)` and `(j, i)` are stored, without self-loops.
    Undirected,
}

/// Generates entries with fill value 0: coordinates sorted row-major without repetitions, or all
/// elements of an image. `progress` is called at intervals.
///
/// # Errors
/// Fails if parameters are out of range or contradict each other, values do not fit the dtype, or
/// the entries exceed [`GenerateOptions::memory`].
pub fn generate(
    generator: &dyn Generator,
    options: &GenerateOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Content, Error> {
    let mut ctx = DrawContext { options, progress };
    generator.draw(&mut ctx).map_err(|fault| Error::Generate { generator: generator.name(), fault })
}

mod sealed {
    use super::{Content, DrawContext, Fault};

    /// Implementation of a generator.
    pub trait Draw {
        /// Generates the entries.
        fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault>;
    }
}
use sealed::Draw;

/// Options and progress of a running generator.
pub struct DrawContext<'a> {
    options: &'a GenerateOptions,
    progress: &'a mut dyn FnMut(Progress),
}

/// The streams of random numbers, one for each purpose, so that the coordinates of entries do not
/// depend on the distribution of values.
#[derive(Clone, Copy)]
enum RandomStream {
    Coordinates = 0,
    Values = 1,
    Parameters = 2,
}

impl DrawContext<'_> {
    /// Number of items between two reports.
    const PERIOD: u64 = 1 << 16;

    fn random(&self, purpose: RandomStream) -> Random {
        Random::new(self.options.seed, purpose as u64)
    }

    /// Reports progress at intervals.
    #[inline]
    fn report(&mut self, step: &'static str, done: u64, total: u64) {
        if done.is_multiple_of(Self::PERIOD) {
            (self.progress)(Progress { step, done, total });
        }
    }

    /// Checks that this number of entries, each of `rank` coordinates and a value, does not exceed
    /// the memory limit.
    fn check_entries(&self, rank: usize, entries: Option<u64>) -> Result<(), Fault> {
        self.check_bytes("entries", entries, rank as u64 * 8 + 8)
    }

    /// Checks that this number of items of `item_bytes` each does not exceed the memory limit.
    fn check_bytes(&self, items: &'static str, count: Option<u64>, item_bytes: u64) -> Result<(), Fault> {
        let bytes = count.and_then(|n| n.checked_mul(item_bytes));
        let limit = self.options.memory;
        match bytes {
            Some(bytes) if bytes <= limit => Ok(()),
            _ => Err(Fault::GeneratorMemory { items, count: Count(count), bytes: Count(bytes), limit }),
        }
    }

    /// Returns `count` values: from the requested distribution, or else the default values of the
    /// generator.
    fn values(&mut self, default_values: DefaultValues, count: usize) -> Result<Values, Fault> {
        let random = self.random(RandomStream::Values);
        let (progress, total) = (&mut *self.progress, count as u64);
        distribution::values(default_values, count, self.options, random, &mut |done| {
            progress(Progress { step: "values", done, total });
        })
    }

    /// Returns a tensor of entries at the given coordinates, which are sorted and without
    /// repetitions.
    fn triples(
        &mut self,
        shape: Vec<u64>,
        coordinates: Vec<Vec<u64>>,
        default_values: DefaultValues,
    ) -> Result<Content, Fault> {
        let values = self.values(default_values, coordinates[0].len())?;
        let fill = Scalar::zero(values.prim());
        Ok(Content { shape, fill, layout: Layout::Coordinate, data: Data::Triples { coordinates, values } })
    }
}

/// Rejects invalid shapes.
fn check_shape(shape: &[u64]) -> Result<(), Fault> {
    if shape.is_empty() {
        return Err(Fault::malformed("a shape of at least one mode", "none"));
    }
    if shape.len() > MAX_RANK {
        let size = Count(Some(shape.len() as u64));
        return Err(Fault::TooLarge { quantity: "the rank", size, limit: MAX_RANK as u64 });
    }
    match shape.iter().find(|&&d| d > MAX_DIMENSION) {
        Some(&d) => Err(Fault::TooLarge { quantity: "a dimension", size: Count(Some(d)), limit: MAX_DIMENSION }),
        None => Ok(()),
    }
}

/// Rejects numbers that are not probabilities.
fn check_fraction(quantity: &str, fraction: f64) -> Result<(), Fault> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(());
    }
    Err(Fault::malformed(format!("{quantity} between 0 and 1"), fraction.to_string()))
}
