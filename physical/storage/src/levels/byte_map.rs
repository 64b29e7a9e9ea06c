//! Byte maps: one byte for each coordinate of each fiber, which says whether the coordinate is
//! stored, and a sorted list of the stored coordinates. Writes may come in any order.
//!
//! `map[p * n + i]` is 1 if coordinate `i` of a dimension `n` is stored below position `p`, and 0
//! otherwise. The coordinate has position `p * n + i`, so that a write needs no search.
//! `idx[ptr[p]..ptr[p + 1]]` are the stored coordinates of the fiber, ascending. Positions of
//! coordinates that are not stored exist but are unused: below them are fill values and empty
//! fibers.

use super::dense::full_positions;
use super::shared::list::{all_entries, build_list, check_len, check_list};
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The byte map level kind.
pub struct ByteMap;

impl Level for ByteMap {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "ptr", class: ArrayClass::Position },
            ArraySpec { name: "idx", class: ArrayClass::Coordinate },
            ArraySpec { name: "map", class: ArrayClass::Flag },
        ]
    }

    fn is_table(&self) -> bool {
        true
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let parents = parents.positions();
        let positions = full_positions(parents, data.dimension).map_err(|e| e.to_string())?;
        let entries = check_list(data, parents, None)?;
        let [ptr, idx, map] = [0, 1, 2].map(|k| data.arrays[k].indices());
        check_len("map", map.len(), positions)?;
        for p in 0..parents {
            for k in ptr.get(p)..ptr.get(p + 1) {
                let at = p * data.dimension + idx.get(k);
                if map.get(at) != 1 {
                    return Err(format!(
                        "map[{at}] must be 1 because idx[{k}] lists its coordinate, found {}",
                        map.get(at)
                    ));
                }
            }
        }
        check_len("the nonzero part of map", map_entries(map), entries - ptr.get(0))?;
        Ok(Fibers::single(positions))
    }

    fn build(
        &self,
        format: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error> {
        let own = full_positions(parents, dimension)?;
        let mut map = filled_vec(0u8, own)?;
        let mut numbers = positions.to_vec();
        let list = build_list(format, dimension, parents, coordinates, &mut numbers)?;
        for (p, i) in positions.iter_mut().zip(coordinates) {
            *p = *p * dimension + i;
            map[*p as usize] = 1;
        }
        Ok((vec![list.ptr, list.idx, Array::from_vec(map)], own))
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        all_entries(data)
    }

    fn positions(&self, data: LevelData<'_>, parents: u64) -> u64 {
        parents * data.dimension
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let (ptr, idx) = (data.arrays[0].indices(), data.arrays[1].indices());
        let first = fiber.start * data.dimension;
        for k in ptr.get(fiber.start)..ptr.get(fiber.end) {
            let p = first + idx.get(k);
            visit(idx.get(k), p..p + 1);
        }
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let p = fiber.start * data.dimension + coordinate;
        (coordinate < data.dimension && data.arrays[2].indices().get(p) == 1).then(|| p..p + 1)
    }
}

/// Returns the number of nonzero bytes in a map.
fn map_entries(map: crate::Indices<'_>) -> u64 {
    (0..map.len()).filter(|&at| map.get(at) != 0).count() as u64
}
