//! Bands: one block of adjacent coordinates in each fiber, from the first entry to the last.
//!
//! The block below position `p` ends with coordinate `idx[p]`; its positions are
//! `ofs[p]..ofs[p + 1]`. A block is empty if both offsets are equal, whatever value `idx[p]` has.
//! Coordinates between the first and the last entry are stored too, with fill values or empty
//! fibers.

use super::shared::blocks::{BlockArrays, check_offsets};
use super::shared::list::check_len;
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The band level kind.
pub struct Band;

impl Level for Band {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "idx", class: ArrayClass::Coordinate },
            ArraySpec { name: "ofs", class: ArrayClass::Position },
        ]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let (parents, blocks) = (parents.positions(), blocks(data));
        check_len("ofs", blocks.ofs.len(), parents.checked_add(1).ok_or("too many parent positions")?)?;
        check_len("idx", blocks.idx.len(), parents)?;
        let positions = check_offsets("ofs", blocks.ofs, parents)?;
        for p in (0..parents).filter(|&p| blocks.ofs.get(p) < blocks.ofs.get(p + 1)) {
            blocks.check(data, p, 0)?;
        }
        Ok(Fibers::single(positions))
    }

    fn build(
        &self,
        _: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error> {
        let mut ofs = filled_vec(0u64, parents + 1)?;
        let mut idx = filled_vec(0u64, parents)?;
        let mut own = 0u64;
        let mut next = 0;
        for (p, end) in ofs.iter_mut().skip(1).enumerate() {
            let first = next;
            while next < positions.len() && positions[next] == p as u64 {
                positions[next] = own + (coordinates[next] - coordinates[first]);
                next += 1;
            }
            if next > first {
                idx[p] = coordinates[next - 1];
                let len = coordinates[next - 1] - coordinates[first] + 1;
                own = own
                    .checked_add(len)
                    .filter(|n| *n <= i64::MAX as u64)
                    .ok_or(Error::TooManyPositions { parents, dimension })?;
            }
            *end = own;
        }
        let idx = Array::from_indices(array_prim(ArrayClass::Coordinate, dimension, own), idx.into_iter());
        let ofs = Array::from_indices(array_prim(ArrayClass::Position, dimension, own), ofs.into_iter());
        Ok((vec![idx, ofs], own))
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        let ofs = data.arrays[1].indices();
        match ofs.len() {
            0 => 0..0,
            len => ofs.get(0)..ofs.get(len - 1),
        }
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        fiber.for_each(|p| blocks(data).for_each(p, visit));
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        blocks(data).locate(fiber.start, coordinate)
    }
}

fn blocks(data: LevelData<'_>) -> BlockArrays<'_> {
    BlockArrays { idx: data.arrays[0].indices(), ofs: data.arrays[1].indices() }
}
