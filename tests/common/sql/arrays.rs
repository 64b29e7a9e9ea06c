//! Tables whose columns are not plain arrays.

use redpoll::sql::Database;
use redpoll::sql::datafusion::arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, LargeStringArray, RunArray, StringArray, StringViewArray,
};
use redpoll::sql::datafusion::arrow::datatypes::{Field, Int8Type, Schema};
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// Registers columns as a table.
pub fn register(database: &Database, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new(schema, columns).expect("columns of one length");
    database.context().deregister_table(name).expect("a known schema");
    database.context().register_batch(name, batch).expect("a new table");
}

/// Returns a dictionary whose keys are never NULL, but whose values include NULL.
pub fn dictionary_of_null(values: &[Option<&str>]) -> ArrayRef {
    let with_null: Vec<Option<&str>> =
        [None].into_iter().chain(values.iter().copied().filter(Option::is_some)).collect();
    let key = |value: &Option<&str>| {
        with_null.iter().position(|candidate| candidate == value).expect("the list has every value") as i8
    };
    let keys = values.iter().map(key).collect::<Vec<i8>>();
    Arc::new(DictionaryArray::<Int8Type>::new(keys.into(), Arc::new(StringArray::from(with_null))))
}

/// Returns texts in every kind of array that can store them.
pub fn text_arrays(values: &[Option<&str>]) -> Vec<(&'static str, ArrayRef)> {
    let plain = StringArray::from(values.to_vec());
    let ends = Int32Array::from_iter_values(1..=values.len() as i32);
    vec![
        ("plain", Arc::new(plain.clone())),
        ("large", Arc::new(LargeStringArray::from(values.to_vec()))),
        ("view", Arc::new(StringViewArray::from(values.to_vec()))),
        ("dictionary", Arc::new(values.iter().copied().collect::<DictionaryArray<Int8Type>>())),
        ("dictionary_of_null", dictionary_of_null(values)),
        ("runs", Arc::new(RunArray::try_new(&ends, &plain).expect("a run for each row"))),
    ]
}
