//! Operators: what a mapjoin applies and an aggregate folds with.
//!
//! An [`Op`] is a built-in operator, one row of the table in `table.rs`, or a user-defined one (`user.rs`). Both answer
//! the same questions: arity, dtypes ([`Op::signature`]), value ([`Op::eval`]) and algebraic properties
//! (`properties.rs`), which are claimed for a dtype and a float mode only where they are true.

mod builtin;
mod eval;
mod properties;
mod user;

pub use builtin::{Arity, Builtin};
pub use eval::Fault;
pub use properties::Repeat;
pub use user::{Body, Iteration, UserOp};

use crate::dtype::DType;
use std::fmt;
use std::sync::Arc;

/// An operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A row of the operator table.
    Builtin(Builtin),
    /// An operator that the user defined; equal when name and definition are.
    User(Arc<UserOp>),
}

/// The dtypes that an operator computes with: arguments are cast to `args` before it is applied.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// The dtype of each argument after promotion.
    pub args: Vec<DType>,
    /// The dtype of the result.
    pub result: DType,
}

impl From<Builtin> for Op {
    fn from(b: Builtin) -> Op {
        Op::Builtin(b)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
