//! Databases for tests, and the comparison of claimed queries with plain DataFusion.

use crate::engines::PhaseFailure;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use redpoll::Session;
use redpoll::sql::{Database, datafusion};

/// Returns a database without tables. The database claims every query that it can claim, even in
/// the first call.
pub async fn database() -> Database {
    let database = Session::default().database();
    run(&database, "SET redpoll.claim = 'always'").await.expect("a known setting");
    run(&database, "SET redpoll.first = 'claim'").await.expect("a known setting");
    database
}

/// Returns the batches of a statement.
///
/// # Errors
/// Returns an error if the statement fails.
pub async fn run(database: &Database, sql: &str) -> datafusion::error::Result<Vec<RecordBatch>> {
    database.sql(sql).await?.collect().await
}

/// Returns the number of claimed regions of a query.
///
/// # Errors
/// Returns an error if the query cannot be planned.
pub async fn claims(database: &Database, sql: &str) -> datafusion::error::Result<usize> {
    let plan = database.sql(sql).await?.into_optimized_plan()?;
    Ok(plan.display_indent().to_string().matches("Redpoll:").count())
}

/// Returns the batches of a query. The regions that can be divided run in partitions: `spread` is
/// the value of the setting `redpoll.spread`, which selects the division, and `partitions` the
/// number of partitions.
///
/// # Errors
/// Returns an error if the query fails.
pub async fn run_in_partitions(
    database: &Database,
    sql: &str,
    (spread, partitions): (&str, usize),
) -> datafusion::error::Result<Vec<RecordBatch>> {
    let before = database.context().copied_config();
    let settings = |spread: &str, partitions: usize, batch_size: usize| {
        let partitions = format!("SET datafusion.execution.target_partitions = {partitions}");
        let batch_size = format!("SET datafusion.execution.batch_size = {batch_size}");
        [format!("SET redpoll.spread = '{spread}'"), partitions, batch_size]
    };
    // DataFusion does not divide inputs that fit into one batch.
    for setting in settings(spread, partitions, 4) {
        run(database, &setting).await?;
    }
    let rows = run(database, sql).await;
    for setting in settings("auto", before.target_partitions(), before.batch_size()) {
        run(database, &setting).await?;
    }
    rows
}

/// Returns the database on a cluster of workers in this process. Each worker has two partitions,
/// and queries divide regions by the given value of `redpoll.spread`.
///
/// # Errors
/// Returns an error if a setting is refused.
///
/// # Panics
/// If there is no worker.
#[cfg(feature = "cluster")]
pub async fn on_workers(database: &Database, (spread, workers): (&str, usize)) -> datafusion::error::Result<Database> {
    let workers = std::num::NonZero::new(workers).expect("a cluster has a worker");
    let database = database.on_cluster(&redpoll::sql::Cluster::in_process(workers, database));
    for setting in [
        &format!("SET redpoll.spread = '{spread}'"),
        "SET datafusion.execution.target_partitions = 2",
        // DataFusion does not divide inputs that fit into one batch.
        "SET datafusion.execution.batch_size = 4",
    ] {
        run(&database, setting).await?;
    }
    Ok(database)
}

/// A value for comparison: floats as numbers, everything else as text.
#[derive(Clone, Debug)]
pub enum Cell {
    Float(f64),
    Text(String),
}

/// Returns the rows of batches.
pub fn rows(batches: &[RecordBatch]) -> Vec<Vec<Cell>> {
    let cell = |column: &ArrayRef, row: usize| {
        if column.is_null(row) {
            return Cell::Text("NULL".into());
        }
        match column.data_type() {
            DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
            _ => Cell::Text(array_value_to_string(column, row).expect("a column that has a text")),
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
        // The two runs may round sums of floats differently, so rows are sorted by rounded values.
        Cell::Float(v) if v.is_finite() => format!("{v:.3e}"),
        Cell::Float(v) => v.to_string(),
        Cell::Text(t) => t.clone(),
    };
    row.iter().map(text).collect::<Vec<_>>().join("|")
}

/// Checks that two results have the same rows, in any order unless `ordered`. Floats may differ by
/// rounding errors.
///
/// # Errors
/// Returns the first difference, with both results.
pub fn compare_rows(found: &[RecordBatch], expected: &[RecordBatch], ordered: bool) -> Result<(), String> {
    let (mut a, mut b) = (rows(found), rows(expected));
    if a.len() != b.len() {
        return Err(format!(
            "{} rows, expected {}\n{}\n{}",
            a.len(),
            b.len(),
            format_batches(found),
            format_batches(expected)
        ));
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
            return Err(format!(
                "{x:?}, expected {y:?}\n{}\nexpected:\n{}",
                format_batches(found),
                format_batches(expected)
            ));
        }
    }
    Ok(())
}

fn format_batches(batches: &[RecordBatch]) -> String {
    datafusion::arrow::util::pretty::pretty_format_batches(batches).map_or_else(|e| e.to_string(), |t| t.to_string())
}

/// Runs a query claimed and unclaimed, and checks that both results agree. Returns the number of
/// claimed regions, which is 0 if both runs fail.
///
/// # Errors
/// Returns the query and the error of [`check`].
pub async fn agree(database: &Database, sql: &str) -> Result<usize, String> {
    match check(database, sql).await {
        Ok(claimed) => Ok(claimed.unwrap_or(0)),
        Err(PhaseFailure { phase, message }) => Err(format!("{sql}\n{phase}: {message}")),
    }
}

/// Runs a query unclaimed, claimed, claimed with regions in partitions, and, with the feature
/// `cluster`, claimed on a cluster of workers in this process, and checks that the results agree.
/// Returns the number of claimed regions, or `None` if the unclaimed and the claimed run fail.
///
/// # Errors
/// Returns the difference between two runs, or the error of a setting or of planning the query.
pub async fn check(database: &Database, sql: &str) -> Result<Option<usize>, PhaseFailure> {
    let fails = |phase: &'static str| move |message: String| PhaseFailure { phase, message };
    let set = |enabled: bool| async move {
        let set = run(database, &format!("SET redpoll.enabled = {enabled}")).await;
        set.map_err(|e| fails("settings")(e.to_string()))
    };
    set(false).await?;
    let plain = run(database, sql).await;
    set(true).await?;
    let claimed = claims(database, sql).await;
    let claimed_rows = run(database, sql).await;
    // An `ORDER BY` inside an aggregate or a window does not order the rows.
    let outer = sql.rsplit(')').next().unwrap_or(sql).to_lowercase();
    let ordered = outer.contains("order by");
    match (plain, claimed_rows) {
        (Ok(plain), Ok(claimed_rows)) => {
            compare_rows(&claimed_rows, &plain, ordered).map_err(fails("rows"))?;
            if claimed.as_ref().is_ok_and(|count| *count > 0) {
                // The text decides the division and the number of partitions.
                let division = [("keyed", 1), ("keyed", 2), ("cells", 8), ("keyed", 7), ("cells", 4)][sql.len() % 5];
                let rows = run_in_partitions(database, sql, division).await;
                let rows = rows.map_err(|e| fails("failed only in partitions")(e.to_string()))?;
                compare_rows(&rows, &plain, ordered).map_err(fails("rows in partitions"))?;
                #[cfg(feature = "cluster")]
                {
                    let division = [("keyed", 2), ("cells", 3), ("auto", 2), ("keyed", 7)][sql.len() % 4];
                    let cluster = on_workers(database, division).await.map_err(|e| fails("cluster")(e.to_string()))?;
                    let rows = run(&cluster, sql).await;
                    let rows = rows.map_err(|e| fails("failed only on a cluster")(e.to_string()))?;
                    compare_rows(&rows, &plain, ordered).map_err(fails("rows of a cluster"))?;
                }
            }
        }
        (Err(_), Err(_)) => return Ok(None),
        (Ok(_), Err(e)) => return Err(fails("failed only when claimed")(e.to_string())),
        (Err(e), Ok(_)) => return Err(fails("failed only unclaimed")(e.to_string())),
    }
    claimed.map(Some).map_err(|e| fails("plan")(e.to_string()))
}
