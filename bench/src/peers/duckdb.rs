//! DuckDB, linked into this program. Each input is a table with a column for each mode (`i`, `j`,
//! ..) and a column `v` of values; each workload is a query.

use super::columns::{MODES, read_columns, table_name};
use super::queries::QUERIES;
use crate::checks::Sums;
use crate::protocol::{Server, ServerReply, ServerRequest, WorkloadTask};
use anyhow::{Context, Result, bail, ensure};
use duckdb::Connection;
use duckdb::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, UInt8Array};
use duckdb::arrow::datatypes::{Field, Schema};
use redpoll::datasets::Values;
use std::sync::Arc;
use std::time::Instant;

/// Number of rows in one batch of an append.
const BATCH: usize = 1 << 16;

/// The server of DuckDB, with a database in memory.
pub struct DuckDb {
    connection: Connection,
    task: Option<WorkloadTask>,
    sql: String,
    /// The shape of the result.
    shape: Vec<u64>,
}

impl DuckDb {
    /// Opens an empty database.
    ///
    /// # Errors
    /// If the database cannot be opened.
    pub fn new() -> Result<DuckDb> {
        Ok(DuckDb { connection: Connection::open_in_memory()?, task: None, sql: String::new(), shape: Vec::new() })
    }
}

impl Server for DuckDb {
    fn handle(&mut self, request: ServerRequest) -> Result<ServerReply> {
        match request {
            ServerRequest::Hello { threads } => {
                self.connection.execute_batch(&format!("SET threads = {threads}"))?;
                let version: String = self.connection.query_row("SELECT version()", [], |row| row.get(0))?;
                Ok(ServerReply::Hello { name: "duckdb".into(), version: format!("DuckDB {version}") })
            }
            ServerRequest::Load(task) => self.load(task),
            ServerRequest::Run { repeat, .. } => {
                let start = Instant::now();
                for _ in 0..repeat {
                    self.connection.execute_batch(&format!("CREATE OR REPLACE TEMP TABLE result AS {}", self.sql))?;
                }
                let seconds = start.elapsed().as_secs_f64() / f64::from(repeat);
                Ok(ServerReply::Ran { seconds, kernel: None, memory: None })
            }
            ServerRequest::Check => Ok(ServerReply::Checked { sums: vec![self.sums()?] }),
            _ => bail!("not a request for DuckDB"),
        }
    }
}

impl DuckDb {
    fn load(&mut self, task: WorkloadTask) -> Result<ServerReply> {
        let (sql, shape) = match &task.query {
            Some(query) => (query.sql.clone(), query.shape.clone()),
            None => {
                let Some(query) = QUERIES.iter().find(|query| query.operation == task.operation) else {
                    return Ok(ServerReply::Unsupported { reason: "no query for this workload".into() });
                };
                if task.parameters.get("strides").is_some_and(|strides| strides == true) {
                    return Ok(ServerReply::Unsupported { reason: "no query for strides".into() });
                }
                (query.sql.to_owned(), query.shape_of(&task)?)
            }
        };
        // Opens a new database, which frees the memory of the old one.
        let threads: i64 = self.connection.query_row("SELECT current_setting('threads')", [], |row| row.get(0))?;
        self.connection = Connection::open_in_memory()?;
        self.connection.execute_batch(&format!("SET threads = {threads}"))?;
        let (mut load, mut build) = (0.0, 0.0);
        for input in &task.inputs {
            let start = Instant::now();
            let (columns, values) = read_columns(input, &task)?;
            load += start.elapsed().as_secs_f64();
            let start = Instant::now();
            self.append(&input.name, columns, &values)?;
            build += start.elapsed().as_secs_f64();
        }
        (self.sql, self.shape) = (sql, shape);
        self.task = Some(task);
        Ok(ServerReply::Loaded { load, build })
    }

    fn append(&self, name: &str, coordinates: Vec<Vec<i32>>, values: &Values) -> Result<()> {
        let (ty, values): (_, ArrayRef) = match values {
            Values::Bool(v) => ("BOOLEAN", Arc::new(BooleanArray::from(v.clone()))),
            Values::U8(v) => ("UTINYINT", Arc::new(UInt8Array::from(v.clone()))),
            Values::I32(v) => ("INTEGER", Arc::new(Int32Array::from(v.clone()))),
            Values::I64(v) => ("BIGINT", Arc::new(Int64Array::from(v.clone()))),
            Values::F64(v) => ("DOUBLE", Arc::new(Float64Array::from(v.clone()))),
            other => bail!("no column type for values of {}", other.prim().name()),
        };
        let modes = MODES[..coordinates.len()].iter();
        let declared: String = modes.clone().map(|mode| format!("{mode} INTEGER NOT NULL, ")).collect();
        let table = table_name(name);
        self.connection.execute_batch(&format!("CREATE TABLE {table} ({declared}v {ty} NOT NULL)"))?;
        let coordinates = coordinates.into_iter().map(|c| Arc::new(Int32Array::from(c)) as ArrayRef);
        let columns: Vec<ArrayRef> = coordinates.chain([values]).collect();
        let field = |(name, column): (&&str, &ArrayRef)| Field::new(*name, column.data_type().clone(), false);
        let fields: Vec<Field> = modes.chain([&"v"]).zip(&columns).map(field).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let mut appender = self.connection.appender(&table)?;
        for start in (0..batch.num_rows()).step_by(BATCH) {
            appender.append_record_batch(batch.slice(start, BATCH.min(batch.num_rows() - start)))?;
        }
        Ok(appender.flush()?)
    }

    fn sums(&self) -> Result<Sums> {
        let task = self.task.as_ref().context("no task is loaded")?;
        let shape = &self.shape;
        let fill = task.fills.first().context("the task has no fill value")?.0;
        let mut sums = Sums { shape: shape.clone(), count: 0, sum: 0.0, absolute_sum: 0.0, weighted: 0.0 };
        let mut statement = self.connection.prepare("SELECT COLUMNS(*)::DOUBLE FROM result")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let coordinate = |mode: usize| row.get::<_, f64>(mode).map(|i| i as u64);
            let mut number = 0u64;
            for (mode, size) in shape.iter().enumerate() {
                let i = coordinate(mode)?;
                ensure!(i < *size, "coordinate {i} of mode {mode} is out of range: the dimension is {size}");
                number = number.wrapping_mul(*size).wrapping_add(i);
            }
            let value: Option<f64> = row.get(shape.len())?;
            if let Some(value) = value.filter(|value| *value != fill) {
                sums.add(value, number);
            }
        }
        Ok(sums)
    }
}
