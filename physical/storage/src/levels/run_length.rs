//! Run-length levels: runs of coordinates with equal children, which cover every coordinate.
//!
//! `ptr` has one element more than there are parent positions; the runs of the fiber below position
//! `p` are `ptr[p]..ptr[p + 1]`. Run `q` starts at the end of the previous run in its fiber, or at
//! 0, and ends before `right[q]`. The last run of each fiber ends at the dimension. The position of
//! a run is its number. Coordinates that are not stored form runs, too: below them are fill values
//! and empty fibers. A single fiber is an Arrow run-end encoded array, whose run ends are in
//! `right`.

use super::shared::list::{all_entries, check_ptr};
use super::shared::runs::{build_single_runs, check_end, first_run_after, run_arrays, visit_coordinates};
use super::{ArrayClass, ArraySpec, CoordinateRun, Fibers, Level, LevelData, RunLevel};
use crate::{Array, Error};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The run-length level kind.
pub struct RunLength;

impl Level for RunLength {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[ArraySpec { name: "ptr", class: ArrayClass::Position }, ArraySpec { name: "right", class: ArrayClass::End }]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let (ptr, right) = (data.arrays[0].indices(), data.arrays[1].indices());
        let parents = parents.positions();
        let end = check_ptr(ptr, parents, ("ends of right", right.len()))?;
        for p in 0..parents {
            let mut covered = 0;
            for q in ptr.get(p)..ptr.get(p + 1) {
                covered = check_end(right, q, covered, data.dimension)?;
            }
            if covered != data.dimension {
                let n = data.dimension;
                return Err(format!("the runs of fiber {p} must end at the dimension {n}, found {covered}"));
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
        let ptr = data.arrays[0].indices();
        let runs = ptr.get(fiber.start)..ptr.get(fiber.start + 1);
        let q = first_run_after(data.arrays[1].indices(), runs.clone(), coordinate);
        (q < runs.end).then(|| q..q + 1)
    }

    fn as_runs(&self) -> Option<&dyn RunLevel> {
        Some(self)
    }
}

impl RunLevel for RunLength {
    fn build_runs(
        &self,
        dimension: u64,
        parents: u64,
        runs: &[CoordinateRun],
        positions: &mut Vec<u64>,
    ) -> Result<(Vec<Array>, u64), Error> {
        let mut ptr = crate::filled_vec(0u64, parents + 1)?;
        let mut right: Vec<u64> = Vec::new();
        let mut rest = runs.iter().peekable();
        for p in 0..parents {
            let mut covered = 0;
            while let Some(run) = rest.next_if(|run| run.parent == p) {
                if covered < run.left {
                    right.push(run.left);
                }
                positions.push(right.len() as u64);
                right.push(run.right);
                covered = run.right;
            }
            if covered < dimension {
                right.push(dimension);
            }
            ptr[p as usize + 1] = right.len() as u64;
        }
        let own = right.len() as u64;
        let (ptr, right) = run_arrays(&ptr, right, dimension);
        Ok((vec![ptr, right], own))
    }

    fn for_each_run(&self, data: LevelData<'_>, parent: u64, visit: &mut dyn FnMut(Range<u64>, u64)) {
        let (ptr, right) = (data.arrays[0].indices(), data.arrays[1].indices());
        let mut left = 0;
        for q in ptr.get(parent)..ptr.get(parent + 1) {
            visit(left..right.get(q), q);
            left = right.get(q);
        }
    }
}
