//! The error type of redpoll: what went wrong, in which phase, of which query.

use crate::config::Engine;
use crate::timings::Phase;
use redpoll_logic::{Alias, DType, Prim};
use std::sync::Arc;

/// Why a plan has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no plan over the bound tables. Its author's fault.
    #[error("plan, {0}")]
    Parse(#[source] redpoll_logic::Error),
    /// The text is no program over the bound tensors, or the program breaks a rule. Its author's fault.
    #[error("program, {}{}", place(.at), words(.source))]
    Program {
        /// Where in the text, if the cause does not say.
        at: Option<redpoll_logic::sexpr::Position>,
        /// The cause.
        source: Box<redpoll_physical::Error>,
    },
    /// A variable of the environment does not say what it must. The fault of who has set it.
    #[error("{0}")]
    Environment(&'static str),
    /// A program in Notation was to run on the interpreter of Logic. The caller's fault.
    #[error("a program in Notation has no Logic plan; run it on another engine")]
    NoLogic,
    /// The plan reads tables that nothing is bound to. The caller's fault.
    #[error("no data for {}; bind a tensor to each", unbound(.0))]
    Unbound(Vec<Unbound>),
    /// The plan reads a table with another number of fields than its tensor has modes. The caller's fault.
    #[error(
        "table `{table}` is read with {fields} fields, but the tensor bound to it has {rank} modes (shape {shape:?})"
    )]
    Rank {
        /// The table.
        table: Alias,
        /// The fields that the plan gives it.
        fields: usize,
        /// The modes of the tensor.
        rank: usize,
        /// The shape of the tensor.
        shape: Vec<u64>,
    },
    /// A plan that was not made for the bound tensors. The caller's fault.
    #[error("the tensor bound to table `{table}` is not of the type that the plan was made for: {what}")]
    Binding {
        /// The table.
        table: Alias,
        /// What differs.
        what: &'static str,
    },
    /// The plan breaks a rule of Logic. Its author's fault.
    #[error("verify: {0}")]
    Verify(#[source] redpoll_logic::Error),
    /// There is no physical plan.
    #[error("optimize: {0}")]
    Optimize(#[from] redpoll_optimizer::Error),
    /// The physical plan breaks a rule. The optimizer's fault.
    #[error("verify: physical plan, {0}")]
    VerifyPhysical(#[source] redpoll_logic::physical::verify::VerifyError),
    /// A phase of `redpoll-physical` refused a query.
    #[error("{phase} of query `{query}`: {source}")]
    Query {
        /// The phase.
        phase: Phase,
        /// The outputs of the query.
        query: String,
        /// The cause.
        source: Box<redpoll_physical::Error>,
    },
    /// The reference interpreter did not come to its end.
    #[error("logic interpreter: {0}")]
    Interpret(#[source] redpoll_logic::Error),
    /// An engine that computes densely was asked to hold too much. The caller's fault.
    #[error("tensor `{tensor}` of shape {shape:?} is too large for the {}; use another engine", .engine.name())]
    TooLarge {
        /// The tensor.
        tensor: Alias,
        /// Its shape.
        shape: Vec<u64>,
        /// The engine.
        engine: Engine,
    },
    /// An array could not be made. Its author's fault.
    #[error(transparent)]
    Array(Arc<crate::ArrayError>),
    /// Values were asked for in another type than theirs. The caller's fault.
    #[error("the values have dtype {dtype}, but {asked} was asked for; cast the array first")]
    Elements {
        /// The dtype of the values.
        dtype: DType,
        /// What was asked for.
        asked: Prim,
    },
    /// A file of a dump could not be read or written.
    #[error("dump, {}: {source}", .path.display())]
    Dump {
        /// The file.
        path: std::path::PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Data(#[from] redpoll_datasets::Error),
    /// A statement failed, or a table could not be made.
    #[cfg(feature = "sql")]
    #[error("{}", redpoll_sql::message(.0))]
    Sql(Box<redpoll_sql::datafusion::error::DataFusionError>),
    /// A tensor could not be made of the results of an interpreter.
    #[error(transparent)]
    Storage(Box<redpoll_physical::Error>),
}

impl Error {
    /// Whether it is the device that does not run a query; the CPU may.
    pub(crate) fn is_of_device(&self) -> bool {
        use redpoll_physical::Error as Cause;
        let (Error::Query { source, .. } | Error::Storage(source)) = self else { return false };
        matches!(
            **source,
            Cause::NoDevice { .. } | Cause::Device { .. } | Cause::DeviceMemory { .. } | Cause::Compile { .. }
        )
    }
}

impl From<redpoll_physical::Error> for Error {
    fn from(error: redpoll_physical::Error) -> Error {
        Error::Storage(Box::new(error))
    }
}

/// A table that a plan reads, without data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unbound {
    /// The table.
    pub table: Alias,
    /// How many fields the plan gives it.
    pub rank: usize,
}

fn unbound(tables: &[Unbound]) -> String {
    let name = |t: &Unbound| format!("`{}` ({} fields)", t.table, t.rank);
    let names: Vec<String> = tables.iter().map(name).collect();
    format!("table{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

fn place(at: &Option<redpoll_logic::sexpr::Position>) -> String {
    at.map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column))
}

fn words(source: &redpoll_physical::Error) -> String {
    match source {
        redpoll_physical::Error::ProgramText(e) => e.to_string(),
        other => other.to_string(),
    }
}
