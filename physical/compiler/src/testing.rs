//! Support for tests of several crates: the golden programs, example functions, programs over lists
//! of very different lengths, expansions of operators as functions, and the test whether fibers of
//! a level kind can be compared.

pub mod examples;
pub mod skewed;

pub use crate::lower::expand::testing::{Expansion, OperatorForm};

/// Parses a program and brings it into normal form.
pub fn normal_form(text: &str) -> crate::notation::Program {
    let program = crate::notation::parse(text).unwrap_or_else(|e| panic!("{e}"));
    crate::notation::normalize(program).unwrap_or_else(|e| panic!("{e}"))
}

/// The folder of golden files: for each program, its text and the texts of its compiled forms.
pub const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden");

/// Returns a program of the golden files in normal form.
pub fn golden_program(name: &str) -> crate::notation::Program {
    let path = std::path::Path::new(GOLDEN).join(name).join("program.rp");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
    normal_form(&text)
}

/// Returns whether the fibers of a level kind can be compared while they are written, so that equal
/// neighbouring runs above them are joined.
pub fn joins_fibers(kind: redpoll_logic::LevelKind) -> bool {
    crate::lower::level::lowering(kind).comparable().is_some()
}
