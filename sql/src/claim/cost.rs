//! The estimate of whether a region pays, before it runs. `crate::cost` has the constants and the
//! rest of the model.

use super::{Claim, Reason, Source};
use crate::cost::{Price, fewest_rows};
use crate::sources::Sources;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::LogicalPlan;

/// Checks that claiming is estimated to pay.
pub(super) fn pays(claim: &Claim) -> Result<(), Reason> {
    let bound = claim.region.leaves.iter().any(|leaf| matches!(leaf.source, Source::Tensor { .. }));
    let inputs: Vec<&LogicalPlan> = claim.inputs.iter().collect();
    let is_kept = Sources::of(&inputs).is_some_and(|sources| sources.version().is_some());
    if !is_kept && !Price::of(&claim.region, &inputs).is_small() {
        return Err(Reason::Cost("its rows would be encoded anew for each run".into()));
    }
    if bound {
        return Ok(());
    }
    let region = &claim.region;
    for condition in &region.conditions {
        let columns = condition.fields.iter().flat_map(|&field| &region.fields[field].columns[0]);
        if columns.map(|&c| &region.column(c).ty).any(|ty| *ty != DataType::Boolean) {
            return Err(Reason::Cost(format!("how many values `{}` has is not known", condition.name)));
        }
    }
    let rows: Option<usize> = claim.inputs.iter().map(rows).sum();
    match rows {
        Some(rows) if rows < fewest_rows(region.leaves.len()) => Err(Reason::Cost(format!(
            "the tables have {rows} rows together, which are joined before a program is made"
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
            let own = table.and_then(|table| rows_of(&*table));
            rows = rows.zip(own).map(|(sum, own)| sum.saturating_add(own));
        }
        Ok(if rows.is_some() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })
    .expect("looking at a plan does not fail");
    rows
}
