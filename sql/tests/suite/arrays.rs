//! Columns whose arrays are not plain: dictionaries, run-end encoded arrays, views, arrays of
//! NULLs.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, NullArray};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::arrow::util::pretty::pretty_format_batches;
use redpoll::sql::datafusion;
use redpoll_testing::sql::arrays::{register, text_arrays};
use redpoll_testing::sql::{Cell, agree, database, rows, run};
use std::sync::Arc;

/// Counts, groups and comparisons find NULLs that are not in the array's own validity buffer.
#[tokio::test]
async fn nulls_are_found_in_every_kind_of_array() {
    let database = database().await;
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 3, 4]));
    register(&database, "i", vec![("id", Arc::new(Int64Array::from(vec![1, 2, 3, 5])))]);
    let text = [None, Some("a"), None, Some("b"), None];
    let mut kinds = text_arrays(&text);
    kinds.push(("nothing", Arc::new(NullArray::new(5))));
    for (kind, column) in kinds {
        assert!(kind == "nothing" || column.logical_null_count() == 3);
        register(&database, "p", vec![("id", ids.clone()), ("middle", column)]);
        for sql in [
            "SELECT count(*) n, count(p.middle) c FROM p JOIN i ON p.id = i.id",
            "SELECT i.id, count(p.middle), count(*) FROM p JOIN i ON p.id = i.id GROUP BY i.id",
            "SELECT i.id, count(p.middle), count(*) FROM i LEFT JOIN p ON p.id = i.id GROUP BY i.id",
            "SELECT count(i.id) FILTER (WHERE p.middle IS NULL), count(i.id) FROM p JOIN i ON p.id = i.id",
            "SELECT sum(i.id) FROM i WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.id = i.id AND p.middle IS NOT NULL)",
        ] {
            let claimed = agree(&database, sql).await.unwrap_or_else(|e| panic!("{kind}: {e}"));
            assert!(claimed > 0, "{kind}: {sql}");
        }
        for sql in [
            "SELECT count(CASE WHEN p.middle IS NOT NULL THEN i.id END) FROM p JOIN i ON p.id = i.id",
            "SELECT p.middle, count(*) FROM p JOIN i ON p.id = i.id GROUP BY p.middle",
            "SELECT count(DISTINCT p.middle), min(p.middle), max(p.middle) FROM p JOIN i ON p.id = i.id",
            "SELECT count(*) FROM p a JOIN p b ON a.middle = b.middle JOIN i ON a.id = i.id",
            "SELECT count(*) FROM p a WHERE a.middle NOT IN (SELECT b.middle FROM p b WHERE b.id > 3)",
        ] {
            agree(&database, sql).await.unwrap_or_else(|e| panic!("{kind}: {e}"));
        }
    }
}

/// Outer joins accept columns of every kind of array, also if a table has no rows or no key
/// matches.
#[tokio::test]
async fn outer_joins_without_rows_accept_every_kind_of_array() {
    let database = database().await;
    for ids in [vec![], vec![None, None], vec![Some(1), None], vec![Some(1), Some(7)]] {
        let text = vec![Some("a"); ids.len()];
        let mut kinds = text_arrays(&text);
        kinds.push(("nothing", Arc::new(NullArray::new(ids.len()))));
        for (kind, column) in kinds {
            let ids: ArrayRef = Arc::new(Int64Array::from(ids.clone()));
            register(&database, "p", vec![("id", ids), ("middle", column)]);
            for ids_of_i in [vec![], vec![1, 2]] {
                register(&database, "i", vec![("id", Arc::new(Int64Array::from(ids_of_i)))]);
                for sql in [
                    "SELECT count(*), count(p.middle) FROM i LEFT JOIN p ON p.id = i.id",
                    "SELECT i.id, count(p.middle), count(*) FROM i LEFT JOIN p ON p.id = i.id GROUP BY i.id",
                    "SELECT count(*), count(p.middle), count(i.id) FROM p LEFT JOIN i ON p.id = i.id",
                    "SELECT count(*), count(p.middle), count(i.id) FROM p FULL JOIN i ON p.id = i.id",
                    "SELECT p.middle, count(i.id) FROM p FULL JOIN i ON p.id = i.id GROUP BY p.middle",
                ] {
                    agree(&database, sql).await.unwrap_or_else(|e| panic!("{kind}: {e}"));
                }
            }
        }
    }
}

/// Columns that are NULL in all rows have no values, whether they come from `VALUES` or from a
/// file.
#[tokio::test]
async fn columns_of_nulls_have_no_values() {
    let database = database().await;
    for statement in [
        "CREATE TABLE p AS SELECT column1 AS id, column2 AS middle FROM (VALUES (1, NULL), (2, NULL), (3, NULL))",
        "CREATE TABLE i (id BIGINT) AS VALUES (1), (2), (3)",
    ] {
        run(&database, statement).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    for kind in ["csv", "parquet", "arrow"] {
        let file = folder.path().join(format!("p.{kind}"));
        let path = file.display();
        if kind == "csv" {
            std::fs::write(&file, "id,middle,last\n1,,a\n2,,b\n3,,\n").unwrap();
        } else {
            let copy = format!("COPY (SELECT id, middle, CAST(middle AS VARCHAR) AS last FROM p) TO '{path}'");
            run(&database, &copy).await.unwrap();
        }
        database.register_file(&format!("p_{kind}"), &file).await.unwrap();
    }
    for table in ["p", "p_csv", "p_parquet", "p_arrow"] {
        let sql = format!("SELECT count(*) n, count(t.middle) c FROM {table} t JOIN i ON t.id = i.id");
        assert_eq!(agree(&database, &sql).await.unwrap(), 1, "{sql}");
    }
}

/// Outer joins add rows of NULLs to tables with run-end encoded columns. Arrow would repeat the
/// first value of the column instead.
#[tokio::test]
async fn outer_joins_pad_runs_with_nulls() {
    let database = database().await;
    // DataFusion hashes the smaller table, `p`, so a batch has rows of `p` and padded rows.
    register(&database, "i", vec![("id", Arc::new(Int64Array::from_iter_values(1..=1000)))]);
    for (kind, column) in text_arrays(&[Some("a"), Some("b"), None]) {
        register(&database, "p", vec![("id", Arc::new(Int64Array::from(vec![1, 2, 9]))), ("middle", column)]);
        for (sql, expected) in [
            ("SELECT count(p.middle) FROM i LEFT JOIN p ON p.id = i.id", 2),
            ("SELECT count(p.middle) FROM p RIGHT JOIN i ON p.id = i.id", 2),
            ("SELECT count(p.middle) FROM i FULL JOIN p ON p.id = i.id", 2),
            ("SELECT count(*) FROM i LEFT JOIN p ON p.id = i.id WHERE p.middle IS NULL", 998),
        ] {
            agree(&database, sql).await.unwrap_or_else(|e| panic!("{kind}: {e}"));
            for enabled in [true, false] {
                run(&database, &format!("SET redpoll.enabled = {enabled}")).await.unwrap();
                let rows = run(&database, sql).await.unwrap();
                assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), expected, "{kind}: {sql}");
            }
            run(&database, "SET redpoll.enabled = true").await.unwrap();
        }
    }
}

/// Redpoll pads run-end encoded columns that a cast in the query creates; a plan in which
/// DataFusion would pad such columns is refused.
#[tokio::test]
async fn outer_joins_of_datafusion_refuse_runs() {
    let database = database().await;
    for statement in [
        "CREATE TABLE i (id BIGINT, x DOUBLE) AS VALUES (1, 1.0), (2, CAST('nan' AS DOUBLE)), (7, 2.0)",
        "CREATE TABLE p (id BIGINT, s VARCHAR, n BIGINT) AS VALUES (1, 'a', 1), (2, 'b', 2)",
        "SET redpoll.claim = 'cost'",
    ] {
        run(&database, statement).await.unwrap();
    }
    let encoded = |column: &str, values: &str| {
        format!(r#"arrow_cast({column}, 'RunEndEncoded("run_ends": non-null Int32, "values": {values})')"#)
    };
    let (r, m) = (encoded("p.s", "Utf8"), encoded("p.n", "Int64"));
    let from = format!("FROM i LEFT JOIN (SELECT id, {r} AS r, {m} AS m FROM p) q ON q.id = i.id");
    let sql = format!("SELECT count(q.r) {from}");
    for prepared in ["prepared=no, prepared by this call", "prepared=yes"] {
        let plan = run(&database, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        assert!(plan.contains(prepared), "{plan}");
        let rows = run(&database, &sql).await.unwrap();
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 2);
    }
    let refused = async |sql: String, advice: &str| {
        let error = run(&database, &sql).await.unwrap_err().to_string();
        assert!(error.contains("is run-end encoded") && error.contains(advice), "{sql}: {error}");
    };
    // DataFusion would have to compute this maximum, because the column has a NaN.
    let maximum = format!("SELECT count(q.r), max(i.x) {from}");
    for _ in ["in the first call", "when the reason is remembered"] {
        refused(maximum.clone(), "`arrow_cast(r, 'Utf8')`").await;
    }
    run(&database, "SET redpoll.enabled = false").await.unwrap();
    refused(sql, "`arrow_cast(r, 'Utf8')`").await;
    refused(format!("SELECT i.id, q.r {from}"), "`arrow_cast(r, 'Utf8')`").await;
    refused(format!("SELECT count(q.m) {from}"), "`arrow_cast(m, 'Int64')`").await;
}

/// A NULL among the values of a dictionary is not an empty string, in claimed and in unclaimed
/// joins.
#[tokio::test]
async fn nulls_among_values_of_dictionaries_are_no_texts() {
    let database = database().await;
    for statement in [
        "CREATE TABLE two (j BIGINT) AS VALUES (NULL), (NULL)",
        "CREATE TABLE empty_text (s VARCHAR) AS VALUES ('')",
        "CREATE TABLE ids (i INT, s VARCHAR) AS VALUES (NULL, NULL), (2, NULL)",
    ] {
        run(&database, statement).await.unwrap();
    }
    for (kind, column) in text_arrays(&[None]) {
        register(&database, "p", vec![("i", Arc::new(Int64Array::from(vec![2]))), ("s", column)]);
        for (sql, expected) in [
            ("SELECT count(*) FROM two CROSS JOIN p JOIN empty_text ON empty_text.s = p.s", "0"),
            (
                "SELECT coalesce(a.s, p.s) FROM ids a CROSS JOIN p JOIN p c ON c.i = a.i GROUP BY coalesce(a.s, p.s)",
                "NULL",
            ),
        ] {
            let claimed = agree(&database, sql).await.unwrap_or_else(|e| panic!("{kind}: {e}"));
            let found = rows(&run(&database, sql).await.unwrap());
            assert!(matches!(&found[0][0], Cell::Text(text) if text == expected), "{kind}: {sql}: {found:?}");
            assert_eq!((claimed, found.len()), (1, 1), "{kind}: {sql}");
        }
    }
}
