//! Blocks of adjacent coordinates with adjacent positions, shared by block lists and bands.
//!
//! Block `b` ends with coordinate `idx[b]` and has the positions `ofs[b]..ofs[b + 1]`, one for each
//! coordinate.

use crate::Indices;
use crate::levels::LevelData;
use std::ops::Range;

/// The arrays that describe blocks.
#[derive(Clone, Copy)]
pub(crate) struct BlockArrays<'a> {
    pub(crate) idx: Indices<'a>,
    pub(crate) ofs: Indices<'a>,
}

impl BlockArrays<'_> {
    /// Returns the coordinates and the positions of a block.
    pub(crate) fn get(&self, b: u64) -> (Range<u64>, Range<u64>) {
        let positions = self.ofs.get(b)..self.ofs.get(b + 1);
        if positions.is_empty() {
            return (0..0, positions);
        }
        let stop = self.idx.get(b) + 1;
        (stop - (positions.end - positions.start)..stop, positions)
    }

    /// Calls `visit(coordinate, position..position + 1)` for each coordinate of a block.
    pub(crate) fn for_each(&self, b: u64, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let (coordinates, positions) = self.get(b);
        coordinates.zip(positions).for_each(|(i, p)| visit(i, p..p + 1));
    }

    /// Returns the position of a coordinate in a block, as a range of one; `None` if the coordinate
    /// is outside of the block.
    pub(crate) fn locate(&self, b: u64, coordinate: u64) -> Option<Range<u64>> {
        let (coordinates, positions) = self.get(b);
        let p = positions.start + coordinate.checked_sub(coordinates.start)?;
        (p < positions.end).then(|| p..p + 1)
    }

    /// Checks that the coordinates of a non-empty block lie in `before..dimension`, and returns one
    /// past the last coordinate.
    pub(crate) fn check(&self, data: LevelData<'_>, b: u64, before: u64) -> Result<u64, String> {
        let (last, len) = (self.idx.get(b), self.ofs.get(b + 1) - self.ofs.get(b));
        if last >= data.dimension {
            return Err(format!("idx[{b}] = {last} is out of range, the dimension is {}", data.dimension));
        }
        match (last + 1).checked_sub(len) {
            None => Err(format!(
                "block {b} has {len} positions and ends with coordinate {last}, so it would begin before 0"
            )),
            Some(first) if first < before => Err(format!(
                "blocks must ascend in each fiber without overlap, but block {b} begins with coordinate {first} and the \
                 one before it ends with {}",
                before - 1
            )),
            Some(_) => Ok(last + 1),
        }
    }
}

/// Checks that the first `fibers + 1` offsets are not negative and do not decrease. Returns the
/// last of these offsets.
pub(crate) fn check_offsets(name: &str, offsets: Indices<'_>, fibers: u64) -> Result<u64, String> {
    if offsets.get(0) > i64::MAX as u64 {
        return Err(format!("{name}[0] = {} is negative", offsets.get(0) as i64));
    }
    if let Some(p) = (0..fibers).find(|&p| offsets.get(p) > offsets.get(p + 1) || offsets.get(p + 1) > i64::MAX as u64)
    {
        let (lo, hi) = (offsets.get(p), offsets.get(p + 1) as i64);
        return Err(format!("{name} must not decrease, but {name}[{p}] = {lo} and {name}[{}] = {hi}", p + 1));
    }
    Ok(offsets.get(fibers))
}
