//! Arrow columns of integers, or of types stored as integers, as `i64` in the same order.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type, TimeUnit};
use datafusion::common::HashMap;

/// Integers and NULLs.
pub(super) struct Integers {
    values: PrimitiveArray<Int64Type>,
}

impl Integers {
    /// Returns the integers of a column. Returns `None` in two cases: a decimal does not fit `i64`,
    /// or the type is neither a decimal of 128 bits nor a type that [`is_integers`] accepts.
    pub(super) fn of(column: &ArrayRef) -> Option<Integers> {
        let ty = column.data_type();
        if let Some(decimals) = column.as_primitive_opt::<Decimal128Type>() {
            let valid = |row: usize| decimals.is_valid(row);
            let small = |(row, &value): (usize, &i128)| if valid(row) { i64::try_from(value).ok() } else { Some(0) };
            let values: Option<Vec<i64>> = decimals.values().iter().enumerate().map(small).collect();
            return Some(Integers { values: PrimitiveArray::new(values?.into(), decimals.nulls().cloned()) });
        }
        if !is_integers(ty) {
            return None;
        }
        let values = match ty {
            DataType::Int64 => column.as_primitive::<Int64Type>().clone(),
            DataType::Date32 => {
                cast(&cast(column, &DataType::Int32).ok()?, &DataType::Int64).ok()?.as_primitive().clone()
            }
            _ => cast(column, &DataType::Int64).ok()?.as_primitive::<Int64Type>().clone(),
        };
        Some(Integers { values })
    }

    /// Returns the values of all rows; the values of NULLs are arbitrary.
    pub(super) fn values(&self) -> &[i64] {
        self.values.values()
    }

    /// Returns the validity of rows; `None` if no row is NULL.
    pub(super) fn validity(&self) -> Option<&NullBuffer> {
        self.values.nulls().filter(|nulls| nulls.null_count() > 0)
    }

    /// Returns the smallest and the largest value; `None` if there is no value.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let min = datafusion::arrow::compute::min(&self.values)?;
        Some((min, datafusion::arrow::compute::max(&self.values)?))
    }
}

/// Returns the sorted distinct values of columns, and the index of each row's value. If a column
/// has a NULL, the first value is `None`.
pub(super) fn distinct(columns: &[Integers]) -> (Vec<Option<i64>>, Vec<Vec<u64>>) {
    let mut numbers: HashMap<i64, u64> = HashMap::new();
    let mut values: Vec<i64> = Vec::new();
    let mut codes: Vec<Vec<u64>> = Vec::with_capacity(columns.len());
    for column in columns {
        // Adjacent rows often have the same value.
        let mut previous = None;
        let number = |&value: &i64| match previous {
            Some((previous, number)) if previous == value => number,
            _ => {
                let number = *numbers.entry(value).or_insert_with(|| {
                    values.push(value);
                    values.len() as u64 - 1
                });
                previous = Some((value, number));
                number
            }
        };
        codes.push(match column.validity() {
            None => column.values().iter().map(number).collect(),
            Some(valid) => {
                let mut number = number;
                let rows = column.values().iter().zip(valid);
                rows.map(|(value, valid)| if valid { number(value) } else { NONE }).collect()
            }
        });
    }
    let nulls = columns.iter().any(|column| column.validity().is_some());
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|&number| values[number]);
    let mut rank = vec![0u64; values.len()];
    (u64::from(nulls)..).zip(&order).for_each(|(code, &number)| rank[number] = code);
    let ranked = |code: &mut u64| *code = if *code == NONE { 0 } else { rank[*code as usize] };
    codes.iter_mut().flatten().for_each(ranked);
    let sorted = order.into_iter().map(|number| Some(values[number]));
    (nulls.then_some(None).into_iter().chain(sorted).collect(), codes)
}

/// The marker of NULLs within [`distinct`], which numbers only the other values.
const NONE: u64 = u64::MAX;

/// Returns whether values of a type are encoded as `i64`. Casts convert all values of these types
/// to `i64` and back.
pub(crate) fn is_integers(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | Boolean | Date32)
        || matches!(ty, Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond, _))
        || matches!(ty, Timestamp(TimeUnit::Nanosecond, _))
}

/// Casts integers back to the type of their column.
pub(super) fn from_integers(values: PrimitiveArray<Int64Type>, ty: &DataType) -> Option<ArrayRef> {
    let values: ArrayRef = std::sync::Arc::new(values);
    match ty {
        DataType::Decimal128(precision, scale) => {
            let values = values.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from);
            Some(std::sync::Arc::new(values.with_precision_and_scale(*precision, *scale).ok()?))
        }
        DataType::Date32 => cast(&cast(&values, &DataType::Int32).ok()?, ty).ok(),
        ty => cast(&values, ty).ok(),
    }
}
