//! Claiming: the regions of plans, or the reason why an aggregate is not a region.

mod build;
mod builder;
mod computed;
mod contradiction;
mod grouped_join;
mod join;
mod leaves;
mod origin;
mod reason;
mod region;
mod single_input;
mod terms;
mod types;

pub(crate) use builder::RegionBuilder;
pub use grouped_join::{
    ColumnInfo, Combinations, Comparison, FieldId, GroupColumn, GroupedJoin, Leaf, LeafColumn, LeafId, LeafRole,
    LeafSource, Mask, NullTreatment, OuterJoin, RegionField,
};
pub use reason::UnclaimedReason;
pub use region::{Claim, Region};
pub(crate) use terms::{ExprCase, is_never_null, split_terms, split_validity};
pub(crate) use types::is_ordered;

use datafusion::logical_expr::LogicalPlan;
use single_input::single_input_reason;

/// Builds the region of the top node of a plan that DataFusion has optimized.
///
/// # Errors
/// The reason why the node cannot be claimed.
///
/// ```
/// use redpoll_sql::claim::{UnclaimedReason, claim_aggregate};
/// use redpoll_sql::datafusion::logical_expr::LogicalPlan;
/// use redpoll_sql::datafusion::prelude::SessionContext;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = SessionContext::new();
/// context.sql("CREATE TABLE t (k BIGINT, v BIGINT) AS VALUES (1, 10), (1, 20)").await?.collect().await?;
/// let join = context.sql("SELECT a.k, sum(b.v) FROM t a JOIN t b ON a.k = b.k GROUP BY a.k").await?;
/// let plan = join.into_optimized_plan()?;
/// let mut node = &plan;
/// while !matches!(node, LogicalPlan::Aggregate(_)) {
///     node = node.inputs()[0];
/// }
/// let region = claim_aggregate(node).expect("an aggregate over a join").region;
/// assert_eq!((region.join.leaves.len(), region.join.groups.len(), region.aggregates.len()), (2, 1, 1));
///
/// let scan = context.table("t").await?.into_optimized_plan()?;
/// assert!(matches!(claim_aggregate(&scan), Err(UnclaimedReason::Node(_))));
/// # Ok(())
/// # }
/// ```
pub fn claim_aggregate(plan: &LogicalPlan) -> Result<Claim, UnclaimedReason> {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return Err(UnclaimedReason::Node(plan.display().to_string()));
    };
    let claim = build::build_claim(aggregate)?;
    let join = &claim.region.join;
    if join.leaves.len() < 2 && !join.has_tensors() {
        return Err(claim.unflattened.into_iter().next().unwrap_or_else(|| single_input_reason(&aggregate.input)));
    }
    Ok(claim)
}
