//! Fixed-width levels (ELL): the stored coordinates of each fiber in a row, with rows of equal
//! length.
//!
//! `width` has one element `w`, and `idx` has `w` elements for each parent position. The row below
//! position `p` is `idx[p * w..(p + 1) * w]`: coordinates in ascending order, padded with the
//! dimension. The position of a coordinate is its index in `idx`. Positions of padding exist but
//! are unused: below them are fill values and empty fibers.

use super::shared::list::{check_len, find_run, lower_bound};
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::{LevelFormat, LevelKind};
use std::ops::Range;

/// The fixed-width level kind.
pub struct FixedWidth;

impl Level for FixedWidth {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[ArraySpec { name: "width", class: ArrayClass::Position }, ArraySpec { name: "idx", class: ArrayClass::Bound }]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let (idx, parents, n) = (data.arrays[1].indices(), parents.positions(), data.dimension);
        check_len("width", data.arrays[0].len() as u64, 1)?;
        let width = width(data);
        let positions = parents.checked_mul(width).filter(|&len| len <= i64::MAX as u64);
        let positions = positions.ok_or_else(|| format!("{parents} fibers cannot have width {}", width as i64))?;
        check_len("idx", idx.len(), positions)?;
        for p in 0..parents {
            for k in p * width..(p + 1) * width {
                let i = idx.get(k);
                if i > n {
                    return Err(format!("idx[{k}] = {i} is out of range, the dimension, which marks padding, is {n}"));
                }
                if k > p * width && i < n && idx.get(k - 1) >= i {
                    let before = idx.get(k - 1);
                    return Err(format!(
                        "idx must ascend in each fiber up to its padding, but idx[{}] = {before} and idx[{k}] = {i}",
                        k - 1
                    ));
                }
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
        // The number of each entry within its fiber.
        let mut last = None;
        let mut numbers = Vec::with_capacity(positions.len());
        let mut next = 0u64;
        for (&p, &i) in positions.iter().zip(coordinates) {
            match last {
                Some((q, _)) if q != p => next = 1,
                Some((_, j)) if j == i => {}
                _ => next += 1,
            }
            last = Some((p, i));
            numbers.push(next - 1);
        }
        let width = numbers.iter().map(|k| k + 1).max().unwrap_or(0);
        let own = parents.checked_mul(width).filter(|&n| n <= i64::MAX as u64);
        let own = own.ok_or(Error::TooManyPositions { parents, dimension: width })?;
        let mut idx = filled_vec(dimension, own)?;
        for ((p, &i), k) in positions.iter_mut().zip(coordinates).zip(numbers) {
            *p = *p * width + k;
            idx[*p as usize] = i;
        }
        let array = |class, list: Vec<u64>| Array::from_indices(array_prim(class, dimension, own), list.into_iter());
        Ok((vec![array(ArrayClass::Position, vec![width]), array(ArrayClass::Bound, idx)], own))
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        0..data.arrays[1].len() as u64
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let idx = data.arrays[1].indices();
        fiber.for_each(|p| row(data, p).for_each(|k| visit(idx.get(k), k..k + 1)));
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        find_run(true, data.arrays[1].indices(), row(data, fiber.start), coordinate)
    }

    fn kernel_kind(&self) -> Option<LevelKind> {
        Some(LevelKind::SparseList)
    }
}

fn width(data: LevelData<'_>) -> u64 {
    data.arrays[0].indices().get(0)
}

/// Returns the positions of the coordinates below a parent position, without the padding after
/// them.
fn row(data: LevelData<'_>, parent: u64) -> Range<u64> {
    let (idx, width) = (data.arrays[1].indices(), width(data));
    let row = parent * width..(parent + 1) * width;
    row.start..lower_bound(row, |k| idx.get(k) < data.dimension)
}
