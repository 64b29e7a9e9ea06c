//! The fibers that a level hands down to the next, as validation sees them.

use std::ops::Range;

/// Positions of a level, cut into fibers of the next level: half-open ranges, one long below a unique level.
#[derive(Clone, Debug)]
pub struct Fibers {
    positions: u64,
    runs: Option<Vec<Range<u64>>>,
}

impl Fibers {
    /// Each of the positions `0..positions` is a fiber.
    pub fn single(positions: u64) -> Fibers {
        Fibers { positions, runs: None }
    }

    /// The fibers are ranges of the positions `0..positions`; positions in none of them are unused.
    pub fn runs(positions: u64, runs: Vec<Range<u64>>) -> Fibers {
        Fibers { positions, runs: Some(runs) }
    }

    /// The number of positions, used or not.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// The fibers, in the order of their positions.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Range<u64>> + '_> {
        match &self.runs {
            None => Box::new((0..self.positions).map(|p| p..p + 1)),
            Some(runs) => Box::new(runs.iter().cloned()),
        }
    }
}
