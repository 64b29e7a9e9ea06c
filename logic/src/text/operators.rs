//! The operators of a text.

use crate::error::Error;
use crate::op::{Builtin, Op, UserOp};
use crate::sexpr::Sexpr;
use std::sync::Arc;

/// The operators in scope of a text: the built-in ones and those defined by users.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    defined: Vec<Op>,
}

impl Operators {
    /// Returns the built-in operators and the given ones.
    pub fn with(ops: &[Arc<UserOp>]) -> Operators {
        Operators { defined: ops.iter().cloned().map(Op::User).collect() }
    }

    /// Adds the operator of a form `(define-op ..)`.
    ///
    /// # Errors
    /// Returns the errors of [`UserOp::read`].
    pub fn define(&mut self, form: &Sexpr) -> Result<(), Error> {
        let op = UserOp::read(form, &|name| self.find(name))?;
        self.defined.push(Op::User(Arc::new(op)));
        Ok(())
    }

    /// Returns the operator of a name.
    pub fn find(&self, name: &str) -> Option<Op> {
        self.defined.iter().find(|op| op.name() == name).cloned().or_else(|| Op::from_name(name))
    }

    /// Returns the operator of a name; an error gets the position of `form`.
    ///
    /// # Errors
    /// Returns an error with similar names if there is no such operator.
    pub fn named(&self, name: &str, form: &Sexpr) -> Result<Op, Error> {
        self.find(name).ok_or_else(|| {
            let candidates = Builtin::ALL.iter().map(|b| b.name()).chain(self.defined.iter().map(Op::name));
            form.locate(Error::unknown("operator", name, candidates))
        })
    }

    /// Reads the name of an operator.
    ///
    /// # Errors
    /// Returns an error if `form` is no word, or names no operator.
    pub fn read_name(&self, form: &Sexpr) -> Result<Op, Error> {
        self.named(form.word("the name of an operator")?, form)
    }
}
