//! Claiming: regions, and the optimizer rule that puts them into plans.

mod build;
mod contradiction;
mod cost;
mod join;
mod leaves;
mod origin;
mod reason;
mod region;
mod sums;
mod types;

pub use build::Claim;
pub(crate) use cost::{rows, rows_of};
pub use reason::UnclaimedReason;
pub use region::{
    Aggregate, ColumnInfo, Comparison, Condition, Extremum, FieldId, GroupColumn, Leaf, LeafColumn, LeafId, LeafRole,
    LeafSource, Mask, NarrowSum, NullTreatment, OuterJoin, Region, RegionField, SumCase, SumOfProducts, SumTerm,
};

pub use crate::number::Number;
pub use crate::table::{ModeRange, TensorColumn};

use crate::cache::Cache;
use crate::node::RegionNode;
use crate::options::{Policy, RedpollOptions};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Builds the region of the top node of a plan.
///
/// # Errors
/// The reason why the node cannot be claimed.
pub fn claim_aggregate(plan: &LogicalPlan) -> Result<Claim, UnclaimedReason> {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return Err(UnclaimedReason::Node(plan.display().to_string()));
    };
    let claim = build::build_claim(aggregate)?;
    let tensors = claim.region.leaves.iter().any(|leaf| matches!(leaf.source, LeafSource::Tensor { .. }));
    if claim.region.leaves.len() < 2 && !tensors {
        return Err(claim.unflattened.into_iter().next().unwrap_or(UnclaimedReason::SingleTable));
    }
    Ok(claim)
}

/// Like [`claim_aggregate`], under the options of a session.
fn claim_with_options(plan: &LogicalPlan, options: &RedpollOptions, cache: &Cache) -> Result<Claim, UnclaimedReason> {
    if !options.enabled {
        return Err(UnclaimedReason::Disabled);
    }
    let claim = claim_aggregate(plan)?;
    if let Some(reason) = cache.fallback_reason(plan, options.engine) {
        return Err(UnclaimedReason::Fallback(reason));
    }
    match options.claim {
        Policy::Always => Ok(claim),
        Policy::Cost => cost::check_cost(&claim).map(|()| claim),
    }
}

/// Returns the options of redpoll in a configuration.
pub(crate) fn options(config: &ConfigOptions) -> RedpollOptions {
    config.extensions.get::<RedpollOptions>().cloned().unwrap_or_default()
}

/// Returns every aggregate of an optimized plan that was not claimed, with the reason.
pub(crate) fn unclaimed_aggregates(
    plan: &LogicalPlan,
    config: &ConfigOptions,
    cache: &Cache,
) -> Vec<(String, UnclaimedReason)> {
    let options = options(config);
    let mut unclaimed = Vec::new();
    plan.apply(|node| {
        if let LogicalPlan::Aggregate(_) = node
            && let Err(reason) = claim_with_options(node, &options, cache)
        {
            unclaimed.push((node.display().to_string(), reason));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .expect("visiting a plan cannot fail");
    unclaimed
}

/// The optimizer rule that replaces the largest regions that can be claimed by one node each. It
/// runs after DataFusion's own rules, which have found join conditions and pushed filters into
/// scans.
#[derive(Clone, Default, Debug)]
pub struct ClaimRegions {
    /// The regions that earlier runs left to DataFusion.
    pub(crate) cache: Arc<Cache>,
}

impl OptimizerRule for ClaimRegions {
    fn name(&self) -> &'static str {
        "claim_regions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(_) = &plan else { return Ok(Transformed::no(plan)) };
        match claim_with_options(&plan, &options(&config.options()), &self.cache) {
            Ok(claim) => Ok(Transformed::yes(RegionNode::plan(claim, plan))),
            Err(_) => Ok(Transformed::no(plan)),
        }
    }
}
