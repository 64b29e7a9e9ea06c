//! Tables that are dropped and declared again: encoded rows of the old table are not used for the
//! new table.

use redpoll_testing::sql::{agree, database, rows, run};

/// Declarations with other options over the same file, such as header or delimiter, give other
/// rows.
#[tokio::test]
async fn options_of_a_declaration_distinguish_tables() {
    let database = database().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "1,10;1\n2,20;2\n2,30;3\n").unwrap();
    run(&database, "CREATE TABLE i (k BIGINT) AS VALUES (1), (2), (10)").await.unwrap();
    let declare = |options: &str| {
        format!(
            "CREATE EXTERNAL TABLE t (k VARCHAR, v VARCHAR) STORED AS CSV LOCATION '{}' OPTIONS ({options})",
            file.display()
        )
    };
    let sql = "SELECT count(*), min(t.v) FROM t JOIN i ON t.k = CAST(i.k AS VARCHAR)";
    for (options, expected) in [
        ("'format.has_header' 'true'", "2 20;2"),
        ("'format.has_header' 'false'", "3 10;1"),
        ("'format.has_header' 'true'", "2 20;2"),
        ("'format.has_header' 'false', 'format.delimiter' ';'", "0 NULL"),
        ("'format.has_header' 'true', 'format.delimiter' ';'", "0 NULL"),
    ] {
        run(&database, &declare(options)).await.unwrap();
        assert_eq!(agree(&database, sql).await.unwrap(), 1, "{options}");
        let found = format!("{:?}", rows(&run(&database, sql).await.unwrap()));
        for part in expected.split(' ') {
            assert!(found.contains(&format!("\"{part}\"")), "{options}: {found}");
        }
        run(&database, "DROP TABLE t").await.unwrap();
    }
}

/// After a table is declared again, queries read the new rows.
#[tokio::test]
async fn tables_declared_again_have_their_own_rows() {
    let database = database().await;
    let sql = "SELECT a.k, count(*), sum(b.v) FROM a JOIN b ON a.k = b.k GROUP BY a.k";
    run(&database, "CREATE TABLE b (k BIGINT, v BIGINT) AS VALUES (1, 1), (2, 2)").await.unwrap();
    for rows in ["(1), (1)", "(2)", "(CAST(NULL AS BIGINT))", "(3)", "(1), (1)"] {
        run(&database, &format!("CREATE TABLE a (k BIGINT) AS VALUES {rows}")).await.unwrap();
        assert_eq!(agree(&database, sql).await.unwrap(), 1, "{rows}");
        run(&database, "INSERT INTO a VALUES (2)").await.unwrap();
        assert_eq!(agree(&database, sql).await.unwrap(), 1, "{rows}");
        run(&database, "DROP TABLE a").await.unwrap();
    }
}
