//! Aggregate functions over semirings that users register, compared with DataFusion's run of them.

use redpoll::sql::claim::Number;
use redpoll::sql::{Database, Semiring};
use redpoll_logic::op::Builtin;
use redpoll_testing::sql::{agree, claims, database, run};

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

/// Infinities that no row has together are not combined: such values are left to DataFusion.
#[tokio::test]
async fn infinite_values_are_left_to_datafusion() {
    let database = graph().await;
    run(&database, "INSERT INTO e VALUES (2, 9, 'inf', 1), (9, 2, '-inf', 1)").await.unwrap();
    let sql = "SELECT a.s, min_plus(a.w, b.w) FROM e a JOIN e b ON a.d = b.s GROUP BY a.s";
    assert_eq!(agree(&database, sql).await.unwrap(), 1);
    assert_eq!(claims(&database, sql).await.unwrap(), 0);
}

/// A function whose `plus` is not idempotent is refused.
#[test]
fn functions_without_a_semiring_are_an_error() {
    let error = Semiring::new("plus_times", Builtin::Add, Builtin::Mul, Number::F64).unwrap_err().to_string();
    assert!(error.contains("`plus_times`") && error.contains("idempotent"), "{error}");
    let error = Semiring::new("min_minus", Builtin::Min, Builtin::Sub, Number::F64).unwrap_err().to_string();
    assert!(error.contains("not commutative"), "{error}");
}
