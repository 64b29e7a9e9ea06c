//! The C text of small kernels, reviewed like code.

use super::emit;
use super::unit::HEAD;
use redpoll_compiler::lower::{LoweringOptions, lower};
use redpoll_compiler::testing::examples::{DOT, SPMV, function};
use redpoll_compiler::testing::{GOLDEN, golden_program};

/// The programs of the golden files.
const PROGRAMS: [&str; 3] = ["spmv", "union", "spgemm"];

/// Returns the text of a program's kernel, without the common head of units, which ends with the
/// names of statuses.
fn kernel(name: &str) -> String {
    let text = emit(&[&lower(&golden_program(name), &[], LoweringOptions::default()).function]).unwrap();
    let (_, kernel) = text.split_once("\n};\n\n").unwrap();
    kernel.to_string()
}

/// Returns a whole unit, with the helpers that it uses, without the calling convention.
fn unit() -> String {
    let text = emit(&[&function(SPMV), &function(DOT)]).unwrap();
    assert!(text.contains(HEAD));
    text.replace(HEAD, "")
}

#[test]
fn kernels_are_as_reviewed() {
    let found = PROGRAMS.map(|name| (name, kernel(name))).into_iter().chain([("unit", unit())]);
    redpoll_golden::check_all(GOLDEN, "kernel.c", found);
}
