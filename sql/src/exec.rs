//! The execution plan of a region.

use crate::background::Background;
use crate::cache::{Cache, Key};
use crate::call::{Call, Way};
use crate::claim::{self, Region};
use crate::cost::Price;
use crate::engine::Engine;
use crate::fallback::Fallback;
use crate::metrics::Metrics;
use crate::program;
use crate::run::Run;
use crate::sources::{Sources, Version};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The execution plan of a region.
#[derive(Debug)]
pub struct RegionExec {
    run: Run,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    planned: Planned,
    told: Arc<Mutex<Option<Told>>>,
}

/// The state of the session that a region uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planned {
    pub(crate) cache: Arc<Cache>,
    /// The queue of regions to prepare.
    pub(crate) background: Weak<Background>,
    /// The key and version under which the encoded region is cached; `None` if it cannot be cached.
    pub(crate) reuse: Option<Reuse>,
    /// DataFusion's plan of the region.
    pub(crate) fallback: Option<Fallback>,
    pub(crate) price: Price,
}

/// The key and version under which an encoded region is cached.
#[derive(Clone, Debug)]
pub(crate) struct Reuse {
    /// The tables below the inputs.
    pub(crate) sources: Sources,
    /// The version of `sources` when the inputs were planned.
    pub(crate) version: Version,
    pub(crate) key: Key,
}

impl Reuse {
    /// Returns the cache key and version of a region, or `None` if its sources have no version.
    pub(crate) fn new(sources: Option<Sources>, key: Key) -> Option<Reuse> {
        let sources = sources?;
        let version = sources.version()?;
        Some(Reuse { sources, version, key })
    }

    /// Returns whether the tables are still in the version that was planned.
    fn is_current(&self) -> bool {
        self.sources.are(&self.version)
    }
}

/// The engine that answered a call, as `EXPLAIN ANALYZE` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// Redpoll: the region was prepared.
    Kept,
    /// Redpoll: this call prepared the region.
    InPlace,
    /// Redpoll: the region was prepared in the background before DataFusion answered.
    Sooner,
    /// DataFusion, while the region is prepared.
    Meanwhile,
    /// DataFusion: the region cannot be prepared.
    Unprepared,
    /// DataFusion: claiming is off, or the rows of the region are left to DataFusion.
    Left,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Told::Kept => "prepared=yes",
            Told::InPlace => "prepared=no, prepared by this call",
            Told::Sooner => "prepared=no, prepared by this call before DataFusion had answered",
            Told::Meanwhile => "prepared=no, answered by DataFusion while the region is prepared",
            Told::Unprepared => "prepared=no, answered by DataFusion, since the region cannot be prepared",
            Told::Left => "left to DataFusion",
        })
    }
}

impl RegionExec {
    /// Returns the execution of a region over `inputs`, one partition each, that gives rows of
    /// `schema`.
    pub fn new(
        region: Arc<Region>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        schema: SchemaRef,
        engine: Arc<dyn Engine>,
    ) -> RegionExec {
        RegionExec::over(Run { region, engine, schema }, inputs, Planned::default())
    }

    fn over(run: Run, inputs: Vec<Arc<dyn ExecutionPlan>>, planned: Planned) -> RegionExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(run.schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let (metrics, told) = (ExecutionPlanMetricsSet::new(), Arc::default());
        RegionExec { run, inputs, properties: Arc::new(properties), metrics, planned, told }
    }

    /// Returns the same execution with the state of its session.
    pub(crate) fn planned(self, planned: Planned) -> RegionExec {
        RegionExec { planned, ..self }
    }

    /// Returns the engine that answered the last call; before any call, `Kept` if the region is
    /// prepared.
    fn told(&self) -> Option<Told> {
        let told = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ready = |reuse: &&Reuse| self.planned.cache.find(&reuse.key, &reuse.version).is_some();
        told.or_else(|| self.planned.reuse.as_ref().filter(is_ready).map(|_| Told::Kept))
    }

    fn call(&self, context: Arc<TaskContext>) -> Call {
        Call {
            run: self.run.clone(),
            options: claim::options(context.session_config().options()),
            cache: self.planned.cache.clone(),
            fallback: self.planned.fallback.clone(),
            keep: self.planned.reuse.clone().filter(Reuse::is_current),
            price: self.planned.price,
            context,
            metrics: Metrics(self.metrics.clone()),
            told: self.told.clone(),
        }
    }
}

impl DisplayAs for RegionExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "RedpollExec: {}, ", program::show(&self.run.region))?;
                match self.told() {
                    Some(told) => write!(f, "{told}"),
                    None => write!(f, "prepared=no"),
                }
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "leaves={}", self.run.region.leaves.len())?;
                writeln!(f, "fields={}", self.run.region.fields.len())
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
        Ok(Arc::new(RegionExec::over(self.run.clone(), inputs, self.planned.clone())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return Err(DataFusionError::Internal(format!("a region has one partition, asked for {partition}")));
        }
        let call = self.call(context.clone());
        let batches = match call.way(&self.planned.background) {
            Way::InPlace(Some(ready)) => call.in_place(Vec::new(), Some(ready)).boxed(),
            Way::InPlace(None) => {
                let inputs = self.inputs.iter().map(|input| input.execute(0, context.clone()));
                call.in_place(inputs.collect::<Result<_>>()?, None).boxed()
            }
            Way::Theirs(fallback) => call.theirs(fallback).boxed(),
            Way::Meanwhile(fallback, background, due) => {
                call.meanwhile(fallback, self.inputs.clone(), (background, due)).boxed()
            }
        };
        let batches = stream::once(batches).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
