//! The errors of this crate.

use crate::engine::RunError;
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
    /// A tensor cannot be stored.
    #[error(transparent)]
    Storage(Box<redpoll_physical::Error>),
    /// A Logic plan was not well-formed. Our fault.
    #[error("the program of a claimed region: {0}")]
    Logic(Box<redpoll_logic::Error>),
    /// The engine returned no results.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Arrow refused a computation.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The declaration of a table does not fit its file. The fault of its author.
    #[error("table `{table}`: {what}")]
    Declaration {
        /// The table.
        table: String,
        /// The mistake, and the correct form.
        what: String,
    },
    /// The memory limit leaves too little for a region. The message says what to do.
    #[error(
        "{what} of a claimed region take {bytes} bytes more than the memory limit leaves; raise \
         `datafusion.runtime.memory_limit`, ask for less, or `SET redpoll.enabled = false`, which lets DataFusion spill"
    )]
    Memory {
        /// The use of the memory.
        what: &'static str,
        /// The size that was asked for, in bytes.
        bytes: usize,
    },
    /// An aggregate function is not over a semiring. The fault of its author.
    #[error("the aggregate function `{name}`: {what}")]
    Semiring {
        /// The function.
        name: String,
        /// The reason.
        what: String,
    },
    /// A library panicked on its input, most often a damaged file. The fault of the author of the
    /// file, or of the library.
    #[error("{what} cannot be read, and is probably damaged: {fault}")]
    Broken {
        /// The input.
        what: String,
        /// The message of the panic.
        fault: String,
    },
    /// A program does not list the groups that have rows. Our fault.
    #[error("the program of a claimed region does not list its groups; `SET redpoll.enabled = false` runs the query")]
    Unlisted,
    /// The rows of an input cannot be read.
    #[error(transparent)]
    Read(Box<DataFusionError>),
    /// The rows of a region are left to DataFusion, which runs the region instead. Nobody's fault.
    #[error(transparent)]
    Left(#[from] Left),
}

/// The reason why the rows of a region are left to DataFusion.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Left {
    /// A value does not fit the kernels.
    #[error("{what} of type {ty} does not fit the kernels")]
    Unfit {
        /// The value.
        what: String,
        /// The type of the value.
        ty: DataType,
    },
    /// The values of a sum or product over several tables are not finite, or may overflow when
    /// regrouped.
    #[error("{what} is not finite, or so large that another order of computation overflows")]
    Unbounded {
        /// The values.
        what: String,
    },
    /// DataFusion is faster, or estimated to be.
    #[error("it takes {ours:.1?}, and DataFusion is done in {theirs:.1?}")]
    Cost {
        /// Time of redpoll, measured or estimated.
        ours: Duration,
        /// Time of DataFusion, measured or estimated.
        theirs: Duration,
    },
    /// A column has a NULL, and no join removes its row.
    #[error("`{what}` has a NULL")]
    Nulls {
        /// The column.
        what: String,
    },
    /// A condition over several tables has too many combinations of values to be computed for all
    /// of them.
    #[error("{what} has more than {most} combinations of values")]
    Many {
        /// The condition.
        what: String,
        /// The largest accepted number of combinations.
        most: u64,
    },
    /// An expression that is computed before the join fails, maybe for rows that do not join.
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

/// The text that DataFusion appends to internal errors. An error of planning may contain it
/// although there is no bug: a function was given types that it does not take.
const BUG: &str = "This issue was likely caused by a bug in DataFusion's code. Please help us to resolve this by filing a bug \
                   report in our issue tracker: https://github.com/apache/datafusion/issues. ";

/// Returns the message of the root cause of a DataFusion error.
pub fn message(error: &DataFusionError) -> String {
    match error.find_root() {
        root @ DataFusionError::Plan(_) => root.to_string().replace("Internal error: ", "").replace(BUG, ""),
        DataFusionError::SQL(fault, _) => fault.to_string(),
        DataFusionError::External(fault) => fault.to_string(),
        root => root.to_string(),
    }
}

/// The result type of this crate.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
