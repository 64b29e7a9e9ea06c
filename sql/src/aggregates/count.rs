//! `count`: the number of rows in which no argument is NULL.

use super::columns::{CountColumn, SumColumn};
use super::{Aggregate, AggregateCall, Family, RegionAggregate, fold_products};
use crate::claim::{ExprCase, GroupedJoin, LeafColumn, RegionBuilder, UnclaimedReason, is_never_null, split_validity};
use crate::encode::EncodedRows;
use crate::error::Result;
use crate::number::Number;
use crate::program::{FoldId, FoldList, JoinFold, LeafTables};
use crate::results::{ResultColumn, SignedFold};
use redpoll_logic::Expr;
use serde::{Deserialize, Serialize};

/// A number of rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Count {
    /// Disjoint cases of the rows, each as a list of columns. A row counts in a case if none of the
    /// case's columns is NULL.
    pub cases: Vec<Vec<LeafColumn>>,
}

/// The family of `count`.
pub(super) const FAMILY: Family = Family { has_function: |call| call.name() == "count", claim };

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let mut cases = vec![call.valid.clone()];
    for arg in call.args {
        builder.check_computable(arg)?;
        let terms = builder.split_or_compute(arg, |builder, arg| split_validity(arg, builder.constant_leaf))?;
        let mut valid_cases = Vec::new();
        for case in &terms.cases {
            valid_cases.push(valid_columns(case, builder)?);
        }
        let pairs = cases.iter().flat_map(|a| valid_cases.iter().map(move |b| [&a[..], b].concat()));
        cases = pairs.collect();
        if cases.len() > MAX_CASES {
            return Err(call.unsupported("a count of more than 16 cases"));
        }
    }
    for valid in &mut cases {
        valid.sort_unstable();
        valid.dedup();
    }
    Ok(Aggregate::Count(Count { cases }))
}

/// The largest number of cases of a count that is claimed.
const MAX_CASES: usize = 16;

/// Returns the columns that decide whether a row counts in a case. A row belongs to the case, and
/// its value is not NULL, exactly if none of these columns is NULL in the row.
fn valid_columns(case: &ExprCase, builder: &mut RegionBuilder) -> Result<Vec<LeafColumn>, UnclaimedReason> {
    let mut valid = Vec::new();
    for (_, condition) in &case.guards {
        valid.push(builder.condition_column(condition)?);
    }
    for (leaf, value) in case.values() {
        if !is_never_null(value, &builder.schema) {
            valid.push(builder.supply(*leaf, value));
        }
    }
    Ok(valid)
}

impl RegionAggregate for Count {
    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        let counts =
            self.cases.iter().map(|valid| folds.find_or_add(JoinFold::Count { valid: rows.with_nulls(valid) }));
        let counts: Vec<FoldId> = counts.collect();
        if let [count] = counts[..] {
            return Ok(Box::new(CountColumn(count)));
        }
        let terms = counts.into_iter().map(|fold| SignedFold { negative: false, fold }).collect();
        Ok(Box::new(SumColumn { terms, number: Number::I64, rows: None }))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        let cases = self.cases.iter().map(|valid| if valid.is_empty() { "*".to_owned() } else { join.names(valid) });
        format!("count({})", cases.collect::<Vec<_>>().join("; "))
    }
}

/// Returns the number of rows in which no column of `valid` is NULL, as an expression.
pub(crate) fn fold_rows(leaves: &mut LeafTables<'_>, valid: &[LeafColumn]) -> Result<Expr> {
    fold_products(leaves, &[], valid, (Number::I64, &[]))
}
