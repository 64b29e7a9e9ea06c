//! The execution of a region: rows of the inputs in, rows of groups out.

use crate::cache::{Cache, Key, Ready};
use crate::claim::{self, Region};
use crate::cost::Estimate;
use crate::decode::decode;
use crate::encode::Encoded;
use crate::engine::Engine;
use crate::error::{Error, Left};
use crate::fallback::Fallback;
use crate::memory::Allowance;
use crate::options::Policy;
use crate::program::{self, Folds};
use crate::sources::Sources;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Runs a region.
#[derive(Debug)]
pub struct RegionExec {
    region: Arc<Region>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    engine: Arc<dyn Engine>,
    cache: Arc<Cache>,
    reuse: Option<Reuse>,
    fallback: Option<Fallback>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What lets a region be encoded once for many runs.
#[derive(Clone, Debug)]
pub(crate) struct Reuse {
    /// What its inputs are made from.
    pub(crate) sources: Sources,
    /// What it is kept under.
    pub(crate) key: Key,
}

impl RegionExec {
    /// The execution of a region over inputs, each in one partition, that gives rows of that schema.
    pub fn new(
        region: Arc<Region>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        schema: SchemaRef,
        engine: Arc<dyn Engine>,
    ) -> RegionExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        let cache = Arc::default();
        let (reuse, fallback, properties) = (None, None, Arc::new(properties));
        RegionExec { region, inputs, engine, cache, reuse, fallback, properties, metrics }
    }

    /// The same execution, which keeps what it has encoded, where that can be told apart, and takes what was kept.
    pub(crate) fn reusing(self, cache: Arc<Cache>, reuse: Option<Reuse>) -> RegionExec {
        RegionExec { cache, reuse, ..self }
    }

    /// The same execution, which has a plan to run where kernels do not fit the rows.
    pub(crate) fn falling_back(self, fallback: Fallback) -> RegionExec {
        RegionExec { fallback: Some(fallback), ..self }
    }
}

impl DisplayAs for RegionExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "RedpollExec: {}", program::show(&self.region))
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "leaves={}", self.region.leaves.len())?;
                writeln!(f, "fields={}", self.region.fields.len())
            }
        }
    }
}

impl ExecutionPlan for RegionExec {
    fn name(&self) -> &str {
        "RedpollExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition; self.inputs.len()])
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.properties.eq_properties.schema().clone();
        let exec = RegionExec::new(self.region.clone(), inputs, schema, self.engine.clone());
        let fallback = self.fallback.clone();
        Ok(Arc::new(RegionExec { fallback, ..exec.reusing(self.cache.clone(), self.reuse.clone()) }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return Err(DataFusionError::Internal(format!("a region has one partition, asked for {partition}")));
        }
        let schema = self.schema();
        let cancelled = Arc::<AtomicBool>::default();
        let allowance = || Allowance::of_pool(context.memory_pool(), self.cache.clone(), cancelled.clone());
        let run = Run {
            region: self.region.clone(),
            engine: self.engine.clone(),
            schema: schema.clone(),
            metrics: Metrics::new(&self.metrics),
            allowance: allowance(),
            policy: claim::options(context.session_config().options()).claim,
        };
        let cancel = CancelOnDrop(cancelled.clone());
        let rows = context.session_config().batch_size();
        let version = self.reuse.as_ref().and_then(|reuse| Some((reuse.clone(), reuse.sources.version()?)));
        let kept = version.as_ref().and_then(|(reuse, version)| self.cache.find(&reuse.key, version));
        let inputs = match &kept {
            Some(_) => Vec::new(),
            None => self.inputs.iter().map(|input| input.execute(0, context.clone())).collect::<Result<_>>()?,
        };
        let (cache, limit, encoding) = (self.cache.clone(), context.memory_pool().memory_limit(), allowance());
        let (fallback, own, task, metrics) =
            (self.fallback.clone(), schema.clone(), context, Metrics::new(&self.metrics));
        let batches = async move {
            let inputs = try_join_all(inputs.into_iter().map(|input| all_rows(input, &encoding))).await;
            let work = move || {
                let inputs = inputs.map_err(read_error)?;
                let ready = match kept {
                    Some(ready) => ready,
                    None => Arc::new(run.prepare(&inputs, &encoding)?),
                };
                let (batch, warm) = run.run(&ready)?;
                let worth = match (run.policy, warm) {
                    (Policy::Cost, Some(took)) => ready.ran(took),
                    _ => Ok(()),
                };
                Ok::<_, Error>((batch, ready, worth, run.allowance))
            };
            let done = tokio::task::spawn_blocking(work).await.map_err(|e| DataFusionError::External(Box::new(e)))?;
            drop(cancel);
            match (done, fallback) {
                (Ok((batch, ready, worth, allowance)), fallback) => {
                    if let (Err(why), Some(fallback)) = (worth, fallback) {
                        fallback.remember(&cache, why);
                    } else if let Some((reuse, version)) = version {
                        cache.keep(reuse.key, version, ready, &limit);
                    }
                    // Rows that are yet to be asked for are still held.
                    let held = move |batch| {
                        let _ = &allowance;
                        Ok(batch)
                    };
                    Ok(stream::iter(slices(&batch, rows).into_iter().map(held)).boxed())
                }
                (Err(Error::Left(why)), Some(fallback)) => {
                    metrics.count("left_to_datafusion", 1);
                    fallback.remember(&cache, why);
                    Ok(fallback.stream(own, task).await?.boxed())
                }
                (Err(error), _) => Err(DataFusionError::from(error)),
            }
        };
        let batches = stream::once(batches).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// Why rows could not be read. What is computed of rows that join nothing may fail without harm.
fn read_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ArrowError(..) | DataFusionError::Execution(_) => {
            Left::Raised { what: error.to_string() }.into()
        }
        _ => Error::Read(Box::new(error)),
    }
}

/// All rows of a stream as one batch.
async fn all_rows(mut stream: SendableRecordBatchStream, allowance: &Allowance) -> Result<RecordBatch> {
    let schema = stream.schema();
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = stream.try_next().await? {
        let size = batch.get_array_memory_size();
        allowance.take("the rows", size)?;
        bytes += size;
        batches.push(batch);
    }
    if let [_] = batches[..] {
        return Ok(batches.swap_remove(0));
    }
    // For a moment there are the parts and the whole.
    allowance.take("the rows", bytes)?;
    let whole = concat_batches(&schema, &batches)?;
    allowance.give_back(2 * bytes);
    allowance.take("the rows", whole.get_array_memory_size())?;
    Ok(whole)
}

/// The batch in pieces of so many rows.
fn slices(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(rows.max(1));
    starts.map(|start| batch.slice(start, rows.min(batch.num_rows() - start))).collect()
}

/// Asks a run to stop when nobody waits for it.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `EXPLAIN ANALYZE` shows.
struct Metrics {
    set: ExecutionPlanMetricsSet,
}

impl Metrics {
    fn new(set: &ExecutionPlanMetricsSet) -> Metrics {
        Metrics { set: set.clone() }
    }

    fn time(&self, name: &'static str, time: Duration) {
        MetricBuilder::new(&self.set).subset_time(name, 0).add_duration(time);
    }

    fn count(&self, name: &'static str, count: usize) {
        MetricBuilder::new(&self.set).counter(name, 0).add(count);
    }
}

/// One run of a region.
struct Run {
    region: Arc<Region>,
    engine: Arc<dyn Engine>,
    schema: SchemaRef,
    metrics: Metrics,
    /// What kernels and results may use.
    allowance: Allowance,
    policy: Policy,
}

impl Run {
    /// Encodes the rows of inputs and makes the program.
    fn prepare(&self, inputs: &[RecordBatch], allowance: &Allowance) -> Result<Ready, Error> {
        let start = Instant::now();
        let encoded = Encoded::new(&self.region, inputs, allowance)?;
        let folds = Folds::new(&self.region, &encoded)?;
        let estimate = Estimate::of(&self.region, &encoded, &folds)?;
        if self.policy == Policy::Cost {
            estimate.check()?;
        }
        let program = program::program(&self.region, &encoded, &folds)?;
        self.metrics.time("encode_time", start.elapsed());
        Ok(Ready { encoded, folds, program, estimate, runs: Mutex::default() })
    }

    /// Runs the program; with how long that took, if its kernels were there.
    fn run(&self, ready: &Ready) -> Result<(RecordBatch, Option<Duration>), Error> {
        let Ready { encoded, folds, program, .. } = ready;
        self.metrics.count("encoded_bytes", ready.bytes());
        let stored = program.bindings.iter().map(|(_, tensor)| tensor.count_stored()).sum::<u64>();
        self.metrics.count("stored_entries", usize::try_from(stored).unwrap_or(usize::MAX));
        let outcome = self.engine.run(program.plan.clone(), program.bindings.clone(), &self.allowance.stop())?;
        self.metrics.time("compile_time", outcome.compile);
        self.metrics.time("kernel_time", outcome.run);
        self.metrics.count("cache_hits", usize::from(outcome.cached));
        let start = Instant::now();
        let batch = decode(&self.region, encoded, (folds, program), &outcome.outputs, &self.schema)?;
        self.allowance.take("the results", batch.get_array_memory_size())?;
        let decoding = start.elapsed();
        self.metrics.time("decode_time", decoding);
        self.metrics.count("output_rows", batch.num_rows());
        Ok((batch, outcome.cached.then_some(outcome.run + decoding)))
    }
}
