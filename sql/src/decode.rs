//! From the results of a program to the rows of a region.

use crate::claim::{Number, Region};
use crate::encode::Encoded;
use crate::error::{Error, Left, Result};
use crate::program::{Folds, Output, Program};
use datafusion::arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::{NullBuffer, ScalarBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{ArrowNativeType, DataType, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use redpoll_logic::{Prim, Scalar};
use redpoll_physical::storage::{Tensor, Triples, Values};
use std::cmp::Ordering;
use std::sync::Arc;

/// Makes the rows of a region from the outputs of its program.
///
/// # Errors
/// If Arrow refuses a computation, or a mean of decimals does not fit its type.
pub(crate) fn decode(
    region: &Region,
    encoded: &Encoded,
    (folds, program): (&Folds, &Program),
    outputs: &[Tensor],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let fields = region.group_fields();
    let results = outputs.iter().zip(&program.modes).map(|(tensor, modes)| Entries::new(tensor, modes, fields.len()));
    let mut results: Vec<Entries> = results.collect::<Result<_>>()?;
    // The order of rows is arbitrary, so results that list the same groups in one order need no
    // sorting; others are sorted.
    if !results.iter().all(|result| result.has_places_of(&results[0])) {
        results.iter_mut().for_each(Entries::sort);
    } else if let Some(present) = folds.presence.and_then(|presence| results[presence].present_at()) {
        results.iter_mut().for_each(|result| result.keep(&present));
    }
    let groups = match folds.presence {
        Some(presence) => results[presence].present(),
        None => Entries { places: Arc::default(), values: Numbers::U64(vec![1].into()), fill: Scalar::U64(0) },
    };
    let aligned: Vec<Numbers> = results.iter().map(|result| result.at(&groups)).collect();
    let mut columns = Vec::new();
    let decoded: Vec<Vec<ArrayRef>> = fields
        .iter()
        .zip(groups.places.iter())
        .map(|(&field, codes)| encoded.domain(region, field).decode(codes))
        .collect::<Result<_>>()?;
    for group in &region.groups {
        let place = fields.iter().position(|&f| f == group.field).expect("its field is one of the groups");
        columns.push(decoded[place][group.part].clone());
    }
    for output in &folds.outputs {
        let ty = schema.field(columns.len()).data_type();
        columns.push(column(encoded, output, (&aligned[..], groups.values.len()), ty)?);
    }
    let columns = columns.iter().zip(schema.fields()).map(|(c, field)| Ok(cast(c, field.data_type())?));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(groups.values.len()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// Returns a result column from the values of folds for each group.
fn column(encoded: &Encoded, output: &Output, (folds, groups): (&[Numbers], usize), ty: &DataType) -> Result<ArrayRef> {
    let counts = |fold: usize| folds[fold].to_i64();
    let summed = |list: &[usize]| {
        let terms: Vec<(bool, usize)> = list.iter().map(|&fold| (false, fold)).collect();
        total(&terms, folds, groups, Numbers::to_i64, |sum, v, _| i64::wrapping_add(sum, v))
    };
    Ok(match output {
        Output::Count(fold) => Arc::new(Int64Array::new(counts(*fold), None)),
        Output::Sum { terms, number, rows } => {
            let rows = rows.as_ref().map(|rows| summed(rows));
            let nulls = rows.map(|rows| rows.iter().map(|&n| n != 0).collect::<NullBuffer>());
            match number {
                Number::I64 | Number::Decimal(_) => {
                    let sum = total(terms, folds, groups, Numbers::to_i64, |sum, v, minus| {
                        if minus { i64::wrapping_sub(sum, v) } else { i64::wrapping_add(sum, v) }
                    });
                    Arc::new(Int64Array::new(sum, nulls))
                }
                Number::U64 => {
                    let sum = total(terms, folds, groups, Numbers::to_u64, |sum, v, minus| {
                        if minus { u64::wrapping_sub(sum, v) } else { u64::wrapping_add(sum, v) }
                    });
                    Arc::new(UInt64Array::new(sum, nulls))
                }
                Number::F64 => {
                    let sum = float_total(terms, folds, groups);
                    Arc::new(Float64Array::new(sum, nulls))
                }
            }
        }
        Output::Average { terms, rows } => {
            let rows = summed(rows);
            let sums = float_total(terms, folds, groups);
            let means = sums.iter().zip(rows.iter());
            Arc::new(means.map(|(&sum, &n)| (n != 0).then_some(sum / n as f64)).collect::<Float64Array>())
        }
        Output::Decimal { limbs, scale, rows, mean } => {
            let rows = summed(rows);
            let mut sums = vec![0i128; rows.len()];
            for part in limbs {
                let by = 10i128.wrapping_pow(part.digits);
                for (sum, &limb) in sums.iter_mut().zip(counts(part.fold).iter()) {
                    // Sums wrap at 128 bits, as in DataFusion.
                    let value = i128::from(limb).unbounded_shl(part.shift).wrapping_mul(by);
                    *sum = if part.negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
                }
            }
            decimals(&sums, &rows, (*scale, *mean), ty)?
        }
        Output::Extreme { fold, column, end } => {
            let codes = folds[*fold].to_u64();
            let extremes = encoded.extremes(*column, *end)?;
            let some: Vec<u64> = codes.iter().copied().filter(|&c| c != 0).collect();
            let values = extremes.decode(&some)?;
            let mut next = 0u64;
            let at = codes.iter().map(|&code| {
                (code != 0).then(|| {
                    next += 1;
                    next - 1
                })
            });
            let at: UInt64Array = at.collect();
            datafusion::arrow::compute::take(&values, &at, None)?
        }
    })
}

/// Returns sums of decimals, or their means over `rows`, as a decimal column; NULL where there are
/// no rows.
fn decimals(sums: &[i128], rows: &[i64], (scale, mean): (i8, bool), ty: &DataType) -> Result<ArrayRef> {
    let unfit = || Error::Left(Left::Unfit { what: "a mean of decimals".into(), ty: ty.clone() });
    let &DataType::Decimal128(precision, to) = ty else { return Err(unfit()) };
    let value = |(&sum, &rows): (&i128, &i64)| match (rows, mean) {
        (0, _) => Ok(None),
        (_, false) => Ok(Some(sum)),
        (rows, true) => {
            let digits = u32::try_from(to - scale).map_err(|_| unfit())?;
            let scaled = 10i128.checked_pow(digits).and_then(|by| sum.checked_mul(by)).ok_or_else(unfit)?;
            Ok(Some(scaled / i128::from(rows)))
        }
    };
    let values: Decimal128Array = sums.iter().zip(rows).map(value).collect::<Result<_>>()?;
    Ok(Arc::new(values.with_precision_and_scale(precision, to)?))
}

/// Returns the sum of terms for each group.
fn total<T: ArrowNativeType + Default>(
    terms: &[(bool, usize)],
    folds: &[Numbers],
    groups: usize,
    read: impl Fn(&Numbers) -> ScalarBuffer<T>,
    add: impl Fn(T, T, bool) -> T,
) -> ScalarBuffer<T> {
    if let [(false, fold)] = terms {
        return read(&folds[*fold]);
    }
    let mut sum = vec![T::default(); groups];
    for &(negative, fold) in terms {
        let values = read(&folds[fold]);
        sum.iter_mut().zip(values.iter()).for_each(|(sum, &v)| *sum = add(*sum, v, negative));
    }
    sum.into()
}

fn float_total(terms: &[(bool, usize)], folds: &[Numbers], groups: usize) -> ScalarBuffer<f64> {
    total(terms, folds, groups, Numbers::to_f64, |sum, v, minus| if minus { sum - v } else { sum + v })
}

/// The entries of a result: the codes of its groups, one list per group field, and the values.
/// Results with the same groups may share the codes.
struct Entries {
    places: Arc<Vec<Vec<u64>>>,
    values: Numbers,
    /// The value at coordinates without an entry.
    fill: Scalar,
}

/// Values of one type. Clones share the memory.
#[derive(Clone)]
enum Numbers {
    I64(ScalarBuffer<i64>),
    U64(ScalarBuffer<u64>),
    F64(ScalarBuffer<f64>),
}

impl Entries {
    /// Returns the entries of a tensor in storage order; `modes` are the group fields of its modes.
    fn new(tensor: &Tensor, modes: &[usize], rank: usize) -> Result<Entries> {
        let Triples { coordinates, values, .. } = tensor.to_triples()?;
        let mut places = vec![Vec::new(); rank];
        modes.iter().zip(coordinates).for_each(|(&mode, codes)| places[mode] = codes);
        Ok(Entries { values: Numbers::of(&values), places: Arc::new(places), fill: tensor.ty().fill.clone() })
    }

    fn has_places_of(&self, other: &Entries) -> bool {
        Arc::ptr_eq(&self.places, &other.places) || self.places == other.places
    }

    /// Sorts the entries lexicographically by their codes.
    fn sort(&mut self) {
        let compare = |a: usize, b: usize| lexicographic(&self.places, a, &self.places, b);
        if (1..self.values.len()).all(|k| compare(k - 1, k) == Ordering::Less) {
            return;
        }
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_unstable_by(|&a, &b| compare(a, b));
        self.keep(&order);
    }

    /// Keeps the entries with the given indices, in the given order.
    fn keep(&mut self, order: &[usize]) {
        self.places = Arc::new(self.places.iter().map(|list| order.iter().map(|&k| list[k]).collect()).collect());
        self.values = self.values.at(order);
    }

    /// Returns the indices of the entries that are not 0; `None` if these are all entries.
    fn present_at(&self) -> Option<Vec<usize>> {
        let all = 0..self.values.len();
        (!all.clone().all(|k| self.values.is_some(k))).then(|| all.filter(|&k| self.values.is_some(k)).collect())
    }

    /// Returns the entries that are not 0, with the value 1.
    fn present(&self) -> Entries {
        let mut present = Entries { places: self.places.clone(), values: self.values.clone(), fill: Scalar::U64(0) };
        if let Some(kept) = self.present_at() {
            present.keep(&kept);
        }
        present.values = Numbers::U64(vec![1; present.values.len()].into());
        present
    }

    /// Returns the values at the coordinates of `groups`, and the fill value where there is no
    /// entry. Unless the coordinates are the same, both must be in lexicographic order.
    fn at(&self, groups: &Entries) -> Numbers {
        if self.values.len() == groups.values.len() && self.has_places_of(groups) {
            return self.values.clone();
        }
        let mut own = 0;
        let found = (0..groups.values.len()).map(|k| {
            while own < self.values.len() {
                match lexicographic(&self.places, own, &groups.places, k) {
                    Ordering::Less => own += 1,
                    Ordering::Equal => return Some(own),
                    Ordering::Greater => return None,
                }
            }
            None
        });
        let found: Vec<Option<usize>> = found.collect();
        let bits = self.fill.to_bits().unwrap_or_default();
        macro_rules! pick {
            ($variant:ident, $values:expr, $fill:expr) => {
                Numbers::$variant(found.iter().map(|k| k.map_or($fill, |k| $values[k])).collect())
            };
        }
        match &self.values {
            Numbers::I64(values) => pick!(I64, values, bits as i64),
            Numbers::U64(values) => pick!(U64, values, bits),
            Numbers::F64(values) => pick!(F64, values, f64::from_bits(bits)),
        }
    }
}

fn lexicographic(a: &[Vec<u64>], i: usize, b: &[Vec<u64>], j: usize) -> Ordering {
    let each = a.iter().zip(b).map(|(a, b)| a[i].cmp(&b[j]));
    each.fold(Ordering::Equal, Ordering::then)
}

impl Numbers {
    /// Returns values as numbers; booleans become 0 and 1.
    fn of(values: &Values) -> Numbers {
        let array = &values.columns()[0];
        let buffer = array.buffer().clone();
        match array.prim() {
            Prim::I64 => Numbers::I64(buffer.into()),
            Prim::U64 => Numbers::U64(buffer.into()),
            Prim::F64 => Numbers::F64(buffer.into()),
            _ => Numbers::U64(array.bools().unwrap_or_default().iter().map(|&b| u64::from(b)).collect()),
        }
    }

    /// Returns the values with the given indices, in the given order.
    fn at(&self, order: &[usize]) -> Numbers {
        match self {
            Numbers::I64(values) => Numbers::I64(order.iter().map(|&k| values[k]).collect()),
            Numbers::U64(values) => Numbers::U64(order.iter().map(|&k| values[k]).collect()),
            Numbers::F64(values) => Numbers::F64(order.iter().map(|&k| values[k]).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::I64(values) => values.len(),
            Numbers::U64(values) => values.len(),
            Numbers::F64(values) => values.len(),
        }
    }

    fn is_some(&self, k: usize) -> bool {
        match self {
            Numbers::I64(values) => values[k] != 0,
            Numbers::U64(values) => values[k] != 0,
            Numbers::F64(values) => values[k] != 0.0,
        }
    }

    fn to_i64(&self) -> ScalarBuffer<i64> {
        match self {
            Numbers::I64(values) => values.clone(),
            Numbers::U64(values) => values.iter().map(|&v| v as i64).collect(),
            Numbers::F64(values) => values.iter().map(|&v| v as i64).collect(),
        }
    }

    fn to_u64(&self) -> ScalarBuffer<u64> {
        match self {
            Numbers::U64(values) => values.clone(),
            other => other.to_i64().iter().map(|&v| v as u64).collect(),
        }
    }

    fn to_f64(&self) -> ScalarBuffer<f64> {
        match self {
            Numbers::I64(values) => values.iter().map(|&v| v as f64).collect(),
            Numbers::U64(values) => values.iter().map(|&v| v as f64).collect(),
            Numbers::F64(values) => values.clone(),
        }
    }
}
