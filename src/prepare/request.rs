//! Requests to prepare a plan or a program.

use crate::bindings::Bindings;
use crate::error::Error;
use crate::program::Program;
use crate::statistics::StatisticsInput;
use redpoll_logic::{FloatMode, Plan};
use std::borrow::Cow;

/// A plan with the source of its input statistics, or a program.
pub(crate) enum Request<'p> {
    /// A Logic plan.
    Plan(Plan, StatisticsInput),
    /// A program in Notation.
    Program(&'p Program),
}

impl Request<'_> {
    /// Returns the request in a float mode. The operators of a plan depend on the mode; a program
    /// takes the mode when it is compiled.
    pub(crate) fn in_mode(self, mode: FloatMode) -> Result<Self, Error> {
        match self {
            Request::Plan(plan, statistics) if mode != FloatMode::Relaxed => {
                Ok(Request::Plan(plan.to_mode(mode).map_err(Error::Verify)?, statistics))
            }
            request => Ok(request),
        }
    }

    /// Converts the bound tensors to the inputs of a program. A plan takes tensors as they are.
    pub(crate) fn bind<'b>(&self, bindings: &'b Bindings) -> Result<Cow<'b, Bindings>, Error> {
        match self {
            Request::Plan(..) => Ok(Cow::Borrowed(bindings)),
            Request::Program(program) => program.bind(bindings).map(Cow::Owned),
        }
    }
}
