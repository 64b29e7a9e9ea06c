//! Scans of tables in memory, of which each task reads a share of the rows.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec, ScaleUpLeafNodeEvent,
    ScaleUpLeafNodeEventResponse,
};
use std::ops::Range;
use std::sync::Arc;

/// The number of rows of a task. With fewer rows, sending a task would take longer than its work.
const ROWS_PER_TASK: usize = 8192;

/// Returns the number of tasks that read a table in memory; `None` for other plans.
pub(super) fn tasks_of_leaf(event: &DesiredTaskCountEvent<'_>) -> Option<DesiredTaskCountEventResponse> {
    let memory = divisible(event.plan)?;
    let rows: usize = memory.partitions().iter().flatten().map(RecordBatch::num_rows).sum();
    Some(DesiredTaskCountEventResponse::desired(rows.div_ceil(ROWS_PER_TASK).max(1)))
}

/// Divides a table in memory among the tasks of its stage. Leaves a stage with one task as it is.
/// Returns `None` for other plans.
pub(super) fn divide_leaf(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let ScaleUpLeafNodeEvent { plan, task_count, .. } = event;
    if task_count == 1 {
        return Some(Ok(ScaleUpLeafNodeEventResponse::new(plan.clone())));
    }
    let memory = divisible(plan)?;
    let shares = (0..task_count).map(|k| share(memory, (k, task_count))).collect::<Result<Vec<_>>>();
    let divided = shares.and_then(|shares| DistributedLeafExec::try_new(plan.clone(), shares));
    Some(divided.map(|plan| ScaleUpLeafNodeEventResponse::new(Arc::new(plan))))
}

/// Returns the rows of a plan that can be divided among tasks: those of a table in memory with
/// several partitions. The nodes above a plan with one partition may need all rows in one place,
/// for example to sort them.
fn divisible(plan: &Arc<dyn ExecutionPlan>) -> Option<&MemorySourceConfig> {
    let memory = plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<MemorySourceConfig>()?;
    // The order of a projected table is stated for its projected columns.
    let is_ordered = memory.projection().is_some() && !memory.sort_information().is_empty();
    (memory.partitions().len() > 1 && plan.fetch().is_none() && !is_ordered).then_some(memory)
}

/// Returns the range of number `k` of `n` shares of `count` rows.
fn share_of(count: usize, (k, n): (usize, usize)) -> Range<usize> {
    let bound = |k: usize| (count as u128 * k as u128 / n as u128) as usize;
    bound(k)..bound(k + 1)
}

/// Returns the scan of a share of each batch of each partition, so that the rows of a partition
/// stay in their order.
fn share(memory: &MemorySourceConfig, share: (usize, usize)) -> Result<Arc<dyn ExecutionPlan>> {
    let partitions = memory.partitions().iter().map(|batches| {
        let slices = batches.iter().map(|batch| {
            let rows = share_of(batch.num_rows(), share);
            batch.slice(rows.start, rows.len())
        });
        slices.filter(|slice| slice.num_rows() > 0).collect()
    });
    let partitions: Vec<Vec<_>> = partitions.collect();
    let source = MemorySourceConfig::try_new(&partitions, memory.original_schema(), memory.projection().clone())?;
    let source = source.try_with_sort_information(memory.sort_information().to_vec())?;
    Ok(DataSourceExec::from_data_source(source))
}
