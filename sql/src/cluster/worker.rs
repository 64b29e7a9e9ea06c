//! Workers, which run the tasks of queries.

use super::codec::RegionCodec;
use super::connection::{self, Connections, Secret};
use super::planner::guard_task;
use super::session_header::SessionText;
use crate::database::Database;
use crate::engines::Engines;
use crate::policy::Cache;
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_distributed::{DistributedExt, WorkerQueryContext};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The largest size of a request in bytes. Requests contain plans, with the tables in memory that
/// the plans read.
const MAX_MESSAGE: usize = 1 << 30;

/// A worker of a cluster. It runs tasks of queries, which coordinators and other workers send to
/// it. A worker never plans a query, and keeps nothing after the end of a query.
///
/// A worker reads the files of queries from its own file system, under the same paths as the
/// coordinator.
#[derive(Clone)]
pub struct Worker {
    pub(super) tasks: datafusion_distributed::Worker,
    secret: Option<Secret>,
    timeout: Duration,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl Worker {
    /// Returns a worker with the engine, the memory limit and the file systems of a database. If
    /// there is a secret, the worker refuses requests without it. Another worker that does not
    /// answer for `timeout` counts as lost, as does a coordinator.
    ///
    /// # Errors
    /// If the secret cannot be sent as a header.
    pub fn new(database: &Database, secret: Option<&str>, timeout: Duration) -> Result<Worker> {
        let secret = secret.map(Secret::new).transpose()?;
        let runtime = database.context().runtime_env();
        let connections = Connections::over_sockets(secret.clone(), timeout);
        Ok(Worker::with_connections(&database.engines, runtime, connections, secret))
    }

    /// Returns a worker that reaches other workers by the given connections.
    pub(super) fn with_connections(
        engines: &Arc<Engines>,
        runtime: Arc<RuntimeEnv>,
        connections: Connections,
        secret: Option<Secret>,
    ) -> Worker {
        let timeout = connections.timeout;
        let (engines, cache) = (engines.clone(), Arc::<Cache>::default());
        let session = move |query: WorkerQueryContext| {
            let (engines, cache, connections) = (engines.clone(), cache.clone(), connections.clone());
            async move {
                let text = SessionText::of(&query.headers)?;
                let codec = RegionCodec { engines, float_mode: text.float_mode(), cache };
                let builder = query.builder.with_distributed_user_codec(codec);
                let builder = builder.with_distributed_channel_resolver(connections);
                let builder = builder.with_distributed_worker_plan_rewrite_handler(guard_task);
                text.session(builder)
            }
        };
        let tasks = datafusion_distributed::Worker::from_session_builder(session)
            .with_runtime_env(runtime)
            .with_version(connection::VERSION);
        Worker { tasks, secret, timeout }
    }

    /// Serves requests over a socket until `shutdown` is ready.
    ///
    /// # Errors
    /// If the socket cannot be served.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let secret = self.secret.clone();
        let server = Server::builder()
            .http2_keepalive_interval(Some(self.timeout / 2))
            .http2_keepalive_timeout(Some(self.timeout / 2))
            .layer(tonic::service::InterceptorLayer::new(move |request| Secret::check(secret.as_ref(), request)))
            .add_service(self.tasks.clone().into_worker_server().max_decoding_message_size(MAX_MESSAGE))
            .serve_with_incoming(incoming);
        tokio::select! {
            served = server => served.map_err(io::Error::other),
            () = shutdown => Ok(()),
        }
    }
}
