//! Sparse lists (compressed levels): the stored coordinates of each fiber, one after the other.
//!
//! `ptr` has one element more than there are parent positions; the fiber below position `p` is
//! `idx[ptr[p]..ptr[p + 1]]`, and the position of an entry is its index in `idx`. `ptr[0]` may
//! exceed 0, as in slices of Arrow arrays; positions before it are unused. In an ordered list, the
//! coordinates of a fiber ascend, strictly if the list is unique. In a list that is not unique,
//! adjacent positions with equal coordinates form a fiber of the next level. In a list that is not
//! ordered, the coordinates may have any order.

use super::shared::list::{
    all_entries, build_list, check_list, child_fibers, find_run, lower_bound, tally, visit_runs,
};
use super::{ArrayClass, ArraySpec, Concatenation, Fibers, Level, LevelData};
use crate::{Array, Error};
use redpoll_logic::LevelFormat;
use std::ops::{ControlFlow, Range};

/// The sparse list level kind.
pub struct SparseList;

impl Level for SparseList {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "ptr", class: ArrayClass::Position },
            ArraySpec { name: "idx", class: ArrayClass::Coordinate },
        ]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let mut runs = Vec::new();
        let positions = check_list(data, parents.positions(), (!data.format.unique).then_some(&mut runs))?;
        Ok(child_fibers(data.format, positions, runs))
    }

    fn build(
        &self,
        format: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error> {
        let list = build_list(format, dimension, parents, coordinates, positions)?;
        Ok((vec![list.ptr, list.idx], list.entries))
    }

    fn concatenation(&self) -> Concatenation {
        Concatenation::List
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        all_entries(data)
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        visit_runs(data.arrays[1].indices(), entries(data, &fiber), visit);
    }

    fn tally(&self, data: LevelData<'_>, fiber: Range<u64>, counts: &mut [u32]) -> u64 {
        tally(data.arrays[1].indices(), entries(data, &fiber), counts)
    }

    fn for_each_within(
        &self,
        data: LevelData<'_>,
        fiber: Range<u64>,
        range: Range<u64>,
        visit: &mut dyn FnMut(u64, Range<u64>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (idx, mut rest) = (data.arrays[1].indices(), entries(data, &fiber));
        if data.format.ordered {
            rest.start = lower_bound(rest.clone(), |k| idx.get(k) < range.start);
            rest.end = lower_bound(rest.clone(), |k| idx.get(k) < range.end);
        }
        while rest.start < rest.end {
            let i = idx.get(rest.start);
            let end = (rest.start + 1..rest.end).find(|&k| idx.get(k) != i).unwrap_or(rest.end);
            if range.contains(&i) {
                visit(i, rest.start..end)?;
            }
            rest.start = end;
        }
        ControlFlow::Continue(())
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        find_run(data.format.ordered, data.arrays[1].indices(), entries(data, &fiber), coordinate)
    }
}

/// Returns the entries below the parent positions `fiber`.
fn entries(data: LevelData<'_>, fiber: &Range<u64>) -> Range<u64> {
    let ptr = data.arrays[0].indices();
    ptr.get(fiber.start)..ptr.get(fiber.end)
}
