//! Numbers of stored elements before given coordinates, computed from the arrays of a tensor.

use super::Tensor;
use super::array::Indices;
use crate::levels::{Concatenation, level, lower_bound};
use std::ops::Range;

/// The arrays that give the number of innermost positions before given coordinates, looked up once
/// for many queries. Other arrays are not accessed, since they may be on a device.
pub struct PositionCounter<'a> {
    levels: Vec<CountMethod<'a>>,
}

/// The method of counting the positions of a level.
#[derive(Clone, Copy)]
enum CountMethod<'a> {
    /// The level has `dimension` positions for each parent position.
    Full { dimension: u64 },
    /// The starts of lists, and their coordinates if these ascend and queries give a coordinate of
    /// this level.
    Lists { ptr: Indices<'a>, idx: Option<Indices<'a>> },
    /// The level has one position for each parent position. Its coordinates are not searched.
    Entries,
    /// The coordinates themselves, for a first level whose arrays do not give positions in the
    /// order of coordinates.
    Coordinates { dimension: u64 },
}

impl<'a> PositionCounter<'a> {
    /// Prepares queries that give the first `given` storage coordinates of an element, or fewer.
    pub fn of(tensor: &'a Tensor, given: usize) -> PositionCounter<'a> {
        PositionCounter::of_fibers(tensor, 0..given)
    }

    /// Prepares queries that give a fiber and the storage coordinates of an element in `modes`. A
    /// fiber is identified by its position in the level above these modes.
    pub fn of_fibers(tensor: &'a Tensor, modes: Range<usize>) -> PositionCounter<'a> {
        let mut levels = Vec::new();
        for k in modes.start..tensor.ty().format.levels.len() {
            let is_first = k == modes.start;
            let data = tensor.level(k);
            let (array, dimension) = (|n: usize| data.arrays[n].indices(), data.dimension);
            let ordered = data.format.ordered;
            levels.push(match level(data.format.kind).concatenation() {
                Concatenation::Full => CountMethod::Full { dimension },
                Concatenation::List if ordered || !is_first => {
                    CountMethod::Lists { ptr: array(0), idx: (ordered && k < modes.end).then(|| array(1)) }
                }
                Concatenation::Entry if !is_first => CountMethod::Entries,
                _ => {
                    if is_first {
                        levels.push(CountMethod::Coordinates { dimension });
                    }
                    break;
                }
            });
        }
        PositionCounter { levels }
    }

    /// Returns the number of innermost positions before an element. `coordinates` are the first
    /// storage coordinates of the element, at most the number given to [`PositionCounter::of`]. A
    /// fiber of a level whose arrays do not give positions counts as one position. If the first
    /// level is such a level, a singleton or an unordered list, each coordinate of this level
    /// counts as one position. The number does not decrease if a coordinate grows.
    pub fn count_before(&self, coordinates: &[u64]) -> u64 {
        self.count_before_in(0, coordinates)
    }

    /// Returns the number of innermost positions before an element of a fiber, like
    /// [`PositionCounter::count_before`]. The positions of earlier fibers count too, so only
    /// differences between numbers of one fiber are meaningful.
    pub fn count_before_in(&self, fiber: u64, coordinates: &[u64]) -> u64 {
        // In the level above: the number of positions before the element, and the position of the
        // element if it is stored.
        let (mut before, mut at) = (fiber, Some(fiber));
        for (k, method) in self.levels.iter().enumerate() {
            // Without a coordinate for this level, the count ends where the fiber starts.
            at = at.filter(|_| k < coordinates.len());
            let coordinate = coordinates.get(k).copied().unwrap_or(0);
            (before, at) = match *method {
                CountMethod::Full { dimension } => {
                    let rows = before.saturating_mul(dimension);
                    let before = at.map_or(rows, |_| rows.saturating_add(coordinate.min(dimension)));
                    (before, at.filter(|_| coordinate < dimension).map(|_| before))
                }
                CountMethod::Lists { ptr, idx } => match at.zip(idx) {
                    None => (ptr.get(before), None),
                    Some((parent, idx)) => {
                        let (lo, hi) = (ptr.get(parent), ptr.get(parent + 1));
                        let found = lower_bound(lo..hi, |q| idx.get(q) < coordinate);
                        let is_stored = found < hi && idx.get(found) == coordinate;
                        (found, is_stored.then_some(found))
                    }
                },
                CountMethod::Entries => (before, None),
                CountMethod::Coordinates { dimension } => (coordinate.min(dimension), None),
            };
        }
        before
    }
}

impl Tensor {
    /// Returns [`PositionCounter::count_before`] for a single element.
    pub fn count_before(&self, coordinates: &[u64]) -> u64 {
        PositionCounter::of(self, coordinates.len()).count_before(coordinates)
    }

    /// Returns the positions of the list below a coordinate; an empty range if the coordinate is
    /// not stored. The first level must be dense or an ordered list, and the second level must have
    /// lists.
    pub fn list_below(&self, coordinate: u64) -> Range<u64> {
        let rows = self.level(0);
        let row = match level(rows.format.kind).concatenation() {
            Concatenation::Full => (coordinate < rows.dimension).then_some(coordinate),
            _ => {
                let [ptr, idx] = [0, 1].map(|n| rows.arrays[n].indices());
                let found = lower_bound(ptr.get(0)..ptr.get(1), |q| idx.get(q) < coordinate);
                (found < ptr.get(1) && idx.get(found) == coordinate).then_some(found)
            }
        };
        let ends = self.level(1).arrays[0].indices();
        row.map_or(0..0, |row| ends.get(row)..ends.get(row + 1))
    }

    /// Returns the first innermost position below a position of the second level. If the arrays of
    /// a level do not give positions, returns the position in the level above it.
    pub fn first_leaf_position(&self, position: u64) -> u64 {
        let mut before = position;
        for k in 2..self.ty().format.levels.len() {
            let data = self.level(k);
            match level(data.format.kind).concatenation() {
                Concatenation::Full => before = before.saturating_mul(data.dimension),
                Concatenation::List => before = data.arrays[0].indices().get(before),
                Concatenation::Entry => {}
                Concatenation::None => break,
            }
        }
        before
    }
}
