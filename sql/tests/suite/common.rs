//! Databases of tests, and the comparison of what is claimed with plain DataFusion.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use redpoll::Session;
use redpoll::sql::{Database, datafusion};

/// A database without tables, that claims whatever can be claimed, in the first call.
pub(crate) async fn database() -> Database {
    let database = Session::default().database();
    run(&database, "SET redpoll.claim = 'always'").await.unwrap();
    run(&database, "SET redpoll.first = 'claim'").await.unwrap();
    database
}

/// The batches of a statement.
pub(crate) async fn run(database: &Database, sql: &str) -> datafusion::error::Result<Vec<RecordBatch>> {
    database.sql(sql).await?.collect().await
}

/// How often a plan has a claimed region.
pub(crate) async fn claims(database: &Database, sql: &str) -> datafusion::error::Result<usize> {
    let plan = database.sql(sql).await?.into_optimized_plan()?;
    Ok(plan.display_indent().to_string().matches("Redpoll:").count())
}

/// A value for comparison: floats as such, everything else as text.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Float(f64),
    Text(String),
}

/// The rows of batches.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<Vec<Cell>> {
    let cell = |column: &ArrayRef, row: usize| {
        if column.is_null(row) {
            return Cell::Text("NULL".into());
        }
        match column.data_type() {
            DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
            _ => Cell::Text(array_value_to_string(column, row).unwrap()),
        }
    };
    batches
        .iter()
        .flat_map(|batch| {
            (0..batch.num_rows()).map(move |row| batch.columns().iter().map(|c| cell(c, row)).collect::<Vec<_>>())
        })
        .collect()
}

fn key(row: &[Cell]) -> String {
    let text = |cell: &Cell| match cell {
        // Sums of floats are regrouped, so rows are ordered by what is surely equal.
        Cell::Float(v) if v.is_finite() => format!("{v:.3e}"),
        Cell::Float(v) => v.to_string(),
        Cell::Text(t) => t.clone(),
    };
    row.iter().map(text).collect::<Vec<_>>().join("|")
}

/// Whether two results are the same rows, in any order unless `ordered`; sums of floats may be rounded otherwise.
pub(crate) fn same(left: &[RecordBatch], right: &[RecordBatch], ordered: bool) -> Result<(), String> {
    let (mut a, mut b) = (rows(left), rows(right));
    if a.len() != b.len() {
        return Err(format!("{} rows beside {}\n{}\n{}", a.len(), b.len(), show(left), show(right)));
    }
    if !ordered {
        a.sort_by_key(|row| key(row));
        b.sort_by_key(|row| key(row));
    }
    for (x, y) in a.iter().zip(&b) {
        let equal = x.iter().zip(y).all(|pair| match pair {
            (Cell::Float(x), Cell::Float(y)) => {
                x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-9 * x.abs().max(y.abs())
            }
            (Cell::Text(x), Cell::Text(y)) => x == y,
            _ => false,
        });
        if !equal {
            return Err(format!("{x:?} beside {y:?}"));
        }
    }
    Ok(())
}

fn show(batches: &[RecordBatch]) -> String {
    datafusion::arrow::util::pretty::pretty_format_batches(batches).map_or_else(|e| e.to_string(), |t| t.to_string())
}

/// Runs a query claimed and unclaimed, checks that both agree, and gives how many regions were claimed.
pub(crate) async fn agree(database: &Database, sql: &str) -> Result<usize, String> {
    let error = |e: datafusion::error::DataFusionError| format!("{sql}\n{e}");
    run(database, "SET redpoll.enabled = false").await.map_err(error)?;
    let plain = run(database, sql).await;
    run(database, "SET redpoll.enabled = true").await.map_err(error)?;
    let claimed = claims(database, sql).await;
    let ours = run(database, sql).await;
    // An order inside of an aggregate or a window is none of the rows.
    let outer = sql.rsplit(')').next().unwrap_or(sql).to_lowercase();
    let ordered = outer.contains("order by");
    match (plain, ours) {
        (Ok(plain), Ok(ours)) => same(&ours, &plain, ordered).map_err(|e| format!("{sql}\n{e}"))?,
        (Err(_), Err(_)) => return Ok(0),
        (Ok(_), Err(e)) => return Err(format!("{sql}\nfailed only when claimed: {e}")),
        (Err(e), Ok(_)) => return Err(format!("{sql}\nfailed only unclaimed: {e}")),
    }
    claimed.map_err(error)
}
