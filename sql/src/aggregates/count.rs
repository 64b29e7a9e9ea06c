//! `count`: the number of rows in which no argument is NULL.

use super::columns::CountColumn;
use super::{Aggregate, AggregateCall, Family, RegionAggregate, fold_products};
use crate::claim::{GroupedJoin, LeafColumn, RegionBuilder, UnclaimedReason, is_never_null, strict_parts};
use crate::encode::EncodedRows;
use crate::error::Result;
use crate::number::Number;
use crate::program::{FoldList, JoinFold, LeafTables};
use crate::results::ResultColumn;
use datafusion::logical_expr::Expr as PlanExpr;
use redpoll_logic::Expr;

/// A number of rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Count {
    /// Only rows in which none of these columns is NULL count.
    pub valid: Vec<LeafColumn>,
}

/// The family of `count`.
pub(super) const FAMILY: Family = Family { has_function: |call| call.name() == "count", claim };

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let mut valid = call.valid.clone();
    for arg in call.args {
        require_valid(arg, &mut valid, builder)?;
    }
    Ok(Aggregate::Count(Count { valid }))
}

/// Adds the columns that must not be NULL for an expression not to be NULL.
fn require_valid(
    expr: &PlanExpr,
    valid: &mut Vec<LeafColumn>,
    builder: &mut RegionBuilder,
) -> Result<(), UnclaimedReason> {
    let parts = strict_parts(expr, builder.constant_leaf)
        .map_err(|_| UnclaimedReason::SeveralTables(builder.source_text(expr)))?;
    for (leaf, part) in parts {
        builder.check_computable(&part)?;
        if !is_never_null(&part, &builder.schema) {
            valid.push(builder.supply(leaf, &part));
        }
    }
    valid.sort_unstable();
    valid.dedup();
    Ok(())
}

impl RegionAggregate for Count {
    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        Ok(Box::new(CountColumn(folds.find_or_add(JoinFold::Count { valid: rows.with_nulls(&self.valid) }))))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        match &self.valid[..] {
            [] => "count(*)".to_string(),
            valid => format!("count({})", join.names(valid)),
        }
    }
}

/// Returns the number of rows as an expression.
pub(crate) fn fold_rows(leaves: &mut LeafTables<'_>, valid: &[LeafColumn]) -> Result<Expr> {
    fold_products(leaves, &[], valid, (Number::I64, &[]))
}
