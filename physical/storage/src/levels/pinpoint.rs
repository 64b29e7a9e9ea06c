//! Pinpoints: at most one coordinate in each fiber.
//!
//! The fiber below position `p` has the coordinate `idx[p]`, or no coordinate if `idx[p]` is the
//! dimension. The position of the coordinate is `p`, too. Below the position of a fiber without a
//! coordinate are fill values and empty fibers.

use super::shared::list::check_has_positions;
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The pinpoint level kind.
pub struct Pinpoint;

impl Level for Pinpoint {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[ArraySpec { name: "idx", class: ArrayClass::Bound }]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let (idx, parents, n) = (data.arrays[0].indices(), parents.positions(), data.dimension);
        check_has_positions("idx", idx.len(), parents)?;
        match (0..parents).find(|&p| idx.get(p) > n) {
            Some(p) => Err(format!(
                "idx[{p}] = {} is out of range, the dimension, which marks an empty fiber, is {n}",
                idx.get(p)
            )),
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
        let mut idx = filled_vec(dimension, parents)?;
        for (&p, &i) in positions.iter().zip(coordinates) {
            debug_assert!(idx[p as usize] == dimension || idx[p as usize] == i, "a fiber has at most one entry");
            idx[p as usize] = i;
        }
        let prim = array_prim(ArrayClass::Bound, dimension, 0);
        Ok((vec![Array::from_indices(prim, idx.into_iter())], parents))
    }

    fn entries(&self, _: LevelData<'_>, parents: u64) -> Range<u64> {
        0..parents
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        for p in fiber {
            let i = data.arrays[0].indices().get(p);
            if i < data.dimension {
                visit(i, p..p + 1);
            }
        }
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let p = fiber.start;
        (coordinate < data.dimension && data.arrays[0].indices().get(p) == coordinate).then(|| p..p + 1)
    }
}
