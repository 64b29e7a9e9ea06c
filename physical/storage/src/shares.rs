//! Splits of the stored elements of a tensor into equal shares, computed from its arrays.

use super::Tensor;
use super::array::Indices;
use super::values::Values;
use crate::levels::{Concatenation, level, lower_bound};
use redpoll_logic::{DType, Format, Prim, Scalar, TensorType};
use std::ops::Range;

/// The arrays that give the number of innermost positions before given coordinates, looked up once
/// for many queries. Other arrays are not accessed, since they may be on a device.
pub struct PositionCounter<'a> {
    levels: Vec<CountMethod<'a>>,
}

/// The method of counting the positions of a level.
#[derive(Clone, Copy)]
enum CountMethod<'a> {
    /// The same number for each parent position.
    Full { dimension: u64 },
    /// By the starts of lists, and by their coordinates if these ascend and a coordinate is given.
    Lists { ptr: Indices<'a>, idx: Option<Indices<'a>> },
    /// One for each parent position; the coordinate within a list is not searched for.
    Entries,
    /// The coordinates themselves, for an outermost level whose arrays do not give positions.
    Coordinates { dimension: u64 },
}

impl<'a> PositionCounter<'a> {
    /// Prepares queries by the first `given` storage coordinates.
    pub fn of(tensor: &'a Tensor, given: usize) -> PositionCounter<'a> {
        let mut levels = Vec::new();
        for k in 0..tensor.ty().format.levels.len() {
            let data = tensor.level(k);
            let (array, dimension) = (|n: usize| data.arrays[n].indices(), data.dimension);
            let ordered = data.format.ordered;
            levels.push(match level(data.format.kind).concatenation() {
                Concatenation::Full => CountMethod::Full { dimension },
                Concatenation::List if ordered || k > 0 => {
                    CountMethod::Lists { ptr: array(0), idx: (ordered && k < given).then(|| array(1)) }
                }
                Concatenation::Entry if k > 0 => CountMethod::Entries,
                _ => {
                    if k == 0 {
                        levels.push(CountMethod::Coordinates { dimension });
                    }
                    break;
                }
            });
        }
        PositionCounter { levels }
    }

    /// Returns the number of innermost positions before an element, which is given by its first
    /// storage coordinates, at most as many as announced. Below a level whose arrays do not give
    /// positions, a fiber counts as one. The number is monotonic in the coordinates.
    pub fn count_before(&self, coordinates: &[u64]) -> u64 {
        // The number of positions of the level before, and the position of the element itself, if
        // it is stored.
        let (mut before, mut at) = (0u64, Some(0u64));
        for (k, method) in self.levels.iter().enumerate() {
            // Nothing is before the first coordinate, whether or not that is stored.
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

    /// Returns the positions of the list below a coordinate, for a tensor whose second level has
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

    /// Returns the number of innermost positions before those below a position of the second level,
    /// as far down as the arrays give it.
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

    /// Returns the bounds of `blocks` blocks with equal shares of the stored elements, as a dense
    /// vector of `blocks + 1` numbers. A bound is the linear index of coordinates in the first
    /// `modes` storage modes. Blocks may be empty.
    pub fn equal_shares(&self, modes: usize, blocks: u64) -> Tensor {
        let modes = modes.min(self.ty().format.levels.len());
        let sizes: Vec<u64> = (0..modes).map(|k| self.level(k).dimension).collect();
        let coordinates_of = |mut number: u64| {
            let mut coordinates = vec![0; sizes.len()];
            for (k, size) in sizes.iter().enumerate().skip(1).rev() {
                coordinates[k] = number % size.max(&1);
                number /= size.max(&1);
            }
            if let Some(first) = coordinates.first_mut() {
                *first = number;
            }
            coordinates
        };
        let all = sizes.iter().copied().fold(1, u64::saturating_mul).min(i64::MAX as u64);
        let counter = PositionCounter::of(self, modes);
        let total = counter.count_before(&coordinates_of(all));
        let mut bounds = vec![0i64];
        let mut last = 0;
        for k in 1..=blocks {
            let share = (u128::from(total) * u128::from(k) / u128::from(blocks.max(1))) as u64;
            last = if k == blocks {
                all
            } else {
                lower_bound(last..all, |n| counter.count_before(&coordinates_of(n)) < share)
            };
            bounds.push(last as i64);
        }
        let dtype = DType::Prim(Prim::I64);
        let ty = TensorType { shape: vec![blocks + 1], dtype, fill: Scalar::I64(0), format: Format::dense(1) };
        Tensor::from_dense(ty, &Values::from(bounds)).expect("there is one bound more than blocks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duplicates, Triples};
    use redpoll_logic::text::parse_format;

    fn matrix(format: &str) -> Tensor {
        let format = parse_format(format, 2).unwrap();
        let ty = TensorType { shape: vec![4, 6], dtype: DType::Prim(Prim::F64), fill: Scalar::F64(0.0), format };
        let coordinates = vec![vec![0, 0, 0, 0, 0, 2, 3, 3], vec![0, 1, 2, 4, 5, 3, 0, 5]];
        let triples = Triples { shape: vec![4, 6], coordinates, values: Values::from(vec![1.0; 8]) };
        Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0
    }

    fn bounds(tensor: &Tensor, modes: usize, blocks: u64) -> Vec<i64> {
        let all = tensor.equal_shares(modes, blocks).to_dense_scalars().unwrap();
        all.iter().map(|v| v.to_i128().unwrap() as i64).collect()
    }

    /// Blocks are balanced: by rows as closely as rows allow, by elements exactly.
    #[test]
    fn blocks_have_equal_shares_of_stored_elements() {
        for format in ["csr", "dcsr"] {
            assert_eq!(bounds(&matrix(format), 1, 2), [0, 1, 4], "{format}");
            assert_eq!(bounds(&matrix(format), 2, 2), [0, 5, 24], "{format}");
            assert_eq!(bounds(&matrix(format), 2, 4), [0, 2, 5, 16, 24], "{format}");
            assert_eq!(bounds(&matrix(format), 1, 1), [0, 4], "{format}");
        }
        assert_eq!(bounds(&matrix("dense"), 2, 2), [0, 12, 24]);
        assert_eq!(bounds(&matrix("csc"), 1, 3), [0, 1, 4, 6]);
        for format in ["coo", "dense", "csr"] {
            let bounds = bounds(&matrix(format), 2, 7);
            assert!(bounds.is_sorted() && bounds[0] == 0 && bounds[7] == 24, "{format}: {bounds:?}");
        }
    }
}
