//! Requests for the rows of tasks. The rows of a task may be requested before its plan has reached
//! the worker. The worker then waits for the plan, and the request is repeated until its time limit
//! has passed.

use super::connection::Connections;
use super::failure::in_worker;
use crate::error::Error;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::ExecuteTaskRequest;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use http::HeaderMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use url::Url;

/// The rows of one partition.
pub(super) type TaskRows = BoxStream<'static, Result<RecordBatch>>;

/// A request for the rows of a task.
pub(super) struct TaskRequest {
    pub(super) connections: Connections,
    /// The worker of the task.
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) request: ExecuteTaskRequest,
    pub(super) metrics: ExecutionPlanMetricsSet,
    pub(super) context: Arc<TaskContext>,
    /// The time of the request.
    pub(super) start: Instant,
}

impl TaskRequest {
    /// Returns the rows of each requested partition. The errors name the worker.
    ///
    /// # Errors
    /// If the worker cannot be reached or refuses the request, or the plan of the task does not
    /// reach the worker in time.
    pub(super) async fn rows(self) -> Result<Vec<TaskRows>> {
        let partitions = self.request.target_partition_start..self.request.target_partition_end;
        let rows = self.send(partitions.clone()).await?;
        let request = Arc::new(self);
        Ok(partitions.zip(rows).map(|(partition, rows)| request.clone().repeated(partition, rows)).collect())
    }

    /// Sends the request for some of the partitions.
    async fn send(&self, partitions: Range<usize>) -> Result<Vec<TaskRows>> {
        loop {
            let mut client = self.connections.client(&self.url).await?;
            let request = ExecuteTaskRequest {
                task_key: self.request.task_key,
                target_partition_start: partitions.start,
                target_partition_end: partitions.end,
                producer_head: self.request.producer_head.clone(),
            };
            let rows = client.execute_task(self.headers.clone(), request, self.metrics.clone(), &self.context).await;
            match rows {
                Err(error) if waits_for_plan(&error) => self.check_time()?,
                rows => return rows.map_err(|error| in_worker(&self.url, error)),
            }
        }
    }

    /// Returns the rows of a partition, which are requested again if the worker has no plan yet.
    fn repeated(self: Arc<Self>, partition: usize, mut rows: TaskRows) -> TaskRows {
        let rows = async move {
            loop {
                match rows.next().await {
                    Some(Err(error)) if waits_for_plan(&error) => {
                        self.check_time()?;
                        let again = self.send(partition..partition + 1).await?.pop();
                        rows = again.unwrap_or_else(|| stream::empty().boxed());
                    }
                    first => {
                        let url = self.url.clone();
                        let rows = stream::iter(first).chain(rows);
                        return Ok::<_, DataFusionError>(rows.map_err(move |error| in_worker(&url, error)));
                    }
                }
            }
        };
        stream::once(rows).try_flatten().boxed()
    }

    /// Checks that the time limit has not passed.
    fn check_time(&self) -> Result<()> {
        let time = self.start.elapsed();
        if time < self.connections.timeout {
            return Ok(());
        }
        Err(Error::UnsentPlan { worker: self.url.to_string(), limit: time }.into())
    }
}

/// Returns whether a worker has waited for the plan of a task in vain. The worker waits for ten
/// seconds, which `datafusion-distributed` does not let us change.
fn waits_for_plan(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::Execution(text) => {
            text.starts_with("Worker::execute_task timed-out while waiting for the plan")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::worker::Worker;
    use super::*;
    use crate::engine::{Engine, Outcome, RunError, RunLimits};
    use crate::engines::Engines;
    use datafusion::prelude::SessionContext;
    use datafusion_distributed::{ProducerHead, TaskKey};
    use redpoll_logic::{Alias, Plan};
    use redpoll_storage::Tensor;
    use std::time::Duration;

    /// An engine that runs nothing.
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

    /// If the plan of a task does not reach its worker, the error says so, and names the worker and
    /// the setting. The test takes the ten seconds for which the worker waits.
    #[tokio::test]
    async fn plans_that_do_not_arrive_are_named() {
        let url = Url::parse("http://worker-0").unwrap();
        let registry = Arc::new_cyclic(|registry| {
            let connections = Connections::in_process(registry.clone());
            let engines = Arc::new(Engines::new(Arc::new(IdleEngine)));
            [(url.clone(), Worker::with_connections(&engines, Arc::default(), connections, None))].into()
        });
        let mut connections = Connections::in_process(Arc::downgrade(&registry));
        connections.timeout = Duration::from_secs(1);
        let request = ExecuteTaskRequest {
            task_key: TaskKey { query_id: Default::default(), stage_id: 1, task_number: 0 },
            target_partition_start: 0,
            target_partition_end: 1,
            producer_head: ProducerHead::None,
        };
        let request = TaskRequest {
            connections,
            url,
            headers: HeaderMap::new(),
            request,
            metrics: ExecutionPlanMetricsSet::new(),
            context: SessionContext::new().task_ctx(),
            start: Instant::now(),
        };
        let error = request.rows().await.err().expect("there is no plan");
        let message = crate::error::message(&error);
        for part in ["did not reach the worker http://worker-0/ within 10 seconds", "`timeout`"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
