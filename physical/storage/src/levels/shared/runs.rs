//! Functions that the run levels share. In a run level, adjacent coordinates with equal children
//! share one position.

use super::list::{check_len, lower_bound};
use crate::levels::{ArrayClass, CoordinateRun, LevelData, RunLevel, array_prim};
use crate::{Array, Error, Indices};
use std::ops::Range;

/// Builds a level from distinct entries, with one run for each entry: see
/// [`crate::levels::Level::build`].
pub(crate) fn build_single_runs(
    level: &dyn RunLevel,
    dimension: u64,
    parents: u64,
    coordinates: &[u64],
    positions: &mut [u64],
) -> Result<(Vec<Array>, u64), Error> {
    let runs: Vec<CoordinateRun> = positions
        .iter()
        .zip(coordinates)
        .map(|(&parent, &i)| CoordinateRun { parent, left: i, right: i + 1 })
        .collect();
    let mut own = Vec::new();
    let built = level.build_runs(dimension, parents, &runs, &mut own)?;
    positions.copy_from_slice(&own);
    Ok(built)
}

/// Visits each coordinate of each run below the parent positions `fiber`.
pub(crate) fn visit_coordinates(
    level: &dyn RunLevel,
    data: LevelData<'_>,
    fiber: Range<u64>,
    visit: &mut dyn FnMut(u64, Range<u64>),
) {
    for parent in fiber {
        level.for_each_run(data, parent, &mut |run, q| run.for_each(|i| visit(i, q..q + 1)));
    }
}

/// Returns the first run of `runs` that ends after the coordinate, or the end of `runs`.
pub(crate) fn first_run_after(right: Indices<'_>, runs: Range<u64>, coordinate: u64) -> u64 {
    lower_bound(runs, |q| right.get(q) <= coordinate)
}

/// Returns the arrays `ptr` and `right` of a level that stores a list of runs for each fiber.
pub(crate) fn run_arrays(ptr: &[u64], right: Vec<u64>, dimension: u64) -> (Array, Array) {
    let ends = Array::from_indices(array_prim(ArrayClass::End, dimension, 0), right.into_iter());
    let prim = array_prim(ArrayClass::Position, dimension, ends.len() as u64);
    (Array::from_indices(prim, ptr.iter().copied()), ends)
}

/// Checks that run `q`, which starts at `left`, is not empty and ends within the dimension. Returns
/// the end of the run.
pub(crate) fn check_end(right: Indices<'_>, q: u64, left: u64, dimension: u64) -> Result<u64, String> {
    let end = right.get(q);
    if end > dimension {
        return Err(format!("right[{q}] = {} is out of range, the dimension is {dimension}", end as i64));
    }
    if end <= left {
        return Err(format!("right[{q}] = {end} must exceed {left}, the start of its run"));
    }
    Ok(end)
}

/// Checks that two arrays of runs have the same length.
pub(crate) fn check_same_len(left: Indices<'_>, right: Indices<'_>) -> Result<(), String> {
    check_len("left", left.len(), right.len())
}
