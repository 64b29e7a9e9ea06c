//! Planning of execution: from logical plans with regions to execution plans.

use crate::background::Background;
use crate::cache::{Cache, Key};
use crate::claim;
use crate::cost::Price;
use crate::engines::Engines;
use crate::error::Error;
use crate::exec::{Planned, RegionExec, Reuse};
use crate::fallback::Fallback;
use crate::guard::with_guards;
use crate::node::RegionNode;
use crate::options::RunsOn;
use crate::program;
use crate::sources::Sources;
use crate::table::TensorSink;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::sync::{Arc, Weak};

/// The query planner of a session: DataFusion's, with regions, tensor sinks and guards.
#[derive(Debug)]
pub(crate) struct SessionPlanner {
    pub(crate) regions: RegionPlanner,
    /// The preparation of regions, which ends with the session.
    pub(crate) _background: Arc<Background>,
}

/// The planner of regions.
#[derive(Clone, Debug)]
pub(crate) struct RegionPlanner {
    /// The engines that run the programs, on each processor.
    pub(crate) engines: Arc<Engines>,
    /// The encoded regions.
    pub(crate) cache: Arc<Cache>,
    /// The queue of regions to prepare.
    pub(crate) background: Weak<Background>,
}

#[async_trait]
impl QueryPlanner for SessionPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(self.regions.clone())]);
        let planned = match plan {
            LogicalPlan::Explain(explain) if explain.verbose => {
                let mut explain = explain.clone();
                explain.stringified_plans.extend(reasons(&explain.plan, session, &self.regions.cache));
                explain.stringified_plans.extend(self.regions.programs(&explain.plan, engine_of(session))?);
                planner.create_physical_plan(&LogicalPlan::Explain(explain), session).await
            }
            LogicalPlan::Copy(copy) => match TensorSink::of(copy)? {
                None => planner.create_physical_plan(plan, session).await,
                Some(sink) => {
                    let input = planner.create_physical_plan(&copy.input, session).await?;
                    let input: Arc<dyn ExecutionPlan> = Arc::new(CoalescePartitionsExec::new(input));
                    let sink: Arc<dyn ExecutionPlan> = Arc::new(DataSinkExec::new(input, Arc::new(sink), None));
                    Ok(sink)
                }
            },
            plan => planner.create_physical_plan(plan, session).await,
        };
        with_guards(planned?)
    }
}

/// Returns a row of an explanation for each aggregate that was not claimed, with the reason.
fn reasons(plan: &LogicalPlan, session: &dyn Session, cache: &Cache) -> Vec<StringifiedPlan> {
    let declined = claim::declined(plan, session.config().options(), cache).into_iter();
    declined.map(|(node, reason)| row("left this", format!("{node}\nnot claimed: {reason}"))).collect()
}

/// Returns the processor that the session has set for kernels.
fn engine_of(session: &dyn Session) -> RunsOn {
    claim::options(session.config().options()).engine
}

fn row(what: &str, text: String) -> StringifiedPlan {
    StringifiedPlan::new(PlanType::OptimizedLogicalPlan { optimizer_name: format!("redpoll, which {what}") }, text)
}

impl RegionPlanner {
    /// Returns the rows of an explanation for the regions of the plan: each phase of their
    /// programs. A program exists once the rows of its region are encoded.
    ///
    /// # Errors
    /// If the engine refuses a program, or there is no such processor.
    fn programs(&self, plan: &LogicalPlan, runs_on: RunsOn) -> Result<Vec<StringifiedPlan>> {
        let mut rows = Vec::new();
        let engine = self.engines.on(runs_on).map_err(Error::from)?;
        plan.apply(|plan| {
            let LogicalPlan::Extension(extension) = plan else { return Ok(TreeNodeRecursion::Continue) };
            let Some(node) = extension.node.as_any().downcast_ref::<RegionNode>() else {
                return Ok(TreeNodeRecursion::Continue);
            };
            let ready = reuse(node, &extension.node.inputs(), runs_on)
                .and_then(|reuse| self.cache.find(&reuse.key, &reuse.version));
            match ready {
                Some(ready) => {
                    let program = &ready.program;
                    let sections = engine.explain(program.plan.clone(), program.bindings.clone());
                    for (title, text) in sections.map_err(Error::from)? {
                        rows.push(row("runs this", format!("{title}:\n{text}")));
                    }
                }
                None => rows.push(row("will run this", format!("{}\n{UNPREPARED}", program::show(node.region())))),
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(rows)
    }
}

/// The explanation of a region whose rows are not encoded yet.
const UNPREPARED: &str = "not prepared: its program is made of the encoded rows; run the query, after \
    `SET redpoll.first = 'claim'` if redpoll is to answer at once, and explain it again";

/// Returns the cache key and version of the region, or `None` if it cannot be cached.
fn reuse(node: &RegionNode, inputs: &[&LogicalPlan], runs_on: RunsOn) -> Option<Reuse> {
    let plans = Arc::new(inputs.iter().map(|&plan| plan.clone()).collect());
    let key = Key { region: node.region().clone(), inputs: plans, runs_on };
    Reuse::new(Sources::of(inputs), key)
}

#[async_trait]
impl ExtensionPlanner for RegionPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        plans: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<RegionNode>() else { return Ok(None) };
        let schema = Arc::clone(datafusion::logical_expr::UserDefinedLogicalNodeCore::schema(node).inner());
        let runs_on = engine_of(session);
        let engine = self.engines.on(runs_on).map_err(Error::from)?;
        let exec = RegionExec::new(node.region().clone(), inputs.to_vec(), schema, engine);
        let planned = Planned {
            cache: self.cache.clone(),
            background: self.background.clone(),
            reuse: reuse(node, plans, runs_on),
            fallback: Some(Fallback { plan: node.claimed().clone(), planner: self.clone() }),
            price: Price::of(node.region(), plans),
        };
        Ok(Some(Arc::new(exec.planned(planned))))
    }
}
