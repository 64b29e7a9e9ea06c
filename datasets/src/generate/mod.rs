//! Generators of matrices and tensors: graphs, stencils, bands, blocks, ratings, uniform tensors, images.
//!
//! A generator is a struct of its parameters that implements [`Generator`]; [`generate`] gives the entries, sorted and
//! each once, as [`Content`], which [`write_content`](crate::write_content) writes and [`Content::into_tensor`] stores.
//!
//! The same parameters and seed give the same bits on every machine: random numbers are those of ChaCha8 (see
//! [`random`]), logarithms and the like those of the `libm` crate, which is portable code, and nothing depends on
//! threads, hash orders or the clock.
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
mod places;
pub mod random;
mod ratings;
mod rmat;
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
use distribution::Own;
use random::Random;
use redpoll_logic::{Prim, Scalar};

/// What makes a matrix or tensor; its fields are its parameters. Those of this module are all there are.
pub trait Generator: sealed::Draw {
    /// Its name, as the command line takes it.
    fn name(&self) -> &'static str;
}

/// What every generator takes.
#[derive(Clone, PartialEq, Debug)]
pub struct GenerateOptions {
    /// Where the random numbers begin.
    pub seed: u64,
    /// The dtype of the values; else the one that suits their distribution.
    pub dtype: Option<Prim>,
    /// How the values are drawn; else the generator's own.
    pub values: Option<Distribution>,
    /// The most bytes of memory that entries may take.
    pub memory: u64,
}

impl Default for GenerateOptions {
    /// Seed 0, the generator's own values, 8 GiB of memory.
    fn default() -> GenerateOptions {
        GenerateOptions { seed: 0, dtype: None, values: None, memory: 8 << 30 }
    }
}

/// How far a generator is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What it does.
    pub step: &'static str,
    /// How many entries are done.
    pub done: u64,
    /// How many there will be, as far as is known.
    pub total: u64,
}

/// Whether the edges of a graph have directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Edges {
    /// From row to column.
    #[default]
    Directed,
    /// Both `(i, j)` and `(j, i)` are stored, and no loops.
    Undirected,
}

/// The entries that the generator makes: coordinates sorted row-major, each once, or every place of an image; fill 0.
/// `progress` is called once in a while.
///
/// # Errors
/// When parameters contradict each other or are out of their range, when values do not fit the dtype, and when the
/// entries would take more memory than allowed.
pub fn generate(
    generator: &dyn Generator,
    options: &GenerateOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Content, Error> {
    let mut ctx = Context { options, progress };
    generator.draw(&mut ctx).map_err(|fault| Error::Generate { generator: generator.name(), fault })
}

mod sealed {
    use super::{Content, Context, Fault};

    /// The work of a generator.
    pub trait Draw {
        /// Makes the entries.
        fn draw(&self, ctx: &mut Context<'_>) -> Result<Content, Fault>;
    }
}
use sealed::Draw;

/// What a generator works with.
pub struct Context<'a> {
    options: &'a GenerateOptions,
    progress: &'a mut dyn FnMut(Progress),
}

/// What random numbers are for: each purpose has a stream of its own, so that another distribution of the values leaves
/// the places as they are.
#[derive(Clone, Copy)]
enum Purpose {
    Places = 0,
    Values = 1,
    Parameters = 2,
}

impl Context<'_> {
    /// So many entries pass between two reports.
    const PERIOD: u64 = 1 << 16;

    fn random(&self, purpose: Purpose) -> Random {
        Random::new(self.options.seed, purpose as u64)
    }

    /// Reports progress, if it is time.
    #[inline]
    fn report(&mut self, step: &'static str, done: u64, total: u64) {
        if done.is_multiple_of(Self::PERIOD) {
            (self.progress)(Progress { step, done, total });
        }
    }

    /// Refuses so many entries of so many coordinates if their memory is not allowed.
    fn check_entries(&self, rank: usize, entries: Option<u64>) -> Result<(), Fault> {
        self.check_bytes(entries, rank as u64 * 8 + 8)
    }

    fn check_bytes(&self, entries: Option<u64>, each: u64) -> Result<(), Fault> {
        let bytes = entries.and_then(|n| n.checked_mul(each));
        match bytes {
            Some(bytes) if bytes <= self.options.memory => Ok(()),
            _ => Err(Fault::Memory { entries: Count(entries), bytes: Count(bytes), limit: self.options.memory }),
        }
    }

    /// The values of so many entries: as asked for, or the generator's own.
    fn values(&mut self, own: Own, count: usize) -> Result<Values, Fault> {
        let random = self.random(Purpose::Values);
        let (progress, total) = (&mut *self.progress, count as u64);
        distribution::values(own, count, self.options, random, &mut |done| {
            progress(Progress { step: "values", done, total });
        })
    }

    /// A tensor of entries at those places, which are sorted and each once.
    fn triples(&mut self, shape: Vec<u64>, coordinates: Vec<Vec<u64>>, own: Own) -> Result<Content, Fault> {
        let values = self.values(own, coordinates[0].len())?;
        let fill = Scalar::zero(values.prim());
        Ok(Content { shape, fill, layout: Layout::Coordinate, data: Data::Triples { coordinates, values } })
    }
}

/// Refuses shapes that no tensor has.
fn check_shape(shape: &[u64]) -> Result<(), Fault> {
    if shape.is_empty() {
        return Err(Fault::malformed("a shape of at least one mode", "none"));
    }
    if shape.len() > MAX_RANK {
        let size = Count(Some(shape.len() as u64));
        return Err(Fault::TooLarge { what: "the rank", size, limit: MAX_RANK as u64 });
    }
    match shape.iter().find(|&&d| d > MAX_DIMENSION) {
        Some(&d) => Err(Fault::TooLarge { what: "a dimension", size: Count(Some(d)), limit: MAX_DIMENSION }),
        None => Ok(()),
    }
}

/// Refuses what is no probability.
fn check_fraction(what: &str, fraction: f64) -> Result<(), Fault> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(());
    }
    Err(Fault::malformed(format!("{what} between 0 and 1"), fraction.to_string()))
}
