//! The fibers that a level passes to the next, for validation.

use std::ops::Range;

/// Positions of a level, grouped into the fibers of the next level: half-open ranges, of length one
/// below a unique level.
#[derive(Clone, Debug)]
pub struct Fibers {
    positions: u64,
    runs: Option<Vec<Range<u64>>>,
}

impl Fibers {
    /// Returns one fiber for each of the positions `0..positions`.
    pub fn single(positions: u64) -> Fibers {
        Fibers { positions, runs: None }
    }

    /// Returns fibers that are given as ranges of the positions `0..positions`. Positions outside
    /// of all ranges are unused.
    pub fn runs(positions: u64, runs: Vec<Range<u64>>) -> Fibers {
        Fibers { positions, runs: Some(runs) }
    }

    /// Returns the number of positions, used or not.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Returns the fibers, in the order of their positions.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Range<u64>> + '_> {
        match &self.runs {
            None => Box::new((0..self.positions).map(|p| p..p + 1)),
            Some(runs) => Box::new(runs.iter().cloned()),
        }
    }
}
