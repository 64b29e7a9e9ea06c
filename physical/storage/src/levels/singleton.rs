//! Singleton levels: one coordinate for each parent position, as in the inner modes of COO.
//!
//! `idx` has one element for each parent position, and the positions of the level are the parent
//! positions. A fiber is a range of parent positions (a run of equal coordinates of the level
//! above). If the level is ordered, the coordinates of a fiber ascend, strictly if the level is
//! unique. If the level is not unique, adjacent positions with equal coordinates form a fiber of
//! the singleton level below.

use super::shared::list::{check_fiber, check_has_positions, child_fibers, find_run, tally, visit_runs};
use super::{ArrayClass, ArraySpec, Concatenation, Fibers, Level, LevelData, array_prim};
use crate::{Array, Error};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The singleton level kind.
pub struct Singleton;

impl Level for Singleton {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[ArraySpec { name: "idx", class: ArrayClass::Coordinate }]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let idx = data.arrays[0].indices();
        check_has_positions("idx", idx.len(), parents.positions())?;
        let mut runs = Vec::new();
        for fiber in parents.iter() {
            check_fiber(data, idx, fiber, (!data.format.unique).then_some(&mut runs))?;
        }
        Ok(child_fibers(data.format, parents.positions(), runs))
    }

    fn build(
        &self,
        _: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        _: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error> {
        debug_assert_eq!(parents, coordinates.len() as u64, "a non-unique parent has a position for each entry");
        let prim = array_prim(ArrayClass::Coordinate, dimension, parents);
        Ok((vec![Array::from_indices(prim, coordinates.iter().copied())], parents))
    }

    fn concatenation(&self) -> Concatenation {
        Concatenation::Entry
    }

    fn entries(&self, _: LevelData<'_>, parents: u64) -> Range<u64> {
        0..parents
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        visit_runs(data.arrays[0].indices(), fiber, visit);
    }

    fn tally(&self, data: LevelData<'_>, fiber: Range<u64>, counts: &mut [u32]) -> u64 {
        tally(data.arrays[0].indices(), fiber, counts)
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        find_run(data.format.ordered, data.arrays[0].indices(), fiber, coordinate)
    }
}
