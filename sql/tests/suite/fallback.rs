//! Regions that DataFusion runs because of values in their tables: the answers are correct, and
//! such a region is not claimed again until its tables change.

use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll_testing::sql::{agree, claims, database, run};

const PRODUCT: &str = "SELECT sum(a.x * b.y) FROM a JOIN b ON a.k = b.k";

/// A product with an infinite factor is left to DataFusion. The region is claimed again after the
/// table has changed.
#[tokio::test]
async fn infinite_products_are_left_to_datafusion_until_their_table_changes() {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, x DOUBLE) AS VALUES (1, 2.0), (2, CAST('inf' AS DOUBLE))",
        "CREATE TABLE b (k BIGINT, y DOUBLE) AS VALUES (1, 3.0), (2, 0.0), (2, 1.0)",
    ] {
        run(&database, statement).await.unwrap();
    }
    assert_eq!(claims(&database, PRODUCT).await.unwrap(), 1, "a region without a run is claimed");
    agree(&database, PRODUCT).await.unwrap();
    assert_eq!(claims(&database, PRODUCT).await.unwrap(), 0, "the reason is remembered");
    let plan = run(&database, &format!("EXPLAIN VERBOSE {PRODUCT}")).await.unwrap();
    let plan = pretty_format_batches(&plan).unwrap().to_string();
    assert!(plan.contains("is not finite, or so large that it may overflow in its own type"), "{plan}");
    run(&database, "CREATE OR REPLACE TABLE a (k BIGINT, x DOUBLE) AS VALUES (1, 2.0), (2, 5.0)").await.unwrap();
    assert_eq!(agree(&database, PRODUCT).await.unwrap(), 1);
    assert_eq!(claims(&database, PRODUCT).await.unwrap(), 1, "the rows are finite now");
}

/// A division by zero in a row without a join partner does not fail the query. The same division in
/// a joined row fails the query.
#[tokio::test]
async fn errors_of_rows_that_do_not_join_are_ignored() {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, v BIGINT) AS VALUES (1, 2), (2, 3)",
        "CREATE TABLE b (k BIGINT, d BIGINT) AS VALUES (1, 3), (2, 5), (7, 0)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = "SELECT sum(a.v * (30 / b.d)) FROM a JOIN b ON a.k = b.k";
    assert_eq!(claims(&database, sql).await.unwrap(), 1);
    agree(&database, sql).await.unwrap();
    run(&database, "INSERT INTO a VALUES (7, 1)").await.unwrap();
    let error = run(&database, sql).await.unwrap_err().to_string();
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
}

/// A sum of products of `INT` columns is left to DataFusion if a product wraps in the type `INT`.
#[tokio::test]
async fn integers_that_wrap_in_their_own_type_are_left_to_datafusion() {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, i INT) AS VALUES (1, 70000), (2, 3)",
        "CREATE TABLE b (k BIGINT, i INT) AS VALUES (1, 70000), (2, 5)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = "SELECT sum(a.i * b.i) FROM a JOIN b ON a.k = b.k";
    assert_eq!(agree(&database, sql).await.unwrap(), 1);
    assert_eq!(claims(&database, sql).await.unwrap(), 0);
    let small = "SELECT sum(a.i * b.i) FROM a JOIN b ON a.k = b.k WHERE a.i < 10";
    assert_eq!(agree(&database, small).await.unwrap(), 1);
    assert_eq!(claims(&database, small).await.unwrap(), 1);
}

/// The reason names the argument whose values differ too little, which is the second one here.
#[tokio::test]
async fn the_argument_that_loses_digits_is_named() {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, x DOUBLE, y DOUBLE) AS VALUES (1, 1.0, 1000000000.0), (2, 2.0, 1000000000.5)",
        "CREATE TABLE b (k BIGINT) AS VALUES (1), (2)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = "SELECT covar_pop(a.x, a.y) FROM a JOIN b ON a.k = b.k";
    agree(&database, sql).await.unwrap();
    let plan = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
    let plan = pretty_format_batches(&plan).unwrap().to_string();
    assert!(plan.contains("y` differ so little"), "{plan}");
}

/// Minima and maxima of columns that contain a NaN are left to DataFusion.
#[tokio::test]
async fn extremes_of_nan_are_left_to_datafusion() {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, x DOUBLE) AS VALUES (1, 2.0), (1, CAST('nan' AS DOUBLE)), (2, 3.0)",
        "CREATE TABLE b (k BIGINT, d BIGINT) AS VALUES (1, 3), (1, 4), (2, 5)",
    ] {
        run(&database, statement).await.unwrap();
    }
    for sql in [
        "SELECT max(a.x), count(DISTINCT b.d) FROM a JOIN b ON a.k = b.k",
        "SELECT min(a.x), max(a.x) FROM a JOIN b ON a.k = b.k",
    ] {
        agree(&database, sql).await.unwrap();
        assert_eq!(claims(&database, sql).await.unwrap(), 0, "{sql}");
    }
}
