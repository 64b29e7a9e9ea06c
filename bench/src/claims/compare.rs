//! Comparison of two results, without regard to the order of rows.

use redpoll::sql::datafusion::arrow::array::{Array, ArrayRef, AsArray};
use redpoll::sql::datafusion::arrow::datatypes::{DataType, Float64Type};
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::arrow::util::display::array_value_to_string;

/// Describes the first difference between two results, or returns `None`. The rows may be in any
/// order. Values of `Float64` may differ by the rounding of sums; the texts of all other values
/// must be equal.
pub(super) fn difference(found: &[RecordBatch], expected: &[RecordBatch]) -> Option<String> {
    let (a, b) = (rows(found), rows(expected));
    if a.len() != b.len() {
        return Some(format!("{} rows, expected {}", a.len(), b.len()));
    }
    let differ = |(x, y): &(&ResultRow, &ResultRow)| !x.0.iter().zip(&y.0).all(|(x, y)| is_close(x, y));
    a.iter().zip(&b).find(differ).map(|(x, y)| format!("row {:?}, expected {:?}", x.0, y.0))
}

/// The cells of a row.
struct ResultRow(Vec<ResultCell>);

#[derive(Clone, Debug)]
enum ResultCell {
    Float(f64),
    Text(String),
}

fn is_close(a: &ResultCell, b: &ResultCell) -> bool {
    match (a, b) {
        (ResultCell::Float(a), ResultCell::Float(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (ResultCell::Text(a), ResultCell::Text(b)) => a == b,
        _ => false,
    }
}

/// Returns all rows, sorted by the texts of their cells. Floats are sorted by four digits, so that
/// rounding rarely changes the order.
fn rows(batches: &[RecordBatch]) -> Vec<ResultRow> {
    let cell = |column: &ArrayRef, row: usize| match column.data_type() {
        _ if column.is_null(row) => ResultCell::Text("NULL".into()),
        DataType::Float64 => ResultCell::Float(column.as_primitive::<Float64Type>().value(row)),
        _ => ResultCell::Text(array_value_to_string(column, row).unwrap_or_default()),
    };
    let of = |batch: &RecordBatch| {
        let row = |row: usize| ResultRow(batch.columns().iter().map(|column| cell(column, row)).collect());
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<ResultRow> = batches.iter().flat_map(of).collect();
    rows.sort_by_cached_key(|row| {
        let text = |cell: &ResultCell| match cell {
            ResultCell::Float(v) => format!("{v:.3e}"),
            ResultCell::Text(text) => text.clone(),
        };
        row.0.iter().map(text).collect::<Vec<_>>()
    });
    rows
}
