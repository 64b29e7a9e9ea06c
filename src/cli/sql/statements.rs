//! Statements one after the other: run, printed, timed.

use super::super::failure::Failure;
use super::output::{Mode, print};
use crate::sql::Database;
use crate::sql::datafusion::arrow::record_batch::RecordBatch;
use crate::sql::datafusion::error::DataFusionError;
use crate::sql::datafusion::sql::parser::Statement;
use std::io::Write;
use std::time::{Duration, Instant};

/// What is shown of statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// How rows are printed.
    pub(super) mode: Mode,
    /// How often each statement runs after the first time.
    pub(super) repeat: u32,
    /// Whether a line tells how long it took.
    pub(super) timing: bool,
}

/// Runs the statements of a text until one fails; Ctrl-C ends the one that runs.
pub(super) async fn run_text(
    database: &Database,
    text: &str,
    shown: Shown,
    out: &mut impl Write,
) -> Result<(), Failure> {
    for statement in database.statements(text)? {
        let start = Instant::now();
        let batches = run(database, statement.clone()).await?;
        let cold = start.elapsed();
        if batches.iter().any(|batch| batch.num_columns() > 0) {
            print(shown.mode, &batches, out)?;
        }
        if shown.repeat > 0 {
            // A warm run is one that finds everything ready.
            database.prepared().await;
        }
        let mut warm = Vec::new();
        for _ in 0..shown.repeat {
            let start = Instant::now();
            run(database, statement.clone()).await?;
            warm.push(start.elapsed());
        }
        warm.sort_unstable();
        if shown.timing {
            let rows = batches.iter().map(RecordBatch::num_rows).sum();
            out.flush()?;
            // Where standard error is gone there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "{}", timing_line(rows, cold, &warm));
        }
    }
    Ok(())
}

/// The rows of a statement. It runs as a task of its own, so that Ctrl-C is heard whatever it does; one that does not pause
/// goes on until it does, and nobody waits for it.
async fn run(database: &Database, statement: Statement) -> Result<Vec<RecordBatch>, Failure> {
    let database = database.clone();
    let rows = tokio::spawn(async move {
        let frame = database.execute(statement).await?;
        let schema = frame.schema().inner().clone();
        let mut batches = frame.collect().await?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok::<_, DataFusionError>(batches)
    });
    let task = rows.abort_handle();
    tokio::select! {
        rows = rows => match rows {
            Ok(rows) => Ok(rows?),
            Err(failed) => Err(Failure::Failed { error: format!("the statement broke off: {failed}").into(), hint: None }),
        },
        _ = tokio::signal::ctrl_c() => {
            task.abort();
            Err(Failure::Failed { error: "cancelled".into(), hint: None })
        }
    }
}

fn timing_line(rows: usize, cold: Duration, warm: &[Duration]) -> String {
    let rows = format!("{rows} row{}", if rows == 1 { "" } else { "s" });
    let first = format!("{rows} in {cold:.3?}");
    match warm {
        [] => first,
        warm => format!("{first}, warm {:.3?} (median of {})", warm[warm.len() / 2], warm.len()),
    }
}
