//! Queries on clusters, compared with plain DataFusion.

use crate::spread::{QUERIES, graph};
use redpoll::logic::op::Builtin;
use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll::sql::datafusion::physical_plan::displayable;
use redpoll::sql::{Database, Number, Semiring};
use redpoll_testing::sql::{compare_rows, database, on_workers, run};

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
