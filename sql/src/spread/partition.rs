//! The execution plan of the partitions of a region.

use super::cells::rows_by_cell;
use super::key::{DividedRegion, PartitionInput, PartitionRows};
use super::verdict::verdict_as_text;
use crate::columns::{InputRows, read_input, read_rows};
use crate::error::Error;
use crate::memory::{Allowance, CancelOnDrop, Evict};
use crate::metrics::Metrics;
use crate::options::TargetChoice;
use crate::policy::Cache;
use crate::program;
use crate::run::{RegionResult, RegionRunner, read_error};
use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use tokio::sync::{OnceCell, Semaphore};

/// The execution plan of a region whose inputs are divided into partitions. Each output partition
/// has the rows of the region over one partition of the inputs.
#[derive(Debug)]
pub(crate) struct PartitionExec {
    runner: RegionRunner,
    divided: Arc<DividedRegion>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    cache: Arc<Cache>,
    /// The target of the kernels on workers.
    target: TargetChoice,
    /// Whether the plan runs on a worker, which sends errors as text.
    is_on_worker: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    shared: Arc<SharedState>,
}

/// The state that the partitions of one plan share.
#[derive(Debug)]
struct SharedState {
    /// The rows of each input that all partitions read whole.
    whole: Vec<OnceCell<InputRows>>,
    /// The allowance of the rows of whole inputs.
    allowance: OnceCell<Allowance>,
    /// The permits of partitions that read and run at once.
    permits: Semaphore,
}

impl PartitionExec {
    /// Returns the plan over the given inputs, one for each of [`DividedRegion::inputs`].
    pub(crate) fn new(
        runner: RegionRunner,
        divided: Arc<DividedRegion>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        (cache, target): (Arc<Cache>, TargetChoice),
    ) -> PartitionExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(runner.schema.clone()),
            Partitioning::UnknownPartitioning(partition_count(&divided.division.inputs, &inputs)),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let permits = available_parallelism().map_or(1, usize::from);
        let shared = SharedState {
            whole: inputs.iter().map(|_| OnceCell::new()).collect(),
            allowance: OnceCell::new(),
            permits: Semaphore::new(permits),
        };
        PartitionExec {
            runner,
            divided,
            inputs,
            cache,
            target,
            is_on_worker: false,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            shared: Arc::new(shared),
        }
    }

    /// Returns the plan on a worker.
    #[cfg(feature = "cluster")]
    pub(crate) fn on_worker(self) -> PartitionExec {
        PartitionExec { is_on_worker: true, ..self }
    }

    /// Returns the same plan over other inputs.
    pub(crate) fn with_inputs(&self, inputs: Vec<Arc<dyn ExecutionPlan>>) -> PartitionExec {
        let state = (self.cache.clone(), self.target.clone());
        let plan = PartitionExec::new(self.runner.clone(), self.divided.clone(), inputs, state);
        PartitionExec { is_on_worker: self.is_on_worker, ..plan }
    }

    /// Returns the region of one partition, with its engine.
    #[cfg(feature = "cluster")]
    pub(crate) fn runner(&self) -> &RegionRunner {
        &self.runner
    }

    /// Returns whether each partition reads all rows of an input.
    #[cfg(feature = "cluster")]
    pub(crate) fn reads_whole(&self, input: usize) -> bool {
        hashed_column(&self.divided.division.inputs[input], &self.inputs[input]).is_none()
    }

    /// Returns the target of the kernels on workers.
    #[cfg(feature = "cluster")]
    pub(crate) fn target(&self) -> &TargetChoice {
        &self.target
    }

    /// Returns the division of the region.
    #[cfg(feature = "cluster")]
    pub(crate) fn divided(&self) -> &DividedRegion {
        &self.divided
    }

    fn job(&self, partition: usize, context: Arc<TaskContext>) -> PartitionJob {
        PartitionJob {
            runner: self.runner.clone(),
            divided: self.divided.clone(),
            inputs: self.inputs.clone(),
            is_partitioned: self.properties.partitioning.partition_count() > 1,
            is_on_worker: self.is_on_worker,
            cache: self.cache.clone(),
            shared: self.shared.clone(),
            metrics: Metrics(self.metrics.clone()),
            partition,
            context,
        }
    }
}

/// Returns the column whose hash decides the partition of the rows of an input; `None` if each
/// partition reads all rows.
fn hashed_column(input: &PartitionInput, plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    match &input.rows {
        PartitionRows::All => None,
        PartitionRows::OfKey(column) => Some(*column),
        // The column that a `ReplicateExec` adds.
        PartitionRows::OfCell(_) => plan.schema().fields().len().checked_sub(1),
    }
}

/// Returns the number of partitions of the divided inputs. Returns 1 if these inputs are not all
/// hashed into the same number of partitions; then one partition reads all rows.
fn partition_count(inputs: &[PartitionInput], plans: &[Arc<dyn ExecutionPlan>]) -> usize {
    let hashed = inputs.iter().zip(plans).filter_map(|(input, plan)| Some((hashed_column(input, plan)?, plan)));
    let counts = hashed.map(|(key, plan)| match &plan.properties().partitioning {
        Partitioning::Hash(exprs, count) => match &exprs[..] {
            [expr] if expr.downcast_ref::<Column>().is_some_and(|column| column.index() == key) => *count,
            _ => 1,
        },
        _ => 1,
    });
    let counts: Vec<usize> = counts.collect();
    if counts.windows(2).all(|pair| pair[0] == pair[1]) { counts.first().copied().unwrap_or(1) } else { 1 }
}

impl DisplayAs for PartitionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = &self.runner.region.join;
        let count = self.properties.partitioning.partition_count();
        write!(f, "RedpollPartitionExec: {}, ", program::describe(&self.runner.region))?;
        if self.divided.division.fields.is_empty() {
            return f.write_str("one partition");
        }
        write!(f, "{count} partitions by ")?;
        for (k, (field, parts)) in self.divided.division.fields.iter().enumerate() {
            let separator = if k == 0 { "" } else { ", " };
            write!(f, "{separator}`{}`", join.fields[*field].name)?;
            if *parts > 0 {
                write!(f, " in {parts}")?;
            }
        }
        Ok(())
    }
}

impl ExecutionPlan for PartitionExec {
    fn name(&self) -> &str {
        "RedpollPartitionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let inputs = self.divided.division.inputs.iter().zip(&self.inputs);
        let requirements = inputs.map(|(input, plan)| match hashed_column(input, plan) {
            Some(key) => {
                let column = Column::new(plan.schema().field(key).name(), key);
                Distribution::KeyPartitioned(vec![Arc::new(column) as Arc<dyn PhysicalExpr>])
            }
            None => Distribution::SinglePartition,
        });
        InputDistributionRequirements::new(requirements.collect())
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.with_inputs(inputs)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = stream::once(self.job(partition, context).run()).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}

/// The work of one partition.
struct PartitionJob {
    runner: RegionRunner,
    divided: Arc<DividedRegion>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    /// False if this partition reads all rows.
    is_partitioned: bool,
    is_on_worker: bool,
    cache: Arc<Cache>,
    shared: Arc<SharedState>,
    metrics: Metrics,
    partition: usize,
    context: Arc<TaskContext>,
}

impl PartitionJob {
    /// Reads the rows of the partition and runs the region over them. The memory of the results
    /// stays reserved until the stream is dropped.
    async fn run(self) -> Result<stream::BoxStream<'static, Result<RecordBatch>>> {
        let permit =
            || async { self.shared.permits.acquire().await.map_err(|e| DataFusionError::External(Box::new(e))) };
        // On a worker, all partitions read at once: their rows share connections, which are blocked
        // while one of the partitions waits.
        let before = if self.is_on_worker { None } else { Some(permit().await?) };
        let cancelled = Arc::<AtomicBool>::default();
        let cancel = CancelOnDrop(cancelled.clone());
        let encoding = self.allowance(&cancelled);
        let inputs = (0..self.inputs.len()).map(|k| self.rows(k, &encoding));
        let inputs = try_join_all(inputs).await;
        let _permit = match before {
            Some(permit) => permit,
            None => permit().await?,
        };
        let (runner, divided) = (self.runner.clone(), self.divided.clone());
        let allowances = {
            let (context, cache) = (self.context.clone(), self.cache.clone());
            move || Allowance::from_pool(context.memory_pool(), cache.clone(), cancelled.clone())
        };
        let work = move || {
            let cells = rows_by_cell(&divided.division.inputs, inputs.map_err(read_error)?, &encoding)?;
            let run = |rows: Vec<InputRows>| {
                let prepared = Arc::new(runner.prepare(&rows, &encoding)?);
                drop(rows);
                runner.run(&prepared, allowances())
            };
            cells.into_iter().map(run).collect::<Result<Vec<RegionResult>, Error>>()
        };
        let outcome = tokio::task::spawn_blocking(work).await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        drop(cancel);
        let results = outcome.map_err(|error| match error {
            Error::Fallback(reason) if self.is_on_worker => verdict_as_text(&reason),
            error => error.into(),
        })?;
        let mut slices = Vec::new();
        for result in &results {
            self.metrics.add_time("encode_time", result.prepared.encode_time);
            self.metrics.add_result(result);
            slices.extend(result.slices(self.context.session_config().batch_size()));
        }
        let divided = self.divided.clone();
        let reserved = move |batch| {
            let _ = &results;
            with_nulls(batch, &divided.division.null_if_zero)
        };
        Ok(stream::iter(slices.into_iter().map(reserved)).boxed())
    }

    fn allowance(&self, cancelled: &Arc<AtomicBool>) -> Allowance {
        let cache: Arc<dyn Evict> = self.cache.clone();
        Allowance::from_pool(self.context.memory_pool(), cache, cancelled.clone())
    }

    /// Returns the rows of an input that the partition reads.
    async fn rows(&self, k: usize, allowance: &Allowance) -> Result<InputRows> {
        let plan = &self.inputs[k];
        match hashed_column(&self.divided.division.inputs[k], plan) {
            Some(_) if self.is_partitioned => {
                let rows = plan.execute(self.partition, self.context.clone())?;
                Ok(read_rows(rows, allowance).await?.into())
            }
            Some(_) => {
                let rows = datafusion::physical_plan::execute_stream(plan.clone(), self.context.clone())?;
                Ok(read_rows(rows, allowance).await?.into())
            }
            None => {
                let never = Arc::<AtomicBool>::default();
                let allowance = self.shared.allowance.get_or_init(|| async { self.allowance(&never) }).await;
                let table = (&self.cache.columns, None);
                let read = || read_input(plan, &self.context, table, allowance);
                Ok(self.shared.whole[k].get_or_try_init(read).await?.clone())
            }
        }
    }
}

/// Returns a batch with NULL in place of 0 in the given columns of counts.
fn with_nulls(batch: RecordBatch, columns: &[usize]) -> Result<RecordBatch> {
    if columns.is_empty() {
        return Ok(batch);
    }
    let mut arrays = batch.columns().to_vec();
    for &k in columns {
        let zero = ScalarValue::new_zero(arrays[k].data_type())?.to_scalar()?;
        arrays[k] = nullif(&arrays[k], &eq(&arrays[k], &zero)?)?;
    }
    Ok(RecordBatch::try_new(batch.schema(), arrays)?)
}
