//! The execution plan that returns the merged rows of a region in partitions, or leaves the region
//! to DataFusion.

use crate::error::{Error, FallbackReason};
use crate::metrics::Metrics;
use crate::policy::{Cache, Fallback, with_schema};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
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
    datafusion_plan: DataFusionPlan,
    cache: Arc<Cache>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// DataFusion's own plan of a region.
#[derive(Clone, Debug)]
pub(crate) enum DataFusionPlan {
    /// The logical plan, whose execution plan is built on demand.
    Logical(Fallback),
    /// The execution plan. On a cluster, it is a part of the plan of the query, because workers do
    /// not plan.
    Execution {
        plan: Arc<dyn ExecutionPlan>,
        /// The logical plan; `None` on a worker.
        fallback: Option<Fallback>,
    },
    /// DataFusion cannot run the region on a cluster, because an outer join would pad a run-end
    /// encoded column.
    Refused {
        /// The column.
        column: String,
        /// The type of the column's values.
        ty: DataType,
        /// The logical plan; `None` on a worker.
        fallback: Option<Fallback>,
    },
}

impl DataFusionPlan {
    /// Returns DataFusion's plan of a region on a cluster.
    ///
    /// # Errors
    /// If DataFusion cannot plan the region.
    pub(super) async fn on_cluster(fallback: Fallback, context: &TaskContext) -> Result<DataFusionPlan> {
        let error = match fallback.initial_plan(context).await {
            Ok(plan) => return Ok(DataFusionPlan::Execution { plan, fallback: Some(fallback) }),
            Err(error) => error,
        };
        let cause = match error.find_root() {
            DataFusionError::External(cause) => cause.downcast_ref::<Error>(),
            _ => None,
        };
        let Some(Error::RunEndEncoded { column, ty }) = cause else { return Err(error) };
        Ok(DataFusionPlan::Refused { column: column.clone(), ty: ty.clone(), fallback: Some(fallback) })
    }

    fn fallback(&self) -> Option<&Fallback> {
        match self {
            DataFusionPlan::Logical(fallback) => Some(fallback),
            DataFusionPlan::Execution { fallback, .. } | DataFusionPlan::Refused { fallback, .. } => fallback.as_ref(),
        }
    }

    /// Runs the plan and returns its rows with the given schema.
    async fn stream(&self, schema: SchemaRef, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match self {
            DataFusionPlan::Logical(fallback) => fallback.stream(schema, context).await,
            DataFusionPlan::Execution { plan, .. } => Ok(with_schema(plan.execute(0, context)?, schema)),
            DataFusionPlan::Refused { column, ty, .. } => {
                Err(Error::RunEndEncoded { column: column.clone(), ty: ty.clone() }.into())
            }
        }
    }
}

impl SpreadExec {
    /// Returns the plan over the merged rows; its own rows have the given schema.
    pub(crate) fn new(
        merged: Arc<dyn ExecutionPlan>,
        datafusion_plan: DataFusionPlan,
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
        SpreadExec { merged, datafusion_plan, cache, schema, properties: Arc::new(properties), metrics }
    }

    /// Returns DataFusion's own plan of the region.
    #[cfg(feature = "cluster")]
    pub(crate) fn datafusion_plan(&self) -> &DataFusionPlan {
        &self.datafusion_plan
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
        match &self.datafusion_plan {
            DataFusionPlan::Logical(_) | DataFusionPlan::Refused { .. } => vec![&self.merged],
            DataFusionPlan::Execution { plan, .. } => vec![&self.merged, plan],
        }
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition; self.children().len()])
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut inputs = inputs.into_iter();
        let (merged, plan) = (inputs.next(), inputs.next());
        let (merged, datafusion_plan) = match (merged, plan, &self.datafusion_plan) {
            (Some(merged), None, DataFusionPlan::Logical(_) | DataFusionPlan::Refused { .. }) => {
                (merged, self.datafusion_plan.clone())
            }
            (Some(merged), Some(plan), DataFusionPlan::Execution { fallback, .. }) => {
                (merged, DataFusionPlan::Execution { plan, fallback: fallback.clone() })
            }
            _ => return Err(DataFusionError::Internal("a region in partitions has the wrong number of inputs".into())),
        };
        Ok(Arc::new(SpreadExec::new(merged, datafusion_plan, self.cache.clone(), self.schema.clone())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.merged.execute(0, context.clone())?;
        let (plan, cache, schema) = (self.datafusion_plan.clone(), self.cache.clone(), self.schema.clone());
        let metrics = Metrics(self.metrics.clone());
        let answer = async move {
            match read_merged(rows, &schema, &context).await {
                Ok(batches) => Ok(batches),
                Err(error) => {
                    let Some(reason) = fallback_reason(&error) else { return Err(error) };
                    metrics.add_count("left_to_datafusion", 1);
                    if let Some(fallback) = plan.fallback() {
                        fallback.record(&cache, &reason, &context);
                    }
                    Ok(plan.stream(schema, context).await?.boxed())
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

/// The start of the message of a worker whose rows must be left to DataFusion.
const VERDICT: &str = "redpoll leaves a region to DataFusion: ";

/// Returns the error of a worker whose rows must be left to DataFusion. The error keeps its meaning
/// when it is sent as text.
pub(super) fn verdict_as_text(reason: &FallbackReason) -> DataFusionError {
    DataFusionError::Execution(format!("{VERDICT}{reason}"))
}

/// Returns the reason why the rows of a partition must be left to DataFusion, if this is the cause
/// of an error.
fn fallback_reason(error: &DataFusionError) -> Option<FallbackReason> {
    match error.find_root() {
        DataFusionError::External(source) => match source.downcast_ref::<Error>() {
            Some(Error::Fallback(reason)) => Some(reason.clone()),
            _ => None,
        },
        DataFusionError::Execution(text) => {
            let (_, reason) = text.split_once(VERDICT)?;
            Some(FallbackReason::OnWorker { reason: reason.to_owned() })
        }
        _ => None,
    }
}
