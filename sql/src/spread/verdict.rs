//! The execution plan that returns the merged rows of a region in partitions, or leaves the region
//! to DataFusion.

use crate::error::{Error, FallbackReason};
use crate::metrics::Metrics;
use crate::policy::{Cache, Fallback};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// The execution plan of a region in partitions. It reads all merged rows before it returns the
/// first one: if the rows of one partition must be left to DataFusion, all are.
#[derive(Debug)]
pub(crate) struct SpreadExec {
    merged: Arc<dyn ExecutionPlan>,
    fallback: Fallback,
    cache: Arc<Cache>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SpreadExec {
    /// Returns the plan over the merged rows; its own rows have the given schema.
    pub(crate) fn new(
        merged: Arc<dyn ExecutionPlan>,
        fallback: Fallback,
        cache: Arc<Cache>,
        schema: SchemaRef,
    ) -> SpreadExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        SpreadExec { merged, fallback, cache, schema, properties: Arc::new(properties), metrics }
    }
}

impl DisplayAs for SpreadExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedpollSpreadExec: partitions of a region, merged")
    }
}

impl ExecutionPlan for SpreadExec {
    fn name(&self) -> &str {
        "RedpollSpreadExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.merged]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let merged = inputs.pop().filter(|_| inputs.is_empty());
        let merged = merged.ok_or_else(|| DataFusionError::Internal("a region in partitions has one input".into()))?;
        let (fallback, cache) = (self.fallback.clone(), self.cache.clone());
        Ok(Arc::new(SpreadExec::new(merged, fallback, cache, self.schema.clone())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.merged.execute(0, context.clone())?;
        let (fallback, cache, schema) = (self.fallback.clone(), self.cache.clone(), self.schema.clone());
        let metrics = Metrics(self.metrics.clone());
        let answer = async move {
            match read_merged(rows, &schema, &context).await {
                Ok(batches) => Ok(batches),
                Err(error) => {
                    let Some(reason) = fallback_reason(&error) else { return Err(error) };
                    metrics.add_count("left_to_datafusion", 1);
                    fallback.record(&cache, reason, &context);
                    Ok(fallback.stream(schema, context).await?.boxed())
                }
            }
        };
        let batches = stream::once(answer).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches)))
    }
}

/// Reads all rows, and gives them the names and nullability of a schema. The memory of the rows
/// stays reserved until the stream is dropped.
async fn read_merged(
    mut rows: SendableRecordBatchStream,
    schema: &SchemaRef,
    context: &Arc<TaskContext>,
) -> Result<stream::BoxStream<'static, Result<RecordBatch>>> {
    let reservation = MemoryConsumer::new("redpoll: rows of partitions").register(context.memory_pool());
    let mut batches = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        reservation.try_grow(batch.get_array_memory_size())?;
        batches.push(RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?);
    }
    let reserved = move |batch| {
        let _ = &reservation;
        Ok(batch)
    };
    Ok(stream::iter(batches.into_iter().map(reserved)).boxed())
}

/// Returns the reason why the rows of a partition must be left to DataFusion, if this is the cause
/// of an error.
fn fallback_reason(error: &DataFusionError) -> Option<&FallbackReason> {
    let DataFusionError::External(source) = error.find_root() else { return None };
    match source.downcast_ref::<Error>() {
        Some(Error::Fallback(reason)) => Some(reason),
        _ => None,
    }
}
