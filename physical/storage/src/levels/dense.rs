//! Dense levels: every coordinate `i` of a dimension `n` is stored, at position `p * n + i` below
//! position `p`.
//!
//! There are no arrays. The number of positions is checked when a tensor is constructed, so
//! arithmetic on positions does not overflow in kernels.

use super::{ArraySpec, Concatenation, Fibers, Level, LevelData};
use crate::{Array, Error};
use redpoll_logic::LevelFormat;
use std::ops::{ControlFlow, Range};

/// The dense level kind.
pub struct Dense;

impl Level for Dense {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[]
    }

    fn is_table(&self) -> bool {
        true
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        full_positions(parents.positions(), data.dimension).map(Fibers::single).map_err(|e| e.to_string())
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
        for (p, i) in positions.iter_mut().zip(coordinates) {
            *p = *p * dimension + i;
        }
        Ok((Vec::new(), own))
    }

    fn concatenation(&self) -> Concatenation {
        Concatenation::Full
    }

    fn entries(&self, data: LevelData<'_>, parents: u64) -> Range<u64> {
        0..parents.saturating_mul(data.dimension)
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let first = fiber.start * data.dimension;
        for i in 0..data.dimension {
            visit(i, first + i..first + i + 1);
        }
    }

    fn for_each_within(
        &self,
        data: LevelData<'_>,
        fiber: Range<u64>,
        range: Range<u64>,
        visit: &mut dyn FnMut(u64, Range<u64>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let first = fiber.start * data.dimension;
        (range.start..range.end.min(data.dimension)).try_for_each(|i| visit(i, first + i..first + i + 1))
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        let p = fiber.start * data.dimension + coordinate;
        (coordinate < data.dimension).then(|| p..p + 1)
    }
}

/// Returns the number of positions of a level that has a position for every coordinate below every
/// parent.
///
/// # Errors
/// `Error::TooManyPositions` if the number exceeds `i64`.
pub fn full_positions(parents: u64, dimension: u64) -> Result<u64, Error> {
    let positions = parents.checked_mul(dimension).filter(|&n| n <= i64::MAX as u64);
    positions.ok_or(Error::TooManyPositions { parents, dimension })
}
