//! Comparison of two results as sets of rows.

use redpoll::sql::datafusion::arrow::array::{Array, ArrayRef, AsArray};
use redpoll::sql::datafusion::arrow::datatypes::{DataType, Float64Type};
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::arrow::util::display::array_value_to_string;

/// Describes the first difference between two results in any order, or returns `None`. Floats are
/// equal up to the rounding of sums.
pub(super) fn difference(ours: &[RecordBatch], plain: &[RecordBatch]) -> Option<String> {
    let (a, b) = (rows(ours), rows(plain));
    if a.len() != b.len() {
        return Some(format!("{} rows beside {}", a.len(), b.len()));
    }
    let differ = |(x, y): &(&Row, &Row)| !x.0.iter().zip(&y.0).all(|(x, y)| close(x, y));
    a.iter().zip(&b).find(differ).map(|(x, y)| format!("{:?} beside {:?}", x.0, y.0))
}

/// The cells of a row.
struct Row(Vec<Cell>);

#[derive(Clone, Debug)]
enum Cell {
    Float(f64),
    Text(String),
}

fn close(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Float(a), Cell::Float(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (Cell::Text(a), Cell::Text(b)) => a == b,
        _ => false,
    }
}

/// Returns all rows, sorted by their cells, with floats rounded to four digits.
fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let cell = |column: &ArrayRef, row: usize| match column.data_type() {
        _ if column.is_null(row) => Cell::Text("NULL".into()),
        DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
        _ => Cell::Text(array_value_to_string(column, row).unwrap_or_default()),
    };
    let of = |batch: &RecordBatch| {
        let row = |row: usize| Row(batch.columns().iter().map(|column| cell(column, row)).collect());
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<Row> = batches.iter().flat_map(of).collect();
    rows.sort_by_cached_key(|row| {
        let text = |cell: &Cell| match cell {
            Cell::Float(v) => format!("{v:.3e}"),
            Cell::Text(text) => text.clone(),
        };
        row.0.iter().map(text).collect::<Vec<_>>()
    });
    rows
}
