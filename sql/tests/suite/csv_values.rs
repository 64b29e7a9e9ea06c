//! Queries over decimals, dates, times and missing values in small files of text, claimed and
//! unclaimed; and the columns of files without rows.

use redpoll::sql::Database;
use redpoll_testing::sql::{agree, database, rows, run};
use tempfile::TempDir;

const SALES: &str = "id,day,at,price,rate,ok,name,note
1,2024-01-31,2024-01-31 10:00:00,19.99,0.1,true,ann,
2,2024-02-29,2024-02-29 23:59:59,5.00,-0.0,false,\"bob, jr\",
3,,,0.10,2.5,,,
4,2023-12-31,2023-12-31 00:00:00,-1000.05,1e3,true,Ann,
5,2024-01-31,2024-01-31 10:00:00,19.99,0.3,false,ann,
6,2024-02-29,2024-03-01 00:00:00,,0.2,true,,
";

const DAYS: &str = "day,holiday,factor,quarter,until
2024-01-31,false,1.25,2024-01-01,2024-03-31
2024-02-29,true,0.333,2024-01-01,2024-03-31
2023-12-31,,2.0,2023-10-01,2023-12-31
1999-01-01,true,,1999-01-01,
";

/// Returns a database with the tables `s` of sales and `d` of days.
async fn sales() -> (TempDir, Database) {
    let (folder, database) = (tempfile::tempdir().unwrap(), database().await);
    for (table, text, types) in
        [("s", SALES, "{'price': 'DECIMAL(10,2)', 'at': 'TIMESTAMP'}"), ("d", DAYS, "{'factor': 'DECIMAL(6,3)'}")]
    {
        let path = folder.path().join(format!("{table}.csv"));
        std::fs::write(&path, text).unwrap();
        let create = format!("CREATE TABLE {table} AS SELECT * FROM read_csv('{}', types = {types})", path.display());
        run(&database, &create).await.unwrap();
    }
    (folder, database)
}

/// Redpoll computes decimals, dates and times as DataFusion does.
#[tokio::test]
async fn values_of_text_agree_with_datafusion() {
    let (_folder, database) = sales().await;
    let join = "FROM s JOIN d ON s.day = d.day";
    for (sql, claimed) in [
        (format!("SELECT sum(price), avg(price), min(price), max(price), count(price) {join}"), 1),
        (format!("SELECT d.day, sum(price * factor), sum(price - factor) {join} GROUP BY d.day"), 1),
        (format!("SELECT sum(price * 2), sum(price + 1), sum(-price), sum(price * factor * 3) {join}"), 1),
        (format!("SELECT avg(factor), sum(DISTINCT price), count(DISTINCT factor) {join}"), 1),
        (format!("SELECT sum(price / factor), sum(price % factor) {join}"), 1),
        (format!("SELECT sum(CAST(price AS DOUBLE) * rate), sum(rate * CAST(factor AS DOUBLE)) {join}"), 1),
        (format!("SELECT sum(CASE WHEN holiday THEN price ELSE factor END) {join}"), 1),
        (format!("SELECT sum(round(price, 1)), sum(CAST(price AS BIGINT)), sum(CAST(factor AS INT)) {join}"), 1),
        (format!("SELECT price, count(*) {join} GROUP BY price"), 1),
        (format!("SELECT min(s.day), max(at), min(d.until), max(quarter) {join}"), 1),
        (format!("SELECT date_trunc('month', at) AS m, count(*), min(at) {join} GROUP BY m"), 1),
        (format!("SELECT extract(year FROM s.day) AS y, sum(factor) {join} GROUP BY y"), 1),
        (format!("SELECT count(*), sum(price) {join} WHERE s.day > '2024-01-15' AND d.until IS NOT NULL"), 1),
        (format!("SELECT count(*) {join} WHERE s.day BETWEEN DATE '2024-01-01' AND '2024-02-29'"), 1),
        (format!("SELECT count(*) {join} WHERE at < s.day + INTERVAL '1 day'"), 1),
        (format!("SELECT s.day + INTERVAL '1 month' AS later, count(*) {join} GROUP BY later"), 1),
        (format!("SELECT sum(date_part('day', d.until) - date_part('day', s.day)) {join}"), 1),
        (format!("SELECT count(*), min(d.until - s.day) {join}"), 1),
        ("SELECT count(*) FROM s JOIN d ON s.day >= d.quarter AND s.day <= d.until".to_owned(), 1),
        ("SELECT d.day, count(s.id), sum(price) FROM d LEFT JOIN s ON s.day = d.day GROUP BY d.day".to_owned(), 1),
        ("SELECT coalesce(s.day, d.day) AS k, sum(factor), sum(price) FROM s FULL JOIN d ON s.day = d.day GROUP BY k".to_owned(), 1),
        ("SELECT sum(price) FROM s WHERE day IN (SELECT day FROM d WHERE factor > 0.5)".to_owned(), 1),
        ("SELECT count(*), sum(a.price * b.price) FROM s a JOIN s b ON a.price = b.price".to_owned(), 1),
        ("SELECT count(*) FROM s a JOIN s b ON a.price = CAST(b.price AS DECIMAL(12,4))".to_owned(), 1),
        ("SELECT count(*) FROM s a JOIN s b ON a.at = b.day".to_owned(), 1),
        ("SELECT a.name, count(*), count(a.note) FROM s a JOIN s b ON lower(a.name) = lower(b.name) GROUP BY a.name".to_owned(), 1),
        ("SELECT a.ok, bool_and(b.ok), sum(b.rate), min(b.rate) FROM s a JOIN s b ON a.ok = b.ok GROUP BY a.ok".to_owned(), 1),
    ] {
        assert_eq!(agree(&database, &sql).await, Ok(claimed), "{sql}");
    }
}

/// A file with a header and without rows is a table without rows, whose columns are texts. A column
/// without values in the first rows keeps its later values.
#[tokio::test]
async fn columns_without_values_are_texts() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database().await);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (empty, late) =
        (write("empty.csv", "id,day,v\n"), write("late.csv", &format!("id,v\n{}7,x\n", "1,\n".repeat(30_000))));
    let query = async |sql: &str| match run(&database, sql).await {
        Ok(batches) => format!("{:?}", rows(&batches)),
        Err(error) => redpoll::sql::message(&error),
    };
    for (sql, expected) in [
        (format!("SELECT count(*), count(v), min(day) FROM '{empty}'"), "[[Text(\"0\"), Text(\"0\"), Text(\"NULL\")]]"),
        (format!("SELECT id FROM '{empty}' WHERE id > 5"), "[]"),
        (format!("SELECT count(*) FROM '{late}' l JOIN '{empty}' e ON l.id = e.id"), "[[Text(\"0\")]]"),
        (
            format!("SELECT l.id, e.v FROM '{late}' l LEFT JOIN '{empty}' e ON l.id = e.id WHERE l.id = 7"),
            "[[Text(\"7\"), Text(\"NULL\")]]",
        ),
        (format!("SELECT sum(v) FROM read_csv('{empty}', types = {{'v': 'BIGINT'}})"), "[[Text(\"NULL\")]]"),
        (format!("SELECT id, v FROM '{late}' WHERE v IS NOT NULL"), "[[Text(\"7\"), Text(\"x\")]]"),
    ] {
        assert_eq!(query(&sql).await, expected, "{sql}");
    }
}
