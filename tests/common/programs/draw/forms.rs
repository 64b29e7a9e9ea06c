//! The forms of a drawn program: as written, and in normal form for lowering.

use super::ProgramCase;
use redpoll_compiler::Error;
use redpoll_compiler::notation::{
    Program, ProgramRule, apply_schedule, dimensionalize, insert_lifecycles, normalize, parse, resolve_scopes,
    verify_parallel,
};

/// The rejection of a program.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The broken rule, if the program is invalid.
    pub rule: Option<ProgramRule>,
    pub message: String,
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Rejection {
        let rule = match &error {
            Error::InvalidProgram { rule, .. } => Some(*rule),
            _ => None,
        };
        Rejection { rule, message: error.to_string() }
    }
}

/// Applies the schedule of a program, and returns the program in normal form.
pub fn normal_form(case: &ProgramCase) -> Result<Program, Rejection> {
    let program = apply_schedule(parse(&case.text())?, case.mode)?;
    let program = normalize(program)?;
    verify_parallel(&program, case.mode)?;
    Ok(program)
}

/// Returns the program as written, with dense tensors and all ranges.
pub fn written_program(case: &ProgramCase) -> Result<Program, Rejection> {
    Ok(dimensionalize(insert_lifecycles(resolve_scopes(parse(&case.definition())?)?)?)?)
}
