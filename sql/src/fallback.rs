//! What runs a region whose rows turn out to be such that kernels would not give what DataFusion gives, or not sooner:
//! DataFusion's own plan of it.

use crate::cache::Cache;
use crate::error::Left;
use crate::planner::RegionPlanner;
use crate::sources::Sources;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
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
    pub(crate) fn remember(&self, cache: &Cache, why: Left) {
        if let Some(version) = Sources::of(&[&self.plan]).and_then(|sources| sources.version()) {
            cache.leave(self.plan.clone(), version, why);
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
        let session = SessionStateBuilder::new()
            .with_config(context.session_config().clone())
            .with_runtime_env(context.runtime_env())
            .build();
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(self.planner.clone())]);
        // Regions are claimed at the end of a pass of the optimizer; the passes behind it have not seen this plan.
        let optimized = session.optimizer().optimize(self.plan.as_ref().clone(), &session, |_, _| {})?;
        planner.create_physical_plan(&optimized, &session).await?.transform_up(yielding).data()
    }
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
    use crate::engine::{Engine, Outcome, RunError, Stop};
    use crate::node::RegionNode;
    use crate::{Database, cache};
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

    /// Protects those whose regions are left to DataFusion late from loops over pairs of rows, where it would have hashed.
    #[tokio::test]
    async fn plans_are_those_without_regions() {
        let database = Database::new(Arc::new(Idle));
        for statement in [
            "CREATE TABLE o (k BIGINT, c BIGINT, total DOUBLE) AS VALUES (1, 1, 2.0), (2, 1, 3.0)",
            "CREATE TABLE l (k BIGINT, s BIGINT, q DOUBLE) AS VALUES (1, 1, 2.0), (2, 2, 3.0)",
            "SET redpoll.claim = 'always'",
        ] {
            database.sql(statement).await.unwrap().collect().await.unwrap();
        }
        for sql in [
            "SELECT o.c, sum(l.q) FROM o, l WHERE o.k IN (SELECT k FROM l GROUP BY k HAVING sum(q) > 1) AND o.k = l.k
             GROUP BY o.c",
            "SELECT a.s, count(*) FROM l a, o WHERE o.k = a.k
             AND EXISTS (SELECT * FROM l b WHERE b.k = a.k AND b.s <> a.s)
             AND NOT EXISTS (SELECT * FROM l b WHERE b.k = a.k AND b.s <> a.s AND b.q > 2) GROUP BY a.s",
        ] {
            let frame = database.sql(sql).await.unwrap();
            let optimized = frame.into_optimized_plan().unwrap();
            let mut regions = Vec::new();
            optimized
                .apply(|plan| {
                    if let LogicalPlan::Extension(e) = plan
                        && let Some(region) = e.node.as_any().downcast_ref::<RegionNode>()
                    {
                        regions.push(region.claimed().clone());
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
                .unwrap();
            assert!(!regions.is_empty(), "{}", optimized.display_indent());
            let context = database.context().task_ctx();
            for plan in regions {
                let cache = Arc::<cache::Cache>::default();
                let planner = RegionPlanner { engine: Arc::new(Idle), cache, background: std::sync::Weak::new() };
                let physical = Fallback { plan, planner }.physical(&context).await.unwrap();
                let text = displayable(physical.as_ref()).indent(false).to_string();
                assert!(!text.contains("NestedLoopJoin") && !text.contains("CrossJoin"), "{text}");
            }
        }
    }
}
