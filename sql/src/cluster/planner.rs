//! The parts of planning before and after the division of an execution plan into stages.

use crate::guard::guard_scans;
use crate::spread::{ClusterSize, PartitionExec, SpreadExec};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};
use datafusion_distributed::{
    BroadcastExec, DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExec, NetworkBoundaryExt,
    WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, display_plan_ascii,
};
use std::fmt;
use std::sync::Arc;

/// A function that changes an execution plan.
type PlanChange = fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>;

/// A planner that changes the execution plans of another planner.
pub(super) struct ChangingPlanner {
    pub(super) planner: Arc<dyn QueryPlanner + Send + Sync>,
    pub(super) change: PlanChange,
}

impl fmt::Debug for ChangingPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangingPlanner").field("planner", &self.planner).finish_non_exhaustive()
    }
}

#[async_trait]
impl QueryPlanner for ChangingPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        (self.change)(self.planner.create_physical_plan(plan, session).await?)
    }
}

/// A planner whose explanations show the stages of a plan.
#[derive(Debug)]
pub(super) struct ExplainingPlanner(pub(super) Arc<dyn QueryPlanner + Send + Sync>);

#[async_trait]
impl QueryPlanner for ExplainingPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let execution_plan = self.0.create_physical_plan(plan, session).await?;
        let (LogicalPlan::Explain(explain), Some(rows)) = (plan, execution_plan.downcast_ref::<ExplainExec>()) else {
            return Ok(execution_plan);
        };
        // The explained plan is not divided into stages.
        let divided = self.0.create_physical_plan(&explain.plan, session).await?;
        if !divided.is::<DistributedExec>() {
            return Ok(execution_plan);
        }
        let with_stages = |row: &StringifiedPlan| match row.plan_type {
            PlanType::FinalPhysicalPlan => {
                StringifiedPlan::new(PlanType::FinalPhysicalPlan, display_plan_ascii(divided.as_ref(), false))
            }
            _ => row.clone(),
        };
        let rows_with_stages = rows.stringified_plans().iter().map(with_stages).collect();
        Ok(Arc::new(ExplainExec::new(rows.schema(), rows_with_stages, rows.verbose())))
    }
}

/// Broadcasts the inputs that each partition of a region reads whole, if the region has several
/// partitions.
pub(super) fn broadcast_whole_inputs(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let broadcast = |plan: Arc<dyn ExecutionPlan>| {
        let Some(partitions) = plan.downcast_ref::<PartitionExec>() else { return Ok(Transformed::no(plan)) };
        if plan.output_partitioning().partition_count() == 1 {
            return Ok(Transformed::no(plan));
        }
        let inputs = (0..).zip(plan.children()).map(|(k, input)| {
            if !partitions.reads_whole(k) {
                return input.clone();
            }
            let coalesce = input.downcast_ref::<CoalescePartitionsExec>();
            let rows = coalesce.map_or(input, CoalescePartitionsExec::input);
            // The number of consumers is set when the plan is divided into stages.
            let broadcast = Arc::new(BroadcastExec::new(rows.clone(), 1));
            let fetch = coalesce.and_then(ExecutionPlan::fetch);
            Arc::new(CoalescePartitionsExec::new(broadcast).with_fetch(fetch)) as Arc<dyn ExecutionPlan>
        });
        let plan: Arc<dyn ExecutionPlan> = Arc::new(partitions.with_inputs(inputs.collect()));
        Ok(Transformed::yes(plan))
    };
    plan.transform_up(broadcast).data()
}

/// Guards the scans that run in the coordinator. Workers guard the scans of their own tasks.
pub(super) fn guard_coordinator(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<DistributedExec>() { with_children(plan, guard_above_boundaries) } else { guard_scans(plan) }
}

/// Guards the scans above the boundaries of stages, which run in the coordinator.
fn guard_above_boundaries(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is_network_boundary() {
        Ok(plan)
    } else if plan.children().is_empty() {
        guard_scans(plan)
    } else {
        with_children(plan, guard_above_boundaries)
    }
}

fn with_children(plan: Arc<dyn ExecutionPlan>, change: PlanChange) -> Result<Arc<dyn ExecutionPlan>> {
    let children = plan.children().into_iter().map(|child| change(child.clone())).collect::<Result<Vec<_>>>()?;
    plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// Guards the scans of a task.
///
/// # Errors
/// The errors of [`guard_scans`].
pub(super) fn guard_task(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    Ok(WorkerPlanRewriteEventResponse::new(guard_scans(event.plan)?))
}

/// Returns the number of tasks of the nodes of regions: one per worker for a region in partitions,
/// and one for a whole region and for the merge of partitions. Returns `None` for other nodes.
pub(super) fn tasks_of_region(event: &DesiredTaskCountEvent<'_>) -> Option<DesiredTaskCountEventResponse> {
    if event.plan.is::<SpreadExec>() {
        return Some(DesiredTaskCountEventResponse::maximum(1));
    }
    event.plan.is::<PartitionExec>().then(|| match event.plan.output_partitioning().partition_count() {
        1 => DesiredTaskCountEventResponse::maximum(1),
        _ => DesiredTaskCountEventResponse::desired(ClusterSize::workers(event.session_config)),
    })
}

/// Refuses scalar subqueries that may have several rows. On a cluster, DataFusion joins the rows of
/// such a subquery instead of checking that there is one.
#[derive(Debug)]
pub(super) struct RefuseSeveralRows;

impl AnalyzerRule for RefuseSeveralRows {
    fn name(&self) -> &'static str {
        "refuse_several_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let check = |part: &Expr| match part {
            Expr::ScalarSubquery(Subquery { subquery, outer_ref_columns, .. })
                if outer_ref_columns.is_empty() && subquery.max_rows() != Some(1) =>
            {
                Err(DataFusionError::Plan(
                    "a scalar subquery may have several rows, which a cluster cannot check; add `LIMIT 1`, or an \
                     aggregate such as `max(..)`"
                        .into(),
                ))
            }
            _ => Ok(TreeNodeRecursion::Continue),
        };
        plan.apply_with_subqueries(|node| node.apply_expressions(|expr| expr.apply(check)))?;
        Ok(plan)
    }
}
