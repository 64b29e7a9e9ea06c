//! Whether a region pays: what a cold run costs beside what DataFusion would do.
//!
//! A region is planned and compiled in milliseconds and its rows are encoded once, in about the time that a hash join takes
//! over them. On small tables DataFusion is done before that; a join that repeats rows grows with the product of its
//! tables' sizes in DataFusion, and not here.

use super::{Claim, Reason, Source};
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;

/// Tables of fewer rows together are joined by DataFusion before a program is compiled, whatever the join.
const FEWEST_ROWS: usize = 2_000;

/// Whether claiming is estimated to be worth it.
pub(super) fn pays(claim: &Claim) -> Result<(), Reason> {
    let bound = claim.region.leaves.iter().any(|leaf| matches!(leaf.source, Source::Tensor { .. }));
    if bound {
        return Ok(());
    }
    let rows: Option<usize> = claim.inputs.iter().map(rows).sum();
    match rows {
        Some(rows) if rows < FEWEST_ROWS => Err(Reason::Cost(format!(
            "the tables have {rows} rows together, which are joined before a program is made"
        ))),
        _ => Ok(()),
    }
}

/// The number of rows of the tables below a plan, if all of them tell.
fn rows(plan: &LogicalPlan) -> Option<usize> {
    let mut rows = Some(0usize);
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let table = source_as_provider(&scan.source).ok();
            let own = table.and_then(|t| t.statistics()).and_then(|s| s.num_rows.get_value().copied());
            rows = rows.zip(own).map(|(sum, own)| sum.saturating_add(own));
        }
        Ok(if rows.is_some() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })
    .expect("looking at a plan does not fail");
    rows
}
