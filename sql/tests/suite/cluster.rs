//! Queries on clusters, compared with plain DataFusion.

use crate::spread::{QUERIES, graph};
use redpoll::sql::Database;
use redpoll::sql::datafusion::physical_plan::displayable;
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
    let text = plan(&cluster, "SELECT a.src, count(*) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src").await;
    for node in ["RedpollPartitionExec", "NetworkShuffleExec", "NetworkBroadcastExec", "NetworkCoalesceExec"] {
        assert!(text.contains(node), "{node}: {text}");
    }
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

/// A small region runs on one worker. A larger one is divided by a key among a few workers, and into
/// cells among many.
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

/// Each task reads a share of a large table in memory, and of a large tensor.
#[tokio::test(flavor = "multi_thread")]
async fn large_tables_are_divided_among_tasks() {
    let database = database().await;
    let rows = "SELECT value % 300 AS i, value / 300 AS j, CAST(value AS DOUBLE) AS v FROM generate_series(0, 39999)";
    run(&database, &format!("CREATE TABLE t AS {rows}")).await.unwrap();
    let tensor = database.tensor(&format!("SELECT i, j, v FROM ({rows})"), None).await.unwrap();
    database.register_tensor("m", tensor, None).unwrap();
    let cluster = on_workers(&database, ("keyed", 3)).await.unwrap();
    run(&cluster, "SET datafusion.execution.batch_size = 1000").await.unwrap();
    for table in ["t", "m"] {
        let columns = if table == "t" { ["i", "v"] } else { ["i0", "value"] };
        let sql = format!("SELECT {0} % 7 AS g, count(*), sum({1}) FROM {table} GROUP BY g", columns[0], columns[1]);
        let text = plan(&cluster, &sql).await;
        assert!(text.contains("input_tasks=3"), "{text}");
        let expected = expected(&database, &sql).await;
        compare_rows(&run(&cluster, &sql).await.unwrap(), &expected, false).unwrap();
    }
}
