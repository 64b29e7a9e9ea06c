//! The tables and queries of sessions.

use super::SessionSettings;
use crate::claims::{GroupStep, tpch_steps};
use anyhow::{Context, Result};
use redpoll::Session;
use redpoll::sql::datafusion::catalog::TableProvider;
use redpoll_testing::sql::{session_queries, session_tables};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// The source of the tables of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TableSource {
    /// Files of comma-separated values.
    Csv,
    /// Parquet files.
    Parquet,
    /// Tables in memory.
    Memory,
}

impl fmt::Display for TableSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableSource::Csv => "CSV files",
            TableSource::Parquet => "Parquet files",
            TableSource::Memory => "memory",
        })
    }
}

/// The tables and queries of a session.
pub(super) struct SessionWorkload {
    pub(super) name: String,
    pub(super) queries: Vec<String>,
    pub(super) sources: &'static [TableSource],
    pub(super) tables: Vec<SessionTable>,
    pub(super) runtime: Arc<Runtime>,
    /// The folder of the files.
    _folder: TempDir,
}

/// A table, both in memory and as files.
pub(super) struct SessionTable {
    pub(super) name: String,
    pub(super) provider: Arc<dyn TableProvider>,
    csv: PathBuf,
    parquet: PathBuf,
}

impl SessionTable {
    /// Returns the file of a source; `None` for tables in memory.
    pub(super) fn file(&self, source: TableSource) -> Option<&PathBuf> {
        match source {
            TableSource::Csv => Some(&self.csv),
            TableSource::Parquet => Some(&self.parquet),
            TableSource::Memory => None,
        }
    }
}

/// Creates the workloads: a session of join counts, and a session of TPC-H if its tables are
/// available and `copies` is not 0.
pub(super) fn workloads(settings: &SessionSettings) -> Result<Vec<SessionWorkload>> {
    let create = |(table, query): (&str, String)| GroupStep::Statement(format!("CREATE TABLE {table} AS {query}"));
    let queries = session_queries(settings.queries, 0).into_iter().map(|sql| GroupStep::Query(String::new(), sql));
    let joins = workload(
        format!("{} join counts", settings.queries),
        session_tables(settings.percent).into_iter().map(create).chain(queries),
        &[TableSource::Csv, TableSource::Parquet, TableSource::Memory],
    )?;
    let mut workloads = vec![joins];
    if settings.copies > 0
        && let Some(steps) = tpch_steps(settings.copies)?
    {
        let name = format!("TPC-H at {}", settings.copies as f64 / 100.0);
        workloads.push(workload(name, steps, &[TableSource::Parquet, TableSource::Memory])?);
    }
    Ok(workloads)
}

/// Creates tables by the steps of a group, and writes them as files.
fn workload(
    name: String,
    steps: impl IntoIterator<Item = GroupStep>,
    sources: &'static [TableSource],
) -> Result<SessionWorkload> {
    let (session, folder) = (Session::default(), tempfile::tempdir()?);
    let runtime = Arc::new(Builder::new_multi_thread().enable_all().build()?);
    session.sql("SET redpoll.enabled = false")?;
    let mut queries = Vec::new();
    for step in steps {
        match step {
            GroupStep::Statement(sql) => {
                session.sql(&sql).with_context(|| format!("cannot run `{sql}`"))?;
            }
            GroupStep::File(table, file) => session.register_file(&table, &file)?,
            GroupStep::Query(_, sql) => queries.push(sql),
        }
    }
    let database = session.database();
    let catalog = database.context().catalog("datafusion").context("the session has no catalog")?;
    let schema = catalog.schema("public").context("the session has no schema for tables")?;
    let mut tables = Vec::new();
    let mut names = schema.table_names();
    names.sort();
    for name in names {
        let provider = runtime.block_on(schema.table(&name))?.context("a listed table is missing")?;
        let path = |extension: &str| folder.path().join(format!("{name}.{extension}"));
        let (csv, parquet) = (path("csv"), path("parquet"));
        for file in [&csv, &parquet] {
            session.sql(&format!("COPY {name} TO '{}'", file.display()))?;
        }
        tables.push(SessionTable { name, provider, csv, parquet });
    }
    Ok(SessionWorkload { name, queries, sources, tables, runtime, _folder: folder })
}
