//! Arrow columns that are integers, or stored as such, as `i64` in the same order.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};

/// Integers with the rows that have one.
pub(super) struct Integers {
    values: PrimitiveArray<Int64Type>,
}

impl Integers {
    /// The integers of a column, if its type is stored as integers that `i64` holds.
    pub(super) fn of(column: &ArrayRef) -> Option<Integers> {
        let ty = column.data_type();
        if !is_integers(ty) {
            return None;
        }
        let values = match ty {
            DataType::Int64 => column.as_primitive::<Int64Type>().clone(),
            DataType::Date32 | DataType::Time32(_) => {
                cast(&cast(column, &DataType::Int32).ok()?, &DataType::Int64).ok()?.as_primitive().clone()
            }
            _ => cast(column, &DataType::Int64).ok()?.as_primitive::<Int64Type>().clone(),
        };
        Some(Integers { values })
    }

    /// All values; those of rows without one are arbitrary.
    pub(super) fn values(&self) -> &[i64] {
        self.values.values()
    }

    /// The rows that have a value; `None` when all have.
    pub(super) fn valid(&self) -> Option<&NullBuffer> {
        self.values.nulls().filter(|nulls| nulls.null_count() > 0)
    }

    /// The smallest and the largest value.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let min = datafusion::arrow::compute::min(&self.values)?;
        Some((min, datafusion::arrow::compute::max(&self.values)?))
    }
}

/// Whether a type is stored as integers that `i64` holds, and is made of them again by a cast.
pub(crate) fn is_integers(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | Boolean | Date32)
        || matches!(ty, Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond, _))
        || matches!(ty, Timestamp(TimeUnit::Nanosecond, _))
}

/// Integers as a column of a type that [`is_integers`].
pub(super) fn from_integers(values: PrimitiveArray<Int64Type>, ty: &DataType) -> Option<ArrayRef> {
    let values: ArrayRef = std::sync::Arc::new(values);
    match ty {
        DataType::Date32 => cast(&cast(&values, &DataType::Int32).ok()?, ty).ok(),
        ty => cast(&values, ty).ok(),
    }
}
