//! The estimate of whether a region pays, before it is claimed.

use super::cost::{CostEstimate, min_rows};
use super::rows::rows;
use crate::claim::{Claim, LeafSource, UnclaimedReason};
use crate::error::row_count;
use crate::input_tables::InputTables;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::LogicalPlan;

/// Checks that claiming is estimated to pay.
pub(super) fn check_cost(claim: &Claim) -> Result<(), UnclaimedReason> {
    let inputs: Vec<&LogicalPlan> = claim.inputs.iter().collect();
    let is_cached = InputTables::of(&inputs).is_some_and(|tables| tables.version().is_some());
    if !is_cached && !CostEstimate::new(&claim.region, &inputs).is_always_faster() {
        let reason = "the rows of the tables cannot be cached, so each run would encode them again";
        return Err(UnclaimedReason::Cost(reason.into()));
    }
    let join = &claim.region.join;
    if join.has_tensors() {
        return Ok(());
    }
    for leaf in &join.leaves {
        let LeafSource::Computed(combinations) = &leaf.source else { continue };
        let mut columns = combinations.sources.iter().flatten();
        if columns.any(|&column| join.column(column).ty != DataType::Boolean) {
            return Err(UnclaimedReason::Cost(format!("the number of values of `{}` is unknown", leaf.name)));
        }
    }
    let rows: Option<usize> = claim.inputs.iter().map(rows).sum();
    match rows {
        Some(rows) if rows < min_rows(join.leaves.len()) => Err(UnclaimedReason::Cost(format!(
            "DataFusion is estimated to join the {} of the tables in less time than a program takes to compile",
            row_count(rows as u128)
        ))),
        _ => Ok(()),
    }
}
