//! SQL logic tests: each file of `slt/` runs unclaimed and claimed, with the same expected rows.
//!
//! The expected rows are the rows of plain DataFusion: `REDPOLL_BLESS=1` writes the rows of runs
//! with claiming disabled.

use async_trait::async_trait;
use redpoll::sql::Database;
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::error::DataFusionError;
use redpoll_testing::sql::{Cell, claims, database, on_workers, rows, run};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner, default_column_validator, default_normalizer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The numbers of queries that ran, and of queries that were claimed.
#[derive(Default)]
struct Counts {
    queries: AtomicUsize,
    claimed: AtomicUsize,
}

/// A connection of the runner.
struct Connection {
    database: Database,
    counts: Arc<Counts>,
}

#[async_trait]
impl AsyncDB for Connection {
    type Error = DataFusionError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, DataFusionError> {
        let query = ["SELECT", "WITH", "EXPLAIN"].iter().any(|word| sql.trim_start().to_uppercase().starts_with(word));
        if query {
            self.counts.queries.fetch_add(1, Ordering::Relaxed);
            self.counts.claimed.fetch_add(usize::from(claims(&self.database, sql).await? > 0), Ordering::Relaxed);
        }
        let batches = run(&self.database, sql).await?;
        if !query {
            return Ok(DBOutput::StatementComplete(0));
        }
        let columns = batches.first().map_or(0, RecordBatch::num_columns);
        let text = |cell: Cell| match cell {
            // Sums of floats may be rounded differently.
            Cell::Float(0.0) => "0".to_string(),
            Cell::Float(v) => format!("{v:.9e}"),
            Cell::Text(t) if t.is_empty() => "(empty)".to_string(),
            Cell::Text(t) => t.replace(' ', "_"),
        };
        let rows = rows(&batches).into_iter().map(|row| row.into_iter().map(text).collect()).collect();
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; columns], rows })
    }

    async fn shutdown(&mut self) {}
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A way to run the queries of a file.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Unclaimed,
    Claimed,
    /// Claimed, with regions divided by this value of `redpoll.spread` into this many partitions.
    Partitions(&'static str, usize),
    /// Claimed, on a cluster with this value of `redpoll.spread` and this many workers.
    Workers(&'static str, usize),
}

/// Returns the runner of a file.
async fn runner(
    mode: Mode,
    counts: &Arc<Counts>,
) -> Runner<Connection, impl sqllogictest::MakeConnection<Conn = Connection>> {
    let mut database = database().await;
    match mode {
        Mode::Unclaimed => drop(run(&database, "SET redpoll.enabled = false").await.unwrap()),
        Mode::Claimed => {}
        Mode::Partitions(spread, count) => {
            run(&database, &format!("SET redpoll.spread = '{spread}'")).await.unwrap();
            run(&database, &format!("SET datafusion.execution.target_partitions = {count}")).await.unwrap();
            // DataFusion does not divide inputs that fit into one batch.
            run(&database, "SET datafusion.execution.batch_size = 4").await.unwrap();
        }
        Mode::Workers(spread, count) => database = on_workers(&database, (spread, count)).await.unwrap(),
    }
    let counts = counts.clone();
    Runner::new(move || {
        let connection = Connection { database: database.clone(), counts: counts.clone() };
        async move { Ok(connection) }
    })
}

/// Every query gives the expected rows, unclaimed, claimed, in partitions and on clusters, and most
/// queries are claimed.
#[tokio::test(flavor = "multi_thread")]
async fn files_agree_claimed_and_unclaimed() {
    let [plain, ours, partitioned] = [(); 3].map(|()| Arc::<Counts>::default());
    let mut modes = vec![(Mode::Unclaimed, &plain), (Mode::Claimed, &ours)];
    let divisions = [("keyed", 3), ("cells", 8)];
    modes.extend(divisions.map(|(spread, count)| (Mode::Partitions(spread, count), &partitioned)));
    let clusters = [("keyed", 2), ("cells", 3), ("whole", 7), ("keyed", 7), ("cells", 7)];
    modes.extend(clusters.map(|(spread, count)| (Mode::Workers(spread, count), &partitioned)));
    let bless = redpoll_golden::is_blessing();
    for file in files() {
        if bless {
            let mut runner = runner(Mode::Unclaimed, &plain).await;
            runner
                .update_test_file(
                    &file,
                    " ",
                    sqllogictest::default_validator,
                    default_normalizer,
                    default_column_validator,
                )
                .await
                .unwrap();
        }
        for &(mode, counts) in &modes {
            let mut runner = runner(mode, counts).await;
            if let Err(e) = runner.run_file_async(&file).await {
                panic!("{}, {mode:?}: {e}", file.display());
            }
        }
    }
    let (queries, claimed) = (ours.queries.load(Ordering::Relaxed), ours.claimed.load(Ordering::Relaxed));
    eprintln!("{claimed} of {queries} queries were claimed");
    assert_eq!(plain.claimed.load(Ordering::Relaxed), 0);
    assert!(queries >= 300, "{queries} queries");
    assert!(claimed * 2 > queries, "just {claimed} of {queries} queries were claimed");
}
