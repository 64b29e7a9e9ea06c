//! The estimate of whether a region pays, before it is claimed.

use super::cost::{CostEstimate, min_rows};
use super::rows::rows;
use crate::claim::{Claim, LeafSource, UnclaimedReason};
use crate::input_tables::InputTables;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::LogicalPlan;

/// Checks that claiming is estimated to pay.
pub(super) fn check_cost(claim: &Claim) -> Result<(), UnclaimedReason> {
    let inputs: Vec<&LogicalPlan> = claim.inputs.iter().collect();
    let is_cached = InputTables::of(&inputs).is_some_and(|tables| tables.version().is_some());
    if !is_cached && !CostEstimate::new(&claim.region, &inputs).is_always_faster() {
        return Err(UnclaimedReason::Cost("its rows cannot be cached, so each run would encode them again".into()));
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
            "DataFusion joins the {rows} rows of its tables before a program is compiled"
        ))),
        _ => Ok(()),
    }
}
