//! The tensors of a leaf: rows with the same codes become one entry.

use super::Encoded;
use super::leaf::LeafRows;
use super::limbs::Limb;
use super::shared::Shared;
use crate::claim::{End, FieldId, LeafColumn, LeafId, Number, Region};
use crate::error::{Error, Left, Result};
use crate::semiring::{Semiring, scalars};
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use redpoll_logic::{DType, Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, StorageMode, TensorType};
use redpoll_physical::storage::{Duplicates, Tensor, Triples, Values};
use std::collections::BTreeMap;
use std::ops::Range;

/// What an entry of a leaf's tensor holds of the rows with its codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Payload {
    /// That there is one.
    Exists,
    /// How many there are.
    Count,
    /// The sum of a column.
    Sum(usize, Number),
    /// The sum of a limb of a column.
    Limb(usize, Limb),
    /// The fold of a column over the semiring of the aggregate of that number.
    Folded(usize, usize),
    /// The code of a column's extreme, from 1 on and growing towards that end; 0 where there is no entry.
    Extreme(usize, End),
}

/// A tensor that a program reads.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Request {
    /// The leaf whose rows it is made of.
    pub leaf: LeafId,
    /// Its modes, in the order in which it is stored.
    pub fields: Vec<FieldId>,
    /// What its entries hold.
    pub payload: Payload,
    /// Rows without values in these columns do not count.
    pub valid: Vec<usize>,
}

/// Fields of so many places a row, or of fewer, are levels that find a coordinate at once.
const DENSE_PLACES: u64 = 4;

/// So many places are cheap whatever the number of rows.
const FEW_PLACES: u64 = 1 << 12;

impl Encoded {
    /// The tensor of a leaf's rows.
    ///
    /// # Errors
    /// When a column does not have the type of the payload, or memory is exceeded.
    ///
    /// # Panics
    /// When the leaf is a tensor.
    pub fn tensor(&self, region: &Region, request: &Request, grouped: &mut Grouped) -> Result<Tensor> {
        let rows = self.rows(request.leaf).expect("the leaf has rows");
        let shape: Vec<u64> = request.fields.iter().map(|&f| self.domain(region, f).size()).collect();
        let key = self.shared(region, &Request { payload: Payload::Exists, ..request.clone() });
        let groups = grouped.0.entry(key).or_insert_with(|| Groups::new(rows, request, &shape));
        let (values, fill) = match request.payload {
            Payload::Exists => (Values::pattern(groups.len())?, Scalar::Bool(false)),
            Payload::Count if groups.len() == groups.rows.len() && !shape.is_empty() => {
                (Values::pattern(groups.len())?, Scalar::Bool(false))
            }
            Payload::Count => (Values::from(groups.counts()), Scalar::I64(0)),
            Payload::Sum(column, number) => groups.sums(rows.column(column), number)?,
            Payload::Limb(column, limb) => groups.limbs(rows.column(column), limb)?,
            Payload::Folded(column, aggregate) => groups.folded(rows.column(column), region.semiring(aggregate).0)?,
            Payload::Extreme(column, end) => {
                let extremes = self.extremes(LeafColumn { leaf: request.leaf, column }, end)?;
                (Values::from(groups.largest(extremes.codes())), Scalar::U64(0))
            }
        };
        let format = format(&shape, groups.len() as u64, values.dtype());
        let ty = TensorType { shape: shape.clone(), dtype: values.dtype().clone(), fill, format };
        let tensor = if shape.is_empty() {
            let values = if groups.len() == 0 {
                Values::from_scalars(ty.dtype.clone(), std::slice::from_ref(&ty.fill))?
            } else {
                values
            };
            Tensor::from_dense(ty, &values)?
        } else {
            let triples = Triples { coordinates: groups.coordinates(&shape), shape, values };
            Tensor::from_triples(ty, &triples, Duplicates::Error)?.0
        };
        self.allowance.take("the tensors", usize::try_from(tensor.bytes()).unwrap_or(usize::MAX))?;
        Ok(tensor)
    }
}

/// Rows that were grouped for one tensor, and serve others of the same fields.
#[derive(Default)]
pub struct Grouped(BTreeMap<Shared, Groups>);

/// Rows in the order of their codes, those with the same codes together.
struct Groups {
    rows: Vec<u32>,
    /// Where each group starts, and the end.
    starts: Vec<usize>,
    /// The codes of each group as one number, or one list a field where that is too large.
    places: Places,
}

enum Places {
    Linear(Vec<u64>),
    Lists(Vec<Vec<u64>>),
}

impl Groups {
    fn new(leaf: &LeafRows, request: &Request, shape: &[u64]) -> Groups {
        let rows = leaf.passing(&request.fields, &request.valid);
        let codes: Vec<&[u64]> = request.fields.iter().map(|&f| leaf.codes(f)).collect();
        let Some(size) = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)) else {
            return Groups::of_lists(rows, &codes);
        };
        let place = |row: &u32| codes.iter().zip(shape).fold(0, |at, (c, n)| at * n + c[*row as usize]);
        let places: Vec<u64> = rows.iter().map(place).collect();
        let (places, rows) = sorted(places, rows, size);
        let starts_group = |k: &usize| *k == 0 || places[*k] != places[k - 1];
        let mut starts: Vec<usize> = (0..places.len()).filter(starts_group).collect();
        let firsts = Places::Linear(starts.iter().map(|&k| places[k]).collect());
        starts.push(places.len());
        Groups { rows, starts, places: firsts }
    }

    fn of_lists(mut rows: Vec<u32>, codes: &[&[u64]]) -> Groups {
        let key = |row: u32| codes.iter().map(move |c| c[row as usize]);
        rows.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
        let starts_group = |k: &usize| *k == 0 || !key(rows[*k]).eq(key(rows[k - 1]));
        let mut starts: Vec<usize> = (0..rows.len()).filter(starts_group).collect();
        let lists = codes.iter().map(|c| starts.iter().map(|&k| c[rows[k] as usize]).collect()).collect();
        starts.push(rows.len());
        Groups { rows, starts, places: Places::Lists(lists) }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }

    fn coordinates(&self, shape: &[u64]) -> Vec<Vec<u64>> {
        match &self.places {
            Places::Lists(lists) => lists.clone(),
            Places::Linear(places) => {
                let mut rest = places.clone();
                let mut columns: Vec<Vec<u64>> = Vec::with_capacity(shape.len());
                for &size in shape.iter().rev() {
                    columns.push(rest.iter().map(|place| place % size).collect());
                    rest.iter_mut().for_each(|place| *place /= size);
                }
                columns.reverse();
                columns
            }
        }
    }

    fn counts(&self) -> Vec<i64> {
        self.ranges().map(|r| r.len() as i64).collect()
    }

    fn sums(&self, column: &ArrayRef, number: Number) -> Result<(Values, Scalar)> {
        let unfit = || Error::Left(Left::Unfit { what: "a factor".into(), ty: column.data_type().clone() });
        macro_rules! summed {
            ($arrow:ty, $zero:expr, $scalar:ident, $plus:expr) => {{
                let values = column.as_primitive_opt::<$arrow>().ok_or_else(unfit)?.values();
                let sum = |range: Range<usize>| {
                    let rows = &self.rows[range];
                    rows.iter().fold($zero, |sum, &row| $plus(sum, values[row as usize]))
                };
                (Values::from(self.ranges().map(sum).collect::<Vec<_>>()), Scalar::$scalar($zero))
            }};
        }
        Ok(match number {
            Number::Decimal(_) => return Err(unfit()),
            Number::I64 => summed!(Int64Type, 0i64, I64, i64::wrapping_add),
            Number::U64 => summed!(UInt64Type, 0u64, U64, u64::wrapping_add),
            Number::F64 => summed!(Float64Type, 0f64, F64, |a: f64, b: f64| a + b),
        })
    }

    fn limbs(&self, column: &ArrayRef, limb: Limb) -> Result<(Values, Scalar)> {
        let unfit = || Error::Left(Left::Unfit { what: "a factor".into(), ty: column.data_type().clone() });
        let values = column.as_primitive_opt::<Decimal128Type>().ok_or_else(unfit)?.values();
        let sum = |range: Range<usize>| self.rows[range].iter().map(|&row| limb.of(values[row as usize])).sum::<i64>();
        Ok((Values::from(self.ranges().map(sum).collect::<Vec<_>>()), Scalar::I64(0)))
    }

    fn folded(&self, column: &ArrayRef, semiring: &Semiring) -> Result<(Values, Scalar)> {
        let values = scalars(column);
        let fold = |range: Range<usize>| {
            let rows = self.rows[range].iter().filter_map(|&row| values[row as usize].clone());
            let folded = rows.map(Ok).reduce(|a, b| semiring.add(&a?, &b?));
            folded.unwrap_or_else(|| Ok(semiring.zero())).map_err(|e| Left::Raised { what: e.to_string() })
        };
        let folded = self.ranges().map(fold).collect::<Result<Vec<Scalar>, Left>>()?;
        let dtype = DType::from(semiring.number().prim());
        Ok((Values::from_scalars(dtype, &folded)?, semiring.zero()))
    }

    fn largest(&self, codes: &[u64]) -> Vec<u64> {
        let largest = |range: Range<usize>| self.rows[range].iter().map(|&row| codes[row as usize]).max();
        self.ranges().map(|range| largest(range).unwrap_or(0)).collect()
    }
}

/// How so many entries are stored: fields of few places as levels that find a coordinate at once, others as lists.
pub(super) fn format(shape: &[u64], entries: u64, dtype: &DType) -> Format {
    let cheap = |places: u64| places <= FEW_PLACES.max(DENSE_PLACES.saturating_mul(entries));
    let rank = shape.len();
    let kind = |k: usize| match k {
        0 if cheap(shape[0]) => LevelKind::Dense,
        _ => LevelKind::SparseList,
    };
    let levels: Vec<LevelFormat> = (0..rank).map(|k| LevelFormat::new(kind(k))).collect();
    let lists = levels.last().is_some_and(|level| level.kind == LevelKind::SparseList);
    let pattern = lists && *dtype == DType::Prim(Prim::Bool);
    let leaf = if pattern { LeafKind::Pattern } else { LeafKind::Element };
    Format { levels, modes: (0..rank).map(|mode| StorageMode::Whole { mode }).collect(), leaf }
}

/// Bits of a digit of [`sorted`]: as many counters as a first-level cache holds.
const DIGIT: u32 = 11;

/// Fewer rows are sorted by comparison.
const FEW: usize = 256;

/// Places below a bound in their order, each with its row; rows of one place keep theirs (radix sort, least digit first).
fn sorted(mut places: Vec<u64>, mut rows: Vec<u32>, bound: u64) -> (Vec<u64>, Vec<u32>) {
    if places.is_sorted() {
        return (places, rows);
    }
    if places.len() < FEW {
        let mut pairs: Vec<(u64, u32)> = places.into_iter().zip(rows).collect();
        pairs.sort_unstable();
        return pairs.into_iter().unzip();
    }
    let (mut next_places, mut next_rows) = (vec![0; places.len()], vec![0; rows.len()]);
    let bits = u64::BITS - bound.leading_zeros();
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |place: u64| (place >> shift) as usize & ((1 << DIGIT) - 1);
        let mut starts = [0u32; 1 << DIGIT];
        places.iter().for_each(|&place| starts[digit(place)] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for (&place, &row) in places.iter().zip(&rows) {
            let at = &mut starts[digit(place)];
            (next_places[*at as usize], next_rows[*at as usize]) = (place, row);
            *at += 1;
        }
        std::mem::swap(&mut places, &mut next_places);
        std::mem::swap(&mut rows, &mut next_rows);
    }
    (places, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the order of rows, on which sums of floats depend, whatever the number of digits.
    #[test]
    fn places_are_sorted_and_rows_of_one_place_keep_their_order() {
        for (count, bound) in [(5, 10), (1000, 7), (1000, 3000), (5000, 1 << 40), (300, u64::MAX)] {
            let mut state = 1u64;
            let place = |_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 1) % bound
            };
            let places: Vec<u64> = (0..count).map(place).collect();
            let mut pairs: Vec<(u64, u32)> = places.iter().copied().zip(0..).collect();
            pairs.sort_unstable();
            let (found, rows) = sorted(places, (0..count).collect(), bound);
            assert!(found.into_iter().zip(rows).eq(pairs), "{count} below {bound}");
        }
    }
}
