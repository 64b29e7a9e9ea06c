//! Block lists (VBL, variable block list): the stored coordinates of each fiber as blocks of
//! adjacent coordinates.
//!
//! The blocks below position `p` are `ptr[p]..ptr[p + 1]`; block `b` ends with coordinate `idx[b]`,
//! and its coordinates have the positions `ofs[b]..ofs[b + 1]`. So `ofs` has at least one element
//! more than there are blocks. `ptr` has exactly one element more than there are parent positions.
//! Blocks are not empty, ascend in each fiber and do not overlap; two blocks may be adjacent.

use super::shared::blocks::{BlockArrays, check_offsets};
use super::shared::list::{check_ptr, lower_bound};
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The block list level kind.
pub struct BlockList;

impl Level for BlockList {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "ptr", class: ArrayClass::Position },
            ArraySpec { name: "idx", class: ArrayClass::Coordinate },
            ArraySpec { name: "ofs", class: ArrayClass::Position },
        ]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let parents = parents.positions();
        let ptr = data.arrays[0].indices();
        let blocks = blocks(data);
        let end = check_ptr(ptr, parents, ("blocks of idx", blocks.idx.len()))?;
        if blocks.ofs.len() <= end {
            return Err(format!(
                "ofs must have at least {} elements, one more than there are blocks, found {}",
                end + 1,
                blocks.ofs.len()
            ));
        }
        let positions = check_offsets("ofs", blocks.ofs, end)?;
        for p in 0..parents {
            let mut before = 0;
            for b in ptr.get(p)..ptr.get(p + 1) {
                if blocks.ofs.get(b) == blocks.ofs.get(b + 1) {
                    return Err(format!("block {b} is empty: ofs[{b}] = ofs[{}]", b + 1));
                }
                before = blocks.check(data, b, before)?;
            }
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
        let mut ptr = filled_vec(0u64, parents + 1)?;
        let (mut idx, mut ofs, mut own) = (Vec::new(), vec![0u64], 0u64);
        let mut last = None;
        for (p, &i) in positions.iter_mut().zip(coordinates) {
            if last != Some((*p, i)) {
                if i > 0 && last == Some((*p, i - 1)) {
                    idx.pop();
                    ofs.pop();
                } else {
                    ptr[*p as usize + 1] += 1;
                }
                last = Some((*p, i));
                own += 1;
                idx.push(i);
                ofs.push(own);
            }
            *p = own - 1;
        }
        let (mut sum, blocks) = (0, idx.len() as u64);
        ptr.iter_mut().for_each(|n| {
            sum += *n;
            *n = sum;
        });
        let idx = Array::from_indices(array_prim(ArrayClass::Coordinate, dimension, blocks), idx.into_iter());
        let ends = |list: Vec<u64>, count| {
            Array::from_indices(array_prim(ArrayClass::Position, dimension, count), list.into_iter())
        };
        Ok((vec![ends(ptr, blocks), idx, ends(ofs, own)], own))
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        let (ptr, ofs) = (data.arrays[0].indices(), data.arrays[2].indices());
        match ptr.len() {
            0 => 0..0,
            len => ofs.get(ptr.get(0))..ofs.get(ptr.get(len - 1)),
        }
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let ptr = data.arrays[0].indices();
        (ptr.get(fiber.start)..ptr.get(fiber.end)).for_each(|b| blocks(data).for_each(b, visit));
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let (ptr, blocks) = (data.arrays[0].indices(), blocks(data));
        let all = ptr.get(fiber.start)..ptr.get(fiber.end);
        let b = lower_bound(all.clone(), |b| blocks.idx.get(b) < coordinate);
        if b < all.end { blocks.locate(b, coordinate) } else { None }
    }
}

fn blocks(data: LevelData<'_>) -> BlockArrays<'_> {
    BlockArrays { idx: data.arrays[1].indices(), ofs: data.arrays[2].indices() }
}
