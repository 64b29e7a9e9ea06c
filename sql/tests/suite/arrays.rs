//! Columns of arrays other than the plain ones: dictionaries, run-end encoded ones, views, arrays of NULLs.

use crate::common::{agree, database, run};
use datafusion::arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, LargeStringArray, NullArray, RunArray, StringArray,
    StringViewArray,
};
use datafusion::arrow::datatypes::{Field, Int8Type, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::Database;
use redpoll::sql::datafusion;
use std::sync::Arc;

/// Registers a table of columns.
pub(crate) fn register(database: &Database, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect()).unwrap();
    database.context().deregister_table(name).unwrap();
    database.context().register_batch(name, batch).unwrap();
}

/// Text in every kind of array that has it, with a NULL at every third place at least.
pub(crate) fn kinds_of_text(values: &[Option<&str>]) -> Vec<(&'static str, ArrayRef)> {
    let plain = StringArray::from(values.to_vec());
    let rows = values.len() as i32;
    // NULL is one of the values: the keys have none.
    let with_null: Vec<Option<&str>> =
        [None].into_iter().chain(values.iter().copied().filter(Option::is_some)).collect();
    let key = |value: &Option<&str>| with_null.iter().position(|known| known == value).unwrap() as i8;
    let keys = values.iter().map(key).collect::<Vec<i8>>();
    let ends = Int32Array::from_iter_values(1..=rows);
    vec![
        ("plain", Arc::new(plain.clone())),
        ("large", Arc::new(LargeStringArray::from(values.to_vec()))),
        ("view", Arc::new(StringViewArray::from(values.to_vec()))),
        ("dictionary", Arc::new(values.iter().copied().collect::<DictionaryArray<Int8Type>>())),
        (
            "dictionary_of_null",
            Arc::new(DictionaryArray::<Int8Type>::new(keys.into(), Arc::new(StringArray::from(with_null)))),
        ),
        ("runs", Arc::new(RunArray::try_new(&ends, &plain).unwrap())),
    ]
}

/// Protects what is counted, grouped and compared in columns whose NULLs the array's own buffer does not hold.
#[tokio::test]
async fn nulls_are_found_in_every_kind_of_array() {
    let database = database().await;
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 3, 4]));
    register(&database, "i", vec![("id", Arc::new(Int64Array::from(vec![1, 2, 3, 5])))]);
    let text = [None, Some("a"), None, Some("b"), None];
    let mut kinds = kinds_of_text(&text);
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

/// Protects a column of `VALUES` that is NULL in all rows, and one of a file of which nothing is known but that.
#[tokio::test]
async fn columns_of_nothing_are_nothing() {
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
