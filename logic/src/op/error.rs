//! Errors in operators and their use.

use super::builtin::Arity;
use super::eval::Fault;
use crate::dtype::DType;

/// The reason why an operator does not fit its arguments, its definition is rejected, or its
/// evaluation has no value. The author of the plan is at fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The number of arguments is wrong.
    #[error("operator `{op}` takes {expected}, found {found}")]
    Arity {
        /// The operator.
        op: String,
        /// Expected number of arguments.
        expected: Arity,
        /// Given number of arguments.
        found: usize,
    },
    /// The operator does not accept the dtype of an argument.
    #[error("argument {position} of operator `{op}` has dtype {found}, expected {expected}")]
    Argument {
        /// The operator.
        op: String,
        /// Position of the argument, from 0.
        position: usize,
        /// Dtype of the argument.
        found: DType,
        /// Description of the accepted dtypes.
        expected: String,
    },
    /// The operator does not accept this combination of dtypes.
    #[error("the arguments of operator `{op}` have dtypes {found}, expected {expected}")]
    Arguments {
        /// The operator.
        op: String,
        /// Dtypes of the arguments, in order.
        found: String,
        /// Description of the accepted dtypes.
        expected: String,
    },
    /// The definition of a user-defined operator is invalid.
    #[error("in the definition of operator `{op}`: {problem}")]
    Definition {
        /// The operator.
        op: String,
        /// Description of the mistake and of the remedy.
        problem: String,
    },
    /// The evaluation ended in a fault.
    #[error(transparent)]
    Fault(#[from] Fault),
}
