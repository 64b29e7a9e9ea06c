//! Rows grouped by their codes, and the folds of each group.
//!
//! The first access to new memory is the largest cost per row, so data that follows from the codes
//! is not stored. Rows that are sorted already need no list of rows; groups of one row need no list
//! of starts. Levels are built from the codes of each group's first row, once for all tensors over
//! the same groups.

use super::leaf::LeafRows;
use super::limbs::Limb;
use super::order::{compare, sort_rows};
use crate::error::{Error, FallbackReason, Result};
use crate::number::Number;
use crate::semiring::{Semiring, scalars};
use datafusion::arrow::array::{Array as _, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use redpoll_logic::{DType, Scalar};
use redpoll_storage::{Array, Element, Values};
use std::cmp::Ordering;
use std::ops::Range;

/// Rows in the order of their codes; rows with equal codes form a group.
pub(super) struct Groups<'a> {
    /// For each field, the codes of all rows.
    codes: Vec<&'a [u64]>,
    /// The rows that are not left out, sorted by their codes; `None` if no row is left out and all
    /// rows are sorted already.
    order: Option<Vec<u32>>,
    /// The start of each group, and the end of the last group; `None` if every group has one row.
    starts: Option<Vec<u32>>,
    /// Number of groups.
    len: usize,
    /// The levels of tensors of these groups; `None` before the levels are built.
    levels: Option<Vec<Vec<Array>>>,
}

impl<'a> Groups<'a> {
    /// Groups the rows of a leaf by codes; `shape` is the number of codes of each field. Rows with
    /// a missing code, or with a NULL in one of the columns `valid`, are left out.
    pub(super) fn new(leaf: &LeafRows, (codes, shape): (Vec<&'a [u64]>, &[u64]), valid: &[usize]) -> Groups<'a> {
        let passing = leaf.passing_rows(&codes, valid);
        let rows = passing.as_ref().map_or(leaf.len(), Vec::len);
        let order = sort_rows(passing, rows, &codes, shape);
        let mut groups = Groups { codes, order, starts: None, len: rows, levels: None };
        let starts_group = |groups: &Groups<'_>, k: usize| k == 0 || groups.compare(k - 1, k).is_ne();
        groups.len = (0..rows).filter(|&k| starts_group(&groups, k)).count();
        if groups.len < rows {
            let mut starts = Vec::with_capacity(groups.len + 1);
            starts.extend((0..rows).filter(|&k| starts_group(&groups, k)).map(|k| k as u32));
            starts.push(rows as u32);
            groups.starts = Some(starts);
        }
        groups
    }

    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether every group has one row.
    pub(super) fn has_single_rows(&self) -> bool {
        self.starts.is_none()
    }

    fn row(&self, k: usize) -> usize {
        self.order.as_ref().map_or(k, |order| order[k] as usize)
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        compare(&self.codes, self.row(a), self.row(b))
    }

    fn range(&self, group: usize) -> Range<usize> {
        match &self.starts {
            None => group..group + 1,
            Some(starts) => starts[group] as usize..starts[group + 1] as usize,
        }
    }

    /// Returns the first row of each group.
    fn first_rows(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.len).map(|group| self.row(self.range(group).start))
    }

    /// Returns the result of `fold` over the rows of each group.
    fn fold_each<T>(&self, fold: impl Fn(&mut dyn Iterator<Item = usize>) -> T) -> Vec<T> {
        (0..self.len).map(|group| fold(&mut self.range(group).map(|k| self.row(k)))).collect()
    }

    /// Returns the levels of a tensor of the given shape. The first level is dense if `dense` is
    /// true; all other levels are lists.
    pub(super) fn levels(&mut self, shape: &[u64], dense: bool) -> &[Vec<Array>] {
        if self.levels.is_none() {
            let narrow = self.len < 1 << 31 && shape.iter().all(|&size| size <= 1 << 32);
            self.levels = Some(match narrow {
                true => self.build::<i32, u32>(shape, dense),
                false => self.build::<i64, u64>(shape, dense),
            });
        }
        self.levels.as_deref().expect("the levels have just been built")
    }

    /// Builds [`Groups::levels`] with position type `P` and coordinate type `C`.
    fn build<P, C>(&self, shape: &[u64], dense: bool) -> Vec<Vec<Array>>
    where
        P: Element + TryFrom<usize>,
        C: Element + TryFrom<u64>,
    {
        let position =
            |p: usize| P::try_from(p).ok().expect("positions fit the type that the number of groups determines");
        let rank = shape.len();
        let parents = |k: usize| if k == 1 && dense { shape[0] as usize } else { self.len };
        let mut ptr: Vec<Vec<P>> = (0..rank).map(|k| Vec::with_capacity(parents(k) + 2)).collect();
        let mut idx: Vec<Vec<C>> = (0..rank).map(|_| Vec::with_capacity(self.len)).collect();
        let mut previous: Option<usize> = None;
        for row in self.first_rows() {
            // The first level at which this group differs from the previous one.
            let from = previous.map_or(0, |b| self.codes.iter().take_while(|codes| codes[b] == codes[row]).count());
            for k in from..rank {
                if k > from {
                    let parent = if k == 1 && dense { self.codes[0][row] as usize } else { ptr[k].len() };
                    let start = position(idx[k].len());
                    ptr[k].resize(parent + 1, start);
                }
                if k > 0 || !dense {
                    idx[k].push(C::try_from(self.codes[k][row]).ok().expect("codes are below the size of their field"));
                }
            }
            previous = Some(row);
        }
        for k in 0..rank {
            let parents = match k {
                0 => 1,
                1 if dense => shape[0] as usize,
                _ => idx[k - 1].len(),
            };
            if k == 0 {
                ptr[0].push(position(0));
            }
            let end = position(idx[k].len());
            ptr[k].resize(parents + 1, end);
        }
        let level = |(k, (ptr, idx)): (usize, (Vec<P>, Vec<C>))| match k == 0 && dense {
            true => Vec::new(),
            false => vec![Array::from_vec(ptr), Array::from_vec(idx)],
        };
        ptr.into_iter().zip(idx).enumerate().map(level).collect()
    }

    /// Returns the values of groups. If `size` is given, the result is a dense vector of this size,
    /// with `fill` at coordinates without a group.
    pub(super) fn layout<T: Clone>(&self, values: Vec<T>, fill: &T, size: Option<u64>) -> Vec<T> {
        let Some(size) = size else { return values };
        let mut all = vec![fill.clone(); size as usize];
        self.first_rows().zip(values).for_each(|(row, value)| all[self.codes[0][row] as usize] = value);
        all
    }

    /// Returns boolean values that are true for each group.
    pub(super) fn presence(&self, size: Option<u64>) -> Result<Values> {
        let presence = Array::from_bools(self.layout(vec![true; self.len], &false, size));
        Ok(Values::try_new(DType::BOOL, vec![presence])?)
    }

    /// Returns the number of rows of each group.
    pub(super) fn counts(&self, size: Option<u64>) -> Values {
        let counts = (0..self.len).map(|group| self.range(group).len() as i64).collect();
        Values::from(self.layout(counts, &0, size))
    }

    /// Returns the sum of a column in each group, and the fill value. Decimals are refused, because
    /// only their limbs are summed.
    pub(super) fn sums(&self, column: &ArrayRef, number: Number, size: Option<u64>) -> Result<(Values, Scalar)> {
        Ok(match number {
            Number::Decimal(_) => return Err(unsupported(column)),
            Number::I64 => (self.sum::<Int64Type>(column, i64::wrapping_add, size)?, Scalar::I64(0)),
            Number::U64 => (self.sum::<UInt64Type>(column, u64::wrapping_add, size)?, Scalar::U64(0)),
            Number::F64 => (self.sum::<Float64Type>(column, |a, b| a + b, size)?, Scalar::F64(0.0)),
        })
    }

    fn sum<A>(
        &self,
        column: &ArrayRef,
        plus: impl Fn(A::Native, A::Native) -> A::Native,
        size: Option<u64>,
    ) -> Result<Values>
    where
        A: ArrowPrimitiveType,
        A::Native: Element,
        Values: From<Vec<A::Native>>,
    {
        let values = primitives::<A>(column)?.values();
        let sums = self.fold_each(|rows| rows.fold(A::Native::default(), |sum, row| plus(sum, values[row])));
        Ok(Values::from(self.layout(sums, &A::Native::default(), size)))
    }

    /// Returns the sum of a limb of a column in each group.
    pub(super) fn limbs(&self, column: &ArrayRef, limb: Limb, size: Option<u64>) -> Result<Values> {
        let values = primitives::<Decimal128Type>(column)?.values();
        let sums: Vec<i64> = self.fold_each(|rows| rows.map(|row| limb.extract(values[row])).sum());
        Ok(Values::from(self.layout(sums, &0, size)))
    }

    /// Returns the fold of a column over a semiring in each group.
    pub(super) fn semiring_folds(&self, column: &ArrayRef, semiring: &Semiring, size: Option<u64>) -> Result<Values> {
        let values = scalars(column);
        if values.len() != column.len() {
            return Err(unsupported(column));
        }
        let fold = |rows: &mut dyn Iterator<Item = usize>| {
            let folded = rows.filter_map(|row| values[row].clone()).map(Ok).reduce(|a, b| semiring.add(&a?, &b?));
            folded
                .unwrap_or_else(|| Ok(semiring.zero()))
                .map_err(|e| FallbackReason::EarlyError { error: e.to_string() })
        };
        let folds = self.fold_each(fold).into_iter().collect::<Result<Vec<Scalar>, FallbackReason>>()?;
        let folds = self.layout(folds, &semiring.zero(), size);
        Ok(Values::from_scalars(DType::from(semiring.number().prim()), &folds)?)
    }

    /// Returns the largest code of each group; the fill value is 0.
    pub(super) fn largest_codes(&self, codes: &[u64], size: Option<u64>) -> Values {
        let largest = self.fold_each(|rows| rows.map(|row| codes[row]).max().unwrap_or(0));
        Values::from(self.layout(largest, &0, size))
    }
}

fn unsupported(column: &ArrayRef) -> Error {
    Error::Fallback(FallbackReason::Unsupported { value: "a factor".into(), ty: column.data_type().clone() })
}

fn primitives<A: ArrowPrimitiveType>(column: &ArrayRef) -> Result<&PrimitiveArray<A>> {
    column.as_primitive_opt::<A>().ok_or_else(|| unsupported(column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Schema;
    use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
    use redpoll_logic::{Format, LeafKind, LevelFormat, LevelKind, StorageMode, TensorType};
    use redpoll_storage::{Duplicates, Tensor, Triples};
    use std::sync::Arc;

    /// Returns pseudo-random numbers below `bound`.
    fn random_codes(count: usize, bound: u64, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let draw = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        (0..count).map(draw).collect()
    }

    /// Groups all rows by the given codes.
    fn groups<'a>(codes: &'a [Vec<u64>], shape: &[u64]) -> Groups<'a> {
        let rows = RecordBatchOptions::new().with_row_count(Some(codes[0].len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &rows).unwrap();
        Groups::new(&LeafRows::new(batch), (codes.iter().map(|c| &c[..]).collect(), shape), &[])
    }

    /// The levels of groups equal the levels of a tensor built from the same entries, for any order
    /// and number of equal rows.
    #[test]
    fn levels_are_those_of_the_entries() {
        let sorted = |mut codes: Vec<u64>| {
            codes.sort_unstable();
            codes
        };
        let cases = [
            (vec![random_codes(1000, 50, 1), random_codes(1000, 40, 2)], vec![50, 40]),
            (
                vec![sorted(random_codes(1000, 900, 3)), random_codes(1000, 7, 4), random_codes(1000, 5, 5)],
                vec![900, 7, 5],
            ),
            (vec![sorted(random_codes(1000, 3, 6)), random_codes(1000, 1 << 40, 7)], vec![3, 1 << 40]),
            (vec![random_codes(300, 1 << 20, 8), random_codes(300, 1 << 62, 9)], vec![1 << 20, 1 << 62]),
            (vec![(0..500).collect()], vec![500]),
            (vec![vec![0, 1, super::super::MISSING, 1]], vec![2]),
            (vec![Vec::new(), Vec::new()], vec![4, 5]),
        ];
        for (codes, shape) in cases {
            let mut groups = groups(&codes, &shape);
            let mut entries: Vec<Vec<u64>> =
                (0..codes[0].len()).map(|k| codes.iter().map(|c| c[k]).collect()).collect();
            entries.retain(|entry| !entry.contains(&super::super::MISSING));
            let rows = entries.len();
            entries.sort_unstable();
            entries.dedup();
            assert_eq!((groups.len(), groups.has_single_rows()), (entries.len(), rows == entries.len()));
            for first in [LevelKind::Dense, LevelKind::SparseList] {
                let dense = first == LevelKind::Dense;
                if dense && shape[0] > 1000 || shape.len() == 1 {
                    continue;
                }
                let kind = |k: usize| LevelFormat::new(if k == 0 { first } else { LevelKind::SparseList });
                let format = Format {
                    levels: (0..shape.len()).map(kind).collect(),
                    modes: (0..shape.len()).map(|mode| StorageMode::Whole { mode }).collect(),
                    leaf: LeafKind::Pattern,
                };
                let ty = TensorType { shape: shape.clone(), dtype: DType::BOOL, fill: Scalar::Bool(false), format };
                let coordinates = (0..shape.len()).map(|k| entries.iter().map(|entry| entry[k]).collect()).collect();
                let values = Values::pattern(entries.len()).unwrap();
                let triples = Triples { coordinates, shape: shape.clone(), values };
                let (expected, _) = Tensor::from_triples(ty.clone(), &triples, Duplicates::Error).unwrap();
                groups.levels = None;
                let found = Tensor::try_new(ty, groups.levels(&shape, dense).to_vec(), Vec::new()).unwrap();
                let stored = |tensor: &Tensor| {
                    let mut all = Vec::new();
                    tensor.for_each_stored(|entry, position| all.push((entry.to_vec(), position)));
                    all
                };
                assert_eq!(stored(&found), stored(&expected));
            }
            let first_rows = groups.first_rows().map(|row| codes.iter().map(|c| c[row]).collect());
            assert_eq!(first_rows.collect::<Vec<Vec<u64>>>(), entries);
            let ascend = |g: usize| groups.range(g).map(|k| groups.row(k)).is_sorted();
            assert!((0..groups.len()).all(ascend), "rows of a group keep their order");
        }
    }
}
