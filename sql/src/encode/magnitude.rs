//! The magnitudes of values, and the numbers of rows of leaves. The magnitudes decide whether the
//! order of computation may change.

use super::EncodedJoin;
use crate::claim::{GroupedJoin, LeafColumn};
use crate::error::Result;
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};

impl EncodedJoin {
    /// Returns the number of rows of a leaf; for a tensor, the number of its stored entries.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn count(&self, join: &GroupedJoin, leaf: usize) -> Result<u64> {
        match (self.rows(leaf), join.tensor(leaf)) {
            (Some(rows), _) => Ok(rows.len() as u64),
            (None, Some((table, _))) => Ok(table.tensor()?.count_stored()?),
            (None, None) => Ok(0),
        }
    }

    /// Returns the sum of the absolute values of a column as floats. The sum is infinite or NaN if
    /// a value is infinite or NaN, and infinite if it overflows.
    ///
    /// # Errors
    /// If a tensor cannot be read, or Arrow refuses a computation.
    pub fn absolute_sum(&self, join: &GroupedJoin, column: LeafColumn) -> Result<f64> {
        Ok(self.float_values(join, column)?.iter().map(|v| v.abs()).sum())
    }

    /// Returns the values of a column as floats, excluding NULLs. Of the values of a tensor, only
    /// the stored values are returned.
    ///
    /// # Errors
    /// If a tensor cannot be read, or Arrow refuses a computation.
    pub fn float_values(&self, join: &GroupedJoin, column: LeafColumn) -> Result<Vec<f64>> {
        if let Some(rows) = self.rows(column.leaf) {
            let values = cast(rows.column(column.column), &DataType::Float64)?;
            let values = values.as_primitive::<Float64Type>();
            return Ok(match values.null_count() {
                0 => values.values().to_vec(),
                _ => values.iter().flatten().collect(),
            });
        }
        let Some((table, _)) = join.tensor(column.leaf) else { return Ok(Vec::new()) };
        let tensor = table.values()?;
        if let Some(values) = tensor.leaf().first().and_then(|v| v.as_slice::<f64>()) {
            return Ok(values.to_vec());
        }
        let mut values = Vec::new();
        tensor.for_each_stored(|_, position| values.push(tensor.value_at(position).to_f64().unwrap_or(f64::NAN)));
        Ok(values)
    }
}
