//! Planning of execution: from logical plans with regions to execution plans.

use crate::engines::Engines;
use crate::error::Error;
use crate::exec::RegionExec;
use crate::guard::guard_scans;
use crate::input_tables::InputTables;
use crate::node::RegionNode;
use crate::options::{RedpollOptions, TargetChoice};
use crate::policy::{
    BackgroundJobs, Cache, CacheSlot, CostEstimate, Fallback, Preparation, RegionContext, RegionKey,
    unclaimed_aggregates,
};
use crate::program;
use crate::run_ends::check_outer_joins;
use crate::spread::{ClusterSize, divide, plan_divided};
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

/// The query planner of a session, which adds regions, tensor sinks and guards to DataFusion's
/// planner.
#[derive(Debug)]
pub(crate) struct SessionPlanner {
    pub(crate) regions: RegionPlanner,
    /// The preparation of regions, which ends with the session.
    pub(crate) _background: Arc<BackgroundJobs>,
}

/// The planner of regions.
#[derive(Clone, Debug)]
pub(crate) struct RegionPlanner {
    /// The engines that run the programs, one for each target.
    pub(crate) engines: Arc<Engines>,
    /// The encoded regions.
    pub(crate) cache: Arc<Cache>,
    /// The queue of regions to prepare.
    pub(crate) background: Weak<BackgroundJobs>,
}

#[async_trait]
impl QueryPlanner for SessionPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        check_outer_joins(plan)?;
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(self.regions.clone())]);
        let execution_plan = match plan {
            LogicalPlan::Explain(explain) if explain.verbose => {
                let mut explain = explain.clone();
                explain.stringified_plans.extend(unclaimed_rows(&explain.plan, session, &self.regions.cache));
                explain.stringified_plans.extend(self.regions.programs(&explain.plan, &target_choice(session))?);
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
        // On a cluster, workers guard the scans that they run.
        match ClusterSize::of(session.config()) {
            None => guard_scans(execution_plan?),
            Some(_) => execution_plan,
        }
    }
}

/// Returns a row of an explanation for each aggregate that was not claimed, with the reason.
fn unclaimed_rows(plan: &LogicalPlan, session: &dyn Session, cache: &Cache) -> Vec<StringifiedPlan> {
    let unclaimed = unclaimed_aggregates(plan, session.config().options(), cache).into_iter();
    unclaimed
        .map(|(node, reason)| explain_row("not claimed", format!("{node}\nnot claimed by redpoll: {reason}")))
        .collect()
}

/// Returns the target that the session has set for regions.
fn target_choice(session: &dyn Session) -> TargetChoice {
    RedpollOptions::of(session.config().options()).engine
}

fn explain_row(label: &str, text: String) -> StringifiedPlan {
    StringifiedPlan::new(PlanType::OptimizedLogicalPlan { optimizer_name: format!("redpoll ({label})") }, text)
}

impl RegionPlanner {
    /// Returns the context of a region, without its costs and DataFusion's plan.
    fn context(&self, node: &RegionNode, inputs: &[&LogicalPlan], target_choice: &TargetChoice) -> RegionContext {
        RegionContext {
            cache: self.cache.clone(),
            background: self.background.clone(),
            cache_slot: cache_slot(node, inputs, target_choice),
            ..RegionContext::default()
        }
    }

    /// Returns the rows of an explanation for the regions of the plan: a row for each phase of a
    /// region's program. If the cache has no encoded rows of a region, one row says why there is no
    /// program.
    ///
    /// # Errors
    /// If the engine refuses the target or a program.
    fn programs(&self, plan: &LogicalPlan, target_choice: &TargetChoice) -> Result<Vec<StringifiedPlan>> {
        let mut rows = Vec::new();
        let engine = self.engines.select(target_choice).map_err(Error::from)?;
        plan.apply(|plan| {
            let LogicalPlan::Extension(extension) = plan else { return Ok(TreeNodeRecursion::Continue) };
            let Some(node) = extension.node.as_any().downcast_ref::<RegionNode>() else {
                return Ok(TreeNodeRecursion::Continue);
            };
            let context = self.context(node, &extension.node.inputs(), target_choice);
            match context.prepared() {
                Some(prepared) => {
                    let program = &prepared.program;
                    let sections = engine.explain(program.plan.clone(), program.bindings.clone());
                    for (title, text) in sections.map_err(Error::from)? {
                        rows.push(explain_row("program", format!("{title}:\n{text}")));
                    }
                }
                None => {
                    let reason = match context.preparation() {
                        Preparation::Queued => IN_PREPARATION,
                        Preparation::Unqueued => UNPREPARED,
                        Preparation::Impossible if context.cache_slot.is_none() => UNCACHEABLE,
                        Preparation::Impossible => FAILED,
                    };
                    rows.push(explain_row("not prepared", format!("{}\n{reason}", program::describe(node.region()))));
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(rows)
    }
}

/// The explanation of a region whose encoded rows are not in the cache.
const UNPREPARED: &str = "not prepared: the program is built when the query first runs, from the encoded rows; run the \
    query and explain it again (after `SET redpoll.first = 'claim'`, the first call prepares the region itself); the \
    program of a region that is too large for the cache is not kept, so it cannot be explained";

/// The explanation of a region that cannot be cached.
const UNCACHEABLE: &str = "not prepared: the rows of the tables cannot be cached, so each run encodes them again and \
    discards the program, which cannot be explained";

/// The explanation of a region whose preparation in the background has failed too often.
const FAILED: &str = "not prepared: the preparation in the background has failed repeatedly; \
    `SET redpoll.first = 'claim'`, so that a call prepares the region itself, run the query and explain it again";

/// The explanation of a region that is being prepared in the background, or is queued for
/// preparation.
const IN_PREPARATION: &str = "not prepared: an earlier call has started the preparation, which also builds the program; \
    explain the query again in a moment";

/// Returns the cache key and version of the region, or `None` if the region cannot be cached.
fn cache_slot(node: &RegionNode, inputs: &[&LogicalPlan], target_choice: &TargetChoice) -> Option<CacheSlot> {
    let plans = Arc::new(inputs.iter().map(|&plan| plan.clone()).collect());
    let key = RegionKey { region: node.region().clone(), inputs: plans, target: target_choice.clone() };
    CacheSlot::new(InputTables::of(inputs), key)
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
        planning: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<RegionNode>() else { return Ok(None) };
        let schema = Arc::clone(datafusion::logical_expr::UserDefinedLogicalNodeCore::schema(node).inner());
        let target_choice = target_choice(session);
        let engine = self.engines.select(&target_choice).map_err(Error::from)?;
        let fallback = Fallback::new(node.aggregate().clone(), Arc::new(self.clone()));
        let options = RedpollOptions::of(session.config().options());
        // All regions of a cluster are divided, at least into one partition, because the other
        // execution plan of a region cannot be sent to workers.
        if (fallback.is_sound || ClusterSize::of(session.config()).is_some())
            && let Some(divided) = divide(options.spread, node.region(), inputs, session)
        {
            let state = (engine, fallback, self.cache.clone());
            return plan_divided(divided, (inputs, schema), state, (session, planning)).await.map(Some);
        }
        let exec = RegionExec::new(node.region().clone(), inputs.to_vec(), schema, engine);
        let context = RegionContext {
            fallback: Some(fallback),
            cost: CostEstimate::new(node.region(), plans),
            ..self.context(node, plans, &target_choice)
        };
        Ok(Some(Arc::new(exec.with_context(context, options))))
    }
}
