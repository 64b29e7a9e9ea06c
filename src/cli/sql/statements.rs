//! Execution, printing and timing of statements in order.

use super::super::failure::CommandFailure;
use super::output::{OutputMode, print};
use super::split::{StatementText, split_statements};
use crate::logic::sexpr::strip_byte_order_mark;
use crate::sql::datafusion::arrow::record_batch::RecordBatch;
use crate::sql::datafusion::error::DataFusionError;
use crate::sql::datafusion::sql::parser::Statement;
use crate::sql::datafusion::sql::sqlparser::ast;
use crate::sql::{Database, with_deep_stack};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// Options of the output of statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputOptions {
    /// The format of rows.
    pub(super) mode: OutputMode,
    /// The number of repeated runs after the first.
    pub(super) repeat: u32,
    /// Set to print a line with the time.
    pub(super) timing: bool,
}

/// Runs the statements of a text until one fails. Ctrl-C cancels the statement that is running or
/// printed.
pub(super) async fn run_text(
    database: &Database,
    text: &str,
    options: OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let text = strip_byte_order_mark(text);
    let statements = database.statements(text).map_err(|e| parse_failure(database, text, e))?;
    let texts = split_statements(text);
    let count = statements.len();
    for (k, statement) in statements.into_iter().enumerate() {
        let done = run_statement(database, statement, options, out).await;
        done.map_err(|failure| match texts.get(k).filter(|_| count > 1 && texts.len() == count) {
            Some(statement) => in_statement(failure, k, statement),
            None => failure,
        })?;
    }
    Ok(())
}

/// Adds the number, line and text of a statement to its failure.
fn in_statement(failure: CommandFailure, k: usize, statement: &StatementText) -> CommandFailure {
    let CommandFailure::Error { error, hint } = failure else { return failure };
    let text = statement.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    };
    let error = format!("statement {} on line {}, `{text}`: {error}", k + 1, statement.line).into();
    CommandFailure::Error { error, hint }
}

/// Maximum number of characters of a statement in messages.
const MAX_TEXT_CHARS: usize = 80;

/// Returns the failure of a text that cannot be parsed, with the first invalid statement.
fn parse_failure(database: &Database, text: &str, error: DataFusionError) -> CommandFailure {
    let texts = split_statements(text);
    let first_invalid = texts.iter().position(|statement| database.statements(&statement.text).is_err());
    match first_invalid.filter(|_| texts.len() > 1) {
        Some(k) => in_statement(error.into(), k, &texts[k]),
        None => error.into(),
    }
}

/// Returns whether a statement is a query without side effects, which may run again.
fn is_query(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(statement) if matches!(**statement, ast::Statement::Query(_)))
}

/// Runs a statement and prints its rows.
async fn run_statement(
    database: &Database,
    statement: Statement,
    options: OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let interruption = Interruption::new();
    let start = Instant::now();
    let batches = run(database, statement.clone()).await?;
    let cold = start.elapsed();
    if batches.iter().any(|batch| batch.num_columns() > 0) {
        print(options.mode, &batches, &interruption.received, out)?;
    }
    let mut warm = Vec::new();
    if options.repeat > 0 && is_query(&statement) {
        // Warm runs start after all regions have been prepared in the background.
        database.wait_until_prepared().await;
        for _ in 0..options.repeat {
            let start = Instant::now();
            run(database, statement.clone()).await?;
            warm.push(start.elapsed());
        }
    }
    warm.sort_unstable();
    if options.timing {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        out.flush()?;
        // Errors of standard error are ignored.
        let _ = writeln!(std::io::stderr(), "{}", timing_line(rows, cold, &warm));
    }
    Ok(())
}

/// Listener for Ctrl-C, active until dropped.
struct Interruption {
    received: Arc<AtomicBool>,
    listener: AbortHandle,
}

impl Interruption {
    fn new() -> Interruption {
        let received = Arc::<AtomicBool>::default();
        let own = received.clone();
        let listener = tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                own.store(true, Ordering::Relaxed);
            }
        });
        Interruption { received, listener: listener.abort_handle() }
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Runs a statement in its own task, so that Ctrl-C takes effect at once. A cancelled task
/// continues in the background until it yields.
async fn run(database: &Database, statement: Statement) -> Result<Vec<RecordBatch>, CommandFailure> {
    let database = database.clone();
    let rows = tokio::spawn(with_deep_stack(async move {
        let frame = database.execute(statement).await?;
        let schema = frame.schema().inner().clone();
        let mut batches = database.collect(frame).await?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok::<_, DataFusionError>(batches)
    }));
    let task = rows.abort_handle();
    tokio::select! {
        rows = rows => match rows {
            Ok(rows) => Ok(rows?),
            Err(failed) => Err(CommandFailure::Error { error: format!("the statement panicked or was aborted: {failed}").into(), hint: None }),
        },
        _ = tokio::signal::ctrl_c() => {
            task.abort();
            Err(CommandFailure::Error { error: "cancelled".into(), hint: None })
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
