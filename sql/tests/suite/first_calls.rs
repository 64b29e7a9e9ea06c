//! First calls of a query: DataFusion answers while redpoll prepares the region. Later calls run
//! the prepared region, and return the same rows.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionConfig;
use redpoll::Session;
use redpoll::logic::{Alias, Plan};
use redpoll::sql::{Database, Engine, Outcome, RunError, RunLimits, datafusion};
use redpoll::storage::Tensor;
use redpoll_testing::sql::{Cell, compare_rows, database, rows, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A join of all rows with the same hub: 900,000 pairs, which need not be listed if rows are
/// counted before the join.
const HUBS: &str = "SELECT a.hub, count(*) FROM t a JOIN t b ON a.hub = b.hub GROUP BY a.hub ORDER BY a.hub";
const SUMS: &str = "SELECT a.hub, sum(b.k) FROM t a JOIN t b ON a.hub = b.hub GROUP BY a.hub ORDER BY a.hub";

const BY_DATAFUSION: &str = "prepared=no, answered by DataFusion while the region is prepared";
const READY: &str = "prepared=yes";

/// Lets DataFusion answer first calls; the regions are prepared afterwards.
async fn prepare_first(database: &Database) {
    for statement in [
        "SET redpoll.claim = 'always'",
        "SET redpoll.first = 'prepare'",
        "CREATE OR REPLACE TABLE t AS SELECT value AS k, value % 10 AS hub FROM generate_series(1, 3000)",
    ] {
        run(database, statement).await.unwrap();
    }
}

async fn database_with(engine: Arc<dyn Engine>) -> Database {
    let database = Database::with_config(engine, SessionConfig::new());
    prepare_first(&database).await;
    database
}

/// Runs a query and returns its plan with metrics.
async fn explain_analyze(database: &Database, sql: &str) -> String {
    let rows = run(database, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
    pretty_format_batches(&rows).unwrap().to_string()
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

/// Returns the rows of plain DataFusion.
async fn plain(database: &Database, sql: &str) -> Vec<RecordBatch> {
    run(database, "SET redpoll.enabled = false").await.unwrap();
    let rows = run(database, sql).await.unwrap();
    run(database, "SET redpoll.enabled = true").await.unwrap();
    rows
}

async fn assert_agrees(database: &Database, sql: &str) {
    let expected = plain(database, sql).await;
    let found = run(database, sql).await.unwrap();
    compare_rows(&found, &expected, true).unwrap_or_else(|e| panic!("{sql}\n{e}"));
}

/// DataFusion answers the first call, and the prepared region answers the second.
#[tokio::test]
async fn datafusion_answers_first_and_the_region_next() {
    let database = database().await;
    prepare_first(&database).await;
    assert_contains(
        &explain_analyze(&database, HUBS).await,
        &[BY_DATAFUSION, "answered_by_datafusion=1", "datafusion_time"],
    );
    database.wait_until_prepared().await;
    let text = explain_analyze(&database, HUBS).await;
    assert_contains(&text, &[READY, "kernel_time", "cached_encoding_time"]);
    assert!(!text.contains("answered_by_datafusion"), "{text}");
    assert_agrees(&database, HUBS).await;
}

/// A plan says before it runs whether its region is prepared, and which engine would answer.
#[tokio::test]
async fn plans_show_whether_a_region_is_prepared() {
    let database = database().await;
    prepare_first(&database).await;
    let explain = async |prefix: &str| {
        let rows = run(&database, &format!("{prefix} {HUBS}")).await.unwrap();
        pretty_format_batches(&rows).unwrap().to_string()
    };
    assert_contains(&explain("EXPLAIN").await, &["prepared=no, a call is answered by DataFusion while the region"]);
    run(&database, "SET redpoll.first = 'claim'").await.unwrap();
    assert_contains(&explain("EXPLAIN").await, &["prepared=no, a call prepares the region and answers with it"]);
    run(&database, "SET redpoll.first = 'prepare'").await.unwrap();
    run(&database, HUBS).await.unwrap();
    database.wait_until_prepared().await;
    assert_contains(&explain("EXPLAIN").await, &[READY]);
    assert_contains(&explain("EXPLAIN ANALYZE").await, &[READY]);
}

/// With the default setting, the rows are the same whichever engine answers, and the region is
/// prepared in the end.
#[tokio::test(flavor = "multi_thread")]
async fn rows_do_not_depend_on_the_engine_that_answers() {
    let database = database().await;
    prepare_first(&database).await;
    for statement in [
        "SET redpoll.claim = 'cost'",
        "SET redpoll.first = 'auto'",
        "CREATE TABLE many AS SELECT value AS k, value % 100 AS hub FROM generate_series(1, 20000)",
    ] {
        run(&database, statement).await.unwrap();
    }
    // The join has four million rows, so redpoll is much faster than DataFusion.
    let sql = HUBS.replace("FROM t a JOIN t b", "FROM many a JOIN many b");
    let expected = plain(&database, &sql).await;
    let found = run(&database, &sql).await.unwrap();
    compare_rows(&found, &expected, true).unwrap();
    database.wait_until_prepared().await;
    assert_contains(&explain_analyze(&database, &sql).await, &[READY]);
    compare_rows(&run(&database, &sql).await.unwrap(), &expected, true).unwrap();
}

/// A region answers the call if it is prepared before DataFusion has finished. Here, DataFusion
/// would have to join four billion rows.
#[tokio::test]
async fn a_region_that_finishes_first_answers() {
    let database = database().await;
    prepare_first(&database).await;
    for statement in [
        "SET redpoll.claim = 'cost'",
        "SET redpoll.first = 'auto'",
        "SET datafusion.execution.target_partitions = 1",
        "CREATE TABLE many AS SELECT value AS k, value % 10 AS hub FROM generate_series(1, 200000)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = HUBS.replace("FROM t a JOIN t b", "FROM many a JOIN many b");
    let by_redpoll = "prepared=no, prepared by this call before DataFusion answered";
    assert_contains(&explain_analyze(&database, &sql).await, &[by_redpoll, "encode_time", "kernel_time"]);
    database.wait_until_prepared().await;
    assert_contains(&explain_analyze(&database, &sql).await, &[READY]);
    let counts = rows(&run(&database, &sql).await.unwrap());
    assert_eq!(counts.len(), 10);
    assert!(counts.iter().all(|row| matches!(&row[1], Cell::Text(count) if count == "400000000")), "{counts:?}");
}

/// A region that a query waits for may take more memory than the cache, whose size is a quarter of
/// the memory limit. The query waits because DataFusion would have to join four billion rows. The
/// preparation does not count as a failure, although the cache does not keep the region.
#[tokio::test]
async fn a_region_that_a_query_waits_for_may_exceed_the_cache() {
    let database = database().await;
    prepare_first(&database).await;
    for statement in [
        "SET redpoll.claim = 'cost'",
        "SET redpoll.first = 'auto'",
        "SET datafusion.execution.target_partitions = 1",
        "SET datafusion.runtime.memory_limit = '12M'",
        "CREATE TABLE many AS SELECT value AS k, value % 10 AS hub FROM generate_series(1, 200000)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = "SELECT count(*) FROM many a, many b, many c WHERE a.hub = b.hub AND b.k = c.k";
    // DataFusion may exhaust the memory first; then redpoll runs alone.
    let by_redpoll = "prepared=no, prepared by this call";
    // After three failures, a region would not be prepared again.
    for _ in 0..4 {
        assert_contains(&explain_analyze(&database, sql).await, &[by_redpoll]);
        database.wait_until_prepared().await;
    }
    let counts = rows(&run(&database, sql).await.unwrap());
    assert!(matches!(&counts[0][0], Cell::Text(count) if count == "4000000000"), "{counts:?}");
}

/// The setting decides which engine answers the first call; a wrong value is an error.
#[tokio::test]
async fn the_setting_chooses_the_engine_of_the_first_call() {
    let database = database().await;
    prepare_first(&database).await;
    run(&database, "SET redpoll.first = 'claim'").await.unwrap();
    assert_contains(&explain_analyze(&database, HUBS).await, &["prepared=no, prepared by this call", "encode_time"]);
    assert_contains(&explain_analyze(&database, HUBS).await, &[READY]);
    let error = run(&database, "SET redpoll.first = 'never'").await.unwrap_err().to_string();
    assert!(error.contains("`auto` or `claim` or `prepare`") && error.contains("`never`"), "{error}");
}

/// A memory limit that leaves no room for preparation does not make queries fail.
#[tokio::test]
async fn preparation_ends_at_the_memory_limit() {
    let database = database().await;
    prepare_first(&database).await;
    let limit = async |limit: &str| {
        run(&database, &format!("SET datafusion.runtime.memory_limit = '{limit}'")).await.unwrap();
    };
    limit("200K").await;
    // The session does not keep the codes of computed keys, so no memory stays reserved.
    let sql = "SELECT count(*) FROM t a JOIN t b ON a.k + 1 = b.k - 1";
    assert_agrees(&database, sql).await;
    database.wait_until_prepared().await;
    assert_eq!(database.context().runtime_env().memory_pool.reserved(), 0);
    assert_contains(&explain_analyze(&database, sql).await, &[BY_DATAFUSION]);
    database.wait_until_prepared().await;
    limit("1G").await;
    assert_agrees(&database, sql).await;
    database.wait_until_prepared().await;
    assert_contains(&explain_analyze(&database, sql).await, &[READY]);
}

/// An engine whose first runs fail or panic.
#[derive(Debug)]
struct FaultyEngine {
    session: Session,
    runs: AtomicUsize,
    /// Number of runs that fail.
    failures: usize,
    panics: bool,
}

impl FaultyEngine {
    fn new(failures: usize, panics: bool) -> Arc<FaultyEngine> {
        Arc::new(FaultyEngine { session: Session::default(), runs: AtomicUsize::new(0), failures, panics })
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

impl Engine for FaultyEngine {
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError> {
        match self.runs.fetch_add(1, Ordering::Relaxed) {
            run if run >= self.failures => self.session.run(plan, bindings, limits),
            _ if self.panics => panic!("the engine panics for this test"),
            _ => Err(RunError::Failed("the engine fails for this test".into())),
        }
    }

    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
        self.session.explain(plan, bindings)
    }
}

/// Errors of preparation do not reach callers, and preparation is tried at most three times.
#[tokio::test]
async fn errors_of_preparation_are_hidden_and_retried() {
    for panics in [false, true] {
        let engine = FaultyEngine::new(1, panics);
        let database = database_with(engine.clone()).await;
        assert_contains(&explain_analyze(&database, HUBS).await, &[BY_DATAFUSION]);
        database.wait_until_prepared().await;
        assert_eq!(engine.runs(), 1);
        assert_contains(&explain_analyze(&database, HUBS).await, &[BY_DATAFUSION]);
        database.wait_until_prepared().await;
        assert_eq!(engine.runs(), 2);
        assert_contains(&explain_analyze(&database, HUBS).await, &[READY]);
        assert_agrees(&database, HUBS).await;
    }
    let engine = FaultyEngine::new(usize::MAX, false);
    let database = database_with(engine.clone()).await;
    for _ in 0..5 {
        assert_agrees(&database, HUBS).await;
        database.wait_until_prepared().await;
    }
    assert_eq!(engine.runs(), 3);
    assert_contains(
        &explain_analyze(&database, HUBS).await,
        &["answered by DataFusion because the region cannot be prepared"],
    );
    run(&database, "INSERT INTO t VALUES (3001, 1)").await.unwrap();
    assert_contains(&explain_analyze(&database, HUBS).await, &[BY_DATAFUSION]);
}

/// Two queries over the same table have separate regions. Each region is prepared by one run, and
/// later calls find it prepared.
#[tokio::test]
async fn queries_that_share_tables_are_each_prepared_once() {
    let engine = FaultyEngine::new(0, false);
    let database = database_with(engine.clone()).await;
    for sql in [HUBS, SUMS] {
        assert_agrees(&database, sql).await;
    }
    database.wait_until_prepared().await;
    assert_eq!(engine.runs(), 2, "a region was not prepared exactly once");
    for sql in [HUBS, SUMS] {
        assert_contains(&explain_analyze(&database, sql).await, &[READY]);
        assert_agrees(&database, sql).await;
    }
}

/// A region prepared for a table that was changed or dropped since then does not answer.
#[tokio::test]
async fn changed_tables_are_prepared_again() {
    let database = database().await;
    prepare_first(&database).await;
    assert_agrees(&database, HUBS).await;
    // The running job may read the old rows or the new rows; the region must not answer with old
    // rows.
    run(&database, "INSERT INTO t VALUES (3001, 11)").await.unwrap();
    assert_agrees(&database, HUBS).await;
    database.wait_until_prepared().await;
    assert_contains(&explain_analyze(&database, HUBS).await, &[READY]);
    assert_agrees(&database, HUBS).await;
    assert_agrees(&database, SUMS).await;
    run(&database, "DROP TABLE t").await.unwrap();
    database.wait_until_prepared().await;
    assert!(run(&database, SUMS).await.is_err());
    prepare_first(&database).await;
    assert_agrees(&database, SUMS).await;
}

/// An engine that runs until it is cancelled.
#[derive(Debug, Default)]
struct EndlessEngine {
    began: tokio::sync::Notify,
    ended: tokio::sync::Notify,
}

impl Engine for EndlessEngine {
    fn run(&self, _: Plan, _: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError> {
        self.began.notify_one();
        while !limits.cancelled.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        self.ended.notify_one();
        Err(RunError::Cancelled)
    }

    fn explain(&self, _: Plan, _: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
        Ok(Vec::new())
    }
}

/// While a region is prepared in the background, its plan says that the preparation runs and that
/// DataFusion answers.
#[tokio::test]
async fn plans_show_that_a_region_is_being_prepared() {
    let database = database_with(Arc::<EndlessEngine>::default()).await;
    let explain = async |prefix: &str| {
        let rows = run(&database, &format!("{prefix} {HUBS}")).await.unwrap();
        pretty_format_batches(&rows).unwrap().to_string()
    };
    assert_contains(&explain("EXPLAIN ANALYZE").await, &[BY_DATAFUSION]);
    for _ in 0..2 {
        assert_contains(
            &explain("EXPLAIN").await,
            &["prepared=no, the region is being prepared, and until then calls"],
        );
        assert_contains(&explain("EXPLAIN VERBOSE").await, &["an earlier call has started the preparation"]);
        assert_contains(&explain("EXPLAIN ANALYZE").await, &[BY_DATAFUSION]);
    }
}

/// Closing a session ends its background work.
#[tokio::test]
async fn dropping_the_session_ends_preparation() {
    let engine = Arc::<EndlessEngine>::default();
    let database = database_with(engine.clone()).await;
    assert_agrees(&database, HUBS).await;
    engine.began.notified().await;
    // A query that finds its region under preparation is answered by DataFusion.
    assert_agrees(&database, HUBS).await;
    let pool = database.context().runtime_env().memory_pool.clone();
    assert!(pool.reserved() > 0);
    drop(database);
    let deadline = Duration::from_secs(60);
    tokio::time::timeout(deadline, engine.ended.notified()).await.expect("the run continues without its session");
    let freed = async {
        while pool.reserved() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(deadline, freed).await.expect("the memory of the run is still reserved");
}

/// With `claim = 'cost'`, a run in the background is cancelled if it takes much longer than
/// DataFusion took, and its region is left to DataFusion. No query waits for the region.
#[tokio::test]
async fn regions_that_do_not_finish_are_left_to_datafusion() {
    let engine = Arc::<EndlessEngine>::default();
    let database = database_with(engine.clone()).await;
    run(&database, "SET redpoll.claim = 'cost'").await.unwrap();
    run(&database, "CREATE TABLE many AS SELECT value AS k, value % 100 AS hub FROM generate_series(1, 20000)")
        .await
        .unwrap();
    let sql = "SELECT count(*) FROM many a JOIN many b ON a.k = b.k";
    assert_agrees(&database, sql).await;
    database.wait_until_prepared().await;
    let text = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
    assert_contains(
        &pretty_format_batches(&text).unwrap().to_string(),
        &["not claimed by redpoll: an earlier run found that redpoll takes"],
    );
    assert_agrees(&database, sql).await;
}
