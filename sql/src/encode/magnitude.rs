//! Bounds of values, where they decide whether the order of computation may change.

use super::Encoded;
use crate::claim::{Case, ColumnInfo, FieldId, LeafColumn, Narrow, Number, Region, Role, Sum, Term};
use crate::error::{Left, Result};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};

/// Sums below this bound overflow in no order of computation.
const BOUND: f64 = 1e300;

impl Encoded {
    /// Checks that a sum has the same result in every order of computation, and that narrow
    /// integers do not overflow.
    ///
    /// # Errors
    /// If the result may differ, or a tensor cannot be read.
    pub fn check(&self, region: &Region, sum: &Sum) -> Result<()> {
        for narrow in &sum.narrow {
            self.check_narrow(region, narrow)?;
        }
        let terms: Vec<&Term> = sum.terms().collect();
        // A sum of one column meets infinities, or overflows, in every order.
        if sum.ty != Number::F64 || terms.len() < 2 && terms.iter().all(|term| term.factors.len() < 2) {
            return Ok(());
        }
        let mut total = 0.0;
        for term in terms {
            total += self.most(region, term)?;
        }
        if total < BOUND { Ok(()) } else { Err(Left::Unbounded { what: shown(region, sum) }.into()) }
    }

    /// Checks that floats are finite, so that no product of them is NaN.
    ///
    /// # Errors
    /// If a value is infinite or NaN, or a tensor cannot be read.
    pub fn check_finite(&self, region: &Region, columns: &[LeafColumn]) -> Result<()> {
        for &column in columns {
            if !self.numbers(region, column)?.iter().all(|v| v.is_finite()) {
                return Err(Left::Unbounded { what: format!("`{}`", region.column(column).name) }.into());
            }
        }
        Ok(())
    }

    /// Checks that the sum of a field's distinct values fits 64 bits.
    ///
    /// # Errors
    /// If it may not fit.
    pub fn check_distinct(&self, region: &Region, field: FieldId, column: LeafColumn) -> Result<()> {
        if self.domain(region, field).mass()? < i128::from(i64::MAX) {
            return Ok(());
        }
        let ColumnInfo { name, ty } = region.column(column);
        Err(Left::Unfit { what: format!("the sum of distinct `{name}`"), ty: ty.clone() }.into())
    }

    /// Checks that a column has no NaN. DataFusion's `min` and `max` return or ignore a NaN,
    /// depending on how rows are grouped.
    ///
    /// # Errors
    /// If the column has a NaN.
    pub fn check_ordered(&self, region: &Region, column: LeafColumn) -> Result<()> {
        let floats = region.column(column).ty.is_floating();
        if floats && self.numbers(region, column)?.iter().any(|v| v.is_nan()) {
            return Err(Left::Unbounded { what: format!("`{}`", region.column(column).name) }.into());
        }
        Ok(())
    }

    /// Returns a bound of the sum of a product's absolute values over any rows of the join, which
    /// also bounds its partial results.
    fn most(&self, region: &Region, term: &Term) -> Result<f64> {
        let mut most = 1.0;
        for leaf in (0..region.leaves.len()).filter(|&leaf| region.leaves[leaf].role == Role::Joins) {
            let own = match term.factors.iter().find(|factor| factor.leaf == leaf) {
                Some(factor) => self.mass(region, *factor)?,
                None => self.count(region, leaf)? as f64,
            };
            // `max` ignores NaN, so a NaN becomes infinity.
            most *= if own.is_nan() { f64::INFINITY } else { own.max(1.0) };
        }
        Ok(most)
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
    pub fn mass(&self, region: &Region, column: LeafColumn) -> Result<f64> {
        Ok(self.numbers(region, column)?.iter().map(|v| v.abs()).sum())
    }

    /// Returns the values of a column as floats, without NULLs.
    fn numbers(&self, region: &Region, column: LeafColumn) -> Result<Vec<f64>> {
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
    fn check_narrow(&self, region: &Region, narrow: &Narrow) -> Result<()> {
        let mut total = 0.0;
        for product in &narrow.products {
            let mut most = 1.0;
            for factor in product {
                let numbers = self.numbers(region, *factor)?;
                most *= numbers.into_iter().map(f64::abs).fold(1.0, f64::max);
            }
            total += most;
        }
        // The margin is larger than the rounding error of the bound.
        if total < 0.999 * narrow.most as f64 {
            return Ok(());
        }
        let what = narrow
            .products
            .first()
            .and_then(|p| p.first())
            .map_or_else(String::new, |&c| region.column(c).name.clone());
        Err(Left::Unbounded { what: format!("a product with `{what}`") }.into())
    }
}

/// Describes a sum by its columns, for messages.
fn shown(region: &Region, sum: &Sum) -> String {
    let columns = sum.cases.iter().flat_map(|case: &Case| &case.terms).flat_map(|term| &term.factors);
    let mut names: Vec<String> = columns.map(|&c| format!("`{}`", region.column(c).name)).collect();
    names.dedup();
    format!("a sum of {}", names.join(", "))
}
