//! The engines that run sessions. Each measured session is a new session of the engine.

use super::Answer;
use super::workload::{SessionWorkload, TableSource};
use anyhow::Result;
use redpoll::Session;
use redpoll::sql::datafusion::arrow::array::{Array, AsArray};
use redpoll::sql::datafusion::arrow::datatypes::Int64Type;
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A session of an engine.
pub(super) trait SessionEngine {
    /// Runs a query.
    ///
    /// # Errors
    /// If the query fails.
    fn run(&mut self, sql: &str) -> Result<Answer>;

    /// Waits until no work is left in the background.
    ///
    /// # Errors
    /// If the engine fails.
    fn wait_until_idle(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A function that starts a session over the tables of a workload, with a number of threads.
pub(super) type StartEngine = fn(&SessionWorkload, TableSource, usize) -> Result<Box<dyn SessionEngine>>;

/// The engines, redpoll first.
pub(super) const ENGINES: [(&str, StartEngine); 4] = [
    ("redpoll", |workload, source, threads| Redpoll::start(workload, source, threads, "auto")),
    ("redpoll, first = 'claim'", |workload, source, threads| Redpoll::start(workload, source, threads, "claim")),
    ("DataFusion", DataFusion::start),
    ("DuckDB", start_duckdb),
];

/// A session of redpoll.
struct Redpoll {
    session: Session,
    runtime: Arc<Runtime>,
}

impl Redpoll {
    fn start(
        workload: &SessionWorkload,
        source: TableSource,
        threads: usize,
        first: &str,
    ) -> Result<Box<dyn SessionEngine>> {
        let session = Session::default();
        session.sql(&format!("SET datafusion.execution.target_partitions = {threads}"))?;
        session.sql(&format!("SET redpoll.first = '{first}'"))?;
        for table in &workload.tables {
            match table.file(source) {
                Some(file) => session.register_file(&table.name, file)?,
                None => {
                    drop(session.database().context().register_table(table.name.as_str(), table.provider.clone())?);
                }
            }
        }
        Ok(Box::new(Redpoll { session, runtime: workload.runtime.clone() }))
    }
}

impl SessionEngine for Redpoll {
    fn run(&mut self, sql: &str) -> Result<Answer> {
        let database = self.session.database();
        Ok(answer(&self.runtime.block_on(async { database.sql(sql).await?.collect().await })?))
    }

    fn wait_until_idle(&mut self) -> Result<()> {
        self.runtime.block_on(self.session.database().wait_until_prepared());
        Ok(())
    }
}

/// A session of DataFusion alone.
struct DataFusion {
    context: SessionContext,
    runtime: Arc<Runtime>,
}

impl DataFusion {
    fn start(workload: &SessionWorkload, source: TableSource, threads: usize) -> Result<Box<dyn SessionEngine>> {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
        let runtime = workload.runtime.clone();
        for table in &workload.tables {
            let path = table.file(source).map(|file| file.display().to_string()).unwrap_or_default();
            let name = table.name.as_str();
            match source {
                TableSource::Csv => runtime.block_on(context.register_csv(name, &path, CsvReadOptions::new()))?,
                TableSource::Parquet => {
                    runtime.block_on(context.register_parquet(name, &path, ParquetReadOptions::default()))?;
                }
                TableSource::Memory => drop(context.register_table(name, table.provider.clone())?),
            }
        }
        Ok(Box::new(DataFusion { context, runtime }))
    }
}

impl SessionEngine for DataFusion {
    fn run(&mut self, sql: &str) -> Result<Answer> {
        Ok(answer(&self.runtime.block_on(async { self.context.sql(sql).await?.collect().await })?))
    }
}

fn answer(batches: &[RecordBatch]) -> Answer {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let single = batches.iter().find(|batch| batch.num_rows() == 1 && batch.num_columns() == 1 && rows == 1);
    let integers = single.and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>().cloned());
    Answer { rows, count: integers.filter(|column| column.is_valid(0)).map(|column| column.value(0)) }
}

#[cfg(not(feature = "duckdb"))]
fn start_duckdb(_: &SessionWorkload, _: TableSource, _: usize) -> Result<Box<dyn SessionEngine>> {
    anyhow::bail!("not built in; build with `--features duckdb`, see bench/README.md")
}

#[cfg(feature = "duckdb")]
fn start_duckdb(workload: &SessionWorkload, source: TableSource, threads: usize) -> Result<Box<dyn SessionEngine>> {
    let connection = duckdb::Connection::open_in_memory()?;
    connection.execute_batch(&format!("SET threads = {threads}"))?;
    for table in &workload.tables {
        // Tables in memory are copies of the Parquet files.
        let (kind, file) = match table.file(source) {
            Some(file) => ("VIEW", file),
            None => ("TABLE", table.file(TableSource::Parquet).expect("every table is a Parquet file")),
        };
        connection.execute_batch(&format!("CREATE {kind} {} AS SELECT * FROM '{}'", table.name, file.display()))?;
    }
    Ok(Box::new(DuckDb(connection)))
}

/// A session of DuckDB.
#[cfg(feature = "duckdb")]
struct DuckDb(duckdb::Connection);

#[cfg(feature = "duckdb")]
impl SessionEngine for DuckDb {
    fn run(&mut self, sql: &str) -> Result<Answer> {
        use duckdb::arrow::array::{Array, AsArray, RecordBatch};
        use duckdb::arrow::datatypes::Int64Type;
        let mut statement = self.0.prepare(sql)?;
        let batches: Vec<RecordBatch> = statement.query_arrow([])?.collect();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let single = batches.iter().find(|batch| batch.num_rows() == 1 && batch.num_columns() == 1 && rows == 1);
        let integers = single.and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>().cloned());
        Ok(Answer { rows, count: integers.filter(|column| column.is_valid(0)).map(|column| column.value(0)) })
    }
}
