//! Regions in partitions: their plans, and their rows compared with plain DataFusion. The logic
//! tests and the random queries also run in partitions.

use redpoll::sql::Database;
use redpoll::sql::datafusion::physical_plan::displayable;
use redpoll_testing::sql::{agree, compare_rows, database, run, run_in_partitions};
use std::num::NonZero;

/// Returns a database with edges of a graph, among them duplicates, NULLs and a frequent source,
/// and names of vertices.
pub(crate) async fn graph() -> Database {
    let database = database().await;
    for statement in [
        "CREATE TABLE e (src BIGINT, dst BIGINT, w BIGINT, r DOUBLE, d DECIMAL(9, 2)) AS
         SELECT CASE WHEN value % 9 = 0 THEN NULL ELSE value * 7 % 23 * (value % 3) END, value * 11 % 23,
         value % 13 - 5, value / 8.0, arrow_cast(value % 100 / 4.0, 'Decimal128(9, 2)') FROM generate_series(1, 400)",
        "CREATE TABLE n (id BIGINT, name VARCHAR) AS SELECT value, 'n' || (value % 5) FROM generate_series(0, 19)",
        "CREATE TABLE none (id BIGINT) AS SELECT value FROM generate_series(1, 3) WHERE value > 3",
    ] {
        run(&database, statement).await.unwrap();
    }
    database
}

/// Returns the lines of the execution plan that name redpoll, with its regions in partitions.
async fn plan(database: &Database, sql: &str, (spread, partitions): (&str, usize)) -> String {
    run(database, &format!("SET redpoll.spread = '{spread}'")).await.unwrap();
    run(database, &format!("SET datafusion.execution.target_partitions = {partitions}")).await.unwrap();
    let plan = database.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    run(database, "SET redpoll.spread = 'auto'").await.unwrap();
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let lines = text.lines().filter(|line| line.contains("Redpoll")).map(str::trim);
    lines.collect::<Vec<_>>().join("\n")
}

/// A group field is the key if there is one; otherwise, partial results are merged.
#[tokio::test]
async fn group_fields_are_preferred_as_keys() {
    let database = graph().await;
    let by_group = "SELECT a.src, count(*) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src";
    let text = plan(&database, by_group, ("keyed", 3)).await;
    assert!(text.contains("RedpollSpreadExec") && text.contains("3 partitions by `a.src`"), "{text}");
    let of_all = "SELECT count(*), avg(b.r) FROM e a JOIN e b ON a.dst = b.src";
    let text = plan(&database, of_all, ("keyed", 3)).await;
    assert!(text.contains("aggregates=[count(*), count(*), sum(") && text.contains("partitions by `a.dst`"), "{text}");
    // The states of a variance are no aggregates of a region, and there is no group field.
    let variance = "SELECT stddev(b.r) FROM e a JOIN e b ON a.dst = b.src";
    let text = plan(&database, variance, ("keyed", 3)).await;
    assert!(text.starts_with("RedpollExec"), "{text}");
}

/// The fields of a cyclic join are divided into equal parts, and each row of an edge table is sent
/// to the cells of all parts of the third field.
#[tokio::test]
async fn cyclic_joins_are_divided_into_cells() {
    let database = graph().await;
    let sql = "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src";
    let text = plan(&database, sql, ("cells", 8)).await;
    assert!(text.contains("8 partitions by `a.dst` in 2, `b.dst` in 2, `a.src` in 2"), "{text}");
    assert_eq!(text.matches("RedpollReplicateExec: each row to 2 cells").count(), 3, "{text}");
    // A join of two tables has one common field, which is the key.
    let text = plan(&database, "SELECT count(*) FROM e a JOIN e b ON a.dst = b.src", ("cells", 8)).await;
    assert!(text.contains("8 partitions by `a.dst`") && !text.contains("Replicate"), "{text}");
}

/// Queries over [`graph`] with joins, outer joins, semi-joins and aggregates of all kinds.
pub(crate) const QUERIES: &[&str] = &[
    "SELECT count(*), sum(a.w), min(a.r), max(b.w), avg(b.r) FROM e a JOIN e b ON a.dst = b.src",
    "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src",
    "SELECT a.src, b.dst, sum(a.w * b.w), avg(a.d), sum(b.d) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src, b.dst",
    "SELECT n.name, count(*), count(DISTINCT e.src), stddev(e.r) FROM e JOIN n ON e.dst = n.id GROUP BY n.name",
    "SELECT n.name, count(e.w) FROM n LEFT JOIN e ON e.src = n.id GROUP BY n.name",
    "SELECT count(*), count(e.src), count(n.id) FROM n FULL JOIN e ON e.src = n.id",
    "SELECT n.name, sum(e.w) FROM e RIGHT JOIN n ON e.src = n.id GROUP BY n.name",
    "SELECT count(*), sum(a.w) FROM e a JOIN n ON a.src = n.id WHERE EXISTS (SELECT 1 FROM e b WHERE b.src = a.dst)",
    "SELECT count(*), sum(a.w) FROM e a JOIN n ON a.src = n.id WHERE NOT EXISTS (SELECT 1 FROM e b WHERE b.dst = a.src AND b.w > 5)",
    "SELECT a.src, count(*) FROM e a JOIN e b ON a.src IS NOT DISTINCT FROM b.src GROUP BY a.src",
    "SELECT count(*), sum(e.w) FROM e JOIN none ON e.src = none.id",
    "SELECT none.id, count(*) FROM e JOIN none ON e.src = none.id GROUP BY none.id",
    "SELECT count(*) FROM e a JOIN e b ON a.dst = b.dst WHERE a.src < b.src",
];

#[tokio::test]
async fn partitions_agree_with_datafusion() {
    let database = graph().await;
    for sql in QUERIES {
        agree(&database, sql).await.unwrap();
        run(&database, "SET redpoll.enabled = false").await.unwrap();
        let expected = run(&database, sql).await.unwrap();
        run(&database, "SET redpoll.enabled = true").await.unwrap();
        for division in [("keyed", 1), ("keyed", 2), ("keyed", 3), ("keyed", 7), ("cells", 6), ("cells", 64)] {
            let rows = run_in_partitions(&database, sql, division).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
            compare_rows(&rows, &expected, false).unwrap_or_else(|e| panic!("{sql} {division:?}: {e}"));
        }
    }
}

/// If the rows of one partition must be left to DataFusion, the whole region is.
#[tokio::test]
async fn one_verdict_holds_for_all_partitions() {
    let database = graph().await;
    run(
        &database,
        "CREATE TABLE f (id BIGINT, v DOUBLE) AS SELECT value, CASE WHEN value = 5 THEN 'NaN' ELSE value END
        FROM generate_series(0, 19)",
    )
    .await
    .unwrap();
    let sql = "SELECT max(f.v), count(*) FROM e JOIN f ON e.src = f.id";
    run(&database, "SET redpoll.enabled = false").await.unwrap();
    let expected = run(&database, sql).await.unwrap();
    run(&database, "SET redpoll.enabled = true").await.unwrap();
    let rows = run_in_partitions(&database, sql, ("keyed", 3)).await.unwrap();
    compare_rows(&rows, &expected, false).unwrap();
    let text = plan(&database, sql, ("keyed", 3)).await;
    assert_eq!(text, "", "a region that was left to DataFusion is not claimed again");
}

/// A row that several cells of one worker receive counts once for each of these cells.
#[tokio::test]
async fn loads_count_the_copies_of_rows() {
    let database = graph().await;
    run(&database, "SET datafusion.execution.target_partitions = 2").await.unwrap();
    let sql = "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src";
    let loads = database.loads(sql, NonZero::new(2).unwrap()).await.unwrap();
    let cells = loads.iter().find(|load| load.division.contains(" in 2, ")).unwrap_or_else(|| panic!("{loads:?}"));
    // Each of the two workers has two of the four cells. A row of the leaf with both divided fields
    // belongs to one cell, and a row of the other two leaves to two cells.
    assert_eq!(cells.rows, 400 + 2 * 400 + 2 * 400);
    assert!(cells.largest >= cells.rows / 2 && cells.largest < cells.rows, "{cells:?}");
    assert!(cells.bytes > loads[0].bytes, "{loads:?}");
}
