//! Execution, printing and timing of statements in order.

use super::super::failure::CommandFailure;
use super::super::run::median;
use super::keywords::keyword_hint;
use super::output::{RowStyle, print};
use super::split::{StatementText, split_statements};
use crate::logic::plural;
use crate::logic::sexpr::strip_byte_order_mark;
use crate::sql::datafusion::arrow::record_batch::RecordBatch;
use crate::sql::datafusion::common::tree_node::TreeNodeRecursion;
use crate::sql::datafusion::error::DataFusionError;
use crate::sql::datafusion::logical_expr::LogicalPlan;
use crate::sql::datafusion::sql::parser::Statement;
use crate::sql::datafusion::sql::sqlparser::ast;
use crate::sql::{Database, message, with_deep_stack};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// Options of the output of statements.
#[derive(Clone, Debug)]
pub(super) struct OutputOptions {
    /// The style of rows.
    pub(super) rows: RowStyle,
    /// The number of repeated runs of each query after its first run.
    pub(super) repeat: u32,
    /// Whether to print a line with the time of each statement.
    pub(super) timing: bool,
}

/// A parsed statement.
#[derive(Clone)]
enum CliStatement {
    /// A statement of SQL.
    Sql(Box<Statement>),
    /// `SUMMARIZE`, with the table or query.
    Summarize(String),
}

/// Position of a text in a script that is read in parts.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ScriptPosition {
    /// Number of statements before the text.
    pub(super) statements: usize,
    /// Number of lines before the text.
    pub(super) lines: u64,
}

/// Parses all statements of a text, and then runs them until one fails. Ctrl-C cancels the
/// statement that is running or being printed. If the text has several statements, a failure names
/// the failed statement and its line, unless the text cannot be split into statements.
pub(super) async fn run_text(
    database: &Database,
    text: &str,
    options: &OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    run_statements(database, text, None, options, out).await
}

/// Runs a part of a script as [`run_text`] does, and adds the number of its statements to the
/// position. A failure names the statement and its line in the script; if the text cannot be split
/// into statements, the failure has only the line and column of the error.
pub(super) async fn run_part(
    database: &Database,
    text: &str,
    position: &mut ScriptPosition,
    options: &OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let start = *position;
    position.statements += split_statements(strip_byte_order_mark(text)).len();
    run_statements(database, text, Some(start), options, out).await
}

/// Runs the statements of a text. If `position` is given, the text is a part of a script.
async fn run_statements(
    database: &Database,
    text: &str,
    position: Option<ScriptPosition>,
    options: &OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let text = strip_byte_order_mark(text);
    let start = position.unwrap_or_default();
    let mut texts = split_statements(text);
    texts.iter_mut().for_each(|statement| statement.line += start.lines);
    let mut statements = Vec::new();
    if texts.is_empty() {
        // The text has no statement, or cannot be split.
        let text = "\n".repeat(start.lines as usize) + text;
        statements.extend(database.statements(&text)?.into_iter().map(|s| CliStatement::Sql(Box::new(s))));
    }
    let is_located = position.is_some() || texts.len() > 1;
    let located = |failure: CommandFailure, k: usize| match texts.get(k).filter(|_| is_located) {
        Some(statement) => in_statement(failure, start.statements + k, statement),
        None => failure,
    };
    for (k, statement) in texts.iter().enumerate() {
        statements.extend(parse(database, statement).map_err(|failure| located(failure, k))?);
    }
    for (k, statement) in statements.into_iter().enumerate() {
        run_statement(database, statement, options, out).await.map_err(|failure| located(failure, k))?;
    }
    Ok(())
}

/// Parses one statement. Errors have the lines and columns of the whole text.
fn parse(database: &Database, statement: &StatementText) -> Result<Vec<CliStatement>, CommandFailure> {
    let text = &statement.text;
    let is_summary = text.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("SUMMARIZE"));
    if is_summary {
        return Ok(vec![CliStatement::Summarize(text["SUMMARIZE".len()..].trim().to_owned())]);
    }
    let sql = |statements: Vec<Statement>| statements.into_iter().map(|s| CliStatement::Sql(Box::new(s))).collect();
    if let Ok(statements) = database.statements(text) {
        return Ok(sql(statements));
    }
    // Parses the statement again, with blanks in place of the text before it, so that errors have
    // lines and columns of the whole text. Valid statements skip this step, which is slow in long
    // scripts.
    let before = "\n".repeat(statement.line as usize - 1) + &" ".repeat(statement.column as usize - 1);
    let text = format!("{before}{text}");
    let statements = database.statements(&text).map_err(|error| {
        let guess = session_command_hint(text.trim_start()).or_else(|| keyword_hint(&text, &message(&error)));
        match CommandFailure::from(error) {
            CommandFailure::Error { error, hint } => CommandFailure::Error { error, hint: guess.or(hint) },
            failure => failure,
        }
    })?;
    Ok(sql(statements))
}

/// Returns the hint on a text that is a command of interactive sessions instead of a statement.
fn session_command_hint(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    let is_command = word.starts_with(['.', '\\']) || ["help", "quit", "exit"].contains(&&*word.to_lowercase());
    is_command.then(|| format!("`{word}` is a command of sessions; `redpoll sql` without statements starts a session"))
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

/// Returns whether a statement is a query without side effects, which may run again.
fn is_query(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(statement) if matches!(**statement, ast::Statement::Query(_)))
}

/// Returns the query that a statement explains.
fn explained_query(statement: &CliStatement) -> Option<&Statement> {
    match statement {
        CliStatement::Sql(statement) => match &**statement {
            Statement::Explain(explain) => Some(&*explain.statement).filter(|query| is_query(query)),
            _ => None,
        },
        CliStatement::Summarize(_) => None,
    }
}

/// Returns the reasons why aggregates of a query are not claimed, without repetitions. For a query
/// with joins or windows but without aggregates, the lack of aggregates is the reason.
async fn unclaimed_reasons(database: &Database, query: Statement) -> Result<Vec<String>, DataFusionError> {
    let plan = database.execute(query).await?.into_optimized_plan()?;
    let unclaimed = database.unclaimed_aggregates(&plan);
    let mut reasons: Vec<String> = Vec::new();
    for reason in unclaimed.into_iter().map(|(_, reason)| reason.to_string()) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if lacks_aggregate(&plan)? {
        let reason = "redpoll runs aggregates (sums, counts, minima, ..) over joins, and the query has no aggregate";
        reasons.push(reason.to_owned());
    }
    Ok(reasons)
}

/// Returns whether a query has joins or windows, but neither aggregates nor claimed regions.
fn lacks_aggregate(plan: &LogicalPlan) -> Result<bool, DataFusionError> {
    let (mut has_work, mut has_aggregate) = (false, false);
    plan.apply_with_subqueries(|node| {
        has_work |= matches!(node, LogicalPlan::Join(_) | LogicalPlan::Window(_));
        // A claimed region is an extension.
        has_aggregate |= matches!(node, LogicalPlan::Aggregate(_) | LogicalPlan::Extension(_));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(has_work && !has_aggregate)
}

/// Runs a statement and prints its rows. Runs a query again as often as the options request. For
/// `EXPLAIN`, writes to standard error the reasons why aggregates are not claimed. If the options
/// request times, also writes the times to standard error.
async fn run_statement(
    database: &Database,
    statement: CliStatement,
    options: &OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let interruption = Interruption::new();
    let explained = explained_query(&statement);
    let unclaimed = match explained {
        Some(query) => unclaimed_reasons(database, query.clone()).await?,
        None => Vec::new(),
    };
    let start = Instant::now();
    let batches = run(database, statement.clone()).await?;
    let cold = start.elapsed();
    if batches.iter().any(|batch| batch.num_columns() > 0) {
        print(&options.rows, &batches, &interruption.received, out)?;
    }
    if let Some(query) = explained {
        out.flush()?;
        // `EXPLAIN ANALYZE` runs the query, whose rows or times may add reasons.
        let later = unclaimed_reasons(database, query.clone()).await?;
        let found = later.iter().filter(|reason| !unclaimed.contains(reason));
        let lines = unclaimed.iter().map(|reason| format!("not claimed by redpoll: {reason}"));
        for line in lines.chain(found.map(|reason| format!("left to DataFusion from now on: {reason}"))) {
            // Errors in writing to standard error are ignored.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
    let mut warm = Vec::new();
    let is_repeatable = matches!(&statement, CliStatement::Sql(statement) if is_query(statement));
    if options.repeat > 0 && is_repeatable {
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
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        // If the table was shortened, the note below it already has the number of rows.
        let rows = Some(rows).filter(|rows| options.rows.cut_to(*rows).is_none());
        out.flush()?;
        // Errors in writing to standard error are ignored.
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
/// continues in the background until it yields. Returns at least one batch, from which the schema
/// is known.
async fn run(database: &Database, statement: CliStatement) -> Result<Vec<RecordBatch>, CommandFailure> {
    let database = database.clone();
    let rows = tokio::spawn(with_deep_stack(async move {
        let frame = match statement {
            CliStatement::Sql(statement) => database.execute(*statement).await?,
            CliStatement::Summarize(source) => database.summarize(&source).await?,
        };
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

/// Returns the line with the times of a statement, and with the number of its rows if `rows` is
/// given. The warm times are sorted.
fn timing_line(rows: Option<usize>, cold: Duration, warm: &[Duration]) -> String {
    let first = match rows {
        Some(rows) => format!("{rows} {} in {cold:.3?}", plural(rows as u64, "row", "rows")),
        None => format!("time: {cold:.3?}"),
    };
    match median(warm) {
        None => first,
        Some(time) => format!("{first}, warm {time:.3?} (median of {})", warm.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the warm time of an even number of runs is the mean of the two middle times.
    #[test]
    fn warm_times_are_medians() {
        let warm = [1, 3].map(Duration::from_secs);
        let line = timing_line(Some(2), Duration::from_secs(5), &warm);
        assert_eq!(line, "2 rows in 5.000s, warm 2.000s (median of 2)");
    }
}
