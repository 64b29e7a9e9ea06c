//! The estimate of whether a region pays, before it runs. `crate::cost` has the constants and the
//! rest of the model.

use super::{Claim, LeafSource, UnclaimedReason};
use crate::cost::{CostEstimate, min_rows};
use crate::input_tables::InputTables;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::LogicalPlan;

/// Checks that claiming is estimated to pay.
pub(super) fn check_cost(claim: &Claim) -> Result<(), UnclaimedReason> {
    let has_tensors = claim.region.leaves.iter().any(|leaf| matches!(leaf.source, LeafSource::Tensor { .. }));
    let inputs: Vec<&LogicalPlan> = claim.inputs.iter().collect();
    let is_cached = InputTables::of(&inputs).is_some_and(|tables| tables.version().is_some());
    if !is_cached && !CostEstimate::new(&claim.region, &inputs).is_always_faster() {
        return Err(UnclaimedReason::Cost("its rows cannot be cached, so each run would encode them again".into()));
    }
    if has_tensors {
        return Ok(());
    }
    let region = &claim.region;
    for condition in &region.conditions {
        let columns = condition.fields.iter().flat_map(|&field| &region.fields[field].columns[0]);
        if columns.map(|&c| &region.column(c).ty).any(|ty| *ty != DataType::Boolean) {
            return Err(UnclaimedReason::Cost(format!("the number of values of `{}` is unknown", condition.name)));
        }
    }
    let rows: Option<usize> = claim.inputs.iter().map(rows).sum();
    match rows {
        Some(rows) if rows < min_rows(region.leaves.len()) => Err(UnclaimedReason::Cost(format!(
            "DataFusion joins the {rows} rows of its tables before a program is compiled"
        ))),
        _ => Ok(()),
    }
}

/// Returns the number of rows of a table, if it has an exact or estimated count.
pub(crate) fn rows_of(table: &dyn TableProvider) -> Option<usize> {
    if let Some(memory) = table.downcast_ref::<MemTable>() {
        let mut rows = 0;
        for partition in &memory.batches {
            rows += partition.try_read().ok()?.iter().map(RecordBatch::num_rows).sum::<usize>();
        }
        return Some(rows);
    }
    table.statistics()?.num_rows.get_value().copied()
}

/// Returns the number of rows of the tables below a plan, if all of them have a count.
pub(crate) fn rows(plan: &LogicalPlan) -> Option<usize> {
    let mut rows = Some(0usize);
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let table = source_as_provider(&scan.source).ok();
            let table_rows = table.and_then(|table| rows_of(&*table));
            rows = rows.zip(table_rows).map(|(sum, rows)| sum.saturating_add(rows));
        }
        Ok(if rows.is_some() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })
    .expect("visiting a plan cannot fail");
    rows
}
