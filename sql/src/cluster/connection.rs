//! Connections to workers. Each error of a connection names the worker.

use super::failure::{FirstFailure, causes, in_worker, lost};
use super::session_header::add_session;
use super::task_rows::TaskRequest;
use super::worker::Worker;
use async_trait::async_trait;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    MaybeEncoded, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderMap, HeaderValue};
use redpoll_logic::FloatMode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use url::Url;

/// The version of this crate, which coordinators and workers must share.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The header with the secret.
const SECRET: &str = "x-redpoll-secret";

/// The time after which a worker that does not respond counts as lost.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// A secret that the coordinator and the workers of a cluster share, as the value of a header.
#[derive(Clone, Debug)]
pub(super) struct Secret(HeaderValue);

impl Secret {
    /// Returns the secret of a text.
    ///
    /// # Errors
    /// If the text is empty, or cannot be the value of a header.
    pub(super) fn new(secret: &str) -> Result<Secret> {
        let value = HeaderValue::from_str(secret).ok().filter(|value| !value.is_empty());
        let mut value = value.ok_or_else(|| {
            DataFusionError::Configuration("the secret of a cluster must consist of visible ASCII characters".into())
        })?;
        // The debug form hides the value.
        value.set_sensitive(true);
        Ok(Secret(value))
    }

    /// Checks that a request has the secret, if there is one.
    ///
    /// # Errors
    /// If the request has another secret or none.
    pub(super) fn check(secret: Option<&Secret>, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(Secret(secret)) = secret else { return Ok(request) };
        let found = request.metadata().get(SECRET).map_or(&[][..], |found| found.as_bytes());
        // The time of the comparison does not depend on the first difference.
        let differences = found.iter().zip(secret.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        match differences == 0 && found.len() == secret.len() {
            true => Ok(request),
            false => Err(Status::unauthenticated("the request lacks the secret of the cluster")),
        }
    }
}

/// A channel that adds the secret to each request.
#[derive(Clone)]
struct Authenticated {
    channel: Channel,
    secret: Option<Secret>,
}

impl Service<http::Request<Body>> for Authenticated {
    type Response = <Channel as Service<http::Request<Body>>>::Response;
    type Error = <Channel as Service<http::Request<Body>>>::Error;
    type Future = <Channel as Service<http::Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        if let Some(Secret(secret)) = &self.secret {
            request.headers_mut().insert(SECRET, secret.clone());
        }
        self.channel.call(request)
    }
}

/// The connections of a coordinator or of a worker to workers.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    kind: Kind,
    secret: Option<Secret>,
    /// The time after which a worker that does not respond counts as lost.
    pub(super) timeout: Duration,
    /// The float mode in which workers run the plans of a coordinator.
    float_mode: FloatMode,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Over sockets, with the connections that are open.
    Sockets(Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>),
    /// To workers in this process.
    InProcess(Weak<Registry>),
}

/// The workers of a cluster in one process.
pub(super) type Registry = HashMap<Url, Worker>;

impl Connections {
    /// Returns connections over sockets. A worker that does not respond for `timeout` counts as
    /// lost.
    pub(super) fn over_sockets(secret: Option<Secret>, timeout: Duration) -> Connections {
        Connections { kind: Kind::Sockets(Arc::default()), secret, timeout, float_mode: FloatMode::default() }
    }

    /// Returns connections to workers in this process. Plans still travel as messages.
    pub(super) fn in_process(workers: Weak<Registry>) -> Connections {
        let float_mode = FloatMode::default();
        Connections { kind: Kind::InProcess(workers), secret: None, timeout: TIMEOUT, float_mode }
    }

    /// Returns the same connections for a coordinator whose plans run in a float mode.
    pub(super) fn in_float_mode(self, float_mode: FloatMode) -> Connections {
        Connections { float_mode, ..self }
    }

    /// Returns a client of a worker. A connection over a socket is opened if there is none yet.
    ///
    /// # Errors
    /// If the worker cannot be reached, or has another version.
    pub(super) async fn client(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        match &self.kind {
            Kind::Sockets(open) => Ok(create_worker_client(self.channel(open, url).await?)),
            Kind::InProcess(workers) => {
                let worker = workers.upgrade().and_then(|workers| workers.get(url).cloned());
                let worker = worker.ok_or_else(|| lost(url, "it does not exist"))?;
                Ok(Box::new(InProcess(worker)))
            }
        }
    }

    /// Returns a connection over a socket.
    async fn channel(&self, open: &Mutex<HashMap<Url, BoxCloneSyncChannel>>, url: &Url) -> Result<BoxCloneSyncChannel> {
        if let Some(channel) = open.lock().unwrap_or_else(PoisonError::into_inner).get(url) {
            return Ok(channel.clone());
        }
        let endpoint = Endpoint::from_shared(url.to_string()).map_err(|error| lost(url, causes(&error)))?;
        let endpoint = endpoint
            .connect_timeout(self.timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(self.timeout / 2)
            .keep_alive_timeout(self.timeout / 2)
            .keep_alive_while_idle(true);
        let connect = async {
            let channel = endpoint.connect().await.map_err(|error| lost(url, causes(&error)))?;
            let channel = BoxCloneSyncChannel::new(Authenticated { channel, secret: self.secret.clone() });
            self.check_version(create_worker_client(channel.clone()), url).await?;
            Ok::<_, DataFusionError>(channel)
        };
        let connected = tokio::time::timeout(self.timeout, connect).await;
        let seconds = self.timeout.as_secs_f64();
        let no_answer = || lost(url, format!("no answer within {seconds} seconds, the time limit `timeout`"));
        let channel = connected.map_err(|_| no_answer())??;
        open.lock().unwrap_or_else(PoisonError::into_inner).insert(url.clone(), channel.clone());
        Ok(channel)
    }

    /// Checks that a worker has the version of this crate.
    async fn check_version(&self, mut client: Box<dyn WorkerChannel>, url: &Url) -> Result<()> {
        let info = client.get_worker_info(GetWorkerInfoRequest {}).await.map_err(|error| in_worker(url, error))?;
        match info.version == VERSION {
            true => Ok(()),
            false => Err(DataFusionError::Configuration(format!(
                "the worker {url} has version `{}` of redpoll, and this process has version `{VERSION}`",
                info.version
            ))),
        }
    }
}

#[async_trait]
impl ChannelResolver for Connections {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        Ok(Box::new(Named { connections: self.clone(), url: url.clone() }))
    }
}

/// A connection whose errors name the worker. It is opened by the first request, so that the
/// failures of connecting are failures of the request.
struct Named {
    connections: Connections,
    url: Url,
}

impl Named {
    /// Sends the plan of a task.
    async fn send_plan(
        &self,
        mut headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        add_session(&mut headers, context, self.connections.float_mode)?;
        let mut client = self.connections.client(&self.url).await?;
        let answers = client.coordinator_channel(headers, request, messages, metrics, context).await;
        answers.map_err(|error| in_worker(&self.url, error))
    }
}

#[async_trait]
impl WorkerChannel for Named {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let failure = context.session_config().get_extension::<FirstFailure>();
        let record = move |error| match &failure {
            Some(failure) => failure.record(error),
            None => error,
        };
        let answers = self.send_plan(headers, request, messages, metrics, context).await.map_err(&record)?;
        let url = self.url.clone();
        Ok(answers.map(move |answer| answer.map_err(|error| record(in_worker(&url, error)))).boxed())
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let (connections, url) = (self.connections.clone(), self.url.clone());
        let (context, start) = (context.clone(), Instant::now());
        TaskRequest { connections, url, headers, request, metrics, context, start }.rows().await
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        let mut client = self.connections.client(&self.url).await?;
        client.get_worker_info(request).await.map_err(|error| in_worker(&self.url, error))
    }
}

/// A connection to a worker in this process. Plans travel as messages, and rows as they are.
struct InProcess(Worker);

#[async_trait]
impl WorkerChannel for InProcess {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        _: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let plan = MaybeEncoded::Encoded(request.plan.encode(context)?);
        let request = SetPlanRequest { plan, ..request };
        self.0.tasks.coordinator_channel(headers, request, messages.map(Ok).boxed()).await
    }

    async fn execute_task(
        &mut self,
        _: HeaderMap,
        request: ExecuteTaskRequest,
        _: ExecutionPlanMetricsSet,
        _: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let (streams, _) = self.0.tasks.execute_task(request).await?;
        Ok(streams.into_iter().map(StreamExt::boxed).collect())
    }

    async fn get_worker_info(&mut self, _: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        Ok(GetWorkerInfoResponse { version: self.0.tasks.version().to_owned() })
    }
}
