//! The forms of a program that is drawn: as it is written, and as lowering takes it.

use super::Case;
use redpoll_physical::Error;
use redpoll_physical::notation::{
    Program, Rule, dimensionalize, lifecycles, normalize, parse, scheduled, scopes, verify_parallel,
};

/// Why a program is refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The rule that it breaks.
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

/// The program in normal form, after its schedule.
pub fn normal_form(case: &Case) -> Result<Program, Refusal> {
    let program = scheduled(parse(&case.text())?, case.mode)?;
    let program = normalize(program)?;
    verify_parallel(&program, case.mode)?;
    Ok(program)
}

/// The program as it is written, over dense tensors, its loops with ranges.
pub fn written(case: &Case) -> Result<Program, Refusal> {
    Ok(dimensionalize(lifecycles(scopes(parse(&case.definition())?)?)?)?)
}
