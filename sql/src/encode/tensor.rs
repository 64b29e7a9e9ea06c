//! The tensors of a leaf: rows with the same codes become one entry.

use super::Encoded;
use super::leaf::LeafRows;
use super::limbs::Limb;
use crate::claim::{End, FieldId, LeafColumn, LeafId, Number, Region};
use crate::error::{Error, Result};
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use redpoll_logic::{DType, Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, StorageMode, TensorType};
use redpoll_physical::storage::{Duplicates, Tensor, Triples, Values};
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
    pub fn tensor(&self, region: &Region, request: &Request) -> Result<Tensor> {
        let rows = self.rows(request.leaf).expect("the leaf has rows");
        let shape: Vec<u64> = request.fields.iter().map(|&f| self.domain(region, f).size()).collect();
        let groups = Groups::new(rows, request, &shape);
        let (values, fill) = match request.payload {
            Payload::Exists => (Values::pattern(groups.len())?, Scalar::Bool(false)),
            Payload::Count if groups.len() == groups.rows.len() && !shape.is_empty() => {
                (Values::pattern(groups.len())?, Scalar::Bool(false))
            }
            Payload::Count => (Values::from(groups.counts()), Scalar::I64(0)),
            Payload::Sum(column, number) => groups.sums(rows.column(column), number)?,
            Payload::Limb(column, limb) => groups.limbs(rows.column(column), limb)?,
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
        let places = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        if places.is_none() {
            return Groups::of_lists(rows, &codes);
        }
        let place = |row: u32| codes.iter().zip(shape).fold(0, |at, (c, n)| at * n + c[row as usize]);
        let mut placed: Vec<(u64, u32)> = rows.into_iter().map(|row| (place(row), row)).collect();
        if !placed.is_sorted() {
            placed.sort_unstable();
        }
        let starts_group = |k: &usize| *k == 0 || placed[*k].0 != placed[k - 1].0;
        let mut starts: Vec<usize> = (0..placed.len()).filter(starts_group).collect();
        let places = Places::Linear(starts.iter().map(|&k| placed[k].0).collect());
        starts.push(placed.len());
        Groups { rows: placed.into_iter().map(|(_, row)| row).collect(), starts, places }
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
        let unfit = || Error::Unfit { what: "a factor".into(), ty: column.data_type().clone() };
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
        let unfit = || Error::Unfit { what: "a factor".into(), ty: column.data_type().clone() };
        let values = column.as_primitive_opt::<Decimal128Type>().ok_or_else(unfit)?.values();
        let sum = |range: Range<usize>| self.rows[range].iter().map(|&row| limb.of(values[row as usize])).sum::<i64>();
        Ok((Values::from(self.ranges().map(sum).collect::<Vec<_>>()), Scalar::I64(0)))
    }

    fn largest(&self, codes: &[u64]) -> Vec<u64> {
        let largest = |range: Range<usize>| self.rows[range].iter().map(|&row| codes[row as usize]).max();
        self.ranges().map(|range| largest(range).unwrap_or(0)).collect()
    }
}

/// How so many entries are stored: fields of few places as levels that find a coordinate at once, others as lists.
fn format(shape: &[u64], entries: u64, dtype: &DType) -> Format {
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
