//! Clusters, and databases whose queries run on a cluster.

use super::codec::RegionCodec;
use super::connection::{Connections, Secret, TIMEOUT};
use super::leaves::{divide_leaf, tasks_of_leaf};
use super::planner::{ChangingPlanner, broadcast_whole_inputs, guard_undivided, tasks_of_region};
use super::worker::Worker;
use crate::database::Database;
use crate::spread::ClusterSize;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use datafusion_distributed::{DesiredTaskCountEvent, DistributedExt, SessionStateBuilderExt, WorkerResolver};
use std::num::NonZero;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;

/// The least number of partitions of a worker. With one partition, DataFusion sends no rows from one
/// worker to another.
const MIN_PARTITIONS: usize = 2;

/// The workers of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    urls: Arc<[Url]>,
    connections: Connections,
}

impl WorkerResolver for Cluster {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.urls.to_vec())
    }
}

impl Cluster {
    /// Returns the cluster of workers at the given URLs, such as `http://127.0.0.1:7400`. The
    /// coordinator and the workers share the secret, if there is one.
    ///
    /// # Errors
    /// If there is no worker, two workers have the same URL, the text of a worker is not a URL, or the
    /// secret cannot be sent as a header.
    pub fn new<U: AsRef<str>>(workers: impl IntoIterator<Item = U>, secret: Option<&str>) -> Result<Cluster> {
        let mut urls: Vec<Url> = Vec::new();
        for worker in workers {
            let text = worker.as_ref();
            let fault = |message: String| DataFusionError::Configuration(format!("worker `{text}`: {message}"));
            let url =
                Url::parse(text).map_err(|e| fault(format!("expected a URL such as http://127.0.0.1:7400: {e}")))?;
            if urls.contains(&url) {
                return Err(fault("it is listed twice".into()));
            }
            urls.push(url);
        }
        if urls.is_empty() {
            return Err(DataFusionError::Configuration("a cluster needs at least one worker".into()));
        }
        let secret = secret.map(Secret::new).transpose()?;
        Ok(Cluster { urls: urls.into(), connections: Connections::over_sockets(secret, TIMEOUT) })
    }

    /// Returns the same cluster, where a worker counts as lost after `timeout` without an answer, not
    /// after 10 seconds. A worker also answers while it computes.
    pub fn with_timeout(mut self, timeout: Duration) -> Cluster {
        self.connections.timeout = timeout;
        self
    }

    /// Returns a cluster of workers in this process, which share the engine of a database and have
    /// no memory limits. Plans travel as messages, as between processes.
    pub fn in_process(workers: NonZero<usize>, database: &Database) -> Cluster {
        let registry = Arc::new(OnceLock::new());
        let connections = Connections::in_process(registry.clone());
        let url = |k: usize| Url::parse(&format!("http://worker-{k}")).expect("the URL is valid");
        let urls: Arc<[Url]> = (0..workers.get()).map(url).collect();
        let worker = |url: &Url| {
            let runtime = Arc::<RuntimeEnv>::default();
            (url.clone(), Worker::with_connections(&database.engines, runtime, connections.clone(), None))
        };
        registry.set(urls.iter().map(worker).collect()).expect("the registry is set once");
        Cluster { urls, connections }
    }

    /// Returns the number of workers.
    pub fn size(&self) -> NonZero<usize> {
        NonZero::new(self.urls.len()).expect("a cluster has a worker")
    }
}

impl Database {
    /// Returns a database with the same tables and functions whose queries run on a cluster. Files
    /// are read by the workers; tables in memory and tensors travel with each query. Regions are
    /// divided as `redpoll.spread` says, and their encoded rows are not cached.
    pub fn on_cluster(&self, cluster: &Cluster) -> Database {
        let codec = RegionCodec { engines: self.engines.clone(), cache: self.cache.clone() };
        let size = ClusterSize { workers: cluster.size() };
        let mut builder = SessionStateBuilder::new_from_existing(self.context().state())
            .with_distributed_worker_resolver(cluster.clone())
            .with_distributed_channel_resolver(cluster.connections.clone())
            .with_distributed_user_codec(codec)
            .with_distributed_desired_task_count_handler(move |event: DesiredTaskCountEvent<'_>| {
                tasks_of_region(&event, size.workers.get()).or_else(|| tasks_of_leaf(&event)).map(Ok)
            })
            .with_distributed_scale_up_leaf_node_handler(divide_leaf);
        let config = builder.config().get_or_insert_default();
        size.set(config);
        let execution = &mut config.options_mut().execution;
        execution.target_partitions = execution.target_partitions.max(MIN_PARTITIONS);
        let builder = changing_planner(builder, broadcast_whole_inputs).with_distributed_planner();
        let state = changing_planner(builder, guard_undivided).build();
        self.with_context(SessionContext::new_with_state(state))
    }
}

/// Lets a function change the execution plans of a session.
fn changing_planner(
    mut builder: SessionStateBuilder,
    change: fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> SessionStateBuilder {
    match builder.query_planner().take() {
        Some(planner) => builder.with_query_planner(Arc::new(ChangingPlanner { planner, change })),
        None => builder,
    }
}
