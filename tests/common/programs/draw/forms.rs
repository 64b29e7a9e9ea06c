//! The forms of a drawn program: as written, and in normal form for lowering.

use super::Case;
use redpoll_physical::Error;
use redpoll_physical::notation::{
    Program, Rule, dimensionalize, lifecycles, normalize, parse, scheduled, scopes, verify_parallel,
};

/// The refusal of a program.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The broken rule, if the program is invalid.
    pub rule: Option<Rule>,
    pub what: String,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let rule = match &error {
            Error::InvalidProgram { rule, .. } => Some(*rule),
            _ => None,
        };
        Refusal { rule, what: error.to_string() }
    }
}

/// Returns the program in normal form, after its schedule.
pub fn normal_form(case: &Case) -> Result<Program, Refusal> {
    let program = scheduled(parse(&case.text())?, case.mode)?;
    let program = normalize(program)?;
    verify_parallel(&program, case.mode)?;
    Ok(program)
}

/// Returns the program as written, with dense tensors and all ranges.
pub fn written(case: &Case) -> Result<Program, Refusal> {
    Ok(dimensionalize(lifecycles(scopes(parse(&case.definition())?)?)?)?)
}
