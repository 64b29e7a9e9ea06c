//! Data of benchmarks: seeded generators, and real data sets if available.
//!
//! Most generated values are small integers, whose sums have the same bits in every order of
//! additions.

use crate::files::dataset;
use crate::workload::MakeOutcome;
use anyhow::{Context, Result, bail};
use redpoll::datasets::generate::{Distribution, GenerateOptions, Generator, generate, random::Random};
use redpoll::datasets::{Content, Data, Layout, ReadOptions, Values, read};
use redpoll_logic::{Prim, Scalar};

/// Integers from -8 to 8 without 0.
pub const SMALL: Distribution = Distribution::Integer { low: -8, high: 8 };

/// Runs a generator, with small integers as values of `f64`.
///
/// # Errors
/// If the parameters of the generator are wrong.
pub fn generate_content(generator: &dyn Generator, seed: u64) -> Result<Content> {
    generate_with(generator, seed, SMALL, Prim::F64)
}

/// Runs a generator with the given distribution and dtype of values.
///
/// # Errors
/// If the parameters of the generator are wrong, or values do not fit the dtype.
pub fn generate_with(generator: &dyn Generator, seed: u64, values: Distribution, dtype: Prim) -> Result<Content> {
    let options = GenerateOptions { seed, values: Some(values), dtype: Some(dtype), ..GenerateOptions::default() };
    Ok(generate(generator, &options, &mut |_| ())?)
}

/// Draws `count` small integers as `f64`.
pub fn small_integers(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed, 1);
    let value = |number: u64| if number < 8 { number as f64 - 8.0 } else { number as f64 - 7.0 };
    (0..count).map(|_| value(random.below(16))).collect()
}

/// Returns a dense tensor of small integers.
pub fn dense(shape: &[u64], seed: u64) -> Content {
    let count = shape.iter().product::<u64>() as usize;
    dense_of(shape, Values::F64(small_integers(count, seed)))
}

/// Returns a dense tensor of the given row-major values.
pub fn dense_of(shape: &[u64], values: Values) -> Content {
    let fill = Scalar::zero(values.prim());
    Content { shape: shape.to_vec(), fill, layout: Layout::Array, data: Data::Dense(values) }
}

/// Returns a sparse tensor with fill value 0. `coordinates` has one list for each mode; the
/// coordinates must be sorted and unique.
pub fn sparse_of(shape: &[u64], coordinates: Vec<Vec<u64>>, values: Values) -> Content {
    let fill = Scalar::zero(values.prim());
    Content { shape: shape.to_vec(), fill, layout: Layout::Coordinate, data: Data::Triples { coordinates, values } }
}

/// Returns the coordinates and values of a sparse tensor.
///
/// # Errors
/// If the tensor is dense.
pub fn entries(content: &Content) -> Result<(&[Vec<u64>], &Values)> {
    match &content.data {
        Data::Triples { coordinates, values } => Ok((coordinates, values)),
        Data::Dense(_) => bail!("expected a sparse tensor, found a dense one"),
    }
}

/// Returns the tensor with another fill value; its values keep their dtype.
#[must_use]
pub fn with_fill(content: Content, fill: impl Into<Scalar>) -> Content {
    Content { fill: fill.into(), ..content }
}

/// Returns the undirected graph of a matrix: both directions of every edge, no self-loops, value
/// `true`.
///
/// # Errors
/// If the tensor is dense or not a matrix.
pub fn to_undirected(content: &Content) -> Result<Content> {
    let (coordinates, _) = entries(content)?;
    let [rows, columns] = coordinates else { bail!("expected a matrix, found rank {}", coordinates.len()) };
    let both = |(i, j): (&u64, &u64)| [(*i, *j), (*j, *i)];
    let mut edges: Vec<(u64, u64)> = rows.iter().zip(columns).filter(|(i, j)| i != j).flat_map(both).collect();
    edges.sort_unstable();
    edges.dedup();
    let n = content.shape.iter().copied().max().unwrap_or(0);
    Ok(graph(n, &edges))
}

/// Returns the undirected graph with every edge once, from the smaller vertex to the larger one.
///
/// # Errors
/// If the tensor is dense or not a matrix.
pub fn to_upper_triangle(content: &Content) -> Result<Content> {
    let both = to_undirected(content)?;
    let (coordinates, _) = entries(&both)?;
    let edges = coordinates[0].iter().copied().zip(coordinates[1].iter().copied());
    let edges: Vec<(u64, u64)> = edges.filter(|(i, j)| i < j).collect();
    Ok(graph(both.shape[0], &edges))
}

fn graph(n: u64, edges: &[(u64, u64)]) -> Content {
    let coordinates = vec![edges.iter().map(|e| e.0).collect(), edges.iter().map(|e| e.1).collect()];
    sparse_of(&[n, n], coordinates, Values::Bool(vec![true; edges.len()]))
}

/// Returns the graph with fill value 0 and random weights from 1 to 9. The seed determines the
/// weights.
///
/// # Errors
/// If the graph is dense.
pub fn with_weights(content: &Content, seed: u64) -> Result<Content> {
    let (coordinates, values) = entries(content)?;
    let mut random = Random::new(seed, 1);
    let weights = (0..values.len()).map(|_| 1.0 + random.below(9) as f64).collect();
    Ok(sparse_of(&content.shape, coordinates.to_vec(), Values::F64(weights)))
}

/// Returns the tensor with other values and fill value 0. The function `values` gets the number of
/// values.
///
/// # Errors
/// If the tensor is dense.
pub fn with_values(content: &Content, values: impl FnOnce(usize) -> Values) -> Result<Content> {
    let (coordinates, old) = entries(content)?;
    Ok(sparse_of(&content.shape, coordinates.to_vec(), values(old.len())))
}

/// Reads a file of the collection of real data with values as `f64`, or returns the reason why the
/// file is missing.
///
/// # Errors
/// If the file cannot be read.
pub fn read_real(name: &str) -> Result<Result<Content, MakeOutcome>> {
    let Some(path) = dataset(name) else {
        return Ok(Err(MakeOutcome::Missing(missing_file(name))));
    };
    let loaded = read(&path, &ReadOptions { dtype: Some(Prim::F64), ..ReadOptions::default() })?;
    let (content, _) = loaded.into_content().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Ok(content))
}

/// Returns the message about a file of the collection that is missing.
pub fn missing_file(name: &str) -> String {
    format!("no file shared/datasets/{name} in a folder above the checkout; set REDPOLL_DATASETS to the collection")
}
