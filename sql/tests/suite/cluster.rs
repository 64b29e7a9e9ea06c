//! Queries on clusters, compared with plain DataFusion.

use crate::spread::{QUERIES, graph};
use redpoll::sql::datafusion::physical_plan::displayable;
use redpoll::sql::{Cluster, Database};
use redpoll_testing::sql::{compare_rows, database, run};
use std::num::NonZero;

/// Returns the database on a cluster of workers in this process. The queries claim all regions, and
/// divide them by the given value of `redpoll.spread`.
async fn on_workers(database: &Database, workers: usize, spread: &str) -> Database {
    let cluster = Cluster::in_process(NonZero::new(workers).unwrap(), database);
    let database = database.on_cluster(&cluster).unwrap();
    for setting in [
        &format!("SET redpoll.spread = '{spread}'"),
        "SET datafusion.execution.target_partitions = 2",
        // DataFusion does not divide inputs that fit into one batch.
        "SET datafusion.execution.batch_size = 4",
    ] {
        run(&database, setting).await.unwrap();
    }
    database
}

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

#[tokio::test(flavor = "multi_thread")]
async fn regions_run_in_stages() {
    let database = graph().await;
    let cluster = on_workers(&database, 3, "keyed").await;
    let text = plan(&cluster, "SELECT a.src, count(*) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src").await;
    println!("{text}");
    assert!(text.contains("RedpollPartitionExec") && text.contains("NetworkShuffleExec"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_agree_with_datafusion() {
    let database = graph().await;
    for sql in QUERIES {
        let expected = expected(&database, sql).await;
        for (workers, spread) in [(1, "keyed"), (2, "keyed"), (7, "keyed"), (3, "cells"), (2, "whole"), (2, "auto")] {
            let cluster = on_workers(&database, workers, spread).await;
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
    let cluster = on_workers(&database, 3, "keyed").await;
    compare_rows(&run(&cluster, sql).await.unwrap(), &expected, false).unwrap();
}
