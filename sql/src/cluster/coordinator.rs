//! Clusters, and databases whose queries run on a cluster.

use super::codec::RegionCodec;
use super::connection::{Connections, Registry, Secret, TIMEOUT};
use super::leaves::{divide_leaf, tasks_of_leaf};
use super::planner::{
    ChangingPlanner, ExplainingPlanner, RefuseSeveralRows, broadcast_whole_inputs, guard_coordinator, tasks_of_region,
};
use super::retry::RetryPlanner;
use super::worker::Worker;
use crate::database::Database;
use crate::options::RedpollOptions;
use crate::spread::ClusterSize;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{DesiredTaskCountEvent, DistributedExt, SessionStateBuilderExt, WorkerResolver};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The workers of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    urls: Arc<[Url]>,
    connections: Connections,
    /// The number of times that a query is planned again after the loss of a worker.
    retries: usize,
    /// The workers in this process.
    _in_process: Option<Arc<Registry>>,
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
    /// If there is no worker, two workers have the same URL, the text of a worker is not a URL, or
    /// the secret cannot be sent as a header.
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
        let connections = Connections::over_sockets(secret, TIMEOUT);
        Ok(Cluster { urls: urls.into(), connections, retries: 0, _in_process: None })
    }

    /// Returns the same cluster, where a worker counts as lost after `timeout` without an answer,
    /// not after 10 seconds. A worker also answers while it computes.
    pub fn with_timeout(mut self, timeout: Duration) -> Cluster {
        self.connections.timeout = timeout;
        self
    }

    /// Returns the same cluster, where a query whose worker is lost is planned again on the
    /// remaining workers, at most `retries` times. `SET redpoll.retry` sets another number in a
    /// session.
    pub fn with_retries(mut self, retries: usize) -> Cluster {
        self.retries = retries;
        self
    }

    /// Returns a cluster of workers in this process, which share the engine of a database and have
    /// no memory limits. Plans travel as messages, as between processes.
    pub fn in_process(workers: NonZero<usize>, database: &Database) -> Cluster {
        let url = |k: usize| Url::parse(&format!("http://worker-{k}")).expect("the URL is valid");
        let urls: Arc<[Url]> = (0..workers.get()).map(url).collect();
        let registry = Arc::new_cyclic(|registry| {
            let worker = |url: &Url| {
                let (runtime, connections) = (Arc::<RuntimeEnv>::default(), Connections::in_process(registry.clone()));
                (url.clone(), Worker::with_connections(&database.engines, runtime, connections, None))
            };
            urls.iter().map(worker).collect::<Registry>()
        });
        let connections = Connections::in_process(Arc::downgrade(&registry));
        Cluster { urls, connections, retries: 0, _in_process: Some(registry) }
    }

    /// Returns the number of workers.
    pub fn size(&self) -> NonZero<usize> {
        NonZero::new(self.urls.len()).expect("a cluster has a worker")
    }

    /// Returns the cluster without a worker; `None` if the worker is not part of the cluster or is
    /// its only worker.
    pub(super) fn without(&self, lost: &Url) -> Option<Cluster> {
        let urls: Arc<[Url]> = self.urls.iter().filter(|url| *url != lost).cloned().collect();
        (1..self.urls.len()).contains(&urls.len()).then(|| Cluster { urls, ..self.clone() })
    }

    /// Sets the workers of a session.
    pub(super) fn set(&self, config: &mut SessionConfig) {
        config.set_distributed_worker_resolver(self.clone());
        ClusterSize { workers: self.size() }.set(config);
    }
}

impl Database {
    /// Returns a database with the same tables and functions whose queries run on a cluster. Files
    /// are read by the workers and, for small queries, by this process; tables in memory and
    /// tensors travel with each query. Regions are divided as `redpoll.spread` says, and their
    /// encoded rows are not cached.
    pub fn on_cluster(&self, cluster: &Cluster) -> Database {
        let float_mode = self.engines.float_mode();
        let codec = RegionCodec { engines: self.engines.clone(), float_mode, cache: self.cache.clone() };
        let mut builder = SessionStateBuilder::new_from_existing(self.context().state())
            .with_distributed_channel_resolver(cluster.connections.clone().in_float_mode(float_mode))
            .with_distributed_user_codec(codec)
            .with_distributed_desired_task_count_handler(|event: DesiredTaskCountEvent<'_>| {
                tasks_of_region(&event).or_else(|| tasks_of_leaf(&event)).map(Ok)
            })
            .with_distributed_scale_up_leaf_node_handler(divide_leaf)
            .with_analyzer_rule(Arc::new(RefuseSeveralRows));
        let config = builder.config().get_or_insert_default();
        cluster.set(config);
        // Tasks of DataFusion's own plan of a region, which is most often not needed, report no
        // metrics.
        config.set_distributed_metrics_collection(false).expect("the option exists");
        let options = config.options_mut();
        if cluster.retries > 0 {
            let redpoll = RedpollOptions { retry: cluster.retries, ..RedpollOptions::of(options) };
            options.extensions.insert(redpoll);
        }
        options.execution.target_partitions = options.execution.target_partitions.max(ClusterSize::MIN_PARTITIONS);
        let builder = with_planner(builder, |planner| ChangingPlanner { planner, change: broadcast_whole_inputs });
        let builder = with_planner(builder.with_distributed_planner(), ExplainingPlanner);
        let builder = with_planner(builder, |planner| ChangingPlanner { planner, change: guard_coordinator });
        let builder = with_planner(builder, |planner| RetryPlanner { planner, cluster: cluster.clone() });
        self.with_context(SessionContext::new_with_state(builder.build()))
    }
}

/// Wraps the planner of a session.
fn with_planner<P: QueryPlanner + Send + Sync + 'static>(
    mut builder: SessionStateBuilder,
    wrap: impl FnOnce(Arc<dyn QueryPlanner + Send + Sync>) -> P,
) -> SessionStateBuilder {
    match builder.query_planner().take() {
        Some(planner) => builder.with_query_planner(Arc::new(wrap(planner))),
        None => builder,
    }
}
