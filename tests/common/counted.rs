//! Inputs for plans, and runs of plans in the interpreter of Assembly, which counts operations.

use crate::rng::Rng;
use redpoll::compiler::assembly::Counts;
use redpoll::{Bindings, Config, Session, Target};
use redpoll_logic::{Format, LeafKind, LevelKind, Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use std::collections::BTreeSet;

/// Draws coordinates of a matrix: `per_row` distinct columns in each row, or all columns if there
/// are fewer than `per_row`.
pub fn coordinates_by_row(rng: &mut Rng, rows: u64, columns: u64, per_row: u64) -> Vec<[u64; 2]> {
    let row = |i: u64, rng: &mut Rng| {
        let found = distinct_below(rng, columns, per_row.min(columns));
        found.into_iter().map(move |j| [i, j]).collect::<Vec<_>>()
    };
    (0..rows).flat_map(|i| row(i, rng)).collect()
}

/// Returns a matrix with ones and twos at the given coordinates.
pub fn matrix(shape: [u64; 2], coordinates: &[[u64; 2]], format: Format) -> Tensor {
    tensor(&shape, coordinates_by_mode(coordinates), format)
}

/// Returns a matrix with ones at the given coordinates.
pub fn pattern(shape: [u64; 2], coordinates: &[[u64; 2]], format: Format) -> Tensor {
    with_values(&shape, coordinates_by_mode(coordinates), vec![1.0; coordinates.len()], format)
}

fn coordinates_by_mode(coordinates: &[[u64; 2]]) -> Vec<Vec<u64>> {
    (0..2).map(|mode| coordinates.iter().map(|p| p[mode]).collect()).collect()
}

/// Returns a vector with ones and twos at the given coordinates.
pub fn vector(size: u64, coordinates: impl IntoIterator<Item = u64>, format: Format) -> Tensor {
    tensor(&[size], vec![coordinates.into_iter().collect()], format)
}

/// Returns the format of a vector stored as a sorted list of coordinates.
pub fn list() -> Format {
    Format::of_kinds(&[LevelKind::SparseList], LeafKind::Element)
}

/// Returns a dense tensor of ones and twos.
pub fn dense(shape: &[u64]) -> Tensor {
    let below = |mode: usize| shape[mode + 1..].iter().product::<u64>();
    let coordinates = (0..shape.len()).map(|m| (0..shape.iter().product()).map(|k| k / below(m) % shape[m]).collect());
    tensor(shape, coordinates.collect(), Format::dense(shape.len()))
}

/// Returns a tensor with ones and twos at the given coordinates, one list per mode.
pub fn tensor(shape: &[u64], coordinates: Vec<Vec<u64>>, format: Format) -> Tensor {
    let values = (0..coordinates[0].len()).map(|k| (1 + k % 2) as f64).collect();
    with_values(shape, coordinates, values, format)
}

fn with_values(shape: &[u64], coordinates: Vec<Vec<u64>>, values: Vec<f64>, format: Format) -> Tensor {
    let fill = Scalar::zero(Prim::F64);
    let ty = TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format };
    let triples = Triples { shape: shape.to_vec(), coordinates, values: Values::from(values) };
    Tensor::from_triples(ty, &triples, Duplicates::Error).expect("valid entries").0
}

/// Draws `count` distinct numbers below `n`, where `count` is at most `n`.
pub fn distinct_below(rng: &mut Rng, n: u64, count: u64) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    while (found.len() as u64) < count {
        found.insert(rng.below(n));
    }
    found
}

/// Runs a plan with the default configuration; returns its counts and results.
pub fn count(text: &str, inputs: &[(&str, Tensor)]) -> (Counts, Vec<Tensor>) {
    count_with(Config::default(), text, inputs)
}

/// Runs a plan in a session with the given configuration; returns its counts and results.
pub fn count_with(config: Config, text: &str, inputs: &[(&str, Tensor)]) -> (Counts, Vec<Tensor>) {
    let bindings: Bindings = inputs.iter().map(|(name, t)| (*name, t.clone())).collect();
    let prepared = Session::new(config).prepare(text, &bindings).expect("a plan");
    let run = prepared.run_with(Target::ASSEMBLY).expect("a run");
    (run.counts.expect("the interpreter counts"), run.outputs.into_iter().map(|(_, t)| t).collect())
}
