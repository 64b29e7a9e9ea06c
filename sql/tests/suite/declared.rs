//! Tables declared over files, and tables that are dropped and declared again: encoded rows of the
//! old table are not used for the new table.

use redpoll::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll_testing::sql::{agree, database, rows, run};

/// Two declarations of the same file with different options, such as header or delimiter, have
/// different rows.
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

/// After a table in memory is dropped and created again, queries read the new rows.
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

/// A declaration without columns reads a file of text as `FROM read_csv('FILE')` does: with the
/// same columns, types and rows.
#[tokio::test]
async fn declared_text_has_the_columns_of_read_csv() {
    let database = database().await;
    let folder = tempfile::tempdir().unwrap();
    // DataFusion would infer types from parts that are cut at the line breaks within values.
    let lines: String = (0..500).map(|k| format!("{k},\"line one of {k}\nand line two\"\n")).collect();
    for (name, text, options, arguments) in [
        ("lines.csv", format!("id,text\n{lines}"), "", ""),
        ("tabs.tsv", "id\tname\n1\tann\n".to_owned(), "", ""),
        ("plain.dat", "1|a\n2|b\n".to_owned(), "", ""),
        ("shaped.csv", "# dims 3 4\ni,j,value\n0,1,2.5\n".to_owned(), "", ""),
        ("semicolons.csv", "a;b\n1;x\n".to_owned(), "", ""),
        ("values.csv", "1,2\n3,4\n".to_owned(), " OPTIONS (has_header 'false')", ", header = false"),
        ("numbers.csv", "1;2\n3;4\n".to_owned(), "", ""),
        ("codes.csv", "zip,zip\n00712,1\n".to_owned(), "", ""),
        ("backslash.csv", "a,b\tc\n1,2\t3\n".to_owned(), " OPTIONS (delimiter '\\t')", ", delim = '\\t'"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let file = file.display();
        let declare = format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS CSV LOCATION '{file}'{options}");
        run(&database, &declare).await.unwrap();
        let declared = run(&database, "SELECT * FROM t").await.unwrap();
        let read = run(&database, &format!("SELECT * FROM read_csv('{file}'{arguments})")).await.unwrap();
        assert_eq!(declared[0].schema().fields(), read[0].schema().fields(), "{name}");
        let [declared, read] = [declared, read].map(|rows| pretty_format_batches(&rows).unwrap().to_string());
        assert_eq!(declared, read, "{name}");
    }
}

/// A declared file of JSON may have an object per line, or one array of objects.
#[tokio::test]
async fn declared_json_may_be_an_array() {
    let database = database().await;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("lines.json", "{\"a\": 1}\n{\"a\": 2}\n"), ("array.json", "[{\"a\": 1}, {\"a\": 2}]")] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let declare = format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS JSON LOCATION '{}'", file.display());
        run(&database, &declare).await.unwrap();
        let found = rows(&run(&database, "SELECT sum(a) FROM t").await.unwrap());
        assert_eq!(format!("{found:?}"), "[[Text(\"3\")]]", "{name}");
    }
}

/// A failed declaration keeps the table that it would have replaced.
#[tokio::test]
async fn a_wrong_declaration_leaves_the_table() {
    let database = database().await;
    run(&database, "CREATE TABLE t AS SELECT 1 AS a").await.unwrap();
    let declare = "CREATE OR REPLACE EXTERNAL TABLE t STORED AS CSV LOCATION 'none.csv'";
    let error = redpoll::sql::message(&run(&database, declare).await.unwrap_err());
    assert_eq!(error, "table `t`: there is no file none.csv");
    assert_eq!(run(&database, "SELECT * FROM t").await.unwrap()[0].num_rows(), 1);
}
