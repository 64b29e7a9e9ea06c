//! The columns of counts, sums and means.

use super::decimal::DecimalColumn;
use crate::error::Result;
use crate::number::Number;
use crate::program::FoldId;
use crate::results::{FoldValues, ResultColumn, SignedFold};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A sum, or a mean, which is the sum divided by the number of values. `Display` writes the name of
/// the SQL function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SumKind {
    /// `sum`
    Sum,
    /// `avg`
    Mean,
}

impl fmt::Display for SumKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SumKind::Sum => "sum",
            SumKind::Mean => "avg",
        })
    }
}

/// A term of a sum, times `2^shift * 10^digits`. `shift` and `digits` are 0 unless the sum is of
/// decimals.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScaledFold {
    /// The term.
    pub(super) term: SignedFold,
    /// The exponent of 2, which is the sum of the shifts of the factors' limbs.
    pub(super) shift: u32,
    /// The scale of the sum minus the scale of the term, in decimal digits.
    pub(super) digits: u32,
}

impl From<SignedFold> for ScaledFold {
    fn from(term: SignedFold) -> ScaledFold {
        ScaledFold { term, shift: 0, digits: 0 }
    }
}

/// Returns the column of the sum or mean of terms. The folds `rows` count the summed values; the
/// value of a group is NULL if these counts add up to 0.
pub(super) fn sum_column(
    kind: SumKind,
    number: Number,
    terms: Vec<ScaledFold>,
    rows: Vec<FoldId>,
) -> Box<dyn ResultColumn> {
    let unscaled = || terms.iter().map(|scaled| scaled.term).collect();
    match (number, kind) {
        (Number::Decimal(scale), kind) => Box::new(DecimalColumn { terms, scale, rows, kind }),
        (_, SumKind::Mean) => Box::new(MeanColumn { terms: unscaled(), rows }),
        (number, SumKind::Sum) => Box::new(SumColumn { terms: unscaled(), number, rows: Some(rows) }),
    }
}

/// The values of a fold that counts rows or distinct values.
#[derive(Debug)]
pub(super) struct CountColumn(pub(super) FoldId);

impl ResultColumn for CountColumn {
    fn column(&self, values: &FoldValues<'_>, _: &DataType) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::new(values.i64_values(self.0), None)))
    }
}

/// A sum of terms, each added or subtracted; NULL if the number of summed values is 0.
#[derive(Debug)]
pub(super) struct SumColumn {
    /// The folds.
    pub(super) terms: Vec<SignedFold>,
    /// The number type.
    pub(super) number: Number,
    /// Folds whose sum is the number of summed values; `None` if the column has no NULL.
    pub(super) rows: Option<Vec<FoldId>>,
}

impl ResultColumn for SumColumn {
    fn column(&self, values: &FoldValues<'_>, _: &DataType) -> Result<ArrayRef> {
        let SumColumn { terms, number, rows } = self;
        let rows = rows.as_ref().map(|rows| values.row_counts(rows));
        let nulls = rows.map(|rows| rows.iter().map(|&n| n != 0).collect::<NullBuffer>());
        Ok(match number {
            Number::I64 | Number::Decimal(_) => Arc::new(Int64Array::new(values.i64_sums(terms), nulls)),
            Number::U64 => Arc::new(UInt64Array::new(values.u64_sums(terms), nulls)),
            Number::F64 => Arc::new(Float64Array::new(values.f64_sums(terms), nulls)),
        })
    }
}

/// A sum, divided by the number of summed values; NULL if that number is 0.
#[derive(Debug)]
pub(super) struct MeanColumn {
    /// The folds.
    pub(super) terms: Vec<SignedFold>,
    /// Folds whose sum is the number of summed values.
    pub(super) rows: Vec<FoldId>,
}

impl ResultColumn for MeanColumn {
    fn column(&self, values: &FoldValues<'_>, _: &DataType) -> Result<ArrayRef> {
        let rows = values.row_counts(&self.rows);
        let sums = values.f64_sums(&self.terms);
        let means = sums.iter().zip(rows.iter());
        Ok(Arc::new(means.map(|(&sum, &n)| (n != 0).then_some(sum / n as f64)).collect::<Float64Array>()))
    }
}
