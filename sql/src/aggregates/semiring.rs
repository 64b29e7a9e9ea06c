//! Functions over semirings that users register: a fold of the product of the arguments.

use super::columns::SumColumn;
use super::{Aggregate, AggregateCall, Family, RegionAggregate};
use crate::claim::{GroupedJoin, LeafColumn, RegionBuilder, UnclaimedReason};
use crate::encode::{ColumnFold, EncodedRows, Payload};
use crate::error::{FallbackReason, Result};
use crate::number::Number;
use crate::program::{FoldList, JoinFold, LeafTables, combine};
use crate::results::{ResultColumn, SignedFold};
use crate::semiring::{Distribution, Semiring, SemiringFunction};
use redpoll_logic::Expr;
use redpoll_logic::op::Builtin;
use serde::{Deserialize, Serialize};

/// A fold over a semiring.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SemiringFold {
    /// The semiring.
    pub semiring: Semiring,
    /// The arguments, each of a different leaf.
    pub factors: Vec<LeafColumn>,
    /// Columns that must not be NULL in the rows that count.
    pub valid: Vec<LeafColumn>,
}

/// The family of functions over semirings.
pub(super) const FAMILY: Family = Family { has_function: |call| semiring(call).is_some(), claim };

/// Returns the semiring of a call; `None` if the function is not over a semiring.
fn semiring<'a>(call: &AggregateCall<'a>) -> Option<&'a Semiring> {
    call.function.inner().downcast_ref::<SemiringFunction>().map(|function| &function.semiring)
}

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    if call.is_distinct {
        return Err(call.unsupported("DISTINCT"));
    }
    let semiring = semiring(call).expect("the family has the function").clone();
    let mut valid = call.valid.clone();
    let mut factors: Vec<LeafColumn> = Vec::new();
    for arg in call.args {
        let column = builder.column(arg)?;
        if factors.iter().any(|c| c.leaf == column.leaf) {
            return Err(UnclaimedReason::SecondArgument(builder.source_text(arg)));
        }
        factors.push(column);
        valid.push(column);
    }
    Ok(Aggregate::Semiring(SemiringFold { semiring, factors, valid }))
}

impl RegionAggregate for SemiringFold {
    fn row_columns(&self) -> Vec<LeafColumn> {
        self.factors.clone()
    }

    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        check_finite(rows, &self.factors)?;
        check_distribution(rows, &self.factors, &self.semiring)?;
        let (semiring, factors, valid) = (self.semiring.clone(), self.factors.clone(), rows.with_nulls(&self.valid));
        let count = folds.find_or_add(JoinFold::Count { valid: valid.clone() });
        let fold = folds.find_or_add(JoinFold::Semiring { semiring, factors, valid });
        let terms = vec![SignedFold { negative: false, fold }];
        Ok(Box::new(SumColumn { terms, number: self.semiring.number(), rows: Some(vec![count]) }))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        let (plus, times) = (self.semiring.plus().name(), self.semiring.times().name());
        format!("{plus} of {times}({})", join.names(&self.factors))
    }
}

/// Checks that floats are finite, so that `times` of two floats is not NaN. [`check_distribution`]
/// checks that no product overflows.
///
/// # Errors
/// If a value is infinite or NaN, or a tensor cannot be read.
fn check_finite(EncodedRows { join, encoded }: EncodedRows<'_>, columns: &[LeafColumn]) -> Result<()> {
    for &column in columns {
        if !encoded.float_values(join, column)?.iter().all(|v| v.is_finite()) {
            return Err(FallbackReason::Unbounded { values: format!("`{}`", join.column(column).name) }.into());
        }
    }
    Ok(())
}

/// Checks that `times` of a semiring distributes over `plus` for the values of the columns, without
/// wraps and overflows.
///
/// # Errors
/// If `times` may not distribute over `plus`, a result may wrap or overflow, or a tensor cannot be
/// read.
fn check_distribution(
    EncodedRows { join, encoded }: EncodedRows<'_>,
    columns: &[LeafColumn],
    semiring: &Semiring,
) -> Result<()> {
    let condition = semiring.distribution().expect("checked when the semiring was made");
    if condition == Distribution::AllValues {
        return Ok(());
    }
    let is_product = condition == Distribution::NonnegativeWithoutWraps;
    let mut bound: f64 = if is_product { 1.0 } else { 0.0 };
    for &column in columns {
        let values = encoded.float_values(join, column)?;
        if is_product && values.iter().any(|v| *v < 0.0) {
            return Err(FallbackReason::Negative { values: format!("`{}`", join.column(column).name) }.into());
        }
        let largest = values.into_iter().map(f64::abs).fold(0.0, f64::max);
        bound = if is_product { bound * largest.max(1.0) } else { bound + largest };
    }
    // Integers must not wrap. Floats must not overflow, because a product with an overflow and a
    // zero is NaN in some orders of the factors, and 0 in others.
    let limit = if semiring.number() == Number::F64 { f64::MAX } else { i64::MAX as f64 };
    // The margin is larger than the rounding error of the bound.
    if bound < 0.999 * limit {
        return Ok(());
    }
    let names: Vec<String> = columns.iter().map(|&c| format!("`{}`", join.column(c).name)).collect();
    let what = if is_product { "product" } else { "sum" };
    Err(FallbackReason::Unbounded { values: format!("a {what} of {}", names.join(", ")) }.into())
}

/// Returns the fold over a semiring as an expression.
pub(crate) fn fold_semiring(
    leaves: &mut LeafTables<'_>,
    semiring: &Semiring,
    factors: &[LeafColumn],
    valid: &[LeafColumn],
) -> Result<Expr> {
    let mut args = Vec::new();
    for factor in factors {
        let payload = Payload::Column { column: factor.column, fold: ColumnFold::Semiring(semiring.clone()) };
        args.push(leaves.leaf_table(factor.leaf, payload, valid, None)?);
    }
    let product = combine(semiring.times().clone(), args)?;
    // If there is no row, the result is the identity, whatever the factors are.
    let identity = Expr::literal(semiring.zero());
    let product = Expr::mapjoin(Builtin::IfElse, [leaves.presence(valid, None)?, product, identity])?;
    leaves.reduce(semiring.plus().clone(), semiring.zero(), product, None)
}
