//! Aggregate functions over semirings that users register. DataFusion runs the same functions for
//! comparison.

use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll::sql::{Database, Number, Semiring};
use redpoll_logic::op::Builtin;
use redpoll_testing::sql::{agree, claims, database, rows, run};

async fn graph() -> Database {
    let database = database().await;
    for (name, plus, times, number) in [
        ("min_plus", Builtin::Min, Builtin::Add, Number::F64),
        ("max_min", Builtin::Max, Builtin::Min, Number::I64),
        ("max_plus", Builtin::Max, Builtin::Add, Number::F64),
    ] {
        database.register_semiring(Semiring::new(name, plus, times, number).unwrap());
    }
    let edges = "CREATE TABLE e (s BIGINT, d BIGINT, w DOUBLE, c BIGINT) AS VALUES (1, 2, 0.5, 7), (1, 3, 2.0, 1), \
                 (2, 3, 1.0, 4), (3, 4, -1.5, 9), (2, 4, NULL, 3), (1, 2, 0.25, NULL), (4, 1, 3.0, 2), (4, 9, 1.0, 1)";
    run(&database, edges).await.unwrap();
    database
}

/// Shortest and widest paths agree with DataFusion.
#[tokio::test]
async fn paths_agree_with_datafusion() {
    let database = graph().await;
    for sql in [
        "SELECT a.s, b.d, min_plus(a.w, b.w) FROM e a JOIN e b ON a.d = b.s GROUP BY a.s, b.d",
        "SELECT a.s, max_min(a.c, b.c), max_plus(a.w, b.w), count(*) FROM e a JOIN e b ON a.d = b.s GROUP BY a.s",
        "SELECT min_plus(a.w, b.w, c.w) FROM e a JOIN e b ON a.d = b.s JOIN e c ON b.d = c.s AND c.d = a.s",
        "SELECT a.s, min_plus(a.w) FROM e a JOIN e b ON a.d = b.s GROUP BY a.s",
        "SELECT min_plus(a.w, b.w) FROM e a JOIN e b ON a.d = b.s WHERE a.s > 100",
        "SELECT a.s, max_min(a.c, b.c) FILTER (WHERE b.w > 0) FROM e a JOIN e b ON a.d = b.s GROUP BY a.s",
    ] {
        assert_eq!(agree(&database, sql).await.unwrap(), 1, "{sql}");
    }
}

/// Infinite values of rows that do not join must not be combined, so regions with infinite values
/// are left to DataFusion.
#[tokio::test]
async fn infinite_values_are_left_to_datafusion() {
    let database = graph().await;
    run(&database, "INSERT INTO e VALUES (2, 9, 'inf', 1), (9, 2, '-inf', 1)").await.unwrap();
    let sql = "SELECT a.s, min_plus(a.w, b.w) FROM e a JOIN e b ON a.d = b.s GROUP BY a.s";
    assert_eq!(agree(&database, sql).await.unwrap(), 1);
    assert_eq!(claims(&database, sql).await.unwrap(), 0);
}

/// Folds whose `times` does not distribute over `plus` for the values of the tables are left to
/// DataFusion, which computes the folds row by row. Examples are sums that may wrap, products of
/// negative values, and products of floats that overflow, because infinity times zero is NaN.
#[tokio::test]
async fn folds_that_cannot_be_regrouped_are_left_to_datafusion() {
    let database = database().await;
    for (name, plus, times, number) in [
        ("min_sum", Builtin::Min, Builtin::Add, Number::I64),
        ("min_product", Builtin::Min, Builtin::Mul, Number::I64),
        ("max_product", Builtin::Max, Builtin::Mul, Number::F64),
    ] {
        database.register_semiring(Semiring::new(name, plus, times, number).unwrap());
    }
    for statement in [
        "CREATE TABLE l (k BIGINT, v BIGINT, w DOUBLE, x DOUBLE) AS \
         VALUES (1, 5, 0.5, 1e200), (1, 9223372036854775807, 0.25, 0.0), (1, 1, 2.0, 1.0), (2, 1, 4.0, 2.0)",
        "CREATE TABLE r (k BIGINT, v BIGINT, w DOUBLE, x DOUBLE) AS \
         VALUES (1, 1, 0.5, 1e200), (1, 2, 0.75, 0.0), (2, -2, -1.0, 3.0), (2, 5, 1.0, 3.0)",
    ] {
        run(&database, statement).await.unwrap();
    }
    for (function, condition, claimed) in [
        ("min_sum(l.v, r.v)", "true", 0),
        ("min_sum(l.v, r.v)", "l.v < 100", 1),
        ("min_product(l.v, r.v)", "l.v < 100", 0),
        ("min_product(l.v, r.v)", "r.v > 0", 0),
        ("min_product(l.v, r.v)", "l.v < 100 AND r.v > 0", 1),
        ("max_product(l.w, r.w)", "true", 0),
        ("max_product(l.w, r.w)", "r.w > 0", 1),
        ("max_product(l.x, l.w, r.x)", "r.w > 0", 0),
        ("max_product(l.x, r.x)", "l.k = 2 AND r.w > 0", 1),
    ] {
        let sql = format!("SELECT l.k, {function} FROM l JOIN r ON l.k = r.k WHERE {condition} GROUP BY l.k");
        agree(&database, &sql).await.unwrap();
        assert_eq!(claims(&database, &sql).await.unwrap(), claimed, "{sql}");
    }
}

/// A function with the name of a built-in function replaces the built-in function, also in regions.
#[tokio::test]
async fn functions_replace_built_in_functions_of_their_name() {
    let database = graph().await;
    for name in ["min", "sum", "count"] {
        database.register_semiring(Semiring::new(name, Builtin::Max, Builtin::Add, Number::F64).unwrap());
    }
    for function in ["min", "sum", "count"] {
        let from = "FROM e a JOIN e b ON a.d = b.s GROUP BY a.s";
        let sql = format!("SELECT a.s, {function}(a.w) {from}");
        assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
        // The functions of the user are maxima.
        let maxima = format!("SELECT a.s, max(a.w) {from}");
        assert_eq!(sorted(&database, &sql).await, sorted(&database, &maxima).await, "{sql}");
        let distinct = format!("SELECT a.s, {function}(DISTINCT a.w), avg(b.w) {from}");
        let plan = run(&database, &format!("EXPLAIN VERBOSE {distinct}")).await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        assert!(plan.contains(&format!("DISTINCT in `{function}(DISTINCT")), "{distinct}: {plan}");
    }
}

/// Returns the rows of a query in a fixed order.
async fn sorted(database: &Database, sql: &str) -> Vec<String> {
    let mut rows: Vec<String> = rows(&run(database, sql).await.unwrap()).iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// A function whose operators do not form a semiring with an idempotent sum is refused.
#[test]
fn functions_without_a_semiring_are_an_error() {
    let error = Semiring::new("plus_times", Builtin::Add, Builtin::Mul, Number::F64).unwrap_err().to_string();
    assert!(error.contains("`plus_times`") && error.contains("idempotent"), "{error}");
    let error = Semiring::new("min_minus", Builtin::Min, Builtin::Sub, Number::F64).unwrap_err().to_string();
    assert!(error.contains("not commutative"), "{error}");
    let error = Semiring::new("or_plus", Builtin::BitOr, Builtin::Add, Number::I64).unwrap_err().to_string();
    assert!(error.contains("`+` does not distribute over `bor` on i64"), "{error}");
}
