//! `min`, `max`, `bool_and`, `bool_or`: the smallest or largest value of a column, for any type
//! with an order.
//!
//! The fold is the maximum of codes, which are assigned such that the extremum of a group has the
//! group's largest code. Code 0 means that the group has no value.

use super::{Aggregate, AggregateCall, Family, RegionAggregate};
use crate::claim::{GroupedJoin, LeafColumn, RegionBuilder, UnclaimedReason, is_ordered};
use crate::encode::{ColumnFold, EncodedRows, Extremum, Payload};
use crate::error::{FallbackReason, Result};
use crate::program::{FoldId, FoldList, JoinFold, LeafTables, combine};
use crate::results::{FoldValues, ResultColumn};
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Expr, Scalar};
use serde::{Deserialize, Serialize};

/// The smallest or largest value of a column.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Extreme {
    /// The minimum or maximum.
    pub extremum: Extremum,
    /// The column.
    pub column: LeafColumn,
    /// Columns that must not be NULL in the rows that count, in addition to `column`.
    pub valid: Vec<LeafColumn>,
}

/// The family of `min`, `max`, `bool_and` and `bool_or`.
pub(super) const FAMILY: Family = Family { has_function: |call| extremum(call.name()).is_some(), claim };

/// Returns the extremum that a function computes.
fn extremum(function: &str) -> Option<Extremum> {
    match function {
        "min" | "bool_and" => Some(Extremum::Min),
        "max" | "bool_or" => Some(Extremum::Max),
        _ => None,
    }
}

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let (arg, extremum) = (&call.args[0], extremum(call.name()).expect("the family has the function"));
    let ty = builder.type_of(arg)?;
    if !is_ordered(&ty) {
        let expr = format!("the minimum or maximum of `{}`", builder.source_text(arg));
        return Err(UnclaimedReason::Type { expr, ty });
    }
    Ok(Aggregate::Extreme(Extreme { extremum, column: builder.column(arg)?, valid: call.valid.clone() }))
}

impl RegionAggregate for Extreme {
    fn row_columns(&self) -> Vec<LeafColumn> {
        vec![self.column]
    }

    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        let (extremum, column) = (self.extremum, self.column);
        check_no_nan(rows, column)?;
        let valid = rows.with_nulls(&[&self.valid[..], &[column]].concat());
        Ok(Box::new(ExtremeColumn {
            fold: folds.find_or_add(JoinFold::Extreme { extremum, column, valid }),
            extremum,
            column,
        }))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        let function = match self.extremum {
            Extremum::Min => "min",
            Extremum::Max => "max",
        };
        format!("{function}({})", join.column(self.column).name)
    }
}

/// Checks that a column has no NaN. DataFusion's `min` and `max` return or ignore a NaN, depending
/// on how rows are grouped.
///
/// # Errors
/// If the column has a NaN.
fn check_no_nan(EncodedRows { join, encoded }: EncodedRows<'_>, column: LeafColumn) -> Result<()> {
    let is_float = join.column(column).ty.is_floating();
    if is_float && encoded.float_values(join, column)?.iter().any(|v| v.is_nan()) {
        return Err(FallbackReason::Unbounded { values: format!("`{}`", join.column(column).name) }.into());
    }
    Ok(())
}

/// Returns the code of the extremum as an expression; the code is 0 if there is no row.
pub(crate) fn fold_extreme(
    leaves: &mut LeafTables<'_>,
    column: LeafColumn,
    extremum: Extremum,
    valid: &[LeafColumn],
) -> Result<Expr> {
    let payload = Payload::Column { column: column.column, fold: ColumnFold::Extreme(extremum) };
    let mut args = vec![leaves.leaf_table(column.leaf, payload, valid, None)?];
    for row in leaves.factors(|leaf| (leaf != column.leaf).then_some(Payload::Presence), valid, None)? {
        let [all, none] = [u64::MAX, 0].map(|code| Expr::literal(Scalar::U64(code)));
        args.push(Expr::mapjoin(Builtin::IfElse, [row, all, none])?);
    }
    let lowest = combine(Builtin::Min, args)?;
    leaves.reduce(Builtin::Max, Scalar::U64(0), lowest, None)
}

/// The column that decodes a fold of codes; a value is NULL if its code is 0.
#[derive(Debug)]
struct ExtremeColumn {
    /// The fold of codes.
    fold: FoldId,
    /// The column of the values.
    column: LeafColumn,
    extremum: Extremum,
}

impl ResultColumn for ExtremeColumn {
    fn column(&self, values: &FoldValues<'_>, _: &DataType) -> Result<ArrayRef> {
        let codes = values.u64_values(self.fold);
        let extremes = values.encoded.extremes(self.column, self.extremum)?;
        let present: Vec<u64> = codes.iter().copied().filter(|&c| c != 0).collect();
        let extremes = extremes.decode(&present)?;
        let mut next = 0u64;
        let indices = codes.iter().map(|&code| {
            (code != 0).then(|| {
                next += 1;
                next - 1
            })
        });
        let indices: UInt64Array = indices.collect();
        Ok(take(&extremes, &indices, None)?)
    }
}
