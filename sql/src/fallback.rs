//! What runs a region whose rows turn out to be such that kernels would not give what DataFusion gives, or not sooner:
//! DataFusion's own plan of it.

use crate::cache::Cache;
use crate::error::Left;
use crate::planner::RegionPlanner;
use crate::sources::Sources;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
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
        let session = SessionStateBuilder::new()
            .with_config(context.session_config().clone())
            .with_runtime_env(context.runtime_env())
            .build();
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(self.planner.clone())]);
        // Regions are claimed at the end of a pass of the optimizer; the passes behind it have not seen this plan.
        let optimized = session.optimizer().optimize(self.plan.as_ref().clone(), &session, |_, _| {})?;
        let plan = planner.create_physical_plan(&optimized, &session).await?;
        let own = schema.clone();
        let rows = execute_stream(plan, context)?;
        let rows = rows.and_then(move |batch| {
            // Names and whether there can be a NULL are as they were planned.
            futures::future::ready(RecordBatch::try_new(own.clone(), batch.columns().to_vec()).map_err(Into::into))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
