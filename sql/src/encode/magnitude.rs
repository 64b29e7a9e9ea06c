//! How large numbers are, where that decides in which order they may be computed.

use super::Encoded;
use crate::claim::{Case, ColumnInfo, FieldId, LeafColumn, Narrow, Number, Region, Role, Sum, Term};
use crate::error::{Left, Result};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};

/// What is below this in every order of computation overflows in none.
const BOUND: f64 = 1e300;

impl Encoded {
    /// Whether a sum gives the same in every order of computation and in the type of kernels.
    ///
    /// # Errors
    /// When it may not, or a tensor cannot be read.
    pub fn check(&self, region: &Region, sum: &Sum) -> Result<()> {
        for narrow in &sum.narrow {
            self.check_narrow(region, narrow)?;
        }
        let terms: Vec<&Term> = sum.terms().collect();
        // A sum of one column has what is infinite in it, or what exceeds the numbers, in every order.
        if sum.ty != Number::F64 || terms.len() < 2 && terms.iter().all(|term| term.factors.len() < 2) {
            return Ok(());
        }
        let mut total = 0.0;
        for term in terms {
            total += self.most(region, term)?;
        }
        if total < BOUND { Ok(()) } else { Err(Left::Unbounded { what: shown(region, sum) }.into()) }
    }

    /// Whether floats are finite, so that none meets what makes a NaN of it.
    ///
    /// # Errors
    /// When one is not, or a tensor cannot be read.
    pub fn check_finite(&self, region: &Region, columns: &[LeafColumn]) -> Result<()> {
        for &column in columns {
            if !self.numbers(region, column)?.iter().all(|v| v.is_finite()) {
                return Err(Left::Unbounded { what: format!("`{}`", region.column(column).name) }.into());
            }
        }
        Ok(())
    }

    /// Whether the values of a field, each once, add up in 64 bits.
    ///
    /// # Errors
    /// When they may not.
    pub fn check_distinct(&self, region: &Region, field: FieldId, column: LeafColumn) -> Result<()> {
        if self.domain(region, field).mass()? < i128::from(i64::MAX) {
            return Ok(());
        }
        let ColumnInfo { name, ty } = region.column(column);
        Err(Left::Unfit { what: format!("the sum of distinct `{name}`"), ty: ty.clone() }.into())
    }

    /// Whether a column has no NaN, which `min` and `max` of DataFusion find or pass over, by how they are grouped.
    ///
    /// # Errors
    /// When it has one.
    pub fn check_ordered(&self, region: &Region, column: LeafColumn) -> Result<()> {
        let floats = region.column(column).ty.is_floating();
        if floats && self.numbers(region, column)?.iter().any(|v| v.is_nan()) {
            return Err(Left::Unbounded { what: format!("`{}`", region.column(column).name) }.into());
        }
        Ok(())
    }

    /// The most that the absolute values of a product add up to over any rows of the join, and all parts of that.
    fn most(&self, region: &Region, term: &Term) -> Result<f64> {
        let mut most = 1.0;
        for leaf in (0..region.leaves.len()).filter(|&leaf| region.leaves[leaf].role == Role::Joins) {
            let own = match term.factors.iter().find(|factor| factor.leaf == leaf) {
                Some(factor) => self.mass(region, *factor)?,
                None => self.count(region, leaf)? as f64,
            };
            // NaN is no bound, and the larger of it and a number is the number.
            most *= if own.is_nan() { f64::INFINITY } else { own.max(1.0) };
        }
        Ok(most)
    }

    /// How many rows a leaf has.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn count(&self, region: &Region, leaf: usize) -> Result<u64> {
        match (self.rows(leaf), region.tensor(leaf)) {
            (Some(rows), _) => Ok(rows.len() as u64),
            (None, Some((table, _))) => Ok(table.tensor()?.count_stored()?),
            (None, None) => Ok(0),
        }
    }

    /// The sum of the absolute values of a column of floats: infinite or NaN unless all are finite.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn mass(&self, region: &Region, column: LeafColumn) -> Result<f64> {
        Ok(self.numbers(region, column)?.iter().map(|v| v.abs()).sum())
    }

    /// The numbers of a column.
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

    /// Whether integers stay within the type that they were written in.
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
        // Rounding errs by less than what is left out.
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

/// The columns of a sum.
fn shown(region: &Region, sum: &Sum) -> String {
    let columns = sum.cases.iter().flat_map(|case: &Case| &case.terms).flat_map(|term| &term.factors);
    let mut names: Vec<String> = columns.map(|&c| format!("`{}`", region.column(c).name)).collect();
    names.dedup();
    format!("a sum of {}", names.join(", "))
}
