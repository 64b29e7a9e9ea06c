//! Domains: maps between the values of the fields of a join and their codes. The codes have the
//! order of the values.

use super::integers::{Integers, distinct, from_integers};
use crate::error::{Error, FallbackReason, Result};
use crate::number::Number;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::HashMap;
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_storage::Tensor;

/// The code of a row whose value is not in the domain or can join nothing.
pub const MISSING: u64 = u64::MAX;

/// The values of a domain. Codes count from 0 and grow with the values; see [`Domain::null`] for
/// NULL.
#[derive(Clone, Debug)]
pub struct Domain {
    size: u64,
    pub(super) values: DomainValues,
}

#[derive(Clone, Debug)]
pub(super) enum DomainValues {
    /// The integers from `min` on; the code of NULL follows the code of the last integer.
    Range { min: i64, ty: DataType, null: Option<u64> },
    /// The sorted values of a tuple of columns, one array per column, including NULL.
    List { columns: Vec<ArrayRef>, null: Option<u64> },
}

/// Number of codes per row up to which a range is cheaper than a list of values.
const MAX_CODES_PER_ROW: u128 = 4;

/// Number of codes up to which a range is cheap for any number of rows.
const SMALL_RANGE: u128 = 1 << 16;

/// Returns the largest number of integers for which a range is cheaper than a list of the values in
/// `rows` rows.
pub(super) fn max_range(rows: usize) -> u128 {
    SMALL_RANGE.max(MAX_CODES_PER_ROW * rows as u128)
}

impl Domain {
    /// Returns the domain of the `size` integers from `min` on, and of NULL if `null` is its code.
    pub(super) fn range((min, size): (i64, u64), null: Option<u64>, ty: DataType) -> Domain {
        Domain { size: size + u64::from(null.is_some()), values: DomainValues::Range { min, ty, null } }
    }

    /// Returns the domain of the values in tuples of columns, and the codes of each tuple's rows.
    /// If `extent` is given, it is the dimension of the tensor modes that are joined with the
    /// tuples. The domain is then the integers below `extent`, and rows with other values or NULL
    /// join no entry.
    ///
    /// # Errors
    /// If Arrow refuses a computation, or `extent` is given and the values are not integers.
    pub fn new(tuples: &[Vec<ArrayRef>], extent: Option<u64>) -> Result<(Domain, Vec<Vec<u64>>)> {
        let columns = tuples.iter().map(|tuple| if let [column] = &tuple[..] { Integers::of(column) } else { None });
        let Some(columns) = columns.collect::<Option<Vec<Integers>>>() else {
            return match (extent, tuples.first().and_then(|tuple| tuple.first())) {
                (Some(_), Some(column)) => {
                    let (value, ty) = ("a key of a tensor".into(), column.data_type().clone());
                    Err(FallbackReason::Unsupported { value, ty }.into())
                }
                _ => list_domain(tuples),
            };
        };
        let ty = tuples.first().map_or(DataType::Int64, |tuple| tuple[0].data_type().clone());
        Ok(range_domain(&columns, &ty, extent).unwrap_or_else(|| integers_domain(&columns, &ty)))
    }

    /// Returns the number of values, including NULL.
    pub fn count(&self) -> u64 {
        self.size
    }

    /// Returns the number of codes, which is at least 1, so that no dimension is 0.
    pub fn size(&self) -> u64 {
        self.size.max(1)
    }

    /// Returns the values of codes, one array per column of the tuple.
    ///
    /// # Errors
    /// If Arrow refuses a computation.
    pub fn decode(&self, codes: &[u64]) -> Result<Vec<ArrayRef>> {
        match &self.values {
            DomainValues::Range { min, ty, null } => {
                let value = |&code: &u64| min.wrapping_add(code as i64);
                let values: Int64Array = match null {
                    None => Int64Array::from_iter_values(codes.iter().map(value)),
                    Some(null) => codes.iter().map(|code| (code != null).then(|| value(code))).collect(),
                };
                Ok(vec![from_integers(values, ty).expect("the values come from a column of this type")])
            }
            DomainValues::List { columns, .. } => {
                let codes = UInt64Array::from_iter_values(codes.iter().copied());
                Ok(columns.iter().map(|column| take(column, &codes, None)).collect::<Result<_, _>>()?)
            }
        }
    }

    /// Replaces the code of NULL by [`MISSING`].
    pub fn without_nulls(&self, mut codes: Vec<u64>) -> Vec<u64> {
        let null = self.null();
        if let Some(null) = null {
            codes.iter_mut().filter(|code| **code == null).for_each(|code| *code = MISSING);
        }
        codes
    }

    /// Returns the value of code 0 if the domain is a range of integers; `None` if the domain is a
    /// list.
    pub fn range_start(&self) -> Option<i64> {
        match self.values {
            DomainValues::Range { min, .. } => Some(min),
            DomainValues::List { .. } => None,
        }
    }

    /// Returns a dense vector of the values of all codes as numbers; 0 for NULL.
    ///
    /// # Errors
    /// If the values do not have the number type, or a decimal does not fit an `i64`.
    pub fn numbers(&self, number: Number) -> Result<Tensor> {
        let column = self.decode(&(0..self.size).collect::<Vec<_>>())?.swap_remove(0);
        let unsupported = || {
            Error::Fallback(FallbackReason::Unsupported {
                value: "a distinct value".into(),
                ty: column.data_type().clone(),
            })
        };
        macro_rules! numbers {
            ($arrow:ty) => {{
                let values = column.as_primitive_opt::<$arrow>().ok_or_else(unsupported)?;
                let mut values: Vec<_> = values.iter().map(Option::unwrap_or_default).collect();
                values.resize(self.size() as usize, Default::default());
                redpoll_storage::Values::from(values)
            }};
        }
        let values = match number {
            Number::I64 => numbers!(Int64Type),
            Number::U64 => numbers!(UInt64Type),
            Number::F64 => numbers!(Float64Type),
            Number::Decimal(_) => {
                let values = column.as_primitive_opt::<Decimal128Type>().ok_or_else(unsupported)?;
                let narrow = |v: Option<i128>| i64::try_from(v.unwrap_or_default()).map_err(|_| unsupported());
                let mut values = values.iter().map(narrow).collect::<Result<Vec<i64>>>()?;
                values.resize(self.size() as usize, 0);
                redpoll_storage::Values::from(values)
            }
        };
        let (dtype, fill) = (values.dtype().clone(), Scalar::zero(number.prim()));
        let ty = TensorType { shape: vec![self.size()], dtype, fill, format: Format::dense(1) };
        Ok(Tensor::from_dense(ty, &values)?)
    }

    /// Returns the sum of the absolute unscaled values of decimals.
    ///
    /// # Errors
    /// If the values are not decimals.
    pub fn absolute_sum(&self) -> Result<i128> {
        let column = self.decode(&(0..self.size).collect::<Vec<_>>())?.swap_remove(0);
        let unsupported = || {
            Error::Fallback(FallbackReason::Unsupported {
                value: "a distinct value".into(),
                ty: column.data_type().clone(),
            })
        };
        let values = column.as_primitive_opt::<Decimal128Type>().ok_or_else(unsupported)?;
        Ok(values.iter().flatten().fold(0, |sum: i128, v| sum.saturating_add(v.saturating_abs())))
    }

    /// Returns the code of NULL; `None` if NULL is not in the domain, or the values are tuples of
    /// several columns.
    pub fn null(&self) -> Option<u64> {
        let (DomainValues::Range { null, .. } | DomainValues::List { null, .. }) = &self.values;
        *null
    }

    /// Returns the size of the values in bytes.
    pub fn bytes(&self) -> usize {
        match &self.values {
            DomainValues::Range { .. } => 0,
            DomainValues::List { columns, .. } => columns.iter().map(Array::get_array_memory_size).sum(),
        }
    }
}

/// Returns the domain of integers as a range: the integers below `extent`, if it is given.
/// Otherwise, returns `None` if the range has far more integers than there are rows.
fn range_domain(columns: &[Integers], ty: &DataType, extent: Option<u64>) -> Option<(Domain, Vec<Vec<u64>>)> {
    let (min, size) = match extent {
        Some(extent) => (0, extent),
        None => {
            let range = columns.iter().filter_map(Integers::range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            let (min, max) = range.unwrap_or((0, -1));
            let size = u128::try_from(i128::from(max) - i128::from(min) + 1).unwrap_or(0);
            let rows: usize = columns.iter().map(|c| c.values().len()).sum();
            if size > max_range(rows) {
                return None;
            }
            (min, size as u64)
        }
    };
    let nulls = extent.is_none() && columns.iter().any(|c| c.validity().is_some());
    let null = nulls.then_some(size);
    let null_code = null.unwrap_or(MISSING);
    let code = |value: i64| {
        let code = value.wrapping_sub(min) as u64;
        if value >= min && code < size { code } else { MISSING }
    };
    let codes = columns.iter().map(|column| match column.validity() {
        None => column.values().iter().map(|&v| code(v)).collect(),
        Some(valid) => {
            column.values().iter().zip(valid).map(|(&v, valid)| if valid { code(v) } else { null_code }).collect()
        }
    });
    let codes = codes.collect();
    Some((Domain::range((min, size), null, ty.clone()), codes))
}

/// Returns the domain of integers as a sorted list.
fn integers_domain(columns: &[Integers], ty: &DataType) -> (Domain, Vec<Vec<u64>>) {
    let (values, codes) = distinct(columns);
    let null = (values.first() == Some(&None)).then_some(0);
    let size = values.len() as u64;
    let values = from_integers(values.into_iter().collect(), ty).expect("the values come from a column of this type");
    (Domain { size, values: DomainValues::List { columns: vec![values], null } }, codes)
}

/// Returns the domain of values of any type as a sorted list.
fn list_domain(tuples: &[Vec<ArrayRef>]) -> Result<(Domain, Vec<Vec<u64>>)> {
    let Some(first) = tuples.first() else {
        return Ok((Domain { size: 0, values: DomainValues::List { columns: Vec::new(), null: None } }, Vec::new()));
    };
    let types: Vec<SortField> =
        first.iter().map(|column| SortField::new(without_dictionary(column.data_type()))).collect();
    let converter = RowConverter::new(types)?;
    let rows = tuples.iter().map(|tuple| {
        let columns = tuple.iter().map(|c| datafusion::arrow::compute::cast(c, &without_dictionary(c.data_type())));
        Ok(converter.convert_columns(&columns.collect::<Result<Vec<_>, _>>()?)?)
    });
    let rows: Vec<Rows> = rows.collect::<Result<_>>()?;
    let mut numbers: HashMap<&[u8], u64> = HashMap::new();
    let mut distinct: Vec<(&[u8], usize, usize)> = Vec::new();
    let mut codes: Vec<Vec<u64>> = Vec::with_capacity(rows.len());
    for (tuple, rows) in rows.iter().enumerate() {
        let row_codes = (0..rows.num_rows()).map(|k| {
            let row = rows.row_data(k);
            *numbers.entry(row).or_insert_with(|| {
                distinct.push((row, tuple, k));
                distinct.len() as u64 - 1
            })
        });
        codes.push(row_codes.collect());
    }
    let mut order: Vec<usize> = (0..distinct.len()).collect();
    order.sort_unstable_by_key(|&k| distinct[k].0);
    let mut rank = vec![0u64; distinct.len()];
    order.iter().enumerate().for_each(|(code, &k)| rank[k] = code as u64);
    codes.iter_mut().flatten().for_each(|code| *code = rank[*code as usize]);
    let sorted = order.iter().map(|&k| rows[distinct[k].1].row(distinct[k].2));
    let columns = converter.convert_rows(sorted)?;
    // NULL sorts first.
    let null = matches!(&columns[..], [column] if column.logical_null_count() > 0).then_some(0);
    Ok((Domain { size: order.len() as u64, values: DomainValues::List { columns, null } }, codes))
}

/// Returns the type of a dictionary's values, and any other type unchanged. The keys of a
/// dictionary need not have the order of the values.
pub(super) fn without_dictionary(ty: &DataType) -> DataType {
    match ty {
        DataType::Dictionary(_, value) => without_dictionary(value),
        ty => ty.clone(),
    }
}

trait RowData {
    fn row_data(&self, k: usize) -> &[u8];
}

impl RowData for Rows {
    fn row_data(&self, k: usize) -> &[u8] {
        self.row(k).data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Date32Array, Decimal128Array, StringArray};
    use std::sync::Arc;

    /// Codes decode to their values and grow with the values, in all columns of a domain. NULL is
    /// one of the values.
    #[test]
    fn codes_grow_with_values_and_give_them_back() {
        let decimals = |values: &[Option<i128>]| -> ArrayRef {
            let values = values.iter().copied().collect::<Decimal128Array>();
            Arc::new(values.with_precision_and_scale(38, 2).unwrap())
        };
        let integers =
            |values: &[Option<i64>]| -> ArrayRef { Arc::new(values.iter().copied().collect::<Int64Array>()) };
        let wide = [Some(i64::MAX), None, Some(i64::MIN), Some(0), Some(0), Some(-7)];
        let cases: Vec<[ArrayRef; 2]> = vec![
            [integers(&[Some(5), Some(3), Some(3)]), integers(&[Some(4)])],
            [integers(&wide), integers(&[Some(1 << 40), None])],
            [integers(&[Some(1 << 50), Some(-(1 << 50)), Some(1 << 50)]), integers(&[])],
            [decimals(&[Some(150), Some(-25), None, Some(150)]), decimals(&[Some(1 << 60), Some(-(1 << 60))])],
            [decimals(&[Some(1), Some(3)]), decimals(&[Some(2), None])],
            [decimals(&[Some(1 << 100), Some(3), None]), decimals(&[Some(2), Some(-(1 << 100))])],
            [Arc::new(Date32Array::from(vec![Some(1 << 30), None])), Arc::new(Date32Array::from(vec![-(1 << 30), 3]))],
            [Arc::new(StringArray::from(vec![Some("b"), None])), Arc::new(StringArray::from(vec!["", "b"]))],
        ];
        for columns in cases {
            let tuples: Vec<Vec<ArrayRef>> = columns.iter().map(|column| vec![column.clone()]).collect();
            let (domain, codes) = Domain::new(&tuples, None).unwrap();
            let all: Vec<u64> = (0..domain.count()).collect();
            let values = domain.decode(&all).unwrap().swap_remove(0);
            let valued: Vec<u64> = all.iter().copied().filter(|code| Some(*code) != domain.null()).collect();
            let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())]).unwrap();
            let rows = converter.convert_columns(&domain.decode(&valued).unwrap()).unwrap();
            assert!((1..valued.len()).all(|k| rows.row(k - 1) < rows.row(k)), "{values:?}");
            for (column, codes) in columns.iter().zip(&codes) {
                assert_eq!(domain.decode(codes).unwrap(), std::slice::from_ref(column));
                let nulls = codes.iter().filter(|code| Some(**code) == domain.null()).count();
                assert_eq!(nulls, column.null_count());
            }
        }
    }
}
