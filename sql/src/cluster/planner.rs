//! The parts of planning before and after the division of an execution plan into stages.

use crate::guard::guard_scans;
use crate::spread::PartitionExec;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_distributed::{
    BroadcastExec, DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExec, WorkerPlanRewriteEvent,
    WorkerPlanRewriteEventResponse,
};
use std::fmt;
use std::sync::Arc;

/// A planner that changes the execution plans of another planner.
pub(super) struct ChangingPlanner {
    pub(super) planner: Arc<dyn QueryPlanner + Send + Sync>,
    pub(super) change: fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
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
            let rows = input.downcast_ref::<CoalescePartitionsExec>().map_or(input, CoalescePartitionsExec::input);
            // The number of consumers is set when the plan is divided into stages.
            Arc::new(CoalescePartitionsExec::new(Arc::new(BroadcastExec::new(rows.clone(), 1))))
                as Arc<dyn ExecutionPlan>
        });
        let plan: Arc<dyn ExecutionPlan> = Arc::new(partitions.with_inputs(inputs.collect()));
        Ok(Transformed::yes(plan))
    };
    plan.transform_up(broadcast).data()
}

/// Guards the scans of a plan that runs in the coordinator alone. Workers guard the scans of their
/// own tasks.
pub(super) fn guard_undivided(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<DistributedExec>() { Ok(plan) } else { guard_scans(plan) }
}

/// Guards the scans of a task.
///
/// # Errors
/// The errors of [`guard_scans`].
pub(super) fn guard_task(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    Ok(WorkerPlanRewriteEventResponse::new(guard_scans(event.plan)?))
}

/// Returns the number of tasks of a region in partitions: one per worker. Returns `None` for other
/// nodes.
pub(super) fn tasks_of_region(
    event: &DesiredTaskCountEvent<'_>,
    workers: usize,
) -> Option<DesiredTaskCountEventResponse> {
    let is_divided = event.plan.is::<PartitionExec>() && event.plan.output_partitioning().partition_count() > 1;
    is_divided.then(|| DesiredTaskCountEventResponse::desired(workers))
}
