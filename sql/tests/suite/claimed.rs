//! Queries that are claimed, compared with plain DataFusion.

use redpoll::sql::Database;
use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll_testing::sql::{agree, database, run};

async fn graph() -> Database {
    let database = database().await;
    for statement in [
        "CREATE TABLE e (src BIGINT, dst BIGINT, w BIGINT) AS VALUES (1,2,10),(2,3,20),(1,3,30),(3,4,40),(2,4,50),(1,2,7)",
        "CREATE TABLE n (id BIGINT, name VARCHAR, weight DOUBLE) AS VALUES (1,'a',0.5),(2,'b',1.5),(3,'a',NULL),(4,NULL,2.5)",
    ] {
        run(&database, statement).await.unwrap();
    }
    database
}

#[tokio::test]
async fn joins_agree_with_datafusion() {
    let database = graph().await;
    for sql in [
        "SELECT count(*) FROM e a JOIN e b ON a.dst = b.src",
        "SELECT a.src, count(*), sum(b.w) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src",
        "SELECT a.src, b.dst, sum(a.w * b.w) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src, b.dst",
        "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.dst AND a.src = c.src",
        "SELECT n.name, count(*), sum(n.weight), avg(n.weight), min(e.w), max(n.weight) FROM e JOIN n ON e.src = n.id GROUP BY n.name",
        "SELECT min(n.name), max(n.name), count(n.name), count(distinct n.name) FROM e JOIN n ON e.dst = n.id",
        "SELECT DISTINCT n.name FROM e JOIN n ON e.dst = n.id",
        "SELECT sum(e.w * n.weight - 2 * e.w) FROM e JOIN n ON e.dst = n.id WHERE e.w > 100",
        "SELECT count(*) FROM e a JOIN e b ON a.dst = b.dst WHERE a.src < b.src",
        "SELECT a.src, count(*) FROM e a WHERE EXISTS (SELECT 1 FROM e b WHERE b.src = a.dst AND b.w <> a.w) GROUP BY a.src",
        "SELECT sum(a.w) FROM e a WHERE a.dst IN (SELECT id FROM n WHERE weight > 1)",
    ] {
        let claimed = agree(&database, sql).await.unwrap();
        assert_eq!(claimed, 1, "{sql}");
    }
}

/// Returns a database with a table `f` of facts, and a table `d` with a segment, a condition, a
/// number and a norm for some keys of `f`.
async fn measurements() -> Database {
    let database = database().await;
    for statement in [
        "CREATE TABLE f (k BIGINT, g BIGINT, q INT, r DOUBLE, d DATE) AS SELECT value % 7, value % 3,
         arrow_cast(value * 31 % 17 - 5, 'Int32'), (value * 13 % 29) / 4.0, arrow_cast(value % 40, 'Date32')
         FROM generate_series(1, 200)",
        "CREATE TABLE d (k BIGINT, seg VARCHAR, ok BOOLEAN, n INT, norm DOUBLE) AS VALUES (0, 'x', true, 3, 0.5),
         (1, 'y', false, 1, 1.5), (2, 'x', NULL, NULL, 0.5), (3, NULL, true, 2, 2.5), (4, 'x', true, -4, 1.5)",
    ] {
        run(&database, statement).await.unwrap();
    }
    database
}

/// Sums, means and counts of a `CASE` that reads several tables, including the casts that
/// DataFusion adds around the `CASE`.
#[tokio::test]
async fn cases_over_several_tables_agree_with_datafusion() {
    let database = measurements().await;
    for aggregates in [
        "sum(CASE WHEN d.seg = 'x' THEN f.q END)",
        "avg(CASE WHEN d.seg = 'x' THEN f.q END), avg(CASE WHEN f.q > 0 THEN d.n ELSE f.q END)",
        "sum(CASE WHEN d.seg = 'x' THEN f.q ELSE d.n END), sum(CASE WHEN d.ok THEN 1 ELSE 0 END)",
        "count(CASE WHEN d.ok AND f.q > 2 THEN 1 END)",
        "count(CASE WHEN d.seg = 'x' THEN f.q WHEN f.q > 3 THEN d.n END), count(*)",
        "count(CASE WHEN f.q < 0 THEN NULL WHEN d.ok THEN f.k ELSE d.n + f.q END) FILTER (WHERE d.seg <> 'y')",
    ] {
        for groups in ["", " GROUP BY f.g", " GROUP BY d.seg"] {
            let sql = format!("SELECT {aggregates} FROM f JOIN d ON f.k = d.k{groups}");
            assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
        }
    }
}

/// Division by columns of other tables is claimed as multiplication by the reciprocals of the
/// columns.
#[tokio::test]
async fn quotients_agree_with_datafusion() {
    let database = measurements().await;
    for aggregates in [
        "sum(f.r / d.norm)",
        "sum(f.r * d.norm / (f.r + 1)), avg((f.r - d.norm) / d.norm)",
        "sum(f.r / (d.norm * (f.r + 2))), sum(-(f.r / d.norm))",
        "sum(CASE WHEN d.seg = 'x' THEN f.q / d.norm END)",
    ] {
        let sql = format!("SELECT f.g, {aggregates} FROM f JOIN d ON f.k = d.k GROUP BY f.g");
        assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
    }
    // Division rounds integers, and a denominator that is a sum is no product of factors, so these
    // quotients are computed for all combinations of values.
    for aggregate in ["sum(f.k / d.n)", "sum(f.r / (d.norm + f.r))"] {
        let sql = format!("SELECT {aggregate} FROM f JOIN d ON f.k = d.k");
        assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
    }
    // Zero has no finite reciprocal.
    run(&database, "INSERT INTO d VALUES (5, 'x', true, 1, 0.0)").await.unwrap();
    agree(&database, "SELECT f.g, sum(f.r / d.norm) FROM f JOIN d ON f.k = d.k GROUP BY f.g").await.unwrap();
}

/// Expressions that read several tables are computed for all combinations of values. The
/// expressions occur in groups, aggregates, filters and conditions.
#[tokio::test]
async fn expressions_over_several_tables_agree_with_datafusion() {
    let database = measurements().await;
    let exprs = [
        "f.k + d.n",
        "f.q % 3 + d.n",
        "CASE WHEN f.q > d.n THEN d.seg ELSE 'low' END",
        "f.q > d.n OR d.ok",
        "concat(d.seg, arrow_cast(f.g, 'Utf8'))",
        "CAST(f.r * d.norm AS BIGINT)",
        "coalesce(d.n, f.q)",
    ];
    for expr in exprs {
        for sql in [
            format!("SELECT {expr}, count(*), sum(f.q * d.n) FROM f JOIN d ON f.k = d.k GROUP BY {expr}"),
            format!("SELECT f.g, count({expr}), count(DISTINCT {expr}) FROM f JOIN d ON f.k = d.k GROUP BY f.g"),
            format!("SELECT min({expr}), max({expr}) FROM f LEFT JOIN d ON f.k = d.k GROUP BY d.seg"),
            format!("SELECT {expr}, d.seg, f.g FROM f LEFT JOIN d ON f.k = d.k GROUP BY {expr}, d.seg, f.g"),
        ] {
            assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
        }
    }
    for aggregates in [
        "count(DISTINCT CASE WHEN d.ok AND f.q > 2 THEN f.g END)",
        "sum(CASE WHEN f.q > d.n THEN f.q * d.n END), sum(abs(f.q - d.n))",
        "sum(f.r * CASE WHEN f.q > d.n THEN d.norm ELSE f.r END)",
        "avg(greatest(f.r, d.norm)), stddev(f.r - d.norm), sum(f.q) FILTER (WHERE f.q > d.n OR d.ok)",
        "sum(CASE WHEN f.q + d.n > 3 AND f.r > 1 THEN f.q ELSE d.n END), count(*)",
    ] {
        for groups in ["", " GROUP BY f.g", " GROUP BY f.q > d.n, d.seg", " GROUP BY f.r * d.norm"] {
            for condition in ["", " WHERE f.q + f.k > d.n - 1", " WHERE f.q > d.n OR d.ok"] {
                let sql = format!("SELECT {aggregates} FROM f JOIN d ON f.k = d.k{condition}{groups}");
                assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
            }
        }
    }
}

/// A region with at most 2^20 combinations is computed, and a region with more is left to
/// DataFusion. A region in which a combination raises an error is also left to DataFusion: possibly
/// no joined row has that combination, so the query must not fail.
#[tokio::test]
async fn combinations_have_a_limit() {
    let database = database().await;
    for statement in [
        "CREATE TABLE a (k BIGINT, v BIGINT) AS SELECT value % 5, value FROM generate_series(1, 1200) t(value)",
        "CREATE TABLE b (k BIGINT, v BIGINT) AS SELECT value % 5, value FROM generate_series(0, 900) t(value)",
        "CREATE TABLE c (k BIGINT, v BIGINT) AS SELECT value % 5, value FROM generate_series(1, 40) t(value)",
        "CREATE TABLE z (k BIGINT, v BIGINT) AS VALUES (9, 0), (1, 2)",
    ] {
        run(&database, statement).await.unwrap();
    }
    for (sql, claimed) in [
        ("SELECT max(abs(a.v - c.v)) FROM a JOIN c ON a.k = c.k", true),
        ("SELECT max(abs(a.v - b.v)) FROM a JOIN b ON a.k = b.k", false),
        ("SELECT sum(a.v % z.v) FROM a JOIN z ON a.k = z.k", false),
    ] {
        agree(&database, sql).await.unwrap();
        let analyzed = run(&database, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
        let text = pretty_format_batches(&analyzed).unwrap().to_string();
        assert_eq!(text.contains("RedpollExec") && !text.contains("left_to_datafusion=1"), claimed, "{sql}\n{text}");
    }
}

/// Variances, covariances and correlations, of floats and of integers, within one table and between
/// two tables. Some groups have one row or equal values.
#[tokio::test]
async fn variances_agree_with_datafusion() {
    let database = measurements().await;
    for aggregates in [
        "var(f.r), var_pop(f.r), stddev(f.r), stddev_pop(f.r)",
        "var_samp(f.q), stddev_samp(d.n), var_pop(d.n), stddev_pop(f.q * f.q)",
        "covar_samp(f.r, f.q), covar_pop(f.r, f.r + f.q), covar(f.q, f.q + 1)",
        "corr(f.r, f.r * 2 + f.q), corr(f.q, f.q * 3 + 1), corr(f.q, d.n)",
        "stddev(f.r) FILTER (WHERE d.ok), corr(f.q, f.q) FILTER (WHERE d.n > 1), count(*)",
    ] {
        for groups in ["", " GROUP BY f.g", " GROUP BY f.k, f.g, f.d"] {
            let sql = format!("SELECT {aggregates} FROM f JOIN d ON f.k = d.k{groups}");
            assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
        }
    }
    // Sums of squares would lose the digits of these variances.
    run(
        &database,
        "CREATE TABLE years (k BIGINT, y DOUBLE) AS SELECT value % 5, 1e9 + value / 8.0 FROM generate_series(1, 90)",
    )
    .await
    .unwrap();
    agree(&database, "SELECT d.seg, var(years.y) FROM years JOIN d ON years.k = d.k GROUP BY d.seg").await.unwrap();
}

/// Floats and computed values can be group keys. The rows also agree if a key has equal floats with
/// different bits.
#[tokio::test]
async fn computed_groups_agree_with_datafusion() {
    let database = measurements().await;
    for keys in [
        "d.norm",
        "d.norm, f.g",
        "f.r + 1, d.seg",
        "date_part('month', f.d), length(d.seg)",
        "CASE WHEN f.q > 3 THEN 'high' ELSE 'low' END",
        "sqrt(d.norm), f.q % 2",
    ] {
        let sql = format!("SELECT {keys}, count(*), sum(f.q * d.n) FROM f JOIN d ON f.k = d.k GROUP BY {keys}");
        assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
    }
    run(&database, "INSERT INTO d VALUES (5, 'x', true, 1, -0.0), (6, 'x', true, 1, 0.0)").await.unwrap();
    agree(&database, "SELECT d.norm, count(*) FROM f JOIN d ON f.k = d.k GROUP BY d.norm").await.unwrap();
    run(&database, "INSERT INTO d VALUES (5, 'x', true, 1, 'NaN'), (6, 'x', true, 1, 'NaN')").await.unwrap();
    agree(&database, "SELECT d.norm, count(*) FROM f JOIN d ON f.k = d.k GROUP BY d.norm").await.unwrap();
}

/// Outer joins are claimed, including the padded rows that they add.
#[tokio::test]
async fn outer_joins_agree_with_datafusion() {
    let database = graph().await;
    for sql in [
        "SELECT count(*), count(n.id), sum(n.weight) FROM e LEFT JOIN n ON e.dst = n.id AND e.w = n.id",
        "SELECT e.src, count(n.name), sum(e.w) FROM e LEFT JOIN n ON e.dst = n.id GROUP BY e.src",
        "SELECT n.name, count(e.src), sum(coalesce(e.w, 0)) FROM n LEFT JOIN e ON e.dst = n.id GROUP BY n.name",
        "SELECT n.name, count(*), sum(a.w) FROM e a JOIN e b ON a.dst = b.src RIGHT JOIN n ON b.dst = n.id GROUP BY n.name",
        "SELECT coalesce(e.dst, n.id), sum(e.w), count(*) FROM e FULL JOIN n ON e.dst = n.id GROUP BY coalesce(e.dst, n.id)",
        "SELECT coalesce(a.src, b.dst) AS i, sum(coalesce(a.w, 0) + coalesce(b.w, 0)) FROM e a FULL JOIN e b ON a.src = b.dst AND a.dst = b.src GROUP BY coalesce(a.src, b.dst)",
    ] {
        let claimed = agree(&database, sql).await.unwrap();
        assert_eq!(claimed, 1, "{sql}");
    }
}

/// A table that is joined with itself is stored as one tensor if one order of its columns fits all
/// leaves. The order of the conditions in the query does not matter.
#[tokio::test]
async fn tables_joined_with_themselves_are_stored_once() {
    let database = graph().await;
    for (sql, tensors) in [
        ("SELECT count(*) FROM e a JOIN e b ON a.dst = b.src JOIN e c ON a.src = c.src AND b.dst = c.dst", 1),
        ("SELECT count(*) FROM e c, e b, e a WHERE b.dst = c.dst AND a.dst = b.src AND c.src = a.src", 1),
        ("SELECT count(*) FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src AND c.dst = a.src", 2),
    ] {
        run(&database, sql).await.unwrap();
        let plan = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        let bound_tensors = (0..3).filter(|k| plan.contains(&format!("(input t{k} "))).count();
        assert_eq!(bound_tensors, tensors, "{sql}: {plan}");
        assert_eq!(agree(&database, sql).await.unwrap(), 1, "{sql}");
    }
}

/// A table with one row for every combination of keys, such as a dense matrix, is not read just to
/// count rows.
#[tokio::test]
async fn tables_with_all_rows_are_not_read_to_count_them() {
    let database = graph().await;
    for statement in [
        "CREATE TABLE m (i BIGINT, k BIGINT, v DOUBLE) AS VALUES \
         (1,1,0.5),(1,2,1.5),(2,1,2.5),(2,2,3.5),(3,1,4.5),(3,2,-5.5),(4,1,6.5),(4,2,7.5)",
        "CREATE TABLE k (k BIGINT) AS VALUES (1),(2)",
        "CREATE TABLE k_twice (k BIGINT) AS VALUES (1),(2),(2)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sampled = "FROM e JOIN m a ON a.i = e.src JOIN m b ON b.i = e.dst AND a.k = b.k";
    for (sql, tensors) in [
        (format!("SELECT e.src, e.dst, sum(e.w * a.v * b.v) {sampled} GROUP BY e.src, e.dst"), 3),
        (format!("SELECT e.src, e.dst, count(*) {sampled} GROUP BY e.src, e.dst"), 1),
        (format!("SELECT count(*) {sampled}"), 1),
        // A group field needs a table that holds its values.
        (format!("SELECT a.k, count(*) {sampled} GROUP BY a.k"), 2),
        // Compared fields have codes for the keys of both tables, and `m` does not have all these
        // codes.
        (format!("SELECT count(*) {sampled} WHERE e.src < a.k"), 3),
        (format!("SELECT e.src, max(e.w), min(a.v), count(DISTINCT a.k) {sampled} GROUP BY e.src"), 4),
        ("SELECT m.i, count(*), sum(m.v) FROM m JOIN k ON m.k = k.k GROUP BY m.i".into(), 2),
        ("SELECT count(*), sum(m.v) FROM m JOIN k_twice k ON m.k = k.k".into(), 3),
        ("SELECT count(*) FROM m JOIN k ON m.k = k.k WHERE m.v > 100".into(), 1),
    ] {
        assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
        let plan = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        let bound_tensors = (0..9).filter(|k| plan.contains(&format!("(input t{k} "))).count();
        assert_eq!(bound_tensors, tensors, "{sql}: {plan}");
    }
}

/// `EXPLAIN VERBOSE` shows the program of a region that has run, down to its loops. Before the
/// first run, `EXPLAIN VERBOSE` says how to get the program, unless the region cannot be cached.
#[tokio::test]
async fn programs_are_explained_after_the_first_run() {
    let database = graph().await;
    let sql = "SELECT a.src, sum(a.w * b.w) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src";
    let explain = async || {
        let plan = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
        pretty_format_batches(&plan).unwrap().to_string()
    };
    let plan = explain().await;
    assert!(plan.contains("not prepared: the program is built when the query first runs"), "{plan}");
    assert!(!plan.contains("(plan"), "{plan}");
    run(&database, sql).await.unwrap();
    let plan = explain().await;
    assert!(plan.contains("redpoll (program)"), "{plan}");
    for part in ["(plan", "(aggregate + 0", "(for "] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    // The rows of a table function have no version, so a run does not help.
    let sql = "SELECT count(*) FROM e JOIN generate_series(1, 4) s ON e.src = s.value";
    assert_eq!(agree(&database, sql).await.unwrap(), 1);
    let plan = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
    let plan = pretty_format_batches(&plan).unwrap().to_string();
    assert!(plan.contains("not prepared: the rows of the tables cannot be cached"), "{plan}");
}

/// Anti-joins return the right rows, also if rows are grouped by the joined key and the first table
/// has every key, as in a query for customers without orders.
#[tokio::test]
async fn rows_of_anti_joins_are_grouped_by_their_key() {
    let database = database().await;
    for statement in [
        "CREATE TABLE u (id BIGINT, city VARCHAR) AS SELECT value, concat('c', value % 3) FROM generate_series(1, 50)",
        "CREATE TABLE o (uid BIGINT, n BIGINT NOT NULL) AS SELECT value * 3 % 50 + 1, value FROM generate_series(1, 20)",
        "CREATE TABLE k (uid BIGINT NOT NULL) AS SELECT value * 3 % 50 + 1 FROM generate_series(1, 20)",
        "CREATE TABLE nobody (uid BIGINT) AS SELECT * FROM k WHERE false",
        "CREATE TABLE g (a BIGINT, b BIGINT) AS SELECT x.value, y.value FROM generate_series(1, 6) x, generate_series(1, 7) y",
        "CREATE TABLE p (a BIGINT, b BIGINT) AS VALUES (NULL, 1), (1, 3), (6, 1), (6, 9), (NULL, 4), (2, 2)",
        "CREATE TABLE h (a BIGINT, b BIGINT) AS VALUES (1, 2), (3, 4), (6, 7), (6, 6), (9, 9)",
    ] {
        run(&database, statement).await.unwrap();
    }
    for sql in [
        "SELECT u.id, count(*) n FROM u WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.uid = u.id) GROUP BY u.id",
        "SELECT count(*), sum(n) FROM (SELECT u.id, count(*) n FROM u \
         WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.uid = u.id) GROUP BY u.id)",
        "SELECT u.id, count(*) FROM u WHERE u.id NOT IN (SELECT uid FROM k) GROUP BY u.id",
        "SELECT DISTINCT u.id FROM u LEFT ANTI JOIN o ON o.uid = u.id",
        "SELECT DISTINCT u.id FROM o RIGHT ANTI JOIN u ON o.uid = u.id",
        "SELECT count(DISTINCT u.id) FROM u LEFT ANTI JOIN o ON o.uid = u.id",
        "SELECT count(DISTINCT u.id), sum(DISTINCT u.id), count(*) FROM u LEFT ANTI JOIN o ON o.uid = u.id",
        "SELECT u.city, count(DISTINCT u.id) FROM u LEFT ANTI JOIN o ON o.uid = u.id GROUP BY u.city",
        "SELECT u.id, max(u.city), sum(u.id) FROM u LEFT ANTI JOIN o ON o.uid = u.id GROUP BY u.id",
        "SELECT u.id, count(*) FROM u LEFT ANTI JOIN nobody o ON o.uid = u.id GROUP BY u.id",
        "SELECT u.id, count(*) FROM u LEFT SEMI JOIN nobody o ON o.uid = u.id GROUP BY u.id",
        "SELECT u.id, count(*) FROM u LEFT ANTI JOIN u o ON o.id = u.id GROUP BY u.id",
        "SELECT u.id, count(*) FROM u LEFT ANTI JOIN o ON o.uid = u.id LEFT ANTI JOIN k ON k.uid = u.id GROUP BY u.id",
        "SELECT u.id, count(*) FROM u LEFT ANTI JOIN o ON o.uid = u.id LEFT SEMI JOIN u w ON w.id = u.id GROUP BY u.id",
        "SELECT g.a, count(*) FROM g LEFT ANTI JOIN h ON h.a = g.a AND h.b = g.b GROUP BY g.a",
        "SELECT g.a, g.b, count(*) FROM g LEFT ANTI JOIN h ON h.a = g.a AND h.b = g.b GROUP BY g.a, g.b",
        "SELECT DISTINCT g.b FROM g LEFT ANTI JOIN h ON h.a = g.a AND h.b = g.b",
        "SELECT DISTINCT g.b, g.a FROM g LEFT ANTI JOIN h ON h.a = g.a",
        "SELECT g.b, count(*) FROM g LEFT ANTI JOIN h ON h.a > g.a GROUP BY g.b",
        // In the next queries, a key of `h` must equal one column and is compared with another
        // column. This comparison restricts the rows of `h`, not the rows of the result.
        "SELECT count(*), sum(g.a) FROM g LEFT ANTI JOIN h ON h.a = g.a AND h.a < g.b",
        "SELECT g.b, count(*) FROM g LEFT ANTI JOIN h ON h.a = g.a AND h.b <> g.a AND h.a >= g.b GROUP BY g.b",
        "SELECT g.b, count(*) FROM g JOIN u ON g.b = u.id LEFT ANTI JOIN h ON h.a = g.a AND h.a > u.id GROUP BY g.b",
        "SELECT count(*) FROM p LEFT ANTI JOIN h ON h.a = p.a AND h.a < p.b",
        "SELECT p.a, count(*) FROM p LEFT ANTI JOIN h ON h.a = p.a AND h.b = p.a AND h.a < p.b GROUP BY p.a",
    ] {
        let claimed = agree(&database, sql).await.unwrap();
        assert!(claimed > 0, "{sql}");
    }
    for (setting, value) in [("claim", "cost"), ("first", "auto")] {
        run(&database, &format!("SET redpoll.{setting} = '{value}'")).await.unwrap();
    }
    agree(&database, "SELECT u.id, count(*) FROM u LEFT ANTI JOIN o ON o.uid = u.id GROUP BY u.id").await.unwrap();
}

/// `EXPLAIN` names the group key of a full outer join after the columns of both tables, and the
/// group key of an inner join after one column.
#[tokio::test]
async fn coalesced_groups_are_named_after_both_sides() {
    let database = graph().await;
    let sql = "EXPLAIN SELECT coalesce(e.dst, n.id), count(*) FROM e FULL JOIN n ON e.dst = n.id \
               GROUP BY coalesce(e.dst, n.id)";
    let plan = run(&database, sql).await.unwrap();
    let plan = pretty_format_batches(&plan).unwrap().to_string();
    assert!(plan.contains("groups=[coalesce(e.dst, n.id)]"), "{plan}");
    let inner = run(&database, "EXPLAIN SELECT e.dst, count(*) FROM e JOIN n ON e.dst = n.id GROUP BY e.dst").await;
    let plan = pretty_format_batches(&inner.unwrap()).unwrap().to_string();
    assert!(plan.contains("groups=[e.dst]"), "{plan}");
}

/// Sums over distinct decimals are exact in any join, even if they exceed 64 bits, and NULL if
/// there is no value.
#[tokio::test]
async fn sums_of_distinct_decimals_agree_with_datafusion() {
    let database = graph().await;
    let prices = "CREATE TABLE p (id BIGINT, price DECIMAL(12,2), far DECIMAL(38,2)) AS VALUES (1, 1.25, 1e35), (1, 1.25, 2), \
                  (2, -0.50, 3), (3, 99999999.99, 4), (3, NULL, 1e35), (4, NULL, NULL), (2, 1.25, 3)";
    run(&database, prices).await.unwrap();
    for sql in [
        "SELECT sum(DISTINCT p.price), count(DISTINCT p.price) FROM e JOIN p ON e.dst = p.id",
        "SELECT e.src, sum(DISTINCT p.price), sum(p.price) FROM e JOIN p ON e.dst = p.id GROUP BY e.src",
        "SELECT e.dst, sum(DISTINCT p.price) FROM e JOIN p ON e.dst = p.id WHERE p.price IS NULL GROUP BY e.dst",
        "SELECT e.src, sum(DISTINCT p.far) FROM e JOIN p ON e.dst = p.id GROUP BY e.src",
    ] {
        assert_eq!(agree(&database, sql).await.unwrap(), 1, "{sql}");
    }
}

/// The reasons against a claim name the columns as the query does.
#[tokio::test]
async fn reasons_name_the_columns_of_the_query() {
    let database = graph().await;
    for (aggregate, reason) in [
        ("sum(a.w * random())", "* random()` is volatile"),
        ("count(DISTINCT a.w, b.w)", "in `count(DISTINCT a.w, b.w)` is not supported"),
        ("array_agg(a.w ORDER BY b.w)", "ORDER BY in `array_agg(a.w) ORDER BY [b.w ASC NULLS LAST]` is not supported"),
        (
            "sum(arrow_cast(a.w, 'Decimal256(40, 0)'))",
            "does not compute the sum of `CAST(a.w AS Decimal256(40, 0))` of type",
        ),
        ("median(a.w)", "redpoll does not compute `median`; it computes counts, sums, means"),
        (
            "count(DISTINCT a.w * 0.5e0), count(DISTINCT b.w)",
            "of type Float64 cannot be a key; keys are integers, decimals",
        ),
    ] {
        let sql = format!("EXPLAIN VERBOSE SELECT {aggregate} FROM e a JOIN e b ON a.dst = b.src");
        let plan = pretty_format_batches(&run(&database, &sql).await.unwrap()).unwrap().to_string();
        assert!(plan.contains(reason) && !plan.contains("leaf#"), "{aggregate}: {plan}");
    }
}

/// The reason against a claim is the true one, also if the aggregate reads one input that is no
/// table, or a join that redpoll does not claim.
#[tokio::test]
async fn reasons_are_those_of_the_input() {
    let database = graph().await;
    for (sql, reason) in [
        ("SELECT sum(w) FROM e WHERE w > 7", "the aggregate reads a single table"),
        ("SELECT sum(w) FROM (SELECT w FROM e ORDER BY w) t", "the aggregate reads a single table"),
        ("SELECT count(*) FROM e WHERE dst NOT IN (SELECT src FROM e)", "`e.dst NOT IN (..)` lets no row pass if"),
        ("SELECT count(*) FROM e WHERE w > 30 OR dst IN (SELECT id FROM n WHERE weight > 1)", "a part of a condition"),
        ("SELECT count(*) FROM e WHERE w > 30 OR NOT EXISTS (SELECT 1 FROM n WHERE id = dst)", "a part of a condition"),
        ("SELECT count(*) FROM (SELECT src FROM e LIMIT 3)", "the rows of a LIMIT, which are not a join"),
        ("SELECT count(*) FROM (SELECT src FROM e UNION ALL SELECT id FROM n)", "the rows of a UNION"),
        ("SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY w) AS r FROM e)", "the rows of window functions"),
        ("SELECT sum(c) FROM (SELECT src, count(*) AS c FROM e GROUP BY src)", "the rows of a GROUP BY or DISTINCT"),
        (
            "SELECT count(*) FROM e LEFT JOIN n ON dst = id WHERE name IS NULL",
            "the condition `n.name IS NULL` reads a table that an outer join fills with NULL, and no other table",
        ),
        ("SELECT count(*) FROM e LEFT JOIN n ON dst = id AND w > 10", "on an outer join is not an equality of columns"),
        (
            "SELECT count(*) FROM e WHERE NOT EXISTS (SELECT 1 FROM n WHERE id = dst AND e.w > 15)",
            "`e.w > Int64(15)` in the subquery of NOT EXISTS or NOT IN reads no table of the subquery",
        ),
        (
            "SELECT count(*) FROM e WHERE NOT EXISTS (SELECT 1 FROM n WHERE id = dst AND id = src)",
            "`id` in the subquery of NOT EXISTS or NOT IN is compared with several expressions",
        ),
    ] {
        assert_eq!(agree(&database, sql).await, Ok(0), "{sql}");
        let plan = run(&database, &format!("EXPLAIN VERBOSE {sql}")).await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        let found: Vec<&str> = plan.lines().filter(|line| line.contains("not claimed by redpoll: ")).collect();
        assert!(found.iter().any(|line| line.contains(reason)), "{sql}: {found:?}");
    }
}

/// If the distinct values of a column are counted, rows with a NULL in this column still count for
/// an expression that reads the column and another table.
#[tokio::test]
async fn distinct_values_drop_no_rows_of_computed_expressions() {
    let database = database().await;
    for statement in [
        "CREATE TABLE one (k BIGINT) AS SELECT CAST(column1 AS BIGINT) FROM (VALUES (NULL))",
        "CREATE TABLE none (k BIGINT) AS SELECT k FROM one WHERE false",
    ] {
        run(&database, statement).await.unwrap();
    }
    let sql = "SELECT a.k, count(DISTINCT b.k), count(DISTINCT a.k = b.k) FROM one a LEFT JOIN none b ON b.k = a.k
               GROUP BY a.k";
    assert_eq!(agree(&database, sql).await, Ok(1));
}
