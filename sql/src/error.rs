//! What can go wrong between SQL and tensors.

use crate::engine::RunError;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use std::time::Duration;

/// Why a query or a table of redpoll failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of a table cannot be read or written.
    #[error(transparent)]
    Data(Box<redpoll_datasets::Error>),
    /// A tensor cannot be stored.
    #[error(transparent)]
    Storage(Box<redpoll_physical::Error>),
    /// A Logic plan was not well-formed. Our fault.
    #[error("the program of a claimed region: {0}")]
    Logic(Box<redpoll_logic::Error>),
    /// The engine gave no results.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Arrow refused a computation.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A table was declared in a way that does not fit its file. Its author's fault.
    #[error("table `{table}`: {what}")]
    Declaration {
        /// The table.
        table: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The memory limit leaves too little for a region. The message says what to do.
    #[error(
        "{what} of a claimed region take {bytes} bytes more than the memory limit leaves; raise \
         `datafusion.runtime.memory_limit`, ask for less, or `SET redpoll.enabled = false`, which lets DataFusion spill"
    )]
    Memory {
        /// What the memory is for.
        what: &'static str,
        /// How many bytes it takes.
        bytes: usize,
    },
    /// An aggregate function that is none over a semiring. Its author's fault.
    #[error("the aggregate function `{name}`: {what}")]
    Semiring {
        /// The function.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// A library panicked over what it was given, most often a damaged file. Whoever wrote the file is at fault, or the library.
    #[error("{what} cannot be read, and is probably damaged: {fault}")]
    Broken {
        /// What it was given.
        what: String,
        /// What it says.
        fault: String,
    },
    /// A program does not list the groups that have rows. Our fault.
    #[error("the program of a claimed region does not list its groups; `SET redpoll.enabled = false` runs the query")]
    Unlisted,
    /// The rows of an input cannot be read.
    #[error(transparent)]
    Read(Box<DataFusionError>),
    /// The rows of a region are better left to DataFusion, which runs it then; nobody's fault.
    #[error(transparent)]
    Left(#[from] Left),
}

/// Why the rows of a region are left to DataFusion.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Left {
    /// A value does not fit what carries it.
    #[error("{what} of type {ty} does not fit the kernels")]
    Unfit {
        /// What does not fit.
        what: String,
        /// Its type.
        ty: DataType,
    },
    /// Numbers that a product or a sum over several tables must not be regrouped with.
    #[error("{what} is not finite, or so large that another order of computation overflows")]
    Unbounded {
        /// What is so large.
        what: String,
    },
    /// DataFusion is estimated to be done sooner.
    #[error("it takes {ours:.1?}, and DataFusion is done in {theirs:.1?}")]
    Cost {
        /// How long it takes, or is estimated to take.
        ours: Duration,
        /// How long DataFusion is estimated to take.
        theirs: Duration,
    },
    /// A column has a NULL whose row meets nothing that would keep it out.
    #[error("`{what}` has a NULL")]
    Nulls {
        /// The column.
        what: String,
    },
    /// A condition over several tables has too many values to be computed for all of them.
    #[error("{what} has more than {most} combinations of values")]
    Many {
        /// The condition.
        what: String,
        /// How many would do.
        most: u64,
    },
    /// What is computed before the join fails for rows that may not join.
    #[error("computed before the join: {what}")]
    Raised {
        /// The failure.
        what: String,
    },
}

impl From<redpoll_datasets::Error> for Error {
    fn from(error: redpoll_datasets::Error) -> Error {
        Error::Data(Box::new(error))
    }
}

impl From<redpoll_physical::Error> for Error {
    fn from(error: redpoll_physical::Error) -> Error {
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

/// What DataFusion says of its internal errors. An error of planning may have one within, where a function is given types
/// that it does not take, which is no bug of anybody.
const BUG: &str = "This issue was likely caused by a bug in DataFusion's code. Please help us to resolve this by filing a bug \
                   report in our issue tracker: https://github.com/apache/datafusion/issues. ";

/// What an error of DataFusion says: its first cause, without the layers around it.
pub fn message(error: &DataFusionError) -> String {
    match error.find_root() {
        root @ DataFusionError::Plan(_) => root.to_string().replace("Internal error: ", "").replace(BUG, ""),
        DataFusionError::SQL(fault, _) => fault.to_string(),
        DataFusionError::External(fault) => fault.to_string(),
        root => root.to_string(),
    }
}

/// The result of what this crate does by itself.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
