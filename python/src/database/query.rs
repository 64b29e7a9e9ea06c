//! Runs of statements on threads that do not hold the lock of the interpreter. Ctrl-C ends a run.

use super::errors::exception;
use crate::arrow::ArrowTable;
use crate::run::wait;
use pyo3::prelude::*;
use redpoll::sql::datafusion::arrow::array::AsArray;
use redpoll::sql::datafusion::arrow::record_batch::RecordBatch;
use redpoll::sql::datafusion::common::format::ExplainStatementOptions;
use redpoll::sql::datafusion::error::Result;
use redpoll::sql::datafusion::sql::parser::{ExplainStatement, Statement};
use redpoll::sql::datafusion::sql::sqlparser::ast;
use redpoll::sql::{Database, STACK_SIZE, with_deep_stack};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use tokio::runtime::{Builder, Runtime};

/// Runs a future on the threads of queries, while this thread polls for signals. If a signal
/// handler raises an exception, the future is dropped, which cancels the kernels of its regions.
///
/// # Errors
/// Raises the exception of the future, the exceptions of [`wait`], and `OSError` if no thread can
/// be started.
pub(super) fn run<T: Send + 'static>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    // The caller may have returned after an interrupt; then nobody receives the result.
    let task = async move { drop(sender.send(future.await)) };
    let task = runtime()?.spawn(with_deep_stack(task));
    wait(py, receiver, || task.abort())?.map_err(|error| exception(py, &error))
}

/// Runs a statement, and returns its rows.
///
/// # Errors
/// If the statement fails.
pub(super) async fn rows(database: Database, statement: Statement) -> Result<ArrowTable> {
    let frame = database.execute(statement).await?;
    let schema = frame.schema().inner().clone();
    let batches = database.collect(frame).await?;
    // The schema of a plan may allow NULLs that the schema of its rows excludes.
    let schema = batches.first().map_or(schema, RecordBatch::schema);
    Ok(ArrowTable::new(schema, batches))
}

/// Returns the title and the text of each form of a statement's plan. For a query, the last section
/// has the reasons why aggregates are not claimed, if there are any.
///
/// # Errors
/// If the statement cannot be planned, or is run and fails.
pub(super) async fn explain(database: Database, statement: Statement, analyze: bool) -> Result<Vec<(String, String)>> {
    let options = ExplainStatementOptions { analyze, ..ExplainStatementOptions::default() };
    let explained = Statement::Explain(ExplainStatement { options, statement: Box::new(statement.clone()) });
    let frame = database.execute(explained).await?;
    let mut sections = Vec::new();
    for batch in database.collect(frame).await? {
        let [titles, texts] = [0, 1].map(|column| batch.column(column).as_string::<i32>());
        let pair = |(title, text): (Option<&str>, Option<&str>)| {
            (title.unwrap_or_default().to_owned(), text.unwrap_or_default().to_owned())
        };
        sections.extend(titles.iter().zip(texts).map(pair));
    }
    let is_query = matches!(&statement, Statement::Statement(inner) if matches!(**inner, ast::Statement::Query(_)));
    if !is_query {
        return Ok(sections);
    }
    let plan = database.execute(statement).await?.into_optimized_plan()?;
    let mut reasons: Vec<String> = Vec::new();
    for (_, reason) in database.unclaimed_aggregates(&plan) {
        let reason = reason.to_string();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if !reasons.is_empty() {
        sections.push(("not claimed by redpoll".to_owned(), reasons.join("\n")));
    }
    Ok(sections)
}

/// Returns the runtime whose threads run queries. All databases of a process share the runtime. A
/// forked process has none of the threads of its parent, so it gets a new runtime.
fn runtime() -> PyResult<Arc<Runtime>> {
    static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = &*kept
        && *owner == process
    {
        return Ok(runtime.clone());
    }
    let mut threads = Builder::new_multi_thread();
    let threads = threads.thread_name("redpoll sql").thread_stack_size(STACK_SIZE).enable_all();
    let runtime = Arc::new(threads.build()?);
    // The destructor of the parent's runtime would wait for threads that do not exist here.
    std::mem::forget(kept.replace((process, runtime.clone())));
    Ok(runtime)
}
