//! The error type of redpoll: the cause, with the phase and the query if a query failed.

use crate::Target;
use crate::timings::Phase;
use redpoll_compiler::notation::ProgramRule;
use redpoll_logic::{Alias, plural};
use std::fmt;
use std::sync::Arc;

/// Cause of a failed operation of redpoll.
///
/// The debug form is the message, so that a `main` that returns an error prints the message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a plan over the bound tables. The fault is the author's.
    #[error("plan, {0}")]
    Parse(#[source] redpoll_logic::Error),
    /// The text is not a program over the bound tensors, or the program breaks a rule. The fault is
    /// the author's.
    #[error("program, {}{}", location(.at), cause_text(.source))]
    Program {
        /// The position in the text, unless the cause includes it.
        at: Option<redpoll_logic::cursor::TextPosition>,
        /// The cause.
        source: Box<redpoll_kernels::Error>,
    },
    /// The text is not a schedule. The fault is the author's.
    #[error("schedule, {0}; `redpoll run --schedule-table` lists the transformations")]
    Schedule(#[source] redpoll_logic::Error),
    /// A schedule names a query that the plan does not have, or a result that the program does not
    /// have, or names no query although the plan has several results. The fault is the author's.
    #[error("{}; the names are {}", scheduled_query(.query), name_list(.queries))]
    ScheduledQuery {
        /// The query that the schedule names; `None` if it names no query.
        query: Option<Alias>,
        /// The outputs of the queries of the plan, or the results of the program.
        queries: Vec<Alias>,
    },
    /// A transformation of a schedule does not fit the loops of its query. The fault is the
    /// author's.
    #[error("schedule of `{query}`, at `{at}`: {fault}")]
    ScheduledLoops {
        /// The outputs of the query.
        query: String,
        /// The transformation, or the loops that it transforms.
        at: String,
        /// The fault and its remedy.
        fault: String,
    },
    /// An environment variable has an invalid value. The fault is the user's.
    #[error("{0}")]
    Environment(&'static str),
    /// A program in Notation was run on the interpreter of Logic. The fault is the caller's.
    #[error("a program in Notation has no Logic plan; run it on another target")]
    NoLogic,
    /// The queries of a program in Notation were requested. The fault is the caller's.
    #[error("a program in Notation has no queries; explain it to see its loops")]
    NoPlan,
    /// The plan reads tables that are not bound. The fault is the caller's.
    #[error("no data for {}; bind a tensor to each, as in `{}`", table_list(.0), with_calls(.0))]
    UnboundTables(Vec<UnboundTable>),
    /// The plan reads a table with a number of fields other than the number of modes of its tensor.
    /// The fault is the caller's.
    #[error(
        "table `{table}` is read with {fields} {}, but the tensor bound to it has {rank} {} (shape {shape:?}); read it with one field for each mode",
        plural(*.fields as u64, "field", "fields"), plural(*.rank as u64, "mode", "modes")
    )]
    Rank {
        /// The table.
        table: Alias,
        /// The number of fields in the plan.
        fields: usize,
        /// The number of modes of the tensor.
        rank: usize,
        /// The shape of the tensor.
        shape: Vec<u64>,
    },
    /// The plan was compiled for tensors of another type, or for other values of a parameter. The
    /// fault is the caller's.
    #[error("the tensor bound to table `{table}` does not fit the compiled plan: {difference}")]
    Binding {
        /// The table.
        table: Alias,
        /// The first difference between the types, or the fault of the value of a parameter.
        difference: &'static str,
    },
    /// The plan breaks a rule of Logic. The fault is the author's.
    #[error("verify: {0}")]
    Verify(#[source] redpoll_logic::Error),
    /// The optimizer found no physical plan. The fault is the author's, unless the cause says
    /// otherwise.
    #[error("optimize: {0}")]
    Optimize(#[from] redpoll_optimizer::Error),
    /// The physical plan breaks a rule. The fault is the optimizer's.
    #[error("verify: physical plan, {0}")]
    VerifyPhysical(#[source] redpoll_logic::physical::verify::VerifyError),
    /// A phase between physical plan and kernel rejected a query, or its run failed. The cause says
    /// whose fault it is.
    #[error("{phase} of query `{query}`: {source}")]
    Query {
        /// The phase.
        phase: Phase,
        /// The outputs of the query.
        query: String,
        /// The cause.
        source: Box<redpoll_kernels::Error>,
    },
    /// The reference interpreter failed.
    #[error("logic interpreter: {0}")]
    Interpret(#[source] redpoll_logic::Error),
    /// A tensor is too large for a target that computes dense tensors. The fault is the caller's.
    #[error("tensor `{tensor}` of shape {shape:?} is too large for the {}; use another target", .target.name())]
    TooLarge {
        /// The tensor.
        tensor: Alias,
        /// The shape of the tensor.
        shape: Vec<u64>,
        /// The target.
        target: Target,
    },
    /// An operation on arrays could not be applied. The fault is the caller's.
    #[error(transparent)]
    Array(Arc<crate::ArrayError>),
    /// A graph algorithm does not accept an input. The fault is the caller's.
    #[error(transparent)]
    Graph(#[from] crate::graph::GraphError),
    /// A function of linear algebra failed. The cause says whose fault it is.
    #[cfg(feature = "linalg")]
    #[error(transparent)]
    Linalg(crate::linalg::LinalgError),
    /// An iterative solver does not accept an input, or an eigenvalue solver does not converge. The
    /// cause says whose fault it is.
    #[cfg(feature = "linalg")]
    #[error(transparent)]
    Solver(#[from] crate::linalg::iterative::SolverError),
    /// A file or a folder of a dump could not be read or written.
    #[error("dump, {}: {source}", .path.display())]
    Dump {
        /// The file or folder.
        path: std::path::PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A data file could not be read or written.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Data(#[from] redpoll_datasets::Error),
    /// The name of a sample that redpoll does not have. The fault is the caller's.
    #[cfg(feature = "files")]
    #[error("there is no sample `{name}`; the samples are {}", sample_names())]
    UnknownSample {
        /// The name.
        name: String,
    },
    /// A file that has changed since its header was read.
    #[cfg(feature = "files")]
    #[error("{} has changed after it was scanned; scan it again", .path.display())]
    ChangedFile {
        /// The file.
        path: std::path::PathBuf,
    },
    /// A statement failed, or a table could not be created.
    #[cfg(feature = "sql")]
    #[error("{}", redpoll_sql::message(.0))]
    Sql(Box<redpoll_sql::datafusion::error::DataFusionError>),
    /// An operation on storage or on a device failed outside of a query.
    #[error(transparent)]
    Storage(Box<redpoll_kernels::Error>),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns the error of a phase of a query. A fault of the schedule is
    /// [`Error::ScheduledLoops`], because schedules come from the user.
    pub(crate) fn of_query(phase: Phase, query: &str, source: redpoll_kernels::Error) -> Error {
        match schedule_fault(&source) {
            Some((at, fault)) if phase == Phase::Notation => {
                Error::ScheduledLoops { query: query.into(), at: at.into(), fault: fault.into() }
            }
            _ => Error::Query { phase, query: query.into(), source: Box::new(source) },
        }
    }

    /// Returns whether the fault is that of a schedule.
    #[cfg(feature = "cli")]
    pub(crate) fn is_schedule_fault(&self) -> bool {
        match self {
            Error::Schedule(_) | Error::ScheduledQuery { .. } | Error::ScheduledLoops { .. } => true,
            Error::Program { source, .. } => schedule_fault(source).is_some(),
            _ => false,
        }
    }

    /// Returns whether a device failed to run a query, in which case the CPU may run the query.
    pub(crate) fn is_device_failure(&self) -> bool {
        let (Error::Query { source, .. } | Error::Storage(source)) = self else { return false };
        source.runs_elsewhere()
    }

    /// Returns whether a run exceeded its memory limit.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        let (Error::Query { source, .. } | Error::Storage(source)) = self else { return false };
        source.status() == Some(redpoll_storage::Status::OutOfMemory)
    }
}

impl From<redpoll_storage::Error> for Error {
    fn from(error: redpoll_storage::Error) -> Error {
        Error::Storage(Box::new(error.into()))
    }
}

impl From<redpoll_kernels::Error> for Error {
    fn from(error: redpoll_kernels::Error) -> Error {
        Error::Storage(Box::new(error))
    }
}

/// A table that a plan reads and that is not bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnboundTable {
    /// The table.
    pub table: Alias,
    /// The number of fields in the plan.
    pub rank: usize,
}

#[cfg(feature = "files")]
fn sample_names() -> String {
    redpoll_datasets::SAMPLES.map(|sample| sample.file_name).join(", ")
}

fn scheduled_query(query: &Option<Alias>) -> String {
    match query {
        Some(name) => {
            format!("schedule of `{name}`: no query of the optimized plan and no result of the program has that name")
        }
        None => "schedule: the plan has several results; name a query, as in `NAME: parallel(i)`".to_owned(),
    }
}

fn name_list(names: &[Alias]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn table_list(tables: &[UnboundTable]) -> String {
    let name = |t: &UnboundTable| format!("`{}` ({} {})", t.table, t.rank, plural(t.rank as u64, "field", "fields"));
    let names: Vec<String> = tables.iter().map(name).collect();
    format!("table{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

/// Returns the calls that bind the tables.
fn with_calls(tables: &[UnboundTable]) -> String {
    tables.iter().map(|t| format!(".with(\"{}\", tensor)", t.table)).collect()
}

/// Returns the location and the text of a fault of a schedule; `None` for other errors.
fn schedule_fault(error: &redpoll_kernels::Error) -> Option<(&str, &str)> {
    let redpoll_kernels::Error::Compiler(error) = error else { return None };
    match &**error {
        redpoll_compiler::Error::InvalidProgram { rule: ProgramRule::Schedule | ProgramRule::Parallel, at, what } => {
            Some((at, what))
        }
        _ => None,
    }
}

fn location(at: &Option<redpoll_logic::cursor::TextPosition>) -> String {
    at.map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column))
}

fn cause_text(source: &redpoll_kernels::Error) -> String {
    if let redpoll_kernels::Error::Compiler(error) = source
        && let redpoll_compiler::Error::ProgramText(error) = &**error
    {
        return error.to_string();
    }
    source.to_string()
}
