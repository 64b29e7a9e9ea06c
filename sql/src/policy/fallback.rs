//! DataFusion's own plan of a region. DataFusion runs this plan if kernels would give another
//! result than DataFusion or be slower, if claiming is off, and while redpoll prepares the region.

use super::cache::Cache;
use crate::error::FallbackReason;
use crate::guard::guard_scans;
use crate::input_tables::InputTables;
use crate::node::RegionNode;
use crate::options::RedpollOptions;
use crate::run_ends::check_outer_joins;
use crate::same_names::physical_optimizer_rules;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::OptimizerRule;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use futures::TryStreamExt;
use std::fmt;
use std::sync::Arc;

/// The logical plan of a region before the region was claimed. Its execution plan is built on
/// demand.
#[derive(Clone)]
pub(crate) struct Fallback {
    /// The claimed aggregate.
    pub(crate) plan: Arc<LogicalPlan>,
    /// The planner of regions below the aggregate.
    pub(crate) planner: Arc<dyn ExtensionPlanner + Send + Sync>,
    /// True if DataFusion can run the plan: the plan passes [`check_outer_joins`].
    pub(crate) is_sound: bool,
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Fallback {
    /// Returns the plan of a claimed aggregate.
    pub(crate) fn new(plan: Arc<LogicalPlan>, planner: Arc<dyn ExtensionPlanner + Send + Sync>) -> Fallback {
        let is_sound = check_outer_joins(&plan).is_ok();
        Fallback { plan, planner, is_sound }
    }

    /// Records in the cache the reason why the plan runs in place of its region, if the tables of
    /// the plan have a version. The entry is valid while the tables of the plan have the same
    /// version.
    pub(crate) fn record(&self, cache: &Cache, reason: &FallbackReason, context: &TaskContext) {
        if let Some(version) = InputTables::of(&[&self.plan]).and_then(|tables| tables.version()) {
            let target_choice = RedpollOptions::of(context.session_config().options()).engine;
            cache.insert_fallbacks(plan_forms(&self.plan, context), &version, &target_choice, reason);
        }
    }

    /// Runs the plan and returns its rows with the given schema.
    ///
    /// # Errors
    /// If DataFusion cannot run the plan; if the plan is not sound, the error says what to change.
    pub(crate) async fn stream(
        &self,
        schema: SchemaRef,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let plan = self.plan_in(&plain_session(&context, physical_optimizer_rules())).await?;
        let plan = guard_scans(plan)?.transform_up(yield_between_batches).data()?;
        Ok(with_schema(execute_stream(plan, context)?, schema))
    }

    /// Returns DataFusion's execution plan for a place in the plan of a query, whose other parts
    /// the physical optimizer has not seen yet. The plan has no regions below the aggregate, unless
    /// DataFusion cannot run them: the query contains the plans of these regions already, and the
    /// number of plans would double with each level of nesting.
    ///
    /// # Errors
    /// The errors of [`Fallback::stream`].
    pub(crate) async fn initial_plan(&self, context: &TaskContext) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.plan.as_ref().clone().transform_down_with_subqueries(unclaim).data()?;
        let without_regions = Fallback { plan: Arc::new(plan), ..self.clone() };
        without_regions.plan_in(&plain_session(context, Vec::new())).await
    }

    /// Returns DataFusion's execution plan in a session.
    async fn plan_in(&self, session: &SessionState) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![self.planner.clone()]);
        // Regions are claimed at the end of an optimizer pass, so later passes have not run on this
        // plan.
        let optimized = session.optimizer().optimize(self.plan.as_ref().clone(), session, |_, _| {})?;
        check_outer_joins(&optimized)?;
        planner.create_physical_plan(&optimized, session).await
    }
}

/// Replaces a region by its aggregate, if DataFusion can run the aggregate.
fn unclaim(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Extension(extension) = &plan else { return Ok(Transformed::no(plan)) };
    match extension.node.as_any().downcast_ref::<RegionNode>().map(RegionNode::aggregate) {
        Some(aggregate) if check_outer_joins(aggregate).is_ok() => Ok(Transformed::yes(aggregate.as_ref().clone())),
        _ => Ok(Transformed::no(plan)),
    }
}

/// Gives rows the names and nullability of a schema.
pub(crate) fn with_schema(rows: SendableRecordBatchStream, schema: SchemaRef) -> SendableRecordBatchStream {
    let target = schema.clone();
    let rows = rows.and_then(move |batch| {
        futures::future::ready(RecordBatch::try_new(target.clone(), batch.columns().to_vec()).map_err(Into::into))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// Returns a session that claims no regions, with the given rules of the physical optimizer.
fn plain_session(context: &TaskContext, rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>) -> SessionState {
    let builder = SessionStateBuilder::new().with_config(context.session_config().clone());
    builder.with_runtime_env(context.runtime_env()).with_physical_optimizer_rules(rules).build()
}

/// Returns the plan, and the other forms that it has at the ends of later passes of DataFusion's
/// optimizer, where regions are claimed. If the plan is left to DataFusion, all of these forms are
/// left to DataFusion.
pub(crate) fn plan_forms(plan: &LogicalPlan, context: &TaskContext) -> Vec<LogicalPlan> {
    let (session, mut forms) = (plain_session(context, Vec::new()), vec![plan.clone()]);
    let last = session.optimizer().rules.last().map(|rule| rule.name());
    let at_end = |plan: &LogicalPlan, rule: &dyn OptimizerRule| {
        if last == Some(rule.name()) && !forms.contains(plan) {
            forms.push(plan.clone());
        }
    };
    // If the optimizer fails, the forms found so far are returned.
    let _ = session.optimizer().optimize(plan.clone(), &session, at_end);
    forms
}

/// Makes plans with several inputs, such as joins, yield between batches. A join may expand a few
/// rows to many; without yielding, cancellation and the race with redpoll would wait for the join's
/// next input batch.
fn yield_between_batches(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    Ok(match plan.children().len() {
        0 | 1 => Transformed::no(plan),
        _ => Transformed::yes(Arc::new(CooperativeExec::new(plan))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;
    use crate::engine::{Engine, Outcome, RunError, RunLimits};
    use crate::engines::Engines;
    use crate::planner::RegionPlanner;
    use datafusion::common::tree_node::TreeNodeRecursion;
    use datafusion::physical_plan::displayable;
    use redpoll_logic::{Alias, Plan};
    use redpoll_storage::Tensor;

    /// An engine that runs nothing, since these tests only plan.
    #[derive(Debug)]
    struct IdleEngine;

    impl Engine for IdleEngine {
        fn run(&self, _: Plan, _: Vec<(Alias, Tensor)>, _: &RunLimits) -> Result<Outcome, RunError> {
            Err(RunError::Cancelled)
        }

        fn explain(&self, _: Plan, _: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
            Ok(Vec::new())
        }
    }

    async fn run(database: &Database, sql: &str) {
        let result = async { database.sql(sql).await?.collect().await };
        result.await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    /// Returns a database that claims every region it can.
    async fn database() -> Database {
        let database = Database::new(Arc::new(IdleEngine));
        run(&database, "SET redpoll.claim = 'always'").await;
        database
    }

    /// Returns the joins outside of regions, each as text: its kind and its keys.
    fn joins(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
        let (mut joins, mut plans) = (Vec::new(), vec![plan]);
        while let Some(plan) = plans.pop() {
            if plan.name() == "RedpollExec" {
                continue;
            }
            if plan.name().ends_with("JoinExec") {
                let text = displayable(plan.as_ref()).one_line().to_string();
                let cut = [", filter=", ", projection="].iter().filter_map(|part| text.find(part)).min();
                joins.push(text[..cut.unwrap_or(text.len())].trim().to_owned());
            }
            plans.extend(plan.children());
        }
        joins
    }

    /// Returns the claimed plans of a query; `None` if the query cannot be planned.
    async fn regions(database: &Database, sql: &str) -> Option<Vec<Arc<LogicalPlan>>> {
        let mut regions = Vec::new();
        let add = |plan: &LogicalPlan| {
            if let LogicalPlan::Extension(e) = plan
                && let Some(region) = e.node.as_any().downcast_ref::<RegionNode>()
            {
                regions.push(region.aggregate().clone());
                // Regions among the inputs of this region are part of the plan that would run in
                // place of this region.
                return Ok(TreeNodeRecursion::Jump);
            }
            Ok(TreeNodeRecursion::Continue)
        };
        database.sql(sql).await.ok()?.into_optimized_plan().ok()?.apply(add).unwrap();
        Some(regions)
    }

    fn fallback(plan: Arc<LogicalPlan>) -> Fallback {
        let (cache, background) = (Arc::default(), std::sync::Weak::new());
        let engines = Arc::new(Engines::new(Arc::new(IdleEngine)));
        Fallback::new(plan, Arc::new(RegionPlanner { engines, cache, background }))
    }

    /// Returns the joins of a query with claiming off, the joins with every region left to
    /// DataFusion, and the number of regions. Returns `None` if the query cannot be planned.
    async fn joins_with_and_without(database: &Database, sql: &str) -> Option<(Vec<String>, Vec<String>, usize)> {
        run(database, "SET redpoll.enabled = false").await;
        let plain = async { database.sql(sql).await?.create_physical_plan().await }.await;
        run(database, "SET redpoll.enabled = true").await;
        let regions = regions(database, sql).await?;
        let claimed = async { database.sql(sql).await?.create_physical_plan().await }.await;
        let (mut plain, mut redpoll) = (joins(&plain.ok()?), joins(&claimed.ok()?));
        let context = database.context().task_ctx();
        let count = regions.len();
        for plan in regions {
            redpoll.extend(joins(
                &fallback(plan).plan_in(&plain_session(&context, physical_optimizer_rules())).await.unwrap(),
            ));
        }
        plain.sort();
        redpoll.sort();
        Some((plain, redpoll, count))
    }

    /// Tables of orders and of their lines.
    const TABLES: [&str; 2] = [
        "CREATE TABLE o (k BIGINT, c BIGINT, total DOUBLE) AS VALUES (1, 1, 2.0), (2, 1, 3.0)",
        "CREATE TABLE l (k BIGINT, s BIGINT, q DOUBLE) AS VALUES (1, 1, 2.0), (2, 2, 3.0)",
    ];

    /// Queries over [`TABLES`] whose plans change between passes of the optimizer.
    const QUERIES: [&str; 2] = [
        "SELECT o.c, sum(l.q) FROM o, l WHERE o.k IN (SELECT k FROM l GROUP BY k HAVING sum(q) > 1) AND o.k = l.k
         GROUP BY o.c",
        "SELECT a.s, count(*) FROM l a, o WHERE o.k = a.k
         AND EXISTS (SELECT * FROM l b WHERE b.k = a.k AND b.s <> a.s)
         AND NOT EXISTS (SELECT * FROM l b WHERE b.k = a.k AND b.s <> a.s AND b.q > 2) GROUP BY a.s",
    ];

    /// A region that was left to DataFusion is not claimed again if its plan has another form in a
    /// later pass.
    #[tokio::test]
    async fn fallbacks_hold_for_every_form_of_a_plan() {
        let database = database().await;
        for statement in TABLES {
            run(&database, statement).await;
        }
        for sql in QUERIES {
            let plans = regions(&database, sql).await.expect("the query can be planned");
            assert!(!plans.is_empty(), "{sql}");
            for plan in plans {
                let reason = FallbackReason::Null { column: "k".into() };
                fallback(plan).record(&database.cache, &reason, &database.context().task_ctx());
            }
            assert_eq!(regions(&database, sql).await, Some(Vec::new()), "{sql}");
        }
    }

    /// Regions that are left to DataFusion after they were claimed run with the same joins as
    /// without claiming, not with nested loops.
    #[tokio::test]
    async fn plans_are_those_without_regions() {
        let database = database().await;
        for statement in TABLES {
            run(&database, statement).await;
        }
        for sql in QUERIES {
            let (plain, redpoll, regions) =
                joins_with_and_without(&database, sql).await.expect("the query can be planned");
            assert!(regions > 0, "{sql}");
            assert_eq!(redpoll, plain, "{sql}");
            assert!(!redpoll.iter().any(|join| join.contains("NestedLoop") || join.contains("Cross")), "{redpoll:?}");
        }
    }
}
