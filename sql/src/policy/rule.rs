//! The optimizer rule that puts regions into plans. The rule claims the regions that can be claimed
//! and were not left to DataFusion before. With `redpoll.claim = 'cost'`, a region must also be
//! estimated to pay, unless DataFusion cannot run its plan.

use super::cache::Cache;
use super::claim_cost::check_cost;
use crate::claim::{Claim, UnclaimedReason, claim_aggregate};
use crate::node::RegionNode;
use crate::options::{Policy, RedpollOptions};
use crate::run_ends::check_outer_joins;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// The optimizer rule that replaces each claimed region by one node, the outermost regions first.
/// The rule runs after DataFusion's own rules, which have found join conditions and pushed filters
/// into scans.
#[derive(Clone, Default, Debug)]
pub struct ClaimRegions {
    /// The cache, which also knows the regions that earlier runs left to DataFusion.
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
        match claim_with_options(&plan, &RedpollOptions::of(&config.options()), &self.cache) {
            Ok(claim) => Ok(Transformed::yes(RegionNode::plan(claim, plan))),
            Err(_) => Ok(Transformed::no(plan)),
        }
    }
}

/// Returns the aggregates of an optimized plan that were not claimed, each with the reason.
pub(crate) fn unclaimed_aggregates(
    plan: &LogicalPlan,
    config: &ConfigOptions,
    cache: &Cache,
) -> Vec<(String, UnclaimedReason)> {
    let options = RedpollOptions::of(config);
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

/// Claims an aggregate as [`claim_aggregate`] does, under the options of a session.
fn claim_with_options(plan: &LogicalPlan, options: &RedpollOptions, cache: &Cache) -> Result<Claim, UnclaimedReason> {
    if !options.enabled {
        return Err(UnclaimedReason::Disabled);
    }
    let claim = claim_aggregate(plan)?;
    if let Some(reason) = cache.fallback_reason(plan, &options.engine) {
        return Err(UnclaimedReason::Fallback(reason));
    }
    match options.claim {
        Policy::Cost if check_outer_joins(plan).is_ok() => check_cost(&claim).map(|()| claim),
        // Redpoll alone can run a plan that fails `check_outer_joins`, so its cost does not matter.
        Policy::Cost | Policy::Always => Ok(claim),
    }
}
