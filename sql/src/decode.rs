//! From the results of a program to the rows of a region.

use crate::claim::Region;
use crate::encode::EncodedRegion;
use crate::error::{Error, FallbackReason, Result};
use crate::number::Number;
use crate::program::{RegionFolds, RegionProgram, ResultColumn};
use datafusion::arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::{NullBuffer, ScalarBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{ArrowNativeType, DataType, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use redpoll_logic::{Prim, Scalar};
use redpoll_physical::storage::{Tensor, Triples, Values};
use std::cmp::Ordering;
use std::sync::Arc;

/// Returns the rows of a region from the outputs of its program.
///
/// # Errors
/// If Arrow refuses a computation, or a mean of decimals does not fit its type.
pub(crate) fn decode(
    region: &Region,
    encoded: &EncodedRegion,
    (folds, program): (&RegionFolds, &RegionProgram),
    outputs: &[Tensor],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let fields = region.group_fields();
    let results =
        outputs.iter().zip(&program.modes).map(|(tensor, modes)| GroupEntries::new(tensor, modes, fields.len()));
    let mut results: Vec<GroupEntries> = results.collect::<Result<_>>()?;
    // The order of rows is arbitrary, so results that list the same groups in one order need no
    // sorting; others are sorted.
    if !results.iter().all(|result| result.has_codes_of(&results[0])) {
        results.iter_mut().for_each(GroupEntries::sort);
    } else if let Some(present) = folds.presence.and_then(|presence| results[presence].nonzero_indices()) {
        results.iter_mut().for_each(|result| result.select(&present));
    }
    let groups = match folds.presence {
        Some(presence) => results[presence].nonzero_groups(),
        None => GroupEntries { codes: Arc::default(), values: NumberBuffer::U64(vec![1].into()), fill: Scalar::U64(0) },
    };
    let aligned: Vec<NumberBuffer> = results.iter().map(|result| result.values_at(&groups)).collect();
    let mut columns = Vec::new();
    let decoded: Vec<Vec<ArrayRef>> = fields
        .iter()
        .zip(groups.codes.iter())
        .map(|(&field, codes)| encoded.domain(region, field).decode(codes))
        .collect::<Result<_>>()?;
    for group in &region.groups {
        let index =
            fields.iter().position(|&f| f == group.field).expect("the field of a group column is a group field");
        columns.push(decoded[index][group.part].clone());
    }
    for result_column in &folds.columns {
        let ty = schema.field(columns.len()).data_type();
        columns.push(column(encoded, result_column, (&aligned[..], groups.values.len()), ty)?);
    }
    let columns = columns.iter().zip(schema.fields()).map(|(c, field)| Ok(cast(c, field.data_type())?));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(groups.values.len()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// Returns a result column from the values of folds for each group.
fn column(
    encoded: &EncodedRegion,
    result_column: &ResultColumn,
    (folds, groups): (&[NumberBuffer], usize),
    ty: &DataType,
) -> Result<ArrayRef> {
    let counts = |fold: usize| folds[fold].to_i64();
    let row_counts = |list: &[usize]| {
        let terms: Vec<(bool, usize)> = list.iter().map(|&fold| (false, fold)).collect();
        sum_terms(&terms, folds, groups, NumberBuffer::to_i64, |sum, v, _| i64::wrapping_add(sum, v))
    };
    Ok(match result_column {
        ResultColumn::Count(fold) => Arc::new(Int64Array::new(counts(*fold), None)),
        ResultColumn::Sum { terms, number, rows } => {
            let rows = rows.as_ref().map(|rows| row_counts(rows));
            let nulls = rows.map(|rows| rows.iter().map(|&n| n != 0).collect::<NullBuffer>());
            match number {
                Number::I64 | Number::Decimal(_) => {
                    let sum = sum_terms(terms, folds, groups, NumberBuffer::to_i64, |sum, v, minus| {
                        if minus { i64::wrapping_sub(sum, v) } else { i64::wrapping_add(sum, v) }
                    });
                    Arc::new(Int64Array::new(sum, nulls))
                }
                Number::U64 => {
                    let sum = sum_terms(terms, folds, groups, NumberBuffer::to_u64, |sum, v, minus| {
                        if minus { u64::wrapping_sub(sum, v) } else { u64::wrapping_add(sum, v) }
                    });
                    Arc::new(UInt64Array::new(sum, nulls))
                }
                Number::F64 => {
                    let sum = sum_float_terms(terms, folds, groups);
                    Arc::new(Float64Array::new(sum, nulls))
                }
            }
        }
        ResultColumn::Average { terms, rows } => {
            let rows = row_counts(rows);
            let sums = sum_float_terms(terms, folds, groups);
            let means = sums.iter().zip(rows.iter());
            Arc::new(means.map(|(&sum, &n)| (n != 0).then_some(sum / n as f64)).collect::<Float64Array>())
        }
        ResultColumn::Decimal { limbs, scale, rows, mean } => {
            let rows = row_counts(rows);
            let mut sums = vec![0i128; rows.len()];
            for limb_sum in limbs {
                let power = 10i128.wrapping_pow(limb_sum.digits);
                for (sum, &limb) in sums.iter_mut().zip(counts(limb_sum.fold).iter()) {
                    // Sums wrap at 128 bits, as in DataFusion.
                    let value = i128::from(limb).unbounded_shl(limb_sum.shift).wrapping_mul(power);
                    *sum = if limb_sum.negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
                }
            }
            decimals(&sums, &rows, (*scale, *mean), ty)?
        }
        ResultColumn::Extreme { fold, column, extremum } => {
            let codes = folds[*fold].to_u64();
            let extremes = encoded.extremes(*column, *extremum)?;
            let present: Vec<u64> = codes.iter().copied().filter(|&c| c != 0).collect();
            let values = extremes.decode(&present)?;
            let mut next = 0u64;
            let indices = codes.iter().map(|&code| {
                (code != 0).then(|| {
                    next += 1;
                    next - 1
                })
            });
            let indices: UInt64Array = indices.collect();
            datafusion::arrow::compute::take(&values, &indices, None)?
        }
    })
}

/// Returns sums of decimals, or their means over `rows`, as a decimal column; NULL where there are
/// no rows.
fn decimals(sums: &[i128], rows: &[i64], (scale, mean): (i8, bool), ty: &DataType) -> Result<ArrayRef> {
    let unsupported =
        || Error::Fallback(FallbackReason::Unsupported { value: "a mean of decimals".into(), ty: ty.clone() });
    let &DataType::Decimal128(precision, to) = ty else { return Err(unsupported()) };
    let value = |(&sum, &rows): (&i128, &i64)| match (rows, mean) {
        (0, _) => Ok(None),
        (_, false) => Ok(Some(sum)),
        (rows, true) => {
            let digits = u32::try_from(to - scale).map_err(|_| unsupported())?;
            let scaled = 10i128.checked_pow(digits).and_then(|power| sum.checked_mul(power)).ok_or_else(unsupported)?;
            Ok(Some(scaled / i128::from(rows)))
        }
    };
    let values: Decimal128Array = sums.iter().zip(rows).map(value).collect::<Result<_>>()?;
    Ok(Arc::new(values.with_precision_and_scale(precision, to)?))
}

/// Returns the sum of terms for each group.
fn sum_terms<T: ArrowNativeType + Default>(
    terms: &[(bool, usize)],
    folds: &[NumberBuffer],
    groups: usize,
    read: impl Fn(&NumberBuffer) -> ScalarBuffer<T>,
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

fn sum_float_terms(terms: &[(bool, usize)], folds: &[NumberBuffer], groups: usize) -> ScalarBuffer<f64> {
    sum_terms(terms, folds, groups, NumberBuffer::to_f64, |sum, v, minus| if minus { sum - v } else { sum + v })
}

/// The entries of a result: the codes of its groups, one list per group field, and the values.
/// Results with the same groups may share the codes.
struct GroupEntries {
    codes: Arc<Vec<Vec<u64>>>,
    values: NumberBuffer,
    /// The value at coordinates without an entry.
    fill: Scalar,
}

/// Values of one type. Clones share the memory.
#[derive(Clone)]
enum NumberBuffer {
    I64(ScalarBuffer<i64>),
    U64(ScalarBuffer<u64>),
    F64(ScalarBuffer<f64>),
}

impl GroupEntries {
    /// Returns the entries of a tensor in storage order; `modes` are the group fields of its modes.
    fn new(tensor: &Tensor, modes: &[usize], rank: usize) -> Result<GroupEntries> {
        let Triples { coordinates, values, .. } = tensor.to_triples()?;
        let mut codes = vec![Vec::new(); rank];
        modes.iter().zip(coordinates).for_each(|(&mode, list)| codes[mode] = list);
        Ok(GroupEntries { values: NumberBuffer::of(&values), codes: Arc::new(codes), fill: tensor.ty().fill.clone() })
    }

    fn has_codes_of(&self, other: &GroupEntries) -> bool {
        Arc::ptr_eq(&self.codes, &other.codes) || self.codes == other.codes
    }

    /// Sorts the entries lexicographically by their codes.
    fn sort(&mut self) {
        let compare = |a: usize, b: usize| lexicographic(&self.codes, a, &self.codes, b);
        if (1..self.values.len()).all(|k| compare(k - 1, k) == Ordering::Less) {
            return;
        }
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_unstable_by(|&a, &b| compare(a, b));
        self.select(&order);
    }

    /// Keeps the entries with the given indices, in the given order.
    fn select(&mut self, order: &[usize]) {
        self.codes = Arc::new(self.codes.iter().map(|list| order.iter().map(|&k| list[k]).collect()).collect());
        self.values = self.values.select(order);
    }

    /// Returns the indices of the entries that are not 0; `None` if these are all entries.
    fn nonzero_indices(&self) -> Option<Vec<usize>> {
        let all = 0..self.values.len();
        (!all.clone().all(|k| self.values.is_nonzero(k))).then(|| all.filter(|&k| self.values.is_nonzero(k)).collect())
    }

    /// Returns the entries that are not 0, with the value 1.
    fn nonzero_groups(&self) -> GroupEntries {
        let mut groups = GroupEntries { codes: self.codes.clone(), values: self.values.clone(), fill: Scalar::U64(0) };
        if let Some(indices) = self.nonzero_indices() {
            groups.select(&indices);
        }
        groups.values = NumberBuffer::U64(vec![1; groups.values.len()].into());
        groups
    }

    /// Returns the values at the coordinates of `groups`, and the fill value where there is no
    /// entry. Unless the coordinates are the same, both must be in lexicographic order.
    fn values_at(&self, groups: &GroupEntries) -> NumberBuffer {
        if self.values.len() == groups.values.len() && self.has_codes_of(groups) {
            return self.values.clone();
        }
        let mut next = 0;
        let indices = (0..groups.values.len()).map(|k| {
            while next < self.values.len() {
                match lexicographic(&self.codes, next, &groups.codes, k) {
                    Ordering::Less => next += 1,
                    Ordering::Equal => return Some(next),
                    Ordering::Greater => return None,
                }
            }
            None
        });
        let indices: Vec<Option<usize>> = indices.collect();
        let bits = self.fill.to_bits().unwrap_or_default();
        macro_rules! pick {
            ($variant:ident, $values:expr, $fill:expr) => {
                NumberBuffer::$variant(indices.iter().map(|k| k.map_or($fill, |k| $values[k])).collect())
            };
        }
        match &self.values {
            NumberBuffer::I64(values) => pick!(I64, values, bits as i64),
            NumberBuffer::U64(values) => pick!(U64, values, bits),
            NumberBuffer::F64(values) => pick!(F64, values, f64::from_bits(bits)),
        }
    }
}

fn lexicographic(a: &[Vec<u64>], i: usize, b: &[Vec<u64>], j: usize) -> Ordering {
    let each = a.iter().zip(b).map(|(a, b)| a[i].cmp(&b[j]));
    each.fold(Ordering::Equal, Ordering::then)
}

impl NumberBuffer {
    /// Returns values as numbers; booleans become 0 and 1.
    fn of(values: &Values) -> NumberBuffer {
        let array = &values.columns()[0];
        let buffer = array.buffer().clone();
        match array.prim() {
            Prim::I64 => NumberBuffer::I64(buffer.into()),
            Prim::U64 => NumberBuffer::U64(buffer.into()),
            Prim::F64 => NumberBuffer::F64(buffer.into()),
            _ => NumberBuffer::U64(array.bools().unwrap_or_default().iter().map(|&b| u64::from(b)).collect()),
        }
    }

    /// Returns the values with the given indices, in the given order.
    fn select(&self, order: &[usize]) -> NumberBuffer {
        match self {
            NumberBuffer::I64(values) => NumberBuffer::I64(order.iter().map(|&k| values[k]).collect()),
            NumberBuffer::U64(values) => NumberBuffer::U64(order.iter().map(|&k| values[k]).collect()),
            NumberBuffer::F64(values) => NumberBuffer::F64(order.iter().map(|&k| values[k]).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            NumberBuffer::I64(values) => values.len(),
            NumberBuffer::U64(values) => values.len(),
            NumberBuffer::F64(values) => values.len(),
        }
    }

    fn is_nonzero(&self, k: usize) -> bool {
        match self {
            NumberBuffer::I64(values) => values[k] != 0,
            NumberBuffer::U64(values) => values[k] != 0,
            NumberBuffer::F64(values) => values[k] != 0.0,
        }
    }

    fn to_i64(&self) -> ScalarBuffer<i64> {
        match self {
            NumberBuffer::I64(values) => values.clone(),
            NumberBuffer::U64(values) => values.iter().map(|&v| v as i64).collect(),
            NumberBuffer::F64(values) => values.iter().map(|&v| v as i64).collect(),
        }
    }

    fn to_u64(&self) -> ScalarBuffer<u64> {
        match self {
            NumberBuffer::U64(values) => values.clone(),
            other => other.to_i64().iter().map(|&v| v as u64).collect(),
        }
    }

    fn to_f64(&self) -> ScalarBuffer<f64> {
        match self {
            NumberBuffer::I64(values) => values.iter().map(|&v| v as f64).collect(),
            NumberBuffer::U64(values) => values.iter().map(|&v| v as f64).collect(),
            NumberBuffer::F64(values) => values.clone(),
        }
    }
}
