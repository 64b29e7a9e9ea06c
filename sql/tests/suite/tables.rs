//! Tensors as tables of DataFusion: filters that are pushed into scans, statistics, lazy arrays,
//! fill values, keys that are not coordinates, and the blocking interface.

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::stats::Precision;
use redpoll::Session;
use redpoll::logic::{DType, Format};
use redpoll::sql::{Database, RunError, TensorTable, datafusion};
use redpoll_testing::sql::{agree, database, rows, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

async fn karate() -> Database {
    let database = database().await;
    run(&database, "CREATE EXTERNAL TABLE k STORED AS MTX LOCATION '../datasets/data/karate.mtx'").await.unwrap();
    database
}

async fn plan(database: &Database, sql: &str) -> String {
    let batches = run(database, &format!("EXPLAIN {sql}")).await.unwrap();
    pretty_format_batches(&batches).unwrap().to_string()
}

/// Ranges and limits are pushed into the scan, and no node above the scan repeats a range.
#[tokio::test]
async fn ranges_and_limits_are_pushed_into_the_scan() {
    let database = karate().await;
    let explained = plan(&database, "SELECT i1 FROM k WHERE i0 BETWEEN 3 AND 7 AND i1 < 5 AND i0 <> 4 LIMIT 2").await;
    for part in ["TensorScan", "i0 in 3..34", "i0 in 0..8", "i1 in 0..5"] {
        assert!(explained.contains(part), "no {part} in\n{explained}");
    }
    // A filter that is no range stays above the scan, as does the limit.
    assert!(explained.contains("FilterExec: i0@0 != 4"), "{explained}");
    let explained = plan(&database, "SELECT i1 FROM k WHERE i0 >= 30 LIMIT 2").await;
    assert!(explained.contains("limit=[2]") && !explained.contains("FilterExec"), "{explained}");
    let explained = plan(&database, "SELECT i1 FROM k WHERE i0 + 1 > 3").await;
    assert!(explained.contains("FilterExec"), "{explained}");
    let found = rows(&run(&database, "SELECT i0, i1 FROM k WHERE i0 = 3 AND i1 > 1").await.unwrap());
    assert_eq!(format!("{found:?}"), format!("{:?}", [["3", "2"], ["3", "7"], ["3", "12"], ["3", "13"]].map(text)));
}

fn text(row: [&str; 2]) -> Vec<redpoll_testing::sql::Cell> {
    row.map(|cell| redpoll_testing::sql::Cell::Text(cell.to_string())).to_vec()
}

/// DataFusion's optimizer receives statistics of tensors.
#[tokio::test]
async fn statistics_count_the_entries() {
    let database = karate().await;
    let table = database.context().table_provider("k").await.unwrap();
    let statistics = table.statistics().unwrap();
    assert_eq!(statistics.num_rows, Precision::Inexact(156));
    assert_eq!(format!("{}", statistics.column_statistics[0].max_value), "Inexact(Int64(33))");
    run(&database, "SELECT * FROM k").await.unwrap();
    assert_eq!(table.statistics().unwrap().num_rows, Precision::Exact(156));
    let physical = database.sql("SELECT * FROM k WHERE i0 < 17").await.unwrap().create_physical_plan().await.unwrap();
    let found = datafusion::physical_plan::displayable(physical.as_ref()).set_show_statistics(true).indent(false);
    assert!(found.to_string().contains("Rows=Inexact(78)"), "{found}");
}

/// Planning and `EXPLAIN` do not compute a lazy array that is a table. The first query that reads
/// the table computes the array, once.
#[tokio::test]
async fn arrays_are_computed_when_they_are_read() {
    let session = Session::default();
    let database = database().await;
    let computed = Arc::new(AtomicUsize::new(0));
    let array = session.triples([4, 4], Format::csr(), [([0, 1], 2.0), ([1, 2], 3.0), ([1, 3], 4.0)]);
    let paths = array.matmul(&array);
    let counter = computed.clone();
    let compute = Box::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        paths.collect().map_err(|e| RunError::Failed(Box::new(e)))
    });
    database.register_table("p", TensorTable::lazy((vec![4, 4], DType::F64), None, compute).unwrap()).unwrap();
    let claimed = "SELECT a.i0, sum(a.value * b.value) FROM p a JOIN p b ON a.i0 = b.i0 GROUP BY a.i0";
    assert!(plan(&database, claimed).await.contains("RedpollExec"));
    assert_eq!(computed.load(Ordering::Relaxed), 0);
    let found = rows(&run(&database, claimed).await.unwrap());
    assert_eq!(format!("{found:?}"), "[[Text(\"0\"), Float(196.0)]]");
    let scanned = rows(&run(&database, "SELECT i1, value FROM p ORDER BY i1").await.unwrap());
    assert_eq!(format!("{scanned:?}"), "[[Text(\"2\"), Float(6.0)], [Text(\"3\"), Float(8.0)]]");
    assert_eq!(computed.load(Ordering::Relaxed), 1);
}

/// The blocking interface works inside and outside of a Tokio runtime, and returns errors.
#[tokio::test]
async fn sessions_run_statements() {
    let session = Session::default();
    let edges = session.triples([3, 3], Format::csr(), [([0, 1], 1i64), ([1, 2], 5)]);
    session.register("e", &edges, Some(&["src", "dst", "w"])).unwrap();
    session.register("e", &edges, Some(&["a", "b", "w"])).unwrap();
    let sql = "SET redpoll.claim = 'always'; SELECT x.a, y.b, x.w * y.w FROM e x JOIN e y ON x.b = y.a";
    let found =
        session.array_of("SELECT x.a, y.b, sum(x.w * y.w) FROM e x JOIN e y ON x.b = y.a GROUP BY x.a, y.b", [3, 3]);
    assert_eq!(found.unwrap().to_vec::<i64>().unwrap(), [0, 0, 5, 0, 0, 0, 0, 0, 0]);
    assert_eq!(session.clone().sql(sql).unwrap()[0].num_rows(), 1);
    let message = |sql: &str| session.sql(sql).unwrap_err().to_string();
    assert!(message("SELECT nothing FROM e").contains("No field named nothing"));
    assert!(message("SELEC").contains("sql parser error"), "{}", message("SELEC"));
    let refused = |sql: &str, shape: &[u64]| session.array_of(sql, shape.to_vec()).unwrap_err().to_string();
    assert!(refused("SELECT a, w FROM e", &[1]).contains("out of range"), "{}", refused("SELECT a, w FROM e", &[1]));
    assert!(refused("SELECT a, w FROM e", &[3, 3]).contains("shape"), "{}", refused("SELECT a, w FROM e", &[3, 3]));
    assert!(
        refused("SELECT NULL::BIGINT, w FROM e", &[3]).contains("null"),
        "{}",
        refused("SELECT NULL::BIGINT, w FROM e", &[3])
    );
    let without_columns = session.register("x", &edges, Some(&["a"])).unwrap_err().to_string();
    assert!(without_columns.contains("2 modes"), "{without_columns}");
    let thread = std::thread::spawn(move || session.sql("SELECT count(*) FROM e").unwrap()[0].num_rows());
    assert_eq!(thread.join().unwrap(), 1);
}

/// Entries of a dense file that equal the declared fill value are not rows of the table.
#[tokio::test]
async fn entries_with_the_fill_value_are_not_rows() {
    let database = database().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.npz");
    let dense = Session::default().dense([2, 2], [0.0, 7.0, f64::NAN, 7.0]).collect().unwrap();
    redpoll::datasets::write(&file, &dense, &Default::default()).unwrap();
    for (options, expected) in [
        ("", "3"),
        (" OPTIONS (fill '7')", "2"),
        (" OPTIONS (fill 'nan')", "3"),
        (" OPTIONS (fill '7', storage 'csr')", "2"),
        (" OPTIONS (fill '1')", "4"),
    ] {
        let create = format!("CREATE OR REPLACE EXTERNAL TABLE d STORED AS NPZ LOCATION '{}'{options}", file.display());
        run(&database, &create).await.unwrap();
        for redpoll in [true, false] {
            run(&database, &format!("SET redpoll.enabled = {redpoll}")).await.unwrap();
            let found = rows(&run(&database, "SELECT count(*) FROM d").await.unwrap());
            assert_eq!(format!("{:?}", found[0][0]), format!("Text(\"{expected}\")"), "{options}, claimed: {redpoll}");
        }
    }
}

/// Rows whose keys are NULL, negative or out of bounds join no tensor, and a tensor without
/// coordinates joins nothing.
#[tokio::test]
async fn keys_that_are_no_coordinates_join_nothing() {
    let database = database().await;
    let session = Session::default();
    let places = [([0, 1], 2.0), ([1, 2], 3.0), ([2, 2], -1.0)];
    for (name, tensor) in [
        ("m", session.triples([3, 3], Format::csr(), places)),
        ("x", session.triples([3], Format::csf(1), [([0], 5.0), ([2], 7.0)])),
        ("nothing", session.triples([0], Format::csf(1), Vec::<([u64; 1], f64)>::new())),
    ] {
        database.register_tensor(name, tensor.collect().unwrap(), None).unwrap();
    }
    for statement in [
        "CREATE TABLE t (k BIGINT, j BIGINT, v DOUBLE) AS VALUES (0, 1, 1.5), (1, NULL, 2.5), (NULL, 2, 3.5), (2, 2, 4.5), \
         (3, 0, 5.5), (-1, 1, 6.5), (9223372036854775807, 2, NULL)",
        "CREATE TABLE all_null (k BIGINT, j BIGINT, v DOUBLE) AS VALUES (NULL, NULL, 1.0)",
        "CREATE TABLE none (k BIGINT, j BIGINT, v DOUBLE) AS SELECT * FROM t WHERE false",
    ] {
        run(&database, statement).await.unwrap();
    }
    for t in ["t", "all_null", "none"] {
        for x in ["x", "nothing"] {
            for sql in [
                "SELECT count(*), sum(x.value * t.v) FROM {x} x JOIN {t} t ON x.i0 = t.k",
                "SELECT t.k, count(*) FROM {x} x JOIN {t} t ON x.i0 = t.k GROUP BY t.k",
                "SELECT x.i0, count(*) FROM {x} x WHERE x.i0 IN (SELECT k FROM {t} t) GROUP BY x.i0",
                "SELECT x.i0, count(*) FROM {x} x WHERE x.i0 NOT IN (SELECT k FROM {t} t WHERE k IS NOT NULL) GROUP BY x.i0",
                "SELECT t.j, count(*) FROM {t} t WHERE EXISTS (SELECT 1 FROM {x} x WHERE x.i0 = t.k) GROUP BY t.j",
                "SELECT t.k, count(*) FROM {t} t WHERE NOT EXISTS (SELECT 1 FROM {x} x WHERE x.i0 = t.k) GROUP BY t.k",
                "SELECT count(*), count(x.value) FROM {t} t LEFT JOIN {x} x ON x.i0 = t.k",
                "SELECT count(*), count(t.v) FROM {x} x LEFT JOIN {t} t ON x.i0 = t.k",
                "SELECT coalesce(x.i0, t.k), count(*) FROM {x} x FULL JOIN {t} t ON x.i0 = t.k GROUP BY coalesce(x.i0, t.k)",
                "SELECT count(*), count(w.v) FROM {x} x JOIN {t} t ON x.i0 = t.k LEFT JOIN {t} w ON t.k = w.k",
                "SELECT a.j, sum(m.value), count(*) FROM m JOIN {t} a ON m.i0 = a.k JOIN {t} b ON m.i1 = b.j GROUP BY a.j",
                "SELECT m.i1, count(*) FROM m JOIN {x} x ON m.i0 = x.i0 LEFT JOIN {t} t ON t.k = m.i1 GROUP BY m.i1",
                "SELECT count(*) FROM {x} x JOIN {t} t ON x.i0 < t.k",
                "SELECT count(*) FROM m JOIN {t} t ON m.i0 = t.k AND m.i1 <= t.j",
            ] {
                let sql = sql.replace("{t}", t).replace("{x}", x);
                agree(&database, &sql).await.unwrap();
                agree(&database, &format!("SELECT count(*) FROM ({sql})")).await.unwrap();
            }
        }
    }
}
