//! Queries on clusters, compared with plain DataFusion.

use crate::spread::{QUERIES, graph};
use redpoll::logic::op::Builtin;
use redpoll::logic::{Alias, DType, FloatMode, Plan};
use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll::sql::datafusion::dataframe::DataFrame;
use redpoll::sql::datafusion::physical_plan::displayable;
use redpoll::sql::{Cluster, ComputeFn, Database, Engine, Number, Outcome, RunError, RunLimits, Semiring, TensorTable};
use redpoll::storage::Tensor;
use redpoll_testing::sql::{compare_rows, database, on_workers, run};
use std::num::NonZero;
use std::sync::{Arc, Mutex};

/// Returns the execution plan as text.
async fn plan(database: &Database, sql: &str) -> String {
    let plan = database.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(false).to_string()
}

/// Returns the rows of a query in DataFusion alone.
async fn expected(database: &Database, sql: &str) -> Vec<redpoll::sql::datafusion::arrow::array::RecordBatch> {
    run(database, "SET redpoll.enabled = false").await.unwrap();
    let rows = run(database, sql).await.unwrap();
    run(database, "SET redpoll.enabled = true").await.unwrap();
    rows
}

/// The edges by key are shuffled, and the edges that each partition reads whole are broadcast.
#[tokio::test(flavor = "multi_thread")]
async fn regions_run_in_stages() {
    let database = graph().await;
    let cluster = on_workers(&database, ("keyed", 3)).await.unwrap();
    let sql = "SELECT a.src, count(*) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src";
    let text = plan(&cluster, sql).await;
    for node in ["RedpollPartitionExec", "NetworkShuffleExec", "NetworkBroadcastExec", "NetworkCoalesceExec"] {
        assert!(text.contains(node), "{node}: {text}");
    }
    let rows = run(&cluster, &format!("EXPLAIN {sql}")).await.unwrap();
    let text = pretty_format_batches(&rows).unwrap().to_string();
    assert!(text.contains("Stage 2 ── tasks=1, partitions="), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_agree_with_datafusion() {
    let database = graph().await;
    for sql in QUERIES {
        let expected = expected(&database, sql).await;
        for (workers, spread) in [(1, "keyed"), (2, "keyed"), (7, "keyed"), (3, "cells"), (2, "whole"), (2, "auto")] {
            let cluster = on_workers(&database, (spread, workers)).await.unwrap();
            let rows = run(&cluster, sql).await.unwrap_or_else(|e| panic!("{sql} {workers} {spread}: {e}"));
            compare_rows(&rows, &expected, false).unwrap_or_else(|e| panic!("{sql} {workers} {spread}: {e}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_leave_regions_to_datafusion() {
    let database = database().await;
    for statement in [
        "CREATE TABLE e (src BIGINT, v BIGINT) AS SELECT value % 20, value FROM generate_series(1, 100)",
        "CREATE TABLE f (id BIGINT, v DOUBLE) AS SELECT value, CASE WHEN value = 5 THEN 'NaN' ELSE value END
         FROM generate_series(0, 19)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = "SELECT max(f.v), count(*) FROM e JOIN f ON e.src = f.id";
    let expected = expected(&database, sql).await;
    let cluster = on_workers(&database, ("keyed", 3)).await.unwrap();
    compare_rows(&run(&cluster, sql).await.unwrap(), &expected, false).unwrap();
}

/// 64 workers run the tasks of each stage.
#[tokio::test(flavor = "multi_thread")]
async fn many_workers_agree_with_datafusion() {
    let database = graph().await;
    for sql in [QUERIES[1], QUERIES[3]] {
        let expected = expected(&database, sql).await;
        for spread in ["keyed", "cells"] {
            let cluster = on_workers(&database, (spread, 64)).await.unwrap();
            compare_rows(&run(&cluster, sql).await.unwrap(), &expected, false).unwrap();
        }
    }
}

/// A small region runs on one worker. A larger one is divided by a key among a few workers, and
/// into cells among many.
#[tokio::test(flavor = "multi_thread")]
async fn divisions_are_chosen_by_cost() {
    let database = database().await;
    for (table, rows) in [("small", 1000), ("large", 300_000)] {
        let edges = "SELECT value * 7 % 4999 AS src, value * 11 % 4993 AS dst FROM generate_series(1, ";
        run(&database, &format!("CREATE TABLE {table} AS {edges}{rows})")).await.unwrap();
    }
    for (table, workers, expected) in [
        ("small", 64, "one partition"),
        ("large", 2, "2 partitions by `a.dst`"),
        ("large", 64, "partitions by `a.dst` in"),
    ] {
        let cluster = on_workers(&database, ("auto", workers)).await.unwrap();
        let sql = format!(
            "SELECT count(*) FROM {table} a, {table} b, {table} c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"
        );
        let text = plan(&cluster, &sql).await;
        let line = text.lines().find(|line| line.contains("RedpollPartitionExec")).unwrap_or(&text);
        assert!(line.contains(expected), "{table} on {workers} workers: {line}");
    }
}

/// Each task reads a share of a large table in memory. Rows that must be in one place, because they
/// are sorted, numbered or limited, stay there; settings and semirings of the session apply to
/// workers.
#[tokio::test(flavor = "multi_thread")]
async fn large_tables_are_divided_among_tasks() {
    let database = database().await;
    let plus = Semiring::new("min_plus", Builtin::Min, Builtin::Add, Number::I64).unwrap();
    database.register_semiring(plus);
    let rows = "SELECT value % 300 AS i, value / 300 AS j, value * 7 % 1013 AS v, \
         CAST(to_timestamp(value) AS VARCHAR) AS s FROM generate_series(0, 39999)";
    run(&database, &format!("CREATE TABLE t AS {rows}")).await.unwrap();
    run(&database, "CREATE TABLE one AS SELECT 1 AS j FROM generate_series(1, 30000)").await.unwrap();
    let tensor = database.tensor(&format!("SELECT i, j, v FROM ({rows})"), None).await.unwrap();
    database.register_tensor("m", tensor, None).unwrap();
    run(&database, "SET datafusion.execution.time_zone = '+08:00'").await.unwrap();
    let cluster = on_workers(&database, ("keyed", 3)).await.unwrap();
    run(&cluster, "SET datafusion.execution.batch_size = 1000").await.unwrap();
    let text = plan(&cluster, "SELECT i % 7 AS g, count(*) FROM t GROUP BY g").await;
    assert!(text.contains("input_tasks=3"), "{text}");
    for sql in [
        "SELECT i % 7 AS g, count(*), sum(v) FROM t GROUP BY g",
        "SELECT i0 % 7 AS g, count(*), sum(value) FROM m GROUP BY g",
        "SELECT t.i, count(*) FROM t JOIN (SELECT j FROM one LIMIT 10) b ON t.j = b.j GROUP BY t.i",
        "SELECT count(*) FROM t JOIN (SELECT i0 FROM m ORDER BY value, i0, i1 LIMIT 10) s ON t.i = s.i0",
        "SELECT sum(n) FROM (SELECT row_number() OVER (ORDER BY i, j) AS n FROM t)",
        "SELECT a.i, min_plus(a.v, b.v) FROM t a JOIN t b ON a.j = b.i GROUP BY a.i",
        "SELECT max(to_unixtime(s)) FROM t",
        "SELECT count(*) FROM t WHERE v > (SELECT avg(v) FROM t)",
    ] {
        let expected = expected(&database, sql).await;
        let rows = run(&cluster, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        compare_rows(&rows, &expected, false).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let error = run(&cluster, "SELECT count(*) FROM t WHERE v > (SELECT v FROM t)").await.unwrap_err();
    assert!(error.to_string().contains("may have several rows"), "{error}");
    run(&cluster, "EXPLAIN ANALYZE SELECT t.i, count(*) FROM t JOIN one b ON t.j = b.j GROUP BY t.i").await.unwrap();
}

/// A region whose plan DataFusion cannot run, because an outer join would pad a run-end encoded
/// column, runs on workers, also below other nodes. If its rows must be left to DataFusion, the
/// error says what to change.
#[tokio::test(flavor = "multi_thread")]
async fn regions_without_a_datafusion_plan_run_on_workers() {
    let database = database().await;
    for statement in [
        "CREATE TABLE i (id BIGINT, g BIGINT, x DOUBLE) AS VALUES (1, 1, 1.0), (2, 1, CAST('nan' AS DOUBLE)), (7, 2, 2.0)",
        "CREATE TABLE p (id BIGINT, s VARCHAR) AS VALUES (1, 'a'), (2, 'b')",
    ] {
        run(&database, statement).await.unwrap();
    }
    let from = r#"FROM i LEFT JOIN (SELECT id, arrow_cast(s, 'RunEndEncoded("run_ends": non-null Int32, "values": Utf8)')
        AS r FROM p) q ON q.id = i.id"#;
    let groups = format!("SELECT i.g, count(q.r) AS n {from} GROUP BY i.g");
    let joined = format!("SELECT p.s, sum(t.n) FROM ({groups}) t JOIN p ON p.id = t.g GROUP BY p.s");
    for spread in ["whole", "keyed", "cells"] {
        let cluster = on_workers(&database, (spread, 3)).await.unwrap();
        for sql in [&groups, &joined] {
            let text = plan(&cluster, sql).await;
            assert!(text.contains("RedpollSpreadExec") && !text.contains("RedpollExec"), "{text}");
            let found = run(&cluster, sql).await.unwrap_or_else(|e| panic!("{spread}: {sql}: {e}"));
            compare_rows(&found, &run(&database, sql).await.unwrap(), false).unwrap();
        }
        // DataFusion would have to compute this maximum, because the column has a NaN.
        let error = run(&cluster, &format!("SELECT count(q.r), max(i.x) {from}")).await.unwrap_err().to_string();
        assert!(error.contains("is run-end encoded") && error.contains("`arrow_cast(r, 'Utf8')`"), "{error}");
    }
}

/// The plan of a region that is nested in others has one node for each region: DataFusion's own
/// plan of a region, which is part of the plan, has no regions.
#[tokio::test(flavor = "multi_thread")]
async fn nested_regions_are_planned_once() {
    let database = graph().await;
    let cluster = on_workers(&database, ("whole", 2)).await.unwrap();
    let mut table = "n".to_owned();
    for level in 1..=4 {
        let sql =
            format!("SELECT {table}.id, count(*) AS c FROM {table} JOIN e ON e.src = {table}.id GROUP BY {table}.id");
        let frame = cluster.sql(&sql).await.unwrap();
        let (state, optimized) = (cluster.context().state(), frame.into_optimized_plan().unwrap());
        let text = plan(&cluster, &sql).await;
        assert_eq!(text.matches("RedpollSpreadExec").count(), level, "{text}");
        // The regions of a view of an optimized plan are claimed already.
        table = format!("level_{level}");
        cluster.context().register_table(&*table, DataFrame::new(state, optimized).into_view()).unwrap();
    }
    let sql = format!("SELECT sum(c) FROM {table}");
    let rows = run(&cluster, &sql).await.unwrap();
    assert_eq!(rows[0].num_rows(), 1);
}

/// A part of a plan that cannot be sent ends the query with its own error, not with the time limit
/// of the workers that wait for the plan.
#[tokio::test(flavor = "multi_thread")]
async fn unsent_plans_end_queries() {
    let database = graph().await;
    let broken: ComputeFn = Box::new(|| Err(RunError::Failed("the tensor is broken".into())));
    database.register_table("m", TensorTable::lazy((vec![30, 30], DType::F64), None, broken).unwrap()).unwrap();
    let cluster = on_workers(&database, ("keyed", 3)).await.unwrap();
    let sql = "SELECT a.src, count(*) FROM e a JOIN e b ON a.dst = b.src JOIN m ON m.i0 = b.dst GROUP BY a.src";
    let error = run(&cluster, sql).await.unwrap_err();
    assert!(redpoll::sql::message(&error).contains("the tensor is broken"), "{error}");
}

/// An engine that records the float modes in which it was asked to run.
#[derive(Debug)]
struct RecordingEngine {
    session: redpoll::Session,
    mode: FloatMode,
    modes: Arc<Mutex<Vec<FloatMode>>>,
}

impl Engine for RecordingEngine {
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError> {
        self.modes.lock().unwrap().push(self.mode);
        self.session.run(plan, bindings, limits)
    }

    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
        self.session.explain(plan, bindings)
    }

    fn float_mode(&self) -> FloatMode {
        self.mode
    }

    fn with_float_mode(&self, mode: FloatMode) -> Result<Arc<dyn Engine>, RunError> {
        Ok(Arc::new(RecordingEngine { session: self.session.clone(), mode, modes: self.modes.clone() }))
    }
}

/// Workers run regions in the float mode of the coordinator's session.
#[tokio::test(flavor = "multi_thread")]
async fn workers_run_in_the_float_mode_of_the_session() {
    let modes = Arc::<Mutex<Vec<FloatMode>>>::default();
    let engine = |mode| RecordingEngine { session: redpoll::Session::default(), mode, modes: modes.clone() };
    let workers = Database::new(Arc::new(engine(FloatMode::Relaxed)));
    let cluster = Cluster::in_process(NonZero::new(2).unwrap(), &workers);
    for mode in [FloatMode::StrictIeee, FloatMode::Relaxed] {
        let database = Database::new(Arc::new(engine(mode))).on_cluster(&cluster);
        for statement in [
            "SET redpoll.claim = 'always'",
            "SET redpoll.spread = 'keyed'",
            "CREATE TABLE t (k BIGINT, v DOUBLE) AS SELECT value % 7, value FROM generate_series(1, 100)",
            "SELECT a.k, sum(a.v * b.v) FROM t a JOIN t b ON a.k = b.k GROUP BY a.k",
        ] {
            run(&database, statement).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
        let found = std::mem::take(&mut *modes.lock().unwrap());
        assert!(!found.is_empty() && found.iter().all(|found| *found == mode), "{mode:?}: {found:?}");
    }
}
