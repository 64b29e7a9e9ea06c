//! Intervals: at most one run of coordinates with equal children in each fiber.
//!
//! The fiber below position `p` has the coordinates `left[p]..right[p]`, and is empty if
//! `left[p] >= right[p]`. The position of this run is `p`, too. Below the position of an empty
//! fiber are fill values and empty fibers.

use super::shared::list::check_has_positions;
use super::shared::runs::{build_single_runs, check_same_len, visit_coordinates};
use super::{ArrayClass, ArraySpec, CoordinateRun, Fibers, Level, LevelData, RunLevel, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The interval level kind.
pub struct Interval;

impl Level for Interval {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "left", class: ArrayClass::Coordinate },
            ArraySpec { name: "right", class: ArrayClass::End },
        ]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let (left, right) = (data.arrays[0].indices(), data.arrays[1].indices());
        let parents = parents.positions();
        check_same_len(left, right)?;
        check_has_positions("right", right.len(), parents)?;
        let (n, end) = (data.dimension, |p: &u64| right.get(*p));
        match (0..parents).find(|p| end(p) > n) {
            Some(p) => Err(format!("right[{p}] = {} is out of range, the dimension is {n}", end(&p) as i64)),
            None => Ok(Fibers::single(parents)),
        }
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

    fn entries(&self, _: LevelData<'_>, parents: u64) -> Range<u64> {
        0..parents
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        visit_coordinates(self, data, fiber, visit);
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let (left, right) = (data.arrays[0].indices(), data.arrays[1].indices());
        let p = fiber.start;
        (left.get(p)..right.get(p)).contains(&coordinate).then(|| p..p + 1)
    }

    fn as_runs(&self) -> Option<&dyn RunLevel> {
        Some(self)
    }
}

impl RunLevel for Interval {
    fn build_runs(
        &self,
        dimension: u64,
        parents: u64,
        runs: &[CoordinateRun],
        positions: &mut Vec<u64>,
    ) -> Result<(Vec<Array>, u64), Error> {
        let (mut left, mut right) = (filled_vec(0u64, parents)?, filled_vec(0u64, parents)?);
        for run in runs {
            (left[run.parent as usize], right[run.parent as usize]) = (run.left, run.right);
            positions.push(run.parent);
        }
        let array = |class, ends: Vec<u64>| Array::from_indices(array_prim(class, dimension, 0), ends.into_iter());
        Ok((vec![array(ArrayClass::Coordinate, left), array(ArrayClass::End, right)], parents))
    }

    fn for_each_run(&self, data: LevelData<'_>, parent: u64, visit: &mut dyn FnMut(Range<u64>, u64)) {
        let (left, right) = (data.arrays[0].indices().get(parent), data.arrays[1].indices().get(parent));
        if left < right {
            visit(left..right, parent);
        }
    }
}
