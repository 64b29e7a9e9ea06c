//! Columns of the same name stay distinct in execution plans; the expected rows were computed by
//! hand.
//!
//! Without redpoll's corrections, DataFusion 55 fails or answers wrongly.

use crate::correlated::check;
use redpoll::sql::Database;
use redpoll_testing::sql::{database, run};

async fn database_with(statements: &[&str]) -> Database {
    let database = database().await;
    for statement in statements {
        run(&database, statement).await.unwrap_or_else(|e| panic!("{statement}\n{e}"));
    }
    database
}

/// A condition on an optional table does not filter the other table of an outer join.
#[tokio::test]
async fn conditions_above_outer_joins_stay_at_their_table() {
    let database = database_with(&[
        "CREATE TABLE a (k BIGINT, j BIGINT) AS VALUES (1, 10), (2, 20), (3, 30)",
        "CREATE TABLE b (k BIGINT, j BIGINT, v BIGINT) AS VALUES (2, 7, 1), (4, 8, 1), (5, 9, 0), (NULL, 6, 1)",
        "CREATE TABLE many AS SELECT value AS k, value % 2 AS v FROM generate_series(1, 1000)",
        "CREATE TABLE t0 (k BIGINT, j BIGINT, s VARCHAR)",
        "CREATE TABLE t3 (k BIGINT, j BIGINT, s VARCHAR, b BOOLEAN) AS VALUES (3, NULL, NULL, true)",
    ])
    .await;
    let filtered = "(SELECT * FROM b WHERE v = 1) q1 ON q0.k = q1.k WHERE q0.k IS NULL";
    let mirrored = "a q0 ON q0.k = q1.k WHERE q0.k IS NULL";
    for (sql, expected) in [
        (format!("SELECT q1.k FROM a q0 RIGHT JOIN {filtered}"), &["4", "NULL"][..]),
        (format!("SELECT q1.k FROM a q0 FULL JOIN {filtered}"), &["4", "NULL"]),
        (format!("SELECT q1.k FROM (SELECT * FROM b WHERE v = 1) q1 LEFT JOIN {mirrored}"), &["4", "NULL"]),
        (format!("SELECT q1.k FROM many q0 RIGHT JOIN {filtered}"), &["NULL"]),
        (
            format!("SELECT count(*), sum(q1.k) FROM (SELECT * FROM many WHERE v = 1) q1 LEFT JOIN {mirrored}"),
            &["498 249996"],
        ),
        (format!("SELECT count(*), sum(q1.j) FROM a q0 RIGHT JOIN {filtered}"), &["2 14"]),
        (
            "SELECT q1.k FROM a q0 RIGHT JOIN (SELECT * FROM many WHERE v = 0) q1 ON q0.k = q1.k \
             WHERE (q0.k IS NULL OR q0.k > 5) AND q1.k < 8"
                .to_string(),
            &["4", "6"],
        ),
        (
            "SELECT DISTINCT q2.k + 1 FROM t0 q0 FULL JOIN t3 q1 ON q1.s = q0.s AND q1.j <= q0.j \
             LEFT JOIN t3 q2 ON q2.k = q1.k WHERE q0.k IS NULL AND (q1.b OR q1.s LIKE '%b')"
                .to_string(),
            &["4"],
        ),
    ] {
        check(&database, &sql, expected).await;
    }
}

/// Filters below projections keep their columns, although other columns have the same names.
#[tokio::test]
async fn filters_below_projections_keep_their_columns() {
    let database = database_with(&[
        "CREATE TABLE t0 (k BIGINT) AS VALUES (7), (8)",
        "CREATE TABLE t2 (k BIGINT, d BIGINT, v BIGINT, p BIGINT) AS VALUES (7, 1, NULL, 10), (8, 2, 1, 1)",
        "CREATE TABLE t3 (d BIGINT, v BIGINT, p BIGINT) AS VALUES (1, 5, 2), (2, 6, 3), (3, 9, 4)",
    ])
    .await;
    let from = "FROM t3 q0 LEFT JOIN t2 q1 ON q0.d = q1.d";
    for (sql, expected) in [
        (
            format!("SELECT q1.k AS x, q0.p * q1.p - q1.p AS y, q0.v AS z {from} WHERE q1.v IS NULL"),
            &["7 10 5", "NULL NULL 9"][..],
        ),
        (
            format!(
                "SELECT avg(q0.p * q1.p - q1.p), sum(q0.v) - sum(q1.k) {from} \
                 LEFT SEMI JOIN t0 z ON z.k = q1.k WHERE q1.v IS NULL"
            ),
            &["10 -2"],
        ),
    ] {
        check(&database, &sql, expected).await;
    }
}

/// Dynamic filters, which DataFusion makes from the keys of a join while the join runs, are not
/// applied to other columns of the same name.
#[tokio::test]
async fn filters_of_keys_reach_the_columns_of_the_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("'{}'", folder.path().join(name).display());
    let (a, b, c) = (file("a.parquet"), file("b.parquet"), file("c.parquet"));
    let database = database_with(&[
        "SET datafusion.execution.parquet.pushdown_filters = true",
        &format!("COPY (SELECT value AS k, 10 * value AS j FROM generate_series(1, 4)) TO {a}"),
        &format!("COPY (SELECT value AS j, value + 100 AS k FROM generate_series(1, 50)) TO {b}"),
        &format!("COPY (SELECT value AS j, value AS k FROM generate_series(1, 50)) TO {c}"),
        &format!("CREATE EXTERNAL TABLE a STORED AS PARQUET LOCATION {a}"),
        &format!("CREATE EXTERNAL TABLE b STORED AS PARQUET LOCATION {b}"),
        &format!("CREATE EXTERNAL TABLE c STORED AS PARQUET LOCATION {c}"),
        "CREATE TABLE x (k BIGINT) AS VALUES (1), (2)",
        "CREATE TABLE d (j BIGINT) AS VALUES (1), (3)",
    ])
    .await;
    for (sql, expected) in [
        (
            "SELECT x.k, b.k, c.k, d.j FROM x JOIN (b JOIN c ON b.j = c.j LEFT JOIN d ON d.j = c.j) ON x.k = c.k",
            &["1 101 1 1", "2 102 2 NULL"][..],
        ),
        (
            "SELECT x.k, y.j FROM x JOIN (SELECT a.k, a.j FROM a LEFT SEMI JOIN b ON a.k = b.j AND b.k > a.j) y \
             ON x.k = y.k",
            &["1 10", "2 20"],
        ),
    ] {
        check(&database, sql, expected).await;
    }
}
