//! The execution plan of a whole query on a cluster. A query fails as soon as one of its parts
//! cannot be sent, and can be planned again on the remaining workers if a worker is lost.

use super::coordinator::Cluster;
use super::failure::FirstFailure;
use crate::error::lost_worker;
use crate::options::RedpollOptions;
use async_trait::async_trait;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_distributed::{DistributedExec, DistributedExt};
use futures::{StreamExt, stream};
use std::fmt;
use std::sync::Arc;
use url::Url;

/// A planner that puts a [`QueryExec`] above the stages of a query.
#[derive(Debug)]
pub(super) struct RetryPlanner {
    pub(super) planner: Arc<dyn QueryPlanner + Send + Sync>,
    pub(super) cluster: Cluster,
}

#[async_trait]
impl QueryPlanner for RetryPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let execution_plan = self.planner.create_physical_plan(plan, session).await?;
        if !execution_plan.is::<DistributedExec>() {
            return Ok(execution_plan);
        }
        let retries = RedpollOptions::of(session.config().options()).retry;
        let replan = match session.as_any().downcast_ref::<SessionState>() {
            Some(state) if retries > 0 && !has_effects(plan) => {
                let (planner, logical_plan, state) = (self.planner.clone(), plan.clone(), state.clone());
                Some(Arc::new(Replan { planner, logical_plan, state, retries }))
            }
            _ => None,
        };
        Ok(Arc::new(QueryExec { plan: execution_plan, cluster: self.cluster.clone(), replan }))
    }
}

/// Returns whether a part of a run of a plan may have effects that a second run would repeat.
fn has_effects(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Dml(_) | LogicalPlan::Copy(_) | LogicalPlan::Ddl(_) | LogicalPlan::Statement(_))
}

/// A query that can be planned again.
struct Replan {
    planner: Arc<dyn QueryPlanner + Send + Sync>,
    logical_plan: LogicalPlan,
    /// The session when the query was planned.
    state: SessionState,
    /// The number of times that the query may be planned again.
    retries: usize,
}

impl fmt::Debug for Replan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replan").field("retries", &self.retries).finish_non_exhaustive()
    }
}

impl Replan {
    /// Plans the query on a cluster.
    async fn plan_on(&self, cluster: &Cluster) -> Result<Arc<dyn ExecutionPlan>> {
        let mut state = self.state.clone();
        cluster.set(state.config_mut());
        self.planner.create_physical_plan(&self.logical_plan, &state).await
    }
}

/// The execution plan of a query on a cluster, above its stages.
#[derive(Debug)]
struct QueryExec {
    plan: Arc<dyn ExecutionPlan>,
    cluster: Cluster,
    /// The query, if it can be planned again.
    replan: Option<Arc<Replan>>,
}

impl DisplayAs for QueryExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedpollQueryExec: {} workers", self.cluster.size())?;
        match &self.replan {
            Some(replan) => write!(f, ", retry={}", replan.retries),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for QueryExec {
    fn name(&self) -> &str {
        "RedpollQueryExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = inputs.pop().filter(|_| inputs.is_empty());
        let plan = plan.ok_or_else(|| DataFusionError::Internal("a query has one plan".into()))?;
        Ok(Arc::new(QueryExec { plan, cluster: self.cluster.clone(), replan: self.replan.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let run = Run {
            attempt: Some(Attempt::start(&self.plan, &self.cluster, partition, &context)?),
            cluster: self.cluster.clone(),
            replan: self.replan.clone(),
            retries: 0,
            has_rows: false,
            partition,
            context,
        };
        let rows = stream::unfold(Some(run), |run: Option<Run>| async move {
            let mut run = run?;
            match run.next().await? {
                Ok(batch) => Some((Ok(batch), Some(run))),
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// A run of a query, with the state of its attempts.
struct Run {
    /// The current attempt; `None` while another one is planned.
    attempt: Option<Attempt>,
    /// The workers of the current attempt.
    cluster: Cluster,
    replan: Option<Arc<Replan>>,
    /// The number of times that the query was planned again.
    retries: usize,
    /// Whether the run has returned rows. These rows would be repeated by another attempt.
    has_rows: bool,
    partition: usize,
    context: Arc<TaskContext>,
}

impl Run {
    /// Returns the next rows. If a worker is lost before the first rows, begins another attempt.
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            let error = match self.attempt.as_mut()?.next().await? {
                Ok(batch) => {
                    self.has_rows = true;
                    return Some(Ok(batch));
                }
                Err(error) => error,
            };
            match self.remaining_cluster(&error) {
                None => return Some(Err(error)),
                Some((replan, cluster)) => {
                    // The tasks of the attempt end.
                    self.attempt = None;
                    match self.begin(&replan, cluster).await {
                        Ok(attempt) => self.attempt = Some(attempt),
                        Err(error) => return Some(Err(error)),
                    }
                }
            }
        }
    }

    /// Returns the workers of another attempt after an error; `None` if the error ends the query.
    fn remaining_cluster(&self, error: &DataFusionError) -> Option<(Arc<Replan>, Cluster)> {
        let replan = self.replan.clone().filter(|replan| self.retries < replan.retries && !self.has_rows)?;
        let lost = Url::parse(&lost_worker(error)?).ok()?;
        Some((replan, self.cluster.without(&lost)?))
    }

    async fn begin(&mut self, replan: &Replan, cluster: Cluster) -> Result<Attempt> {
        self.retries += 1;
        let plan = replan.plan_on(&cluster).await?;
        let attempt = Attempt::start(&plan, &cluster, self.partition, &self.context);
        self.cluster = cluster;
        attempt
    }
}

/// The rows of a query on certain workers.
struct Attempt {
    rows: SendableRecordBatchStream,
    failure: Arc<FirstFailure>,
}

impl Attempt {
    /// Starts a plan on the workers of a cluster.
    fn start(
        plan: &Arc<dyn ExecutionPlan>,
        cluster: &Cluster,
        partition: usize,
        context: &TaskContext,
    ) -> Result<Attempt> {
        let failure = Arc::<FirstFailure>::default();
        let mut config = context.session_config().clone().with_extension(failure.clone());
        config.set_distributed_worker_resolver(cluster.clone());
        let context = TaskContext::new(
            context.task_id(),
            context.session_id(),
            config,
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            context.runtime_env(),
        );
        Ok(Attempt { rows: plan.execute(partition, Arc::new(context))?, failure })
    }

    /// Returns the next rows, or the first failure of sending a part of the plan. Other errors of
    /// the attempt may be the consequences of this failure.
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        tokio::select! {
            biased;
            rows = self.rows.next() => match rows {
                Some(Err(error)) => Some(Err(self.failure.get().unwrap_or(error))),
                rows => rows,
            },
            error = self.failure.wait() => Some(Err(error)),
        }
    }
}
