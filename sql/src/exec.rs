//! The execution plan of a region.

use crate::claim::Region;
use crate::engine::Engine;
use crate::metrics::Metrics;
use crate::options::RedpollOptions;
use crate::policy::{AnswerPlan, AnswerSource, Call, RegionContext};
use crate::program;
use crate::run::RegionRunner;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The execution plan of a region.
#[derive(Debug)]
pub struct RegionExec {
    runner: RegionRunner,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    context: RegionContext,
    /// The options when the region was planned.
    options: RedpollOptions,
    source: Arc<Mutex<Option<AnswerSource>>>,
}

impl RegionExec {
    /// Returns the execution plan of a region over `inputs`. Before the plan runs, DataFusion's
    /// optimizer reduces each input to one partition. The rows of the region have the given schema.
    pub fn new(
        region: Arc<Region>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        schema: SchemaRef,
        engine: Arc<dyn Engine>,
    ) -> RegionExec {
        let state = (RegionContext::default(), RedpollOptions::default());
        RegionExec::build(RegionRunner { region, engine, schema }, inputs, state)
    }

    fn build(
        runner: RegionRunner,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        (context, options): (RegionContext, RedpollOptions),
    ) -> RegionExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(runner.schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let (metrics, source) = (ExecutionPlanMetricsSet::new(), Arc::default());
        RegionExec { runner, inputs, properties: Arc::new(properties), metrics, context, options, source }
    }

    /// Returns the same execution plan with the state and the options of its session.
    pub(crate) fn with_context(self, context: RegionContext, options: RedpollOptions) -> RegionExec {
        RegionExec { context, options, ..self }
    }

    fn call(&self, context: Arc<TaskContext>) -> Call {
        Call {
            runner: self.runner.clone(),
            options: RedpollOptions::of(context.session_config().options()),
            region: self.context.current(),
            context,
            metrics: Metrics(self.metrics.clone()),
            source: self.source.clone(),
        }
    }
}

impl DisplayAs for RegionExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "RedpollExec: {}, ", program::describe(&self.runner.region))?;
                match *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
                    Some(source) => write!(f, "{source}"),
                    None => write!(f, "{}", self.context.expected_answer(&self.options)),
                }
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "leaves={}", self.runner.region.join.leaves.len())?;
                writeln!(f, "fields={}", self.runner.region.join.fields.len())
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
        let state = (self.context.clone(), self.options.clone());
        Ok(Arc::new(RegionExec::build(self.runner.clone(), inputs, state)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return Err(DataFusionError::Internal(format!(
                "a region has one partition; there is no partition {partition}"
            )));
        }
        let call = self.call(context.clone());
        let batches = match call.answer_plan() {
            AnswerPlan::Redpoll(Some(prepared)) => call.answer_with_redpoll(Vec::new(), Some(prepared)).boxed(),
            AnswerPlan::Redpoll(None) => call.answer_with_redpoll(self.inputs.clone(), None).boxed(),
            AnswerPlan::DataFusion(fallback) => call.answer_with_datafusion(fallback).boxed(),
            AnswerPlan::Race(fallback, background, start_time) => {
                call.race(fallback, self.inputs.clone(), (background, start_time)).boxed()
            }
        };
        let batches = stream::once(batches).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
