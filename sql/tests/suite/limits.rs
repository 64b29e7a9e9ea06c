//! Memory limits and cancellation of claimed regions.

use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use redpoll::Session;
use redpoll::logic::{Alias, Plan};
use redpoll::sql::{Database, Engine, Outcome, RunError, RunLimits, datafusion};
use redpoll::storage::Tensor;
use redpoll_testing::sql::{claims, database, run};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A query in which every row of `a` joins every row of `b`, so that few rows give many groups.
const PAIRS: &str = "SELECT a.k, b.k, count(*) FROM t a JOIN t b ON a.hub = b.hub GROUP BY a.k, b.k";

/// Creates a table of `rows` rows, all of which join each other.
async fn hub(database: &Database, rows: usize) {
    let sql = format!("CREATE OR REPLACE TABLE t AS SELECT value AS k, 1 AS hub FROM generate_series(1, {rows})");
    run(database, &sql).await.unwrap();
}

async fn limit(database: &Database, limit: &str) {
    run(database, &format!("SET datafusion.runtime.memory_limit = '{limit}'")).await.unwrap();
}

fn pool(database: &Database) -> Arc<dyn MemoryPool> {
    database.context().runtime_env().memory_pool.clone()
}

/// Returns the message of a query that must exceed the memory limit.
async fn exhausted(database: &Database, sql: &str) -> String {
    match run(database, sql).await.map_err(|e| e.find_root().to_string()) {
        Err(e) if e.starts_with("Resources exhausted") => e,
        Err(e) => panic!("expected an exceeded memory limit, found: {e}"),
        Ok(rows) => panic!("expected an exceeded memory limit, found {} batches", rows.len()),
    }
}

/// Returns the single number of a query's result.
async fn number(database: &Database, sql: &str) -> String {
    let rows = redpoll_testing::sql::rows(&run(database, sql).await.unwrap());
    match &rows[0][0] {
        redpoll_testing::sql::Cell::Text(text) => text.clone(),
        redpoll_testing::sql::Cell::Float(value) => value.to_string(),
    }
}

/// Results of kernels obey the memory limit, and the session stays usable after an error.
#[tokio::test]
async fn results_are_reserved_against_the_memory_pool() {
    let database = database().await;
    hub(&database, 3000).await;
    assert_eq!(claims(&database, PAIRS).await.unwrap(), 1);
    limit(&database, "16M").await;
    let message = exhausted(&database, PAIRS).await;
    for part in ["results and intermediates", "datafusion.runtime.memory_limit", "redpoll.enabled"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    assert_eq!(pool(&database).reserved(), 0);
    assert_eq!(number(&database, "SELECT count(*) FROM t a JOIN t b ON a.hub = b.hub").await, "9000000");
    limit(&database, "4G").await;
    assert_eq!(number(&database, &format!("SELECT count(*) FROM ({PAIRS})")).await, "9000000");
}

/// Encoded rows obey the memory limit, and the session stays usable after an error.
#[tokio::test]
async fn encoded_tables_are_reserved_against_the_memory_pool() {
    let database = database().await;
    hub(&database, 200_000).await;
    let sql = "SELECT count(*) FROM t a JOIN t b ON a.k = b.k";
    assert_eq!(claims(&database, sql).await.unwrap(), 1);
    limit(&database, "2M").await;
    let message = exhausted(&database, sql).await;
    for part in ["of a claimed region need", "more bytes", "datafusion.runtime.memory_limit", "redpoll.enabled"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    assert_eq!(pool(&database).reserved(), 0);
    hub(&database, 100).await;
    assert_eq!(number(&database, sql).await, "100");
}

/// Encoded rows stay cached after a query. The rows of several queries together take at most a
/// quarter of the memory limit.
#[tokio::test]
async fn cached_rows_take_at_most_a_quarter_of_the_memory() {
    let database = database().await;
    hub(&database, 20_000).await;
    limit(&database, "16M").await;
    for aggregate in ["count(*)", "max(a.k)", "min(a.k)", "sum(a.k)", "sum(b.k)", "min(b.k)", "max(b.k)"] {
        let sql = format!("SELECT {aggregate} FROM t a JOIN t b ON a.k = b.k");
        assert_eq!(claims(&database, &sql).await.unwrap(), 1);
        run(&database, &sql).await.unwrap();
        assert!(pool(&database).reserved() > 0, "no region is cached");
    }
    assert!(pool(&database).reserved() <= 4 << 20, "the cache exceeds a quarter of the memory");
}

/// An engine that reports the beginning, end and outcome of its runs.
#[derive(Debug)]
struct WatchedEngine {
    session: Session,
    began: tokio::sync::Notify,
    ended: tokio::sync::Notify,
    outcome: Mutex<Option<Result<(), String>>>,
}

impl Engine for WatchedEngine {
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError> {
        self.began.notify_one();
        let outcome = self.session.run(plan, bindings, limits);
        *self.outcome.lock().unwrap() = Some(outcome.as_ref().map(|_| ()).map_err(ToString::to_string));
        self.ended.notify_one();
        outcome
    }

    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
        self.session.explain(plan, bindings)
    }
}

/// Dropping the stream of a query (Ctrl-C) frees the processor and the memory; the query of this
/// test would take hours.
#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_rows_ends_the_query() {
    let engine = Arc::new(WatchedEngine {
        session: Session::default(),
        began: tokio::sync::Notify::new(),
        ended: tokio::sync::Notify::new(),
        outcome: Mutex::new(None),
    });
    let database = Database::with_config(engine.clone(), SessionConfig::new());
    let series = "CREATE TABLE t AS SELECT value AS i, value * 7919 % 20011 AS j, value * 104729 % 20011 AS k \
                  FROM generate_series(1, 20000)";
    run(&database, series).await.unwrap();
    run(&database, "SET redpoll.claim = 'always'").await.unwrap();
    limit(&database, "1G").await;
    let sql = "SELECT count(*) FROM t a, t b, t c WHERE a.i < b.i AND b.j < c.j AND c.k < a.k";
    assert_eq!(claims(&database, sql).await.unwrap(), 1);
    let mut rows = database.sql(sql).await.unwrap().execute_stream().await.unwrap();
    let began = engine.began.notified();
    tokio::select! {
        rows = rows.next() => panic!("the query finished before it was cancelled: {rows:?}"),
        () = began => {}
    }
    assert!(pool(&database).reserved() > 0);
    drop(rows);
    let deadline = Duration::from_secs(60);
    tokio::time::timeout(deadline, engine.ended.notified()).await.expect("the run continues without a reader");
    let outcome = engine.outcome.lock().unwrap().clone().unwrap();
    assert_eq!(outcome, Err("the query was cancelled".to_string()));
    // The run releases its memory on its own thread, after `Engine::run` has returned.
    let freed = async {
        // The session keeps the codes of three columns.
        while pool(&database).reserved() > 3 * 20_000 * size_of::<u64>() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(deadline, freed).await.expect("the memory of the dropped query is still reserved");
    assert_eq!(number(&database, "SELECT count(*) FROM t a JOIN t b ON a.i = b.i").await, "20000");
}

/// An exceeded limit is DataFusion's `ResourcesExhausted`, so that callers can match on this
/// variant.
#[tokio::test]
async fn an_exceeded_limit_is_an_error_of_its_own_kind() {
    let database = database().await;
    hub(&database, 3000).await;
    limit(&database, "16M").await;
    let error = run(&database, PAIRS).await.unwrap_err();
    assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error:?}");
}
