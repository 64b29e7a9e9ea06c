//! The errors of this crate.

use crate::engine::RunError;
use crate::plain_words::in_plain_words;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use std::time::Duration;

/// The reason why a query or a table of redpoll failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of a table cannot be read or written.
    #[error(transparent)]
    Data(Box<redpoll_datasets::Error>),
    /// A tensor cannot be built, converted, counted or read. The fault of the author of the rows,
    /// of the caller, or ours.
    #[error(transparent)]
    Storage(Box<redpoll_storage::Error>),
    /// A Logic plan was not well-formed. Our fault.
    #[error(
        "the plan of a claimed region is not valid: {0}; `SET redpoll.enabled = false` runs the query in DataFusion"
    )]
    Logic(Box<redpoll_logic::Error>),
    /// The engine refused a target or a plan, or a run returned no results.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Arrow refused a computation.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A table cannot be declared: the declaration does not fit the file or tensor, the file cannot
    /// be parsed, or the schema of the table does not exist. The fault of the author of the
    /// declaration or of the file.
    #[error("table `{table}`: {message}")]
    Declaration {
        /// The name of the table, or its file or columns if it has no name yet.
        table: String,
        /// The mistake, in most cases with the expected form.
        message: String,
    },
    /// The memory limit leaves too little for a region. The message says what to do.
    #[error(
        "{purpose} of a claimed region need {bytes} more bytes, but the memory limit leaves fewer; raise \
         `datafusion.runtime.memory_limit`, request fewer rows, or `SET redpoll.enabled = false`, so that DataFusion \
         runs the query and spills to disk"
    )]
    Memory {
        /// The use of the memory.
        purpose: &'static str,
        /// The requested size in bytes.
        bytes: usize,
    },
    /// An aggregate function is not over a semiring. The fault of its author.
    #[error("aggregate function `{name}`: {message}")]
    Semiring {
        /// The function.
        name: String,
        /// The mistake.
        message: String,
    },
    /// An input cannot be read, most often because its file is damaged: a library panicked, the
    /// reader of Parquet or JSON returned an error, or a check found a defect in an Arrow file. The
    /// fault of the author of the file, or of the library.
    #[error("{input} cannot be read and is probably damaged: {cause}")]
    Damaged {
        /// The input.
        input: String,
        /// The message of the panic or of the reader, or the defect.
        cause: String,
    },
    /// A value of a file of JSON does not have the type of its column. The fault of the author of
    /// the file or of the declaration.
    #[error(
        "{input}: {}column `{column}`: {cause}; the first 1000 records decide the type of a column, unless \
         `CREATE EXTERNAL TABLE` declares it",
        line_prefix(*.line)
    )]
    JsonValue {
        /// The input.
        input: String,
        /// The line in which the record begins, counted from 1; `None` if it is unknown.
        line: Option<u64>,
        /// The keys of the value, separated by dots.
        column: String,
        /// The message of the reader.
        cause: String,
    },
    /// A quoted value of delimited text never ends, so that the reader would take the rest of the
    /// file for one value. The fault of the author of the file.
    #[error(
        "the file {file}: line {line}: a quoted value begins here and never ends; close its quote, and double each quote \
         within it"
    )]
    OpenQuote {
        /// The file.
        file: String,
        /// The line of the opening quote, counted from 1.
        line: u64,
    },
    /// A quoted value of delimited text contains a line break, but the file is read in parts, and a
    /// part may begin at this line break. A file is read in parts if its start has no such value.
    /// The fault of the author of the file, or ours.
    #[error(
        "the file {file}: line {line}: a quoted value begins here and contains a line break, so that the file cannot be \
         read in parts; `SET datafusion.optimizer.repartition_file_scans = false` reads it as a whole"
    )]
    BrokenLine {
        /// The file.
        file: String,
        /// The line of the opening quote, counted from 1.
        line: u64,
    },
    /// The plan of a region does not list the groups that have rows. Our fault.
    #[error(
        "the plan of a claimed region does not list its groups; `SET redpoll.enabled = false` runs the query in DataFusion"
    )]
    UnlistedGroups,
    /// An outer join that DataFusion runs would pad a run-end encoded column. The fault of Arrow,
    /// whose `take` ignores NULL indices of such arrays.
    #[error(
        "column `{column}` is run-end encoded, and DataFusion's outer joins return wrong values for such columns; \
         cast it to its plain type: `arrow_cast({column}, '{ty}')`"
    )]
    RunEndEncoded {
        /// The column.
        column: String,
        /// The type of the column's values.
        ty: DataType,
    },
    /// The rows of an input cannot be read.
    #[error(transparent)]
    Read(Box<DataFusionError>),
    /// A part of a plan cannot be sent to the workers of a cluster, such as a semiring with an
    /// operator that is not built in. The fault of the author of the query, or ours.
    #[error("a part of the plan cannot be sent to a worker: {0}")]
    Unsendable(String),
    /// A worker of a cluster has received a message that breaks a rule. The fault of the sender.
    #[error("a message to a worker is malformed: {0}; all processes of a cluster need the same version of redpoll")]
    Malformed(String),
    /// A worker of a cluster cannot be reached, or the connection to the worker has ended. The
    /// fault of the worker, of the network, or of the author of the list of workers.
    #[error("the worker {worker} cannot be reached: {cause}")]
    LostWorker {
        /// The URL of the worker.
        worker: String,
        /// The causes, separated by colons.
        cause: String,
    },
    /// The plan of a task did not reach its worker in time. The fault of the network, or of the
    /// author of a query over large tables in memory.
    #[error(
        "a part of the plan did not reach the worker {worker} within {} seconds: sending takes long if the query reads \
         large tables in memory or tensors; store them in files, or raise `timeout` in the file of the cluster and \
         `--timeout` of the workers",
        .limit.as_secs()
    )]
    UnsentPlan {
        /// The URL of the worker.
        worker: String,
        /// The time limit.
        limit: Duration,
    },
    /// The rows of a region are left to DataFusion, which runs the region instead. Nobody's fault.
    #[error(transparent)]
    Fallback(#[from] FallbackReason),
}

/// The reason why the rows of a region are left to DataFusion.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FallbackReason {
    /// Kernels cannot compute with a value exactly.
    #[error("kernels do not support {value} of type {ty}")]
    Unsupported {
        /// The value and its use.
        value: String,
        /// The type of the value.
        ty: DataType,
    },
    /// A sum of decimals over all rows of the join may overflow in limbs.
    #[error("kernels cannot sum values of type {ty} exactly in a join of up to {}", row_count(*.rows))]
    TooManyRows {
        /// The type of the values.
        ty: DataType,
        /// The upper bound of the number of rows.
        rows: u128,
    },
    /// The result may depend on the order of computation. A product, a sum of several terms, or a
    /// function over a semiring reads a value that is not finite, or may overflow when regrouped. A
    /// minimum or maximum that reads a NaN, and integers that may overflow in their own type, have
    /// this reason, too.
    #[error(
        "{values} is not finite, or so large that it may overflow in its own type or in another order of computation"
    )]
    Unbounded {
        /// The values.
        values: String,
    },
    /// The values of a product are negative, so that the product does not distribute over a minimum
    /// or maximum.
    #[error("{values} has negative values, and a product with a negative value reverses the order of values")]
    Negative {
        /// The values.
        values: String,
    },
    /// A group key is NaN or a negative zero, so that equal keys may have different bits.
    #[error("{values} is NaN or a negative zero")]
    Irregular {
        /// The values.
        values: String,
    },
    /// The variance of values is so small that its computation from sums would lose digits.
    #[error("the values of {values} differ so little that sums of their squares lose digits")]
    Cancellation {
        /// The values.
        values: String,
    },
    /// The time of redpoll exceeds the accepted multiple of DataFusion's time.
    #[error("redpoll takes {redpoll_time:.1?} and DataFusion takes {datafusion_time:.1?}")]
    Slower {
        /// Time of redpoll's fastest run, or the limit at which a run was stopped.
        redpoll_time: Duration,
        /// Time of DataFusion, or an upper bound of this time if DataFusion has not run.
        datafusion_time: Duration,
    },
    /// A column has a NULL where a region needs values: an anti-join compares with the column, or
    /// both sides of a full outer join have a NULL in a key.
    #[error("column `{column}` contains a NULL")]
    Null {
        /// The column.
        column: String,
    },
    /// An expression over several tables has too many combinations of values to be computed for all
    /// combinations.
    #[error("{expr} reads more than {max} combinations of values")]
    TooManyCombinations {
        /// The condition or the expressions.
        expr: String,
        /// The largest accepted number of combinations.
        max: u64,
    },
    /// A worker of a cluster left its rows to DataFusion.
    #[error("{reason}")]
    OnWorker {
        /// The reason of the worker.
        reason: String,
    },
    /// An expression that is computed before the join fails, maybe for rows that do not join.
    #[error("an expression that is computed before the join fails: {error}")]
    EarlyError {
        /// The error.
        error: String,
    },
}

/// Returns the text of a line before a message on it; an empty text if the line is unknown.
pub(crate) fn line_prefix(line: Option<u64>) -> String {
    line.map(|line| format!("line {line}: ")).unwrap_or_default()
}

/// Returns a number of rows as text, such as `1 row` or `2 rows`.
pub(crate) fn row_count(rows: u128) -> String {
    format!("{rows} {}", if rows == 1 { "row" } else { "rows" })
}

impl From<redpoll_datasets::Error> for Error {
    fn from(error: redpoll_datasets::Error) -> Error {
        Error::Data(Box::new(error))
    }
}

impl From<redpoll_storage::Error> for Error {
    fn from(error: redpoll_storage::Error) -> Error {
        Error::Storage(Box::new(error))
    }
}

impl From<redpoll_logic::Error> for Error {
    fn from(error: redpoll_logic::Error) -> Error {
        Error::Logic(Box::new(error))
    }
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> DataFusionError {
        match error {
            Error::Run(RunError::Memory) | Error::Memory { .. } => {
                DataFusionError::ResourcesExhausted(error.to_string())
            }
            Error::Read(error) => *error,
            error => DataFusionError::External(Box::new(error)),
        }
    }
}

/// The text that DataFusion appends to internal errors. A planning error may contain this text
/// although there is no bug, for example if a function does not take the types of its arguments.
const BUG_NOTICE: &str = "This issue was likely caused by a bug in DataFusion's code. Please help us to resolve this by filing a bug \
                   report in our issue tracker: https://github.com/apache/datafusion/issues. ";

/// The call that DataFusion plans for `count(*)`.
const COUNT_OF_ROWS: &str = "count(Int64(1))";

/// The start of DataFusion's message on a file that cannot be written. The message names no cause.
const UNWRITTEN: &str = "Error encountered while finalizing writes!";

/// Returns the message of the root cause of a DataFusion error. For most kinds of errors,
/// DataFusion's prefix with the name of the kind is left out. The message of a planning error is
/// returned without DataFusion's note on where to report bugs, and without the error of each
/// signature of a function, because the message lists the signatures. Syntax trees and nodes of
/// plans are left out. If the error occurred in a worker of a cluster, the message names the
/// worker.
///
/// ```
/// # #[tokio::main]
/// # async fn main() {
/// let database = redpoll::Session::default().database();
/// let error = database.sql("SELECT v FROM missing").await.unwrap_err();
/// assert!(redpoll_sql::message(&error).contains("table 'missing' not found"));
/// # }
/// ```
pub fn message(error: &DataFusionError) -> String {
    let message = root_message(error);
    match worker_of(error) {
        Some(worker) if !message.contains(worker) => format!("{IN_WORKER}{worker}: {message}"),
        _ => message,
    }
}

/// Returns the URL of the worker whose loss is the cause of an error, also if another worker
/// reports the error, which then arrives as text.
#[cfg(feature = "cluster")]
pub(crate) fn lost_worker(error: &DataFusionError) -> Option<String> {
    let DataFusionError::External(cause) = error.find_root() else { return None };
    match cause.downcast_ref::<Error>() {
        Some(Error::LostWorker { worker, .. }) => Some(worker.clone()),
        Some(_) => None,
        None => {
            let text = cause.to_string();
            let (worker, _) = text.strip_prefix("the worker ")?.split_once(" cannot be reached: ")?;
            Some(worker.to_owned())
        }
    }
}

/// The start of the context of an error of a worker. The rest is the URL of the worker.
pub(crate) const IN_WORKER: &str = "in the worker ";

/// Returns the URL of the worker in which an error occurred; `None` if no worker is involved. If a
/// worker reports an error of another worker, the URL is that of the other one.
fn worker_of(error: &DataFusionError) -> Option<&str> {
    match error {
        DataFusionError::Context(context, cause) => worker_of(cause).or_else(|| context.strip_prefix(IN_WORKER)),
        DataFusionError::Shared(cause) => worker_of(cause),
        DataFusionError::Diagnostic(_, cause) => worker_of(cause),
        DataFusionError::Collection(causes) => causes.first().and_then(worker_of),
        _ => None,
    }
}

/// Returns the message of the root cause of an error.
fn root_message(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::Plan(text) => {
            let text = text.replace("Internal error: ", "").replace(BUG_NOTICE, "").replace(COUNT_OF_ROWS, "count(*)");
            match (text.find(", errors: "), text.find("\nNo function matches")) {
                (Some(start), Some(end)) if start < end => format!("{}{}", &text[..start], &text[end..]),
                _ => in_plain_words(&text),
            }
        }
        DataFusionError::Execution(text) | DataFusionError::Configuration(text) => text.clone(),
        DataFusionError::Internal(text) if text.starts_with(UNWRITTEN) => {
            "the file cannot be written, or only a part of it; check its folder, the permissions and the free space"
                .to_owned()
        }
        DataFusionError::SchemaError(error, _) => error.to_string(),
        DataFusionError::ArrowError(error, _) => error.to_string(),
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::External(error) => error.to_string(),
        root => in_plain_words(&root.to_string()),
    }
}

/// The result type of this crate.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
