//! Bit maps: one bit for each coordinate of each fiber is set if the coordinate is stored. Writes
//! may come in any order.
//!
//! Bit `p * n + i` is set if coordinate `i` of a dimension `n` is stored below position `p`. The
//! number `p * n + i` is also the position of the coordinate, so that a write needs no search. Bit
//! `b` is in `words[b / 64]`, lowest bit first, as in the bitmaps of Arrow. Bits after the last
//! position are not set. Positions of coordinates that are not stored exist but are unused: below
//! them are fill values and empty fibers.

use super::dense::full_positions;
use super::shared::list::check_len;
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData};
use crate::{Array, Error, Indices, filled_vec};
use redpoll_logic::{LevelFormat, plural};
use std::ops::Range;

/// The bit map level kind.
pub struct BitMap;

impl Level for BitMap {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[ArraySpec { name: "words", class: ArrayClass::Word }]
    }

    fn is_table(&self) -> bool {
        true
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let positions = full_positions(parents.positions(), data.dimension).map_err(|e| e.to_string())?;
        let words = data.arrays[0].indices();
        check_len("words", words.len(), positions.div_ceil(64))?;
        let used = positions % 64;
        if used != 0 && words.get(positions / 64) >> used != 0 {
            let noun = plural(positions, "position", "positions");
            return Err(format!("the last element of words has set bits after the {positions} {noun} of the level"));
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
        let own = full_positions(parents, dimension)?;
        let mut words = filled_vec(0u64, own.div_ceil(64))?;
        for (p, i) in positions.iter_mut().zip(coordinates) {
            *p = *p * dimension + i;
            words[(*p / 64) as usize] |= 1 << (*p % 64);
        }
        Ok((vec![Array::from_vec(words)], own))
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        let words = data.arrays[0].indices();
        0..(0..words.len()).map(|w| u64::from(words.get(w).count_ones())).sum()
    }

    fn positions(&self, data: LevelData<'_>, parents: u64) -> u64 {
        parents * data.dimension
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let (words, n) = (data.arrays[0].indices(), data.dimension);
        for parent in fiber {
            let (first, end) = (parent * n, (parent + 1) * n);
            let mut p = next_set(words, first, end);
            while p < end {
                visit(p - first, p..p + 1);
                p = next_set(words, p + 1, end);
            }
        }
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let p = fiber.start * data.dimension + coordinate;
        let set = |p: u64| data.arrays[0].indices().get(p / 64) >> (p % 64) & 1 == 1;
        (coordinate < data.dimension && set(p)).then(|| p..p + 1)
    }
}

/// Returns the first bit of `from..end` that is set, or `end`.
fn next_set(words: Indices<'_>, from: u64, end: u64) -> u64 {
    let mut bit = from;
    while bit < end {
        let rest = words.get(bit / 64) >> (bit % 64);
        if rest != 0 {
            return end.min(bit + u64::from(rest.trailing_zeros()));
        }
        bit = (bit / 64 + 1) * 64;
    }
    end
}
