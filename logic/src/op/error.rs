//! What can be wrong with an operator or its use.

use super::builtin::Arity;
use super::eval::Fault;
use crate::dtype::DType;

/// Why an operator does not fit its arguments, or why its definition is not accepted: always an error of the plan's
/// author.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The number of arguments is wrong.
    #[error("operator `{op}` takes {expected}, found {found}")]
    Arity {
        /// The operator.
        op: String,
        /// What it takes.
        expected: Arity,
        /// The number of arguments given.
        found: usize,
    },
    /// The dtype of an argument is not one that the operator takes.
    #[error("argument {position} of operator `{op}` has dtype {found}, expected {expected}")]
    Argument {
        /// The operator.
        op: String,
        /// The argument, counted from 0.
        position: usize,
        /// Its dtype.
        found: DType,
        /// What would be accepted.
        expected: String,
    },
    /// The dtypes of the arguments do not go together.
    #[error("the arguments of operator `{op}` have dtypes {found}, expected {expected}")]
    Arguments {
        /// The operator.
        op: String,
        /// The dtypes, one after the other.
        found: String,
        /// What would be accepted.
        expected: String,
    },
    /// The definition of a user-defined operator is wrong.
    #[error("in the definition of operator `{op}`: {what}")]
    Definition {
        /// The operator.
        op: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// The evaluation failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}
