//! Where the stored places of a tensor are cut into equal shares, read off its arrays.

use super::Tensor;
use super::array::Indices;
use super::values::Values;
use crate::levels::{Concatenation, level, lower_bound};
use redpoll_logic::{DType, Format, Prim, Scalar, TensorType};
use std::ops::Range;

/// What tells how many positions the innermost level of a tensor has before a place, looked up once for many places: arrays
/// that do not tell are not asked for, for they may be elsewhere.
pub(crate) struct Stored<'a> {
    levels: Vec<Counted<'a>>,
}

/// How a level tells its positions.
#[derive(Clone, Copy)]
enum Counted<'a> {
    /// As many for each of the level before.
    Full { dimension: u64 },
    /// By where lists begin, and by their coordinates where these ascend and some are given.
    Lists { ptr: Indices<'a>, idx: Option<Indices<'a>> },
    /// They are those of the level before; which of several has a coordinate is not looked for.
    Entries,
    /// Not at all, as outermost level: coordinates are counted.
    Coordinates { dimension: u64 },
}

impl<'a> Stored<'a> {
    /// That of places which are given by so many coordinates.
    pub(crate) fn of(tensor: &'a Tensor, given: usize) -> Stored<'a> {
        let mut levels = Vec::new();
        for k in 0..tensor.ty().format.levels.len() {
            let data = tensor.level(k);
            let (array, dimension) = (|n: usize| data.arrays[n].indices(), data.dimension);
            let ordered = data.format.ordered;
            levels.push(match level(data.format.kind).concatenation() {
                Concatenation::Full => Counted::Full { dimension },
                Concatenation::List if ordered || k > 0 => {
                    Counted::Lists { ptr: array(0), idx: (ordered && k < given).then(|| array(1)) }
                }
                Concatenation::Entry if k > 0 => Counted::Entries,
                _ => {
                    if k == 0 {
                        levels.push(Counted::Coordinates { dimension });
                    }
                    break;
                }
            });
        }
        Stored { levels }
    }

    /// How many positions the innermost level has before a place, given by its first storage coordinates, no more than was
    /// said; as far in as the arrays tell: of levels that do not, a fiber counts as one. It grows with the place.
    pub(crate) fn before(&self, place: &[u64]) -> u64 {
        // Those of the level before, and the one at the place itself, if it is stored.
        let (mut before, mut at) = (0u64, Some(0u64));
        for (k, counted) in self.levels.iter().enumerate() {
            // Nothing is before the first coordinate, whatever is stored there.
            at = at.filter(|_| k < place.len());
            let coordinate = place.get(k).copied().unwrap_or(0);
            (before, at) = match *counted {
                Counted::Full { dimension } => {
                    let rows = before.saturating_mul(dimension);
                    let before = at.map_or(rows, |_| rows.saturating_add(coordinate.min(dimension)));
                    (before, at.filter(|_| coordinate < dimension).map(|_| before))
                }
                Counted::Lists { ptr, idx } => match at.zip(idx) {
                    None => (ptr.get(before), None),
                    Some((parent, idx)) => {
                        let (lo, hi) = (ptr.get(parent), ptr.get(parent + 1));
                        let found = lower_bound(lo..hi, |q| idx.get(q) < coordinate);
                        let is_stored = found < hi && idx.get(found) == coordinate;
                        (found, is_stored.then_some(found))
                    }
                },
                Counted::Entries => (before, None),
                Counted::Coordinates { dimension } => (coordinate.min(dimension), None),
            };
        }
        before
    }
}

impl Tensor {
    /// [`Stored::before`] of one place.
    pub(crate) fn stored_before(&self, place: &[u64]) -> u64 {
        Stored::of(self, place.len()).before(place)
    }

    /// The positions of the list that stands below a coordinate, of a tensor whose second level has lists.
    pub(crate) fn list_below(&self, coordinate: u64) -> Range<u64> {
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

    /// How many positions of the innermost level stand before those below a position of the second level, as far in as the
    /// arrays tell.
    pub(crate) fn stored_below(&self, position: u64) -> u64 {
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

    /// The bounds of so many blocks with equal shares of what is stored, as a dense vector of one number more: places of
    /// its first storage modes, numbered in their order. Blocks may be empty.
    pub fn equal_shares(&self, modes: usize, blocks: u64) -> Tensor {
        let modes = modes.min(self.ty().format.levels.len());
        let sizes: Vec<u64> = (0..modes).map(|k| self.level(k).dimension).collect();
        let place = |mut number: u64| {
            let mut place = vec![0; sizes.len()];
            for (k, size) in sizes.iter().enumerate().skip(1).rev() {
                place[k] = number % size.max(&1);
                number /= size.max(&1);
            }
            if let Some(first) = place.first_mut() {
                *first = number;
            }
            place
        };
        let all = sizes.iter().copied().fold(1, u64::saturating_mul).min(i64::MAX as u64);
        let stored = Stored::of(self, modes);
        let total = stored.before(&place(all));
        let mut bounds = vec![0i64];
        let mut done = 0;
        for k in 1..=blocks {
            let share = (u128::from(total) * u128::from(k) / u128::from(blocks.max(1))) as u64;
            done = if k == blocks { all } else { lower_bound(done..all, |n| stored.before(&place(n)) < share) };
            bounds.push(done as i64);
        }
        let dtype = DType::Prim(Prim::I64);
        let ty = TensorType { shape: vec![blocks + 1], dtype, fill: Scalar::I64(0), format: Format::dense(1) };
        Tensor::from_dense(ty, &Values::from(bounds)).expect("there is a bound more than blocks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Duplicates, Triples};
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

    /// Protects the balance of blocks: by rows as near as rows allow, by places exactly.
    #[test]
    fn blocks_have_equal_shares_of_what_is_stored() {
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
