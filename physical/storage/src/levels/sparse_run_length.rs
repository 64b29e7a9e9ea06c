//! Sparse run-length levels: runs of coordinates with equal children, and nothing stored between
//! them.
//!
//! `ptr` has one element more than there are parent positions; the runs of the fiber below position
//! `p` are `ptr[p]..ptr[p + 1]`. Run `q` has the coordinates `left[q]..right[q]`, at least one; the
//! runs of a fiber ascend and do not overlap. The position of a run is its number.

use super::shared::list::{all_entries, check_ptr};
use super::shared::runs::{
    build_single_runs, check_end, check_same_len, first_run_after, run_arrays, visit_coordinates,
};
use super::{ArrayClass, ArraySpec, CoordinateRun, Fibers, Level, LevelData, RunLevel, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The sparse run-length level kind.
pub struct SparseRunLength;

impl Level for SparseRunLength {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "ptr", class: ArrayClass::Position },
            ArraySpec { name: "left", class: ArrayClass::Coordinate },
            ArraySpec { name: "right", class: ArrayClass::End },
        ]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let [ptr, left, right] = [0, 1, 2].map(|k| data.arrays[k].indices());
        let parents = parents.positions();
        let end = check_ptr(ptr, parents, ("runs of right", right.len()))?;
        check_same_len(left, right)?;
        for p in 0..parents {
            let mut covered = 0;
            for q in ptr.get(p)..ptr.get(p + 1) {
                let first = left.get(q);
                if first < covered {
                    return Err(format!(
                        "left[{q}] = {first} must not be below {covered}, the end of the run before it"
                    ));
                }
                covered = check_end(right, q, first, data.dimension)?;
            }
        }
        Ok(Fibers::single(end))
    }

    fn build(
        &self,
        _: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error> {
        build_single_runs(self, dimension, parents, coordinates, positions)
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        all_entries(data)
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        visit_coordinates(self, data, fiber, visit);
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let [ptr, left, right] = [0, 1, 2].map(|k| data.arrays[k].indices());
        let runs = ptr.get(fiber.start)..ptr.get(fiber.start + 1);
        let q = first_run_after(right, runs.clone(), coordinate);
        (q < runs.end && left.get(q) <= coordinate).then(|| q..q + 1)
    }

    fn as_runs(&self) -> Option<&dyn RunLevel> {
        Some(self)
    }
}

impl RunLevel for SparseRunLength {
    fn build_runs(
        &self,
        dimension: u64,
        parents: u64,
        runs: &[CoordinateRun],
        positions: &mut Vec<u64>,
    ) -> Result<(Vec<Array>, u64), Error> {
        let mut ptr = filled_vec(0u64, parents + 1)?;
        runs.iter().for_each(|run| ptr[run.parent as usize + 1] += 1);
        (0..parents as usize).for_each(|p| ptr[p + 1] += ptr[p]);
        positions.extend(0..runs.len() as u64);
        let left = array_prim(ArrayClass::Coordinate, dimension, 0);
        let left = Array::from_indices(left, runs.iter().map(|run| run.left));
        let (ptr, right) = run_arrays(&ptr, runs.iter().map(|run| run.right).collect(), dimension);
        Ok((vec![ptr, left, right], runs.len() as u64))
    }

    fn for_each_run(&self, data: LevelData<'_>, parent: u64, visit: &mut dyn FnMut(Range<u64>, u64)) {
        let [ptr, left, right] = [0, 1, 2].map(|k| data.arrays[k].indices());
        (ptr.get(parent)..ptr.get(parent + 1)).for_each(|q| visit(left.get(q)..right.get(q), q));
    }
}
