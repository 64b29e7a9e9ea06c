//! What runs a region whose rows turn out to be such that kernels would not give what DataFusion gives, or not sooner:
//! DataFusion's own plan of it.

use crate::cache::Cache;
use crate::claim;
use crate::error::Left;
use crate::guard::with_guards;
use crate::planner::RegionPlanner;
use crate::sources::Sources;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::OptimizerRule;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use futures::TryStreamExt;
use std::sync::Arc;

/// The plan that a region was, which is planned for execution when it is needed.
#[derive(Clone, Debug)]
pub(crate) struct Fallback {
    /// The aggregate that was claimed.
    pub(crate) plan: Arc<LogicalPlan>,
    /// What plans the regions below it.
    pub(crate) planner: RegionPlanner,
}

impl Fallback {
    /// Has a cache remember why the plan runs in place of its region, as long as its tables stay as they are.
    pub(crate) fn remember(&self, cache: &Cache, why: &Left, context: &TaskContext) {
        if let Some(version) = Sources::of(&[&self.plan]).and_then(|sources| sources.version()) {
            let runs_on = claim::options(context.session_config().options()).engine;
            cache.leave(forms(&self.plan, context), &version, runs_on, why);
        }
    }

    /// The rows of the plan in columns of that schema.
    pub(crate) async fn stream(
        &self,
        schema: SchemaRef,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let plan = self.physical(&context).await?;
        let own = schema.clone();
        let rows = execute_stream(plan, context)?;
        let rows = rows.and_then(move |batch| {
            // Names and whether there can be a NULL are as they were planned.
            futures::future::ready(RecordBatch::try_new(own.clone(), batch.columns().to_vec()).map_err(Into::into))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    /// The plan as DataFusion executes it.
    async fn physical(&self, context: &TaskContext) -> Result<Arc<dyn ExecutionPlan>> {
        let session = session(context);
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(self.planner.clone())]);
        // Regions are claimed at the end of a pass of the optimizer; the passes behind it have not seen this plan.
        let optimized = session.optimizer().optimize(self.plan.as_ref().clone(), &session, |_, _| {})?;
        with_guards(planner.create_physical_plan(&optimized, &session).await?)?.transform_up(yielding).data()
    }
}

/// A session in which nothing is claimed.
fn session(context: &TaskContext) -> SessionState {
    let builder = SessionStateBuilder::new().with_config(context.session_config().clone());
    builder.with_runtime_env(context.runtime_env()).build()
}

/// What a plan is at the end of each pass of DataFusion's optimizer, in which regions are claimed: who leaves a plan leaves
/// all of these.
pub(crate) fn forms(plan: &LogicalPlan, context: &TaskContext) -> Vec<LogicalPlan> {
    let (session, mut forms) = (session(context), vec![plan.clone()]);
    let last = session.optimizer().rules.last().map(|rule| rule.name());
    let at_end = |plan: &LogicalPlan, rule: &dyn OptimizerRule| {
        if last == Some(rule.name()) && !forms.contains(plan) {
            forms.push(plan.clone());
        }
    };
    // What is not optimized to the end has those forms that it came to.
    let _ = session.optimizer().optimize(plan.clone(), &session, at_end);
    forms
}

/// Has joins stop for a moment once in a while: they make many rows of few, and who waits for what is done first, or asks a
/// query to end, is heard only between two batches of a table otherwise.
fn yielding(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    Ok(match plan.children().len() {
        0 | 1 => Transformed::no(plan),
        _ => Transformed::yes(Arc::new(CooperativeExec::new(plan))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;
    use crate::engine::{Engine, Outcome, RunError, Stop};
    use crate::engines::Engines;
    use crate::node::RegionNode;
    use datafusion::common::tree_node::TreeNodeRecursion;
    use datafusion::physical_plan::displayable;
    use redpoll_logic::{Alias, Plan};
    use redpoll_physical::storage::Tensor;

    /// What runs nothing: regions are planned only.
    #[derive(Debug)]
    struct Idle;

    impl Engine for Idle {
        fn run(&self, _: Plan, _: Vec<(Alias, Tensor)>, _: &Stop) -> Result<Outcome, RunError> {
            Err(RunError::Cancelled)
        }

        fn explain(&self, _: Plan, _: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
            Ok(Vec::new())
        }
    }

    async fn run(database: &Database, sql: &str) {
        let done = async { database.sql(sql).await?.collect().await };
        done.await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    /// A database that claims whatever can be claimed.
    async fn database() -> Database {
        let database = Database::new(Arc::new(Idle));
        run(&database, "SET redpoll.claim = 'always'").await;
        database
    }

    /// The joins of a plan that are in no region: their kinds, and the columns that are equal.
    fn joins(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
        let (mut found, mut plans) = (Vec::new(), vec![plan]);
        while let Some(plan) = plans.pop() {
            if plan.name() == "RedpollExec" {
                continue;
            }
            if plan.name().ends_with("JoinExec") {
                let shown = displayable(plan.as_ref()).one_line().to_string();
                let cut = [", filter=", ", projection="].iter().filter_map(|part| shown.find(part)).min();
                found.push(shown[..cut.unwrap_or(shown.len())].trim().to_owned());
            }
            plans.extend(plan.children());
        }
        found
    }

    /// What is claimed of a query; `None` when it is not planned.
    async fn regions(database: &Database, sql: &str) -> Option<Vec<Arc<LogicalPlan>>> {
        let mut regions = Vec::new();
        let add = |plan: &LogicalPlan| {
            if let LogicalPlan::Extension(e) = plan
                && let Some(region) = e.node.as_any().downcast_ref::<RegionNode>()
            {
                regions.push(region.claimed().clone());
                // Those among its inputs are in the plan that runs in its place, where they are no regions.
                return Ok(TreeNodeRecursion::Jump);
            }
            Ok(TreeNodeRecursion::Continue)
        };
        database.sql(sql).await.ok()?.into_optimized_plan().ok()?.apply(add).unwrap();
        Some(regions)
    }

    fn fallback(plan: Arc<LogicalPlan>) -> Fallback {
        let (cache, background) = (Arc::default(), std::sync::Weak::new());
        Fallback { plan, planner: RegionPlanner { engines: Arc::new(Engines::new(Arc::new(Idle))), cache, background } }
    }

    /// The joins of a query with nothing claimed, and those that run where its regions are left, with how many of these it
    /// has; `None` when it is not planned.
    async fn both(database: &Database, sql: &str) -> Option<(Vec<String>, Vec<String>, usize)> {
        run(database, "SET redpoll.enabled = false").await;
        let plain = async { database.sql(sql).await?.create_physical_plan().await }.await;
        run(database, "SET redpoll.enabled = true").await;
        let regions = regions(database, sql).await?;
        let claimed = async { database.sql(sql).await?.create_physical_plan().await }.await;
        let (mut plain, mut ours) = (joins(&plain.ok()?), joins(&claimed.ok()?));
        let context = database.context().task_ctx();
        let count = regions.len();
        for plan in regions {
            ours.extend(joins(&fallback(plan).physical(&context).await.unwrap()));
        }
        plain.sort();
        ours.sort();
        Some((plain, ours, count))
    }

    /// Tables of orders and their lines.
    const TABLES: [&str; 2] = [
        "CREATE TABLE o (k BIGINT, c BIGINT, total DOUBLE) AS VALUES (1, 1, 2.0), (2, 1, 3.0)",
        "CREATE TABLE l (k BIGINT, s BIGINT, q DOUBLE) AS VALUES (1, 1, 2.0), (2, 2, 3.0)",
    ];

    /// Queries over them whose plans change from one pass of the optimizer to the next.
    const QUERIES: [&str; 2] = [
        "SELECT o.c, sum(l.q) FROM o, l WHERE o.k IN (SELECT k FROM l GROUP BY k HAVING sum(q) > 1) AND o.k = l.k
         GROUP BY o.c",
        "SELECT a.s, count(*) FROM l a, o WHERE o.k = a.k
         AND EXISTS (SELECT * FROM l b WHERE b.k = a.k AND b.s <> a.s)
         AND NOT EXISTS (SELECT * FROM l b WHERE b.k = a.k AND b.s <> a.s AND b.q > 2) GROUP BY a.s",
    ];

    /// Protects the machine from preparing again what was left, because its plan looks otherwise in a later pass.
    #[tokio::test]
    async fn what_is_left_is_left_in_every_form() {
        let database = database().await;
        for statement in TABLES {
            run(&database, statement).await;
        }
        for sql in QUERIES {
            let plans = regions(&database, sql).await.expect("it is a query");
            assert!(!plans.is_empty(), "{sql}");
            for plan in plans {
                let why = Left::Nulls { what: "k".into() };
                fallback(plan).remember(&database.cache, &why, &database.context().task_ctx());
            }
            assert_eq!(regions(&database, sql).await, Some(Vec::new()), "{sql}");
        }
    }

    /// Protects those whose regions are left to DataFusion late from loops over pairs of rows, where it would have hashed.
    #[tokio::test]
    async fn plans_are_those_without_regions() {
        let database = database().await;
        for statement in TABLES {
            run(&database, statement).await;
        }
        for sql in QUERIES {
            let (plain, ours, regions) = both(&database, sql).await.expect("it is a query");
            assert!(regions > 0, "{sql}");
            assert_eq!(ours, plain, "{sql}");
            assert!(!ours.iter().any(|join| join.contains("NestedLoop") || join.contains("Cross")), "{ours:?}");
        }
    }
}
