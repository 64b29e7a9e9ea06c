//! `USING` and `NATURAL` joins: the columns of both tables become one column, as the SQL standard
//! requires. Queries are checked claimed and unclaimed.

use crate::correlated::check;
use redpoll::sql::Database;
use redpoll_testing::sql::{claims, database, run};

async fn tables() -> Database {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, x BIGINT) AS VALUES (1, 10), (2, 20), (2, 21), (NULL, 90)",
        "CREATE TABLE b (y BIGINT, k BIGINT) AS VALUES (200, 2), (300, 3), (900, NULL)",
        "CREATE TABLE c (k INT, z BIGINT) AS VALUES (3, 3000), (4, 4000), (1, 1000)",
        "CREATE TABLE two (k BIGINT, x BIGINT, w BIGINT) AS VALUES (1, 10, 5), (7, 70, 6)",
    ] {
        run(&database, statement).await.unwrap();
    }
    database
}

/// Merged columns have the right values; DuckDB returned the expected rows.
#[tokio::test]
async fn merged_columns_have_the_values_of_both_tables() {
    let database = tables().await;
    for (sql, expected) in [
        (
            "SELECT k, x, y FROM a FULL JOIN b USING (k)",
            &["1 10 NULL", "2 20 200", "2 21 200", "3 NULL 300", "NULL 90 NULL", "NULL NULL 900"][..],
        ),
        ("SELECT * FROM a FULL JOIN b USING (k) WHERE k > 1", &["2 20 200", "2 21 200", "3 NULL 300"]),
        ("SELECT k, x, y FROM a RIGHT JOIN b USING (k)", &["2 20 200", "2 21 200", "3 NULL 300", "NULL NULL 900"]),
        ("SELECT * FROM a RIGHT JOIN b USING (k)", &["2 20 200", "2 21 200", "3 NULL 300", "NULL NULL 900"]),
        ("SELECT * FROM c LEFT JOIN two USING (k)", &["1 1000 10 5", "3 3000 NULL NULL", "4 4000 NULL NULL"]),
        ("SELECT * FROM b LEFT JOIN a USING (k)", &["200 2 20", "200 2 21", "300 3 NULL", "900 NULL NULL"]),
        ("SELECT * FROM b JOIN a USING (k)", &["200 2 20", "200 2 21"]),
        ("SELECT * EXCLUDE (y) FROM a FULL JOIN b USING (k) WHERE k > 1", &["2 20", "2 21", "3 NULL"]),
        ("SELECT * EXCEPT (k) FROM a RIGHT JOIN b USING (k) WHERE k = 3", &["NULL 300"]),
        ("SELECT * REPLACE (10 * k AS k) FROM a FULL JOIN b USING (k) WHERE k = 3", &["30 NULL 300"]),
        (
            "SELECT * EXCLUDE X REPLACE (k + y AS Y) FROM b LEFT JOIN a USING (k) WHERE k > 0",
            &["202 2", "202 2", "303 3"],
        ),
        ("SELECT * FROM b NATURAL JOIN a NATURAL LEFT JOIN c", &["200 2 20 NULL", "200 2 21 NULL"]),
        ("SELECT * FROM a NATURAL FULL JOIN b WHERE k = 3", &["3 NULL 300"]),
        ("SELECT k, a.k AS ak, b.k AS bk FROM a FULL JOIN b USING (k) WHERE k IN (1, 3)", &["1 1 NULL", "3 NULL 3"]),
        ("SELECT a.*, b.* FROM a FULL JOIN b USING (k) WHERE k = 3", &["NULL NULL 300 3"]),
        (
            "SELECT k, count(*), sum(x) FROM a FULL JOIN b USING (k) GROUP BY k",
            &["1 1 10", "2 2 41", "3 1 NULL", "NULL 2 90"],
        ),
        ("SELECT k + 1 AS n FROM a FULL JOIN b USING (k) GROUP BY k HAVING k > 2 ORDER BY k", &["4"]),
        ("SELECT count(DISTINCT k) FROM a FULL JOIN b USING (k)", &["3"]),
        (
            "SELECT k, x, y, z FROM a FULL JOIN b USING (k) FULL JOIN c USING (k) WHERE k IS NOT NULL",
            &["1 10 NULL 1000", "2 20 200 NULL", "2 21 200 NULL", "3 NULL 300 3000", "4 NULL NULL 4000"],
        ),
        ("SELECT * FROM a FULL JOIN b USING (k) JOIN c USING (k)", &["1 10 NULL 1000", "3 NULL 300 3000"]),
        ("SELECT k, z FROM a JOIN b USING (k) RIGHT JOIN c USING (k)", &["1 1000", "3 3000", "4 4000"]),
        ("SELECT * FROM (a JOIN b USING (k)) RIGHT JOIN c USING (k) WHERE k = 4", &["4 NULL NULL 4000"]),
        (
            "SELECT k, n FROM (SELECT k, count(*) n FROM a GROUP BY k) s FULL JOIN b USING (k) WHERE k > 0",
            &["1 1", "2 2", "3 NULL"],
        ),
        (
            "WITH s AS (SELECT k, y FROM a FULL JOIN b USING (k)) SELECT k, z FROM s RIGHT JOIN c USING (k)",
            &["1 1000", "3 3000", "4 4000"],
        ),
        (
            "SELECT k, x, w, y FROM a FULL JOIN two USING (k, x) LEFT JOIN b USING (k) WHERE k > 1 AND x > 20",
            &["2 21 NULL 200", "7 70 6 NULL"],
        ),
        ("SELECT t.k FROM (SELECT * FROM a FULL JOIN b USING (k)) t WHERE t.y = 300", &["3"]),
        ("SELECT k FROM a FULL JOIN b USING (k) WHERE EXISTS (SELECT 1 FROM c WHERE c.z = y * 10)", &["3"]),
        ("SELECT a.x, b.y FROM a FULL JOIN b USING (k) ORDER BY k DESC NULLS LAST LIMIT 1", &["NULL 300"]),
        ("SELECT k FROM a FULL JOIN b USING (k) UNION SELECT k FROM c", &["1", "2", "3", "4", "NULL"]),
        ("SELECT \"k\" FROM A FULL JOIN B USING (K) WHERE K = 3", &["3"]),
    ] {
        check(&database, sql, expected).await;
    }
    let grouped = "SELECT k, count(*), sum(w) FROM two FULL JOIN b USING (k) GROUP BY k";
    assert_eq!(claims(&database, grouped).await.unwrap(), 1);
}

/// Columns are merged in views and in statements that contain queries.
#[tokio::test]
async fn columns_are_merged_in_every_statement_with_a_query() {
    let database = tables().await;
    run(&database, "CREATE VIEW v AS SELECT k, x FROM a FULL JOIN b USING (k)").await.unwrap();
    check(&database, "SELECT k FROM v WHERE x IS NULL AND k IS NOT NULL", &["3"]).await;
    run(&database, "CREATE TABLE t AS SELECT * FROM a RIGHT JOIN b USING (k)").await.unwrap();
    check(&database, "SELECT k FROM t", &["2", "2", "3", "NULL"]).await;
}

/// Columns that cannot be merged are an error, not a silent NULL.
#[tokio::test]
async fn columns_that_cannot_be_merged_are_an_error() {
    let database = tables().await;
    for sql in [
        "SELECT k FROM (SELECT k FROM a) FULL JOIN b USING (k)",
        "SELECT * ILIKE 'k' FROM a FULL JOIN b USING (k)",
        "SELECT * EXCLUDE (missing) FROM b LEFT JOIN a USING (k)",
    ] {
        let error = run(&database, sql).await.unwrap_err().to_string();
        assert!(error.contains("USING") && error.contains("coalesce"), "{sql}: {error}");
    }
    for sql in ["SELECT k FROM a FULL JOIN b USING (k), c", "SELECT k FROM a FULL JOIN b ON a.k = b.k"] {
        let error = run(&database, sql).await.unwrap_err().to_string();
        assert!(error.to_lowercase().contains("ambiguous"), "{sql}: {error}");
    }
}
