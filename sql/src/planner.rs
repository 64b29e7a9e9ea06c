//! From logical plans with regions to execution plans.

use crate::background::Background;
use crate::cache::{Cache, Key};
use crate::claim;
use crate::cost::Price;
use crate::engine::Engine;
use crate::exec::{Planned, RegionExec, Reuse};
use crate::fallback::Fallback;
use crate::node::RegionNode;
use crate::sources::Sources;
use crate::table::TensorSink;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Explain, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::sync::{Arc, Weak};

/// Plans what DataFusion plans, and regions, for a session.
#[derive(Debug)]
pub(crate) struct SessionPlanner {
    /// What plans the regions.
    pub(crate) regions: RegionPlanner,
    /// What prepares them; it ends with the session.
    pub(crate) _background: Arc<Background>,
}

/// Plans regions.
#[derive(Clone, Debug)]
pub(crate) struct RegionPlanner {
    /// What runs their programs.
    pub(crate) engine: Arc<dyn Engine>,
    /// What was encoded before.
    pub(crate) cache: Arc<Cache>,
    /// What prepares them.
    pub(crate) background: Weak<Background>,
}

#[async_trait]
impl QueryPlanner for SessionPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(self.regions.clone())]);
        match plan {
            LogicalPlan::Explain(explain) if explain.verbose => {
                let explain = LogicalPlan::Explain(with_reasons(explain, session, &self.regions.cache));
                planner.create_physical_plan(&explain, session).await
            }
            LogicalPlan::Copy(copy) => match TensorSink::of(copy)? {
                None => planner.create_physical_plan(plan, session).await,
                Some(sink) => {
                    let input = planner.create_physical_plan(&copy.input, session).await?;
                    let input: Arc<dyn ExecutionPlan> = Arc::new(CoalescePartitionsExec::new(input));
                    Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
                }
            },
            plan => planner.create_physical_plan(plan, session).await,
        }
    }
}

/// The explanation with a row for what was not claimed, and why.
fn with_reasons(explain: &Explain, session: &dyn Session, cache: &Cache) -> Explain {
    let mut explain = explain.clone();
    let declined = claim::declined(&explain.plan, session.config().options(), cache);
    for (node, reason) in declined {
        let plan_type = PlanType::OptimizedLogicalPlan { optimizer_name: "redpoll, which left this".to_string() };
        explain.stringified_plans.push(StringifiedPlan::new(plan_type, format!("{node}\nnot claimed: {reason}")));
    }
    explain
}

#[async_trait]
impl ExtensionPlanner for RegionPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        plans: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<RegionNode>() else { return Ok(None) };
        let schema = Arc::clone(datafusion::logical_expr::UserDefinedLogicalNodeCore::schema(node).inner());
        let key = Key { region: node.region().clone(), inputs: Arc::new(plans.iter().map(|&p| p.clone()).collect()) };
        let exec = RegionExec::new(node.region().clone(), inputs.to_vec(), schema, self.engine.clone());
        let planned = Planned {
            cache: self.cache.clone(),
            background: self.background.clone(),
            reuse: Reuse::new(Sources::of(plans), key),
            fallback: Some(Fallback { plan: node.claimed().clone(), planner: self.clone() }),
            price: Price::of(node.region(), plans),
        };
        Ok(Some(Arc::new(exec.planned(planned))))
    }
}
