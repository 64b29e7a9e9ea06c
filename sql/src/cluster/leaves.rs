//! Scans of tables in memory and of tensors, of which each task reads a share of the rows.

use crate::table::{ScanPart, TensorScan, share_of};
use datafusion::common::stats::Precision;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec, ScaleUpLeafNodeEvent,
    ScaleUpLeafNodeEventResponse,
};
use std::sync::Arc;

/// The least number of rows of a task, so that sending a task does not take longer than its work.
const ROWS_PER_TASK: usize = 8192;

/// Returns the number of tasks that read a table in memory or a tensor; `None` for other plans.
pub(super) fn tasks_of_leaf(event: &DesiredTaskCountEvent<'_>) -> Option<DesiredTaskCountEventResponse> {
    share(event.plan, (0, 1))?.ok()?;
    let statistics = StatisticsContext::new().compute(event.plan.as_ref(), &StatisticsArgs::new()).ok()?;
    let rows = match statistics.num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => rows,
        Precision::Absent => 0,
    };
    Some(DesiredTaskCountEventResponse::desired(rows.div_ceil(ROWS_PER_TASK).max(1)))
}

/// Divides a table in memory or a tensor among the tasks of its stage. Returns `None` for other
/// plans.
pub(super) fn divide_leaf(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let ScaleUpLeafNodeEvent { plan, task_count, .. } = event;
    let shares = (0..task_count).map(|k| share(plan, (k, task_count)));
    let shares = shares.collect::<Option<Result<Vec<_>>>>()?;
    let divided = shares.and_then(|shares| DistributedLeafExec::try_new(plan.clone(), shares));
    Some(divided.map(|plan| ScaleUpLeafNodeEventResponse::new(Arc::new(plan))))
}

/// Returns the scan of a share of the rows (see [`ScanPart::share`]). Returns `None` for scans of
/// files, for scans with a limit, and for plans that are no scans.
fn share(plan: &Arc<dyn ExecutionPlan>, share: (usize, usize)) -> Option<Result<Arc<dyn ExecutionPlan>>> {
    if plan.fetch().is_some() {
        return None;
    }
    if let Some(scan) = plan.downcast_ref::<TensorScan>() {
        let part = ScanPart { share, ..scan.part().clone() };
        return Some(TensorScan::of_part(scan.table().clone(), part).map(|scan| Arc::new(scan) as _));
    }
    let memory = plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<MemorySourceConfig>()?;
    Some(share_of_batches(memory, share))
}

/// Returns the scan of a share of each batch of each partition, so that the rows of a partition
/// stay in their order.
fn share_of_batches(memory: &MemorySourceConfig, share: (usize, usize)) -> Result<Arc<dyn ExecutionPlan>> {
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
