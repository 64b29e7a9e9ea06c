//! Numbers of rows of tables, exact or estimated.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::LogicalPlan;

/// Returns the number of rows of a table, if the table has an exact or estimated count. A table in
/// memory has none while it is written.
pub(super) fn rows_of(table: &dyn TableProvider) -> Option<usize> {
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
pub(super) fn rows(plan: &LogicalPlan) -> Option<usize> {
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
