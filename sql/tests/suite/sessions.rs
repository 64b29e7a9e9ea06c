//! Whole sessions: files are read once, and columns are encoded once, for all queries.

use datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll::sql::{Database, datafusion};
use redpoll_testing::sql::{Cell, agree, database, rows, run, session_queries, session_tables};
use std::fs::{self, File};
use std::path::Path;
use tempfile::TempDir;

/// Writes the tables of a session as files.
async fn write_tables(folder: &Path, format: &str, percent: u64) {
    let database = database().await;
    run(&database, "SET redpoll.enabled = false").await.unwrap();
    for (table, query) in session_tables(percent) {
        let file = folder.join(format!("{table}.{format}"));
        run(&database, &format!("COPY ({query}) TO '{}'", file.display())).await.unwrap();
    }
}

/// Returns a folder with the tables of a session as files, and a database that reads them.
async fn database_of_files(format: &str, percent: u64) -> (TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path(), format, percent).await;
    let database = database().await;
    for (table, _) in session_tables(percent) {
        database.register_file(table, &folder.path().join(format!("{table}.{format}"))).await.unwrap();
    }
    (folder, database)
}

/// Returns the sum of a counter of `EXPLAIN ANALYZE` over all nodes of a query.
async fn counter(database: &Database, sql: &str, name: &str) -> usize {
    counters(database, sql, &[name]).await[0]
}

async fn counters(database: &Database, sql: &str, names: &[&str]) -> Vec<usize> {
    let text = run(database, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
    let text = pretty_format_batches(&text).unwrap().to_string();
    let sum = |name: &&str| {
        let label = format!("{name}=");
        let values = text.split(&label).skip(1);
        values.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<usize>().unwrap()).sum()
    };
    names.iter().map(sum).collect()
}

/// Returns the single number of a query's result.
async fn number(database: &Database, sql: &str) -> String {
    match rows(&run(database, sql).await.unwrap()).swap_remove(0).swap_remove(0) {
        Cell::Text(text) => text,
        Cell::Float(value) => value.to_string(),
    }
}

/// Queries of a session agree with plain DataFusion, over Parquet files, files of text and tables
/// in memory. At least nine of ten queries over files are claimed.
#[tokio::test(flavor = "multi_thread")]
async fn queries_of_a_session_agree_with_datafusion() {
    for format in ["parquet", "csv"] {
        let (_folder, database) = database_of_files(format, 5).await;
        let mut claimed = 0;
        for sql in session_queries(40, 1) {
            claimed += agree(&database, &sql).await.unwrap();
        }
        assert!(claimed >= 36, "{claimed} of 40 queries are claimed");
    }
    let database = database().await;
    for (table, query) in session_tables(5) {
        run(&database, &format!("CREATE TABLE {table} AS {query}")).await.unwrap();
    }
    for sql in session_queries(40, 2) {
        agree(&database, &sql).await.unwrap();
    }
}

/// A session reads each column of a Parquet file once. It reads a file of text at most twice: first
/// the columns that the first query needs, then all remaining columns. The session encodes each key
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn columns_are_read_and_encoded_once() {
    for format in ["parquet", "csv"] {
        let (_folder, database) = database_of_files(format, 5).await;
        let names = ["columns_read", "encoded_columns", "shared_columns"];
        let owners = "SELECT count(*) FROM users, posts WHERE users.id = posts.owner";
        assert_eq!(counters(&database, owners, &names).await, [2, 2, 2]);
        assert_eq!(counters(&database, &format!("{owners} AND users.id > 0"), &names).await, [0, 0, 2]);
        let old = "SELECT count(*) FROM users, posts WHERE users.id = posts.owner AND posts.score >= 20";
        // The second read of a file of text takes all remaining columns.
        assert_eq!(counters(&database, old, &names).await, [if format == "csv" { 6 } else { 1 }, 0, 2]);
        let other = "SELECT count(*) FROM users, badges WHERE users.id = badges.owner AND users.views < 250";
        assert_eq!(counters(&database, other, &names).await, [if format == "csv" { 5 } else { 2 }, 1, 2]);
        run(&database, "SET redpoll.enabled = false").await.unwrap();
        assert_eq!(counter(&database, "SELECT sum(owner) FROM posts", "columns_read").await, 0);
        let read = counter(&database, "SELECT sum(answers + kind) FROM posts", "columns_read").await;
        assert_eq!(read, if format == "csv" { 0 } else { 2 });
        assert_eq!(counter(&database, "SELECT min(kind), max(answers) FROM posts", "columns_read").await, 0);
    }
}

/// The columns of a file are read again only after its size or modification time has changed.
#[tokio::test]
async fn changed_files_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    fs::write(&file, "k,v\n1,10\n2,20\n").unwrap();
    let database = database().await;
    database.register_file("t", &file).await.unwrap();
    let (sum, pairs) = ("SELECT sum(v) FROM t", "SELECT sum(a.v + b.v) FROM t a JOIN t b ON a.k = b.k");
    assert_eq!((number(&database, sum).await, number(&database, pairs).await), ("30".into(), "60".into()));
    // A file with the same size and modification time counts as unchanged.
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "k,v\n1,11\n2,21\n").unwrap();
    File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    assert_eq!((number(&database, sum).await, number(&database, pairs).await), ("30".into(), "60".into()));
    let later = modified + std::time::Duration::from_secs(2);
    File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
    assert_eq!((number(&database, sum).await, number(&database, pairs).await), ("32".into(), "64".into()));
    fs::write(&file, "k,v\n1,10\n2,20\n3,30\n").unwrap();
    assert_eq!((number(&database, sum).await, number(&database, pairs).await), ("60".into(), "120".into()));
}

/// A memory limit bounds the columns that are kept: the least recently used columns are dropped for
/// new columns. The cache may use a quarter of the limit. A column that is larger than the cache is
/// read by DataFusion's own scan in each query; `columns_read` does not count such reads.
#[tokio::test(flavor = "multi_thread")]
async fn kept_columns_obey_the_memory_limit() {
    let (_folder, database) = database_of_files("parquet", 100).await;
    let reserved = || database.context().runtime_env().memory_pool.reserved();
    let sums = ["id", "owner", "kind", "score", "views", "answers", "created"]
        .map(|column| format!("SELECT sum({column}) FROM posts"));
    // A column takes 160 kB.
    for (limit, kept) in [("2M", 3), ("200K", 0)] {
        run(&database, &format!("SET datafusion.runtime.memory_limit = '{limit}'")).await.unwrap();
        for (k, sql) in sums.iter().enumerate() {
            number(&database, sql).await;
            let read = counter(&database, sql, "columns_read").await;
            assert_eq!(read, 0, "the column of {sql} is kept, or too large to be kept and counted");
            assert!(reserved() <= 500_000, "{} bytes are kept after {} columns", reserved(), k + 1);
        }
        assert_eq!(reserved() / 160_000, kept, "under {limit}");
        let again = counter(&database, &sums[0], "columns_read").await;
        assert_eq!(again, usize::from(kept > 0), "the first column was dropped, or never kept, under {limit}");
    }
}
