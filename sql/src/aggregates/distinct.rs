//! `count(distinct ..)`, `sum(distinct ..)`, `avg(distinct ..)`: the number, sum or mean of the
//! distinct values of an expression in a group, excluding NULL.

use super::columns::{CountColumn, ScaledFold, SumKind, sum_column};
use super::{Aggregate, AggregateCall, Family, RegionAggregate};
use crate::claim::{ColumnInfo, FieldId, GroupedJoin, LeafColumn, NullTreatment, RegionBuilder, UnclaimedReason};
use crate::encode::EncodedRows;
use crate::error::{FallbackReason, Result};
use crate::number::Number;
use crate::program::{FoldList, JoinFold, LeafTables};
use crate::results::{ResultColumn, SignedFold};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Alias, DType, Expr, Scalar};
use serde::{Deserialize, Serialize};

/// A fold of the distinct values of a column in a group, excluding NULL.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Distinct {
    /// The field of the column.
    pub field: FieldId,
    /// The column.
    pub column: LeafColumn,
    /// Columns that must not be NULL in the rows that count, in addition to `column`.
    pub valid: Vec<LeafColumn>,
    /// The fold.
    pub fold: DistinctFold,
}

/// A fold of distinct values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum DistinctFold {
    /// The number of distinct values.
    Count,
    /// The sum or mean of the distinct values; the sum is computed in the number type.
    Sum(SumKind, Number),
}

/// The family of `count`, `sum` and `avg` with `DISTINCT`.
pub(super) const FAMILY: Family =
    Family { has_function: |call| call.is_distinct && matches!(call.name(), "count" | "sum" | "avg"), claim };

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let arg = &call.args[0];
    if call.name() == "count" && call.args.len() > 1 {
        return Err(call.unsupported("DISTINCT over several expressions"));
    }
    let column = builder.key(arg)?;
    let fold = match call.name() {
        "count" => DistinctFold::Count,
        "avg" => DistinctFold::Sum(SumKind::Mean, builder.number_of(arg)?),
        _ => DistinctFold::Sum(SumKind::Sum, builder.number_of(arg)?),
    };
    // The fold skips NULLs, but other aggregates may need the rows with NULL: aggregates of
    // expressions over several tables, one of which has the column.
    let field = builder.find_or_add_field(column, arg, NullTreatment::Keep);
    Ok(Aggregate::Distinct(Distinct { field, column, valid: call.valid.clone(), fold }))
}

impl RegionAggregate for Distinct {
    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        let (field, valid) = (self.field, rows.with_nulls(&[&self.valid[..], &[self.column]].concat()));
        let count = folds.find_or_add(JoinFold::CountDistinct { field, valid: valid.clone() });
        let DistinctFold::Sum(kind, number) = self.fold else { return Ok(Box::new(CountColumn(count))) };
        if let Number::Decimal(_) = number {
            check_sum_fits(rows, field, self.column)?;
        }
        let fold = folds.find_or_add(JoinFold::SumDistinct { field, valid, number });
        let terms = vec![ScaledFold::from(SignedFold { negative: false, fold })];
        Ok(sum_column(kind, number, terms, vec![count]))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        let column = &join.column(self.column).name;
        match self.fold {
            DistinctFold::Count => format!("count(distinct {column})"),
            DistinctFold::Sum(kind, _) => format!("{kind}(distinct {column})"),
        }
    }
}

/// Checks that the sum of a field's distinct decimals fits 64 bits.
///
/// # Errors
/// If the sum may not fit.
fn check_sum_fits(EncodedRows { join, encoded }: EncodedRows<'_>, field: FieldId, column: LeafColumn) -> Result<()> {
    if encoded.domain(join, field).absolute_sum()? < i128::from(i64::MAX) {
        return Ok(());
    }
    let ColumnInfo { name, ty } = join.column(column);
    Err(FallbackReason::Unsupported { value: format!("the sum of distinct `{name}`"), ty: ty.clone() }.into())
}

/// Returns the number of distinct values of a field as an expression.
pub(crate) fn fold_distinct_count(leaves: &mut LeafTables<'_>, field: FieldId, valid: &[LeafColumn]) -> Result<Expr> {
    let values = occurring_values(leaves, field, valid)?.cast(&DType::I64)?;
    leaves.reduce(Builtin::Add, Scalar::I64(0), values, None)
}

/// Returns the sum of the distinct values of a field as an expression.
pub(crate) fn fold_distinct_sum(
    leaves: &mut LeafTables<'_>,
    field: FieldId,
    valid: &[LeafColumn],
    number: Number,
) -> Result<Expr> {
    let values = occurring_values(leaves, field, valid)?;
    let value = value(leaves, field, number)?;
    let product = Expr::mapjoin(Builtin::Mul, [value, values])?;
    leaves.reduce(Builtin::Add, Scalar::zero(number.prim()), product, None)
}

/// Returns an expression that is true for the values of a field that occur in a group.
fn occurring_values(leaves: &mut LeafTables<'_>, field: FieldId, valid: &[LeafColumn]) -> Result<Expr> {
    let row = leaves.presence(valid, Some(field))?;
    leaves.reduce(Builtin::Or, Scalar::Bool(false), row, Some(field))
}

/// Returns the value of each code of a field, as an expression.
fn value(leaves: &mut LeafTables<'_>, field: FieldId, number: Number) -> Result<Expr> {
    let name = leaves.field(field).clone();
    let domain = leaves.encoded.domain(leaves.join, field);
    let value = match domain.range_start() {
        Some(first) => Expr::mapjoin(Builtin::Add, [Expr::coordinate(name), Expr::literal(Scalar::I64(first))])?,
        None => {
            let alias = Alias::from(format!("v{}", leaves.join.fields[field].domain));
            let values = domain.numbers(number)?;
            let value = Expr::table(alias.clone(), values.ty().clone(), [name])?;
            leaves.bind(alias, values);
            value
        }
    };
    Ok(value.cast(&DType::from(number.prim()))?)
}
