//! Correlated subqueries with equal column names give the right rows, claimed and unclaimed.

use redpoll::sql::Database;
use redpoll_testing::sql::{Cell, agree, database, rows, run};

/// Returns the rows of a query as text, sorted.
pub(crate) async fn sorted(database: &Database, sql: &str) -> Vec<String> {
    let batches = run(database, sql).await.unwrap_or_else(|e| panic!("{sql}\n{e}"));
    let text = |cell: Cell| match cell {
        Cell::Float(v) => v.to_string(),
        Cell::Text(t) => t,
    };
    let mut found: Vec<String> =
        rows(&batches).into_iter().map(|row| row.into_iter().map(text).collect::<Vec<_>>().join(" ")).collect();
    found.sort();
    found
}

/// Checks the rows of a query, unclaimed and claimed.
pub(crate) async fn check(database: &Database, sql: &str, expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    expected.sort();
    for enabled in [false, true] {
        run(database, &format!("SET redpoll.enabled = {enabled}")).await.unwrap();
        assert_eq!(sorted(database, sql).await, expected, "{sql}, enabled: {enabled}");
    }
}

/// Returns a database with a symmetric graph `f` (a triangle 1 2 3, a path 3 4 5, and an edge 1 6),
/// and a table `d` of numbers for some vertices.
async fn graph() -> Database {
    let database = database().await;
    for statement in [
        "CREATE TABLE f (u BIGINT, v BIGINT) AS VALUES (1,2),(2,1),(2,3),(3,2),(1,3),(3,1),(3,4),(4,3),(4,5),(5,4),(1,6),(6,1)",
        "CREATE TABLE d (u BIGINT, n BIGINT) AS VALUES (1, 10), (2, 20), (3, 30), (7, 70)",
    ] {
        run(&database, statement).await.unwrap();
    }
    database
}

/// Columns of the same name stay distinct; DuckDB returned the expected rows.
#[tokio::test]
async fn columns_of_the_same_name_stay_distinct() {
    let database = graph().await;
    for (sql, expected) in [
        (
            "SELECT e.u, e.v FROM f e WHERE e.u < e.v AND NOT EXISTS \
             (SELECT 1 FROM f a JOIN f b ON a.v = b.v WHERE a.u = e.u AND b.u = e.v)",
            &["1 6", "3 4", "4 5"][..],
        ),
        (
            "SELECT e.u, e.v FROM f e WHERE e.u < e.v AND EXISTS \
             (SELECT 1 FROM f a JOIN f b ON a.v = b.v WHERE a.u = e.u AND b.u = e.v)",
            &["1 2", "1 3", "2 3"],
        ),
        (
            "SELECT e.u, e.v FROM f e WHERE e.u < e.v AND EXISTS \
             (SELECT * FROM f a, f b WHERE a.v = b.v AND b.u = e.v AND a.u = e.u)",
            &["1 2", "1 3", "2 3"],
        ),
        // The selected column has the name of a compared column.
        (
            "SELECT e.u FROM d e WHERE e.u IN (SELECT a.u FROM f a JOIN d b ON a.v = b.u WHERE b.n = e.n + 10)",
            &["1", "2"],
        ),
        ("SELECT e.u FROM d e WHERE e.u IN (SELECT a.v FROM f a JOIN d b ON a.u = b.u WHERE b.u = e.u)", &[]),
        ("SELECT e.u FROM d e WHERE e.u IN (SELECT a.u FROM f a JOIN d b ON a.v = b.u WHERE b.u = e.u)", &[]),
        (
            "SELECT e.u, (SELECT count(*) FROM f a JOIN f b ON a.v = b.v WHERE a.u = e.u AND b.u = e.v) n \
             FROM f e WHERE e.u < e.v",
            &["1 0", "1 1", "1 1", "2 1", "3 0", "4 0"],
        ),
        (
            "SELECT e.u, e.v, s.n FROM f e, LATERAL (SELECT count(*) n FROM f a JOIN f b ON a.v = b.v \
             WHERE a.u = e.u AND b.u = e.v) s WHERE e.u < e.v",
            &["1 2 1", "1 3 1", "1 6 0", "2 3 1", "3 4 0", "4 5 0"],
        ),
        (
            "SELECT e.u, e.v FROM f e WHERE e.u < e.v AND (e.u = 4 OR EXISTS \
             (SELECT 1 FROM f a JOIN f b ON a.v = b.v WHERE a.u = e.u AND b.u = e.v))",
            &["1 2", "1 3", "2 3", "4 5"],
        ),
        (
            "SELECT e.u, count(*) FROM f e WHERE NOT EXISTS (SELECT 1 FROM f a JOIN f b ON a.v = b.v \
             WHERE a.u = e.u AND b.u = e.v AND EXISTS (SELECT 1 FROM d x JOIN d y ON x.n < y.n \
             WHERE x.u = a.u AND y.u = b.u)) GROUP BY e.u",
            &["1 1", "2 1", "3 3", "4 2", "5 1", "6 1"],
        ),
    ] {
        check(&database, sql, expected).await;
    }
    run(&database, "CREATE TABLE w (u BIGINT, v BIGINT) AS VALUES (1, 2), (2, NULL), (9, 3)").await.unwrap();
    for (sql, expected) in [
        ("SELECT u FROM d WHERE u NOT IN (SELECT b.v FROM w b WHERE b.v = d.u AND b.u < 5)", &["1", "3", "7"][..]),
        ("SELECT u FROM d WHERE NOT (u IN (SELECT b.v FROM w b WHERE d.u = b.v))", &["1", "7"]),
        ("SELECT u FROM d WHERE u NOT IN (SELECT b.v FROM w b WHERE b.u < 5)", &[]),
    ] {
        check(&database, sql, expected).await;
    }
    agree(&database, "SELECT count(*) FROM f e WHERE e.u IN (SELECT u FROM d)").await.unwrap();
}
