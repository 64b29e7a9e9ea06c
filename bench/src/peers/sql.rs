//! Queries in the SQL front end, run with claimed regions or by DataFusion alone, over the same
//! tables of record batches. Claimed regions can also read tables that are tensors.

use super::columns::{MODES, dense_coordinates, read_columns, table_name};
use crate::checks::Sums;
use crate::protocol::{Server, ServerReply, ServerRequest, SqlQuery, WorkloadTask};
use crate::redpoll_server::{ExecutionMode, store_inputs};
use crate::workload::WorkloadInput;
use anyhow::{Context, Result, bail, ensure};
use redpoll::datasets::{Data, Values};
use redpoll::sql::Database;
use redpoll::sql::datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, UInt8Array,
};
use redpoll::sql::datafusion::arrow::compute::cast;
use redpoll::sql::datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::datasource::MemTable;
use redpoll::sql::datafusion::physical_plan::{ExecutionPlan, collect};
use redpoll::{Bindings, Session};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Number of rows in a record batch, the same as the default of DataFusion.
const BATCH: usize = 8192;

/// A server that runs queries over tables.
pub struct QueryServer {
    runtime: Runtime,
    claim_mode: ClaimMode,
    tables: Vec<(String, Arc<MemTable>)>,
    tensors: Bindings,
    query: Option<(SqlQuery, WorkloadTask)>,
    sessions: HashMap<ExecutionMode, Session>,
    rows: Vec<RecordBatch>,
    threads: usize,
}

/// The regions that redpoll claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClaimMode {
    /// Claims all regions that redpoll can run, regardless of cost.
    Always,
    /// Claims nothing; DataFusion runs alone.
    Off,
}

impl QueryServer {
    /// Creates a server that claims regions over the inputs, stored as tables of record batches and
    /// as tensors.
    ///
    /// # Errors
    /// If an input cannot be stored.
    pub fn redpoll(inputs: Vec<WorkloadInput>) -> Result<QueryServer> {
        let mut server = QueryServer::new(ClaimMode::Always);
        server.tables = inputs.iter().map(input_table).collect::<Result<_>>()?;
        server.tensors = store_inputs(inputs)?;
        Ok(server)
    }

    /// Creates a server that runs DataFusion alone.
    pub fn datafusion() -> QueryServer {
        QueryServer::new(ClaimMode::Off)
    }

    fn new(claim_mode: ClaimMode) -> QueryServer {
        let runtime = Builder::new_multi_thread().enable_all().build().expect("threads can be started");
        let threads = std::env::var("BENCH_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
        QueryServer {
            runtime,
            claim_mode,
            tables: Vec::new(),
            tensors: Bindings::new(),
            query: None,
            sessions: HashMap::new(),
            rows: Vec::new(),
            threads,
        }
    }

    fn load(&mut self, task: WorkloadTask) -> Result<ServerReply> {
        let Some(query) = task.query.clone() else {
            return Ok(ServerReply::Unsupported { reason: "the task is not a query".into() });
        };
        let (mut load, mut build) = (0.0, 0.0);
        if self.claim_mode == ClaimMode::Off {
            self.tables.clear();
            for input in &task.inputs {
                let start = Instant::now();
                let (columns, values) = read_columns(input, &task)?;
                load += start.elapsed().as_secs_f64();
                let start = Instant::now();
                self.tables.push((table_name(&input.name), record_batches(columns, &values)?));
                build += start.elapsed().as_secs_f64();
            }
        }
        self.sessions.clear();
        self.query = Some((query, task));
        Ok(ServerReply::Loaded { load, build })
    }

    /// Creates a session with the tables.
    fn session(&self, mode: ExecutionMode) -> Result<Session> {
        let session = Session::new(mode.config());
        session.sql(&format!("SET datafusion.execution.target_partitions = {}", self.threads))?;
        match self.claim_mode {
            ClaimMode::Always => drop(session.sql("SET redpoll.claim = 'always'")?),
            ClaimMode::Off => drop(session.sql("SET redpoll.enabled = false")?),
        }
        let database = session.database();
        for (name, rows) in &self.tables {
            if mode.has_tensors() {
                continue;
            }
            database.context().register_table(name.as_str(), rows.clone())?;
        }
        for (name, tensor) in self.tensors.iter().filter(|_| mode.has_tensors()) {
            let modes = MODES[..tensor.ty().shape.len()].iter().chain([&"v"]).map(ToString::to_string);
            database.register_tensor(&table_name(name.as_str()), tensor.clone(), Some(modes.collect()))?;
        }
        Ok(session)
    }

    fn run(&mut self, mode: &str, repeat: u32) -> Result<ServerReply> {
        let mode = if mode.is_empty() { ExecutionMode::Optimizing } else { ExecutionMode::find(mode)? };
        let sql = self.query.as_ref().context("no query is loaded")?.0.sql.clone();
        if mode.is_cold() || !self.sessions.contains_key(&mode) {
            let session = self.session(mode)?;
            self.sessions.insert(mode, session);
        }
        let database = self.sessions[&mode].database();
        let (claim_mode, mut kernel) = (self.claim_mode, Duration::ZERO);
        let start = Instant::now();
        for _ in 0..repeat {
            let (rows, kernel_time) = self.runtime.block_on(run_query(&database, &sql))?;
            ensure!(claim_mode == ClaimMode::Off || kernel_time.is_some(), "no region of the query is claimed");
            kernel += kernel_time.unwrap_or_default();
            self.rows = rows;
        }
        let seconds = start.elapsed().as_secs_f64() / f64::from(repeat);
        let kernel = kernel.as_secs_f64() / f64::from(repeat);
        Ok(ServerReply::Ran { seconds, kernel: (claim_mode != ClaimMode::Off).then_some(kernel), memory: None })
    }

    fn sums(&self) -> Result<Sums> {
        let (query, task) = self.query.as_ref().context("no query is loaded")?;
        let fill = task.fills.first().context("the task has no fill value")?.0;
        let mut sums = Sums { shape: query.shape.clone(), count: 0, sum: 0.0, absolute_sum: 0.0, weighted: 0.0 };
        for batch in &self.rows {
            ensure!(
                batch.num_columns() == query.shape.len() + 1,
                "{} columns, expected {}",
                batch.num_columns(),
                query.shape.len() + 1
            );
            let columns = batch.columns().iter().map(|column| Ok(cast(column, &DataType::Float64)?));
            let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
            for row in 0..batch.num_rows() {
                let cell = |k: usize| {
                    let column = columns[k].as_primitive::<Float64Type>();
                    column.is_valid(row).then(|| column.value(row))
                };
                let mut number = 0u64;
                for (mode, size) in query.shape.iter().enumerate() {
                    let i = cell(mode).context("a coordinate is NULL")? as u64;
                    ensure!(i < *size, "coordinate {i} of mode {mode} is out of range: the dimension is {size}");
                    number = number.wrapping_mul(*size).wrapping_add(i);
                }
                if let Some(value) = cell(query.shape.len()).filter(|value| *value != fill) {
                    sums.add(value, number);
                }
            }
        }
        Ok(sums)
    }
}

impl Server for QueryServer {
    fn handle(&mut self, request: ServerRequest) -> Result<ServerReply> {
        match request {
            ServerRequest::Hello { threads } => {
                self.threads = threads;
                let version = redpoll::sql::datafusion::DATAFUSION_VERSION;
                Ok(ServerReply::Hello { name: "datafusion".into(), version: format!("DataFusion {version}") })
            }
            ServerRequest::Load(task) => self.load(task),
            ServerRequest::Run { mode, repeat } => self.run(&mode, repeat),
            ServerRequest::Check => Ok(ServerReply::Checked { sums: vec![self.sums()?] }),
            _ => bail!("not a request for a query server"),
        }
    }
}

/// Runs a query and returns its rows, and the time in kernels if any region was claimed.
async fn run_query(database: &Database, sql: &str) -> Result<(Vec<RecordBatch>, Option<Duration>)> {
    let plan = database.sql(sql).await?.create_physical_plan().await?;
    let rows = collect(plan.clone(), database.context().task_ctx()).await?;
    Ok((rows, kernel_time(&plan)))
}

/// Returns the time in kernels of a plan that has run; `None` if no region was claimed.
fn kernel_time(plan: &Arc<dyn ExecutionPlan>) -> Option<Duration> {
    let own = (plan.name() == "RedpollExec").then(|| {
        let metrics = plan.metrics().map(|metrics| metrics.aggregate_by_name());
        let nanos = metrics.and_then(|m| m.sum_by_name("kernel_time")).map_or(0, |value| value.as_usize());
        Duration::from_nanos(nanos as u64)
    });
    let below = plan.children().into_iter().filter_map(kernel_time);
    own.into_iter().chain(below).reduce(|a, b| a + b)
}

/// Returns the sums of the results of a query on tiny data: first with regions claimed over record
/// batches, then over tensors. The sums of DataFusion alone follow twice, as the reference for
/// both.
///
/// # Errors
/// If one of the runs fails.
pub fn verify(task: &WorkloadTask, inputs: Vec<WorkloadInput>) -> Result<Vec<Sums>> {
    let mut server = QueryServer::redpoll(inputs)?;
    let query = task.query.clone().context("the task is not a query")?;
    server.query = Some((query, task.clone()));
    let mut all = Vec::new();
    let runs = [
        (ClaimMode::Always, ExecutionMode::Instant),
        (ClaimMode::Always, ExecutionMode::Tensors),
        (ClaimMode::Off, ExecutionMode::Instant),
    ];
    for (claim_mode, mode) in runs {
        server.claim_mode = claim_mode;
        server.sessions.clear();
        server.run(mode.name(), 1).with_context(|| format!("{claim_mode:?}, {}", mode.name()))?;
        all.push(server.sums()?);
    }
    all.extend(all.last().cloned());
    Ok(all)
}

/// Returns the table of an input and its name.
fn input_table(input: &WorkloadInput) -> Result<(String, Arc<MemTable>)> {
    let (coordinates, values) = match &input.content.data {
        Data::Dense(values) => (dense_coordinates(&input.content.shape, values.len()), values),
        Data::Triples { coordinates, values } => {
            let narrow = |list: &Vec<u64>| list.iter().map(|i| *i as i32).collect();
            (coordinates.iter().map(narrow).collect(), values)
        }
    };
    Ok((table_name(&input.name), record_batches(coordinates, values)?))
}

/// Returns a table of coordinates and values, in record batches.
fn record_batches(coordinates: Vec<Vec<i32>>, values: &Values) -> Result<Arc<MemTable>> {
    let values: ArrayRef = match values {
        Values::Bool(v) => Arc::new(BooleanArray::from(v.clone())),
        Values::U8(v) => Arc::new(UInt8Array::from(v.clone())),
        Values::I32(v) => Arc::new(Int32Array::from(v.clone())),
        Values::I64(v) => Arc::new(Int64Array::from(v.clone())),
        Values::F64(v) => Arc::new(Float64Array::from(v.clone())),
        other => bail!("no column type for values of {}", other.prim().name()),
    };
    let names = MODES[..coordinates.len()].iter().chain([&"v"]);
    let coordinates = coordinates.into_iter().map(|c| Arc::new(Int32Array::from(c)) as ArrayRef);
    let columns: Vec<ArrayRef> = coordinates.chain([values]).collect();
    let fields = names.zip(&columns).map(|(name, c)| Field::new(*name, c.data_type().clone(), false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let table = RecordBatch::try_new(schema.clone(), columns)?;
    let starts = (0..table.num_rows()).step_by(BATCH);
    let parts = starts.map(|start| table.slice(start, BATCH.min(table.num_rows() - start))).collect();
    Ok(Arc::new(MemTable::try_new(schema, vec![parts])?))
}
