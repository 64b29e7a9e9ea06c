//! Operators: mapjoins apply them, and aggregates and scans fold with them.
//!
//! An [`Op`] is a built-in operator (a row of the table in `builtin.rs`, or a cast), or a
//! user-defined operator (`user.rs`). Both kinds have an arity and dtypes ([`Op::signature`]),
//! values ([`Op::eval`]) and algebraic properties (`properties.rs`). A property is claimed only for
//! the dtypes and float modes in which it is true.

mod body;
mod builtin;
mod cases;
pub mod elementary;
mod error;
mod eval;
#[cfg(test)]
mod eval_tests;
mod float;
mod integer;
#[cfg(test)]
mod law_tests;
mod laws;
mod partial_eval;
mod properties;
mod signature;
mod text;
mod user;

pub use builtin::{Arity, Builtin, DtypeRule};
pub use cases::Case;
pub use error::OpError;
pub use eval::{Fault, cast_to};
pub use laws::RepeatMethod;
pub use properties::{ShortCircuit, Simplification, eval_repeat};
pub use signature::{pair_type, promote};
pub use user::{Body, Definition, Iteration, STEP_LIMIT, Specialization, UserOp, UserProperties, While};

use crate::dtype::DType;
use crate::scalar::Scalar;
use std::fmt;
use std::sync::Arc;

/// An operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A built-in operator.
    Builtin(Builtin),
    /// A user-defined operator. Two such operators are equal if their names, definitions and
    /// declarations are equal.
    User(Arc<UserOp>),
}

/// The dtypes of an operator's computation; arguments are cast to `args` before the operator is
/// applied.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Dtype of each argument after promotion.
    pub args: Vec<DType>,
    /// Dtype of the result.
    pub result: DType,
}

impl Op {
    /// Returns the built-in operator with the given name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Op> {
        Builtin::from_name(name).map(Op::Builtin)
    }

    /// Returns the operator's name in text forms.
    pub fn name(&self) -> &str {
        match self {
            Op::Builtin(b) => b.name(),
            Op::User(u) => u.name(),
        }
    }
}

impl Op {
    /// Specializes a user-defined operator to the fill values of its arguments; see
    /// [`UserOp::bind_fills`]. The fill values are first cast to the dtypes of the parameters.
    /// Returns a built-in operator unchanged, because its result does not depend on fill values.
    ///
    /// # Errors
    /// Returns an error if the number or the dtypes of the fill values do not fit the parameters,
    /// or if a trial with the fill values refutes the declared iteration space. Also returns the
    /// errors of [`UserOp::check_cases`].
    pub fn bind_fills(&self, fills: &[Scalar]) -> Result<Op, OpError> {
        let Op::User(user) = self else { return Ok(self.clone()) };
        let dtypes: Vec<DType> = fills.iter().map(Scalar::dtype).collect();
        let signature = self.signature(&dtypes)?;
        let fills: Vec<Scalar> = fills.iter().zip(&signature.args).map(|(f, t)| cast_to(f, t)).collect();
        Ok(Op::from(user.bind_fills(&fills)?))
    }

    /// Returns whether an evaluation can end in a [`Fault`].
    pub fn can_fault(&self) -> bool {
        match self {
            Op::Builtin(b) => matches!(b, Builtin::AddChecked | Builtin::SubChecked | Builtin::MulChecked),
            Op::User(user) => {
                let Definition::Body(body) = user.definition();
                body.can_fault()
            }
        }
    }

    /// Returns whether the operator is defined by cases that depend on which arguments are stored.
    pub fn has_cases(&self) -> bool {
        matches!(self, Op::User(user) if user.has_cases())
    }
}

impl From<Builtin> for Op {
    fn from(b: Builtin) -> Op {
        Op::Builtin(b)
    }
}

impl From<UserOp> for Op {
    fn from(u: UserOp) -> Op {
        Op::User(Arc::new(u))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
