//! Bounds of values, where they decide whether the order of computation may change.

use super::EncodedRegion;
use crate::claim::{ColumnInfo, FieldId, LeafColumn, LeafRole, NarrowSum, Region, SumCase, SumOfProducts, SumTerm};
use crate::error::{FallbackReason, Result};
use crate::number::Number;
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};

/// Sums below this bound overflow in no order of computation.
const MAX_SUM: f64 = 1e300;

impl EncodedRegion {
    /// Checks that a sum has the same result in every order of computation, and that narrow
    /// integers do not overflow.
    ///
    /// # Errors
    /// If the result may differ, or a tensor cannot be read.
    pub fn check_sum(&self, region: &Region, sum: &SumOfProducts) -> Result<()> {
        for narrow in &sum.narrow {
            self.check_narrow(region, narrow)?;
        }
        let terms: Vec<&SumTerm> = sum.terms().collect();
        // A sum of one column overflows in every order or in none.
        if sum.ty != Number::F64 || terms.len() < 2 && terms.iter().all(|term| term.factors.len() < 2) {
            return Ok(());
        }
        let mut total = 0.0;
        for term in terms {
            total += self.max_absolute_sum(region, term)?;
        }
        if total < MAX_SUM {
            Ok(())
        } else {
            Err(FallbackReason::Unbounded { values: describe_sum(region, sum) }.into())
        }
    }

    /// Checks that floats are finite, so that no product of them is NaN.
    ///
    /// # Errors
    /// If a value is infinite or NaN, or a tensor cannot be read.
    pub fn check_finite(&self, region: &Region, columns: &[LeafColumn]) -> Result<()> {
        for &column in columns {
            if !self.float_values(region, column)?.iter().all(|v| v.is_finite()) {
                return Err(FallbackReason::Unbounded { values: format!("`{}`", region.column(column).name) }.into());
            }
        }
        Ok(())
    }

    /// Checks that the sum of a field's distinct values fits 64 bits.
    ///
    /// # Errors
    /// If it may not fit.
    pub fn check_distinct(&self, region: &Region, field: FieldId, column: LeafColumn) -> Result<()> {
        if self.domain(region, field).absolute_sum()? < i128::from(i64::MAX) {
            return Ok(());
        }
        let ColumnInfo { name, ty } = region.column(column);
        Err(FallbackReason::Unsupported { value: format!("the sum of distinct `{name}`"), ty: ty.clone() }.into())
    }

    /// Checks that a column has no NaN. DataFusion's `min` and `max` return or ignore a NaN,
    /// depending on how rows are grouped.
    ///
    /// # Errors
    /// If the column has a NaN.
    pub fn check_ordered(&self, region: &Region, column: LeafColumn) -> Result<()> {
        let floats = region.column(column).ty.is_floating();
        if floats && self.float_values(region, column)?.iter().any(|v| v.is_nan()) {
            return Err(FallbackReason::Unbounded { values: format!("`{}`", region.column(column).name) }.into());
        }
        Ok(())
    }

    /// Returns a bound of the sum of a product's absolute values over any rows of the join, which
    /// also bounds its partial results.
    fn max_absolute_sum(&self, region: &Region, term: &SumTerm) -> Result<f64> {
        let mut max = 1.0;
        for leaf in (0..region.leaves.len()).filter(|&leaf| region.leaves[leaf].role == LeafRole::Join) {
            let leaf_max = match term.factors.iter().find(|factor| factor.leaf == leaf) {
                Some(factor) => self.absolute_sum(region, *factor)?,
                None => self.count(region, leaf)? as f64,
            };
            // `max` ignores NaN, so a NaN becomes infinity.
            max *= if leaf_max.is_nan() { f64::INFINITY } else { leaf_max.max(1.0) };
        }
        Ok(max)
    }

    /// Returns the number of rows of a leaf.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn count(&self, region: &Region, leaf: usize) -> Result<u64> {
        match (self.rows(leaf), region.tensor(leaf)) {
            (Some(rows), _) => Ok(rows.len() as u64),
            (None, Some((table, _))) => Ok(table.tensor()?.count_stored()?),
            (None, None) => Ok(0),
        }
    }

    /// Returns the sum of the absolute values of a column as floats; infinite or NaN if a value is.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn absolute_sum(&self, region: &Region, column: LeafColumn) -> Result<f64> {
        Ok(self.float_values(region, column)?.iter().map(|v| v.abs()).sum())
    }

    /// Returns the values of a column as floats, without NULLs.
    fn float_values(&self, region: &Region, column: LeafColumn) -> Result<Vec<f64>> {
        if let Some(rows) = self.rows(column.leaf) {
            let values = cast(rows.column(column.column), &DataType::Float64)?;
            let values = values.as_primitive::<Float64Type>();
            return Ok(match values.null_count() {
                0 => values.values().to_vec(),
                _ => values.iter().flatten().collect(),
            });
        }
        let Some((table, _)) = region.tensor(column.leaf) else { return Ok(Vec::new()) };
        let tensor = table.values()?;
        if let Some(values) = tensor.leaf().first().and_then(|v| v.as_slice::<f64>()) {
            return Ok(values.to_vec());
        }
        let mut values = Vec::new();
        tensor.for_each_stored(|_, position| values.push(tensor.value_at(position).to_f64().unwrap_or(f64::NAN)));
        Ok(values)
    }

    /// Checks that a sum of products cannot overflow the narrow type in which it was written.
    fn check_narrow(&self, region: &Region, narrow: &NarrowSum) -> Result<()> {
        let mut total = 0.0;
        for product in &narrow.products {
            let mut max = 1.0;
            for factor in product {
                let numbers = self.float_values(region, *factor)?;
                max *= numbers.into_iter().map(f64::abs).fold(1.0, f64::max);
            }
            total += max;
        }
        // The margin is larger than the rounding error of the bound.
        if total < 0.999 * narrow.max as f64 {
            return Ok(());
        }
        let factor = narrow
            .products
            .first()
            .and_then(|p| p.first())
            .map_or_else(String::new, |&c| region.column(c).name.clone());
        Err(FallbackReason::Unbounded { values: format!("a product with `{factor}`") }.into())
    }
}

/// Describes a sum by its columns, for messages.
fn describe_sum(region: &Region, sum: &SumOfProducts) -> String {
    let columns = sum.cases.iter().flat_map(|case: &SumCase| &case.terms).flat_map(|term| &term.factors);
    let mut names: Vec<String> = columns.map(|&c| format!("`{}`", region.column(c).name)).collect();
    names.dedup();
    format!("a sum of {}", names.join(", "))
}
