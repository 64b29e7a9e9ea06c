//! The C text of small kernels, reviewed like code.

use super::unit::HEAD;
use super::{emit, reading_text};
use redpoll_compiler::lower::{LoweringOptions, lower, lower_to_read};
use redpoll_compiler::testing::examples::{DOT, SPMV, function};
use redpoll_compiler::testing::{GOLDEN, golden_program};

/// The programs whose golden files have the C text of kernels.
const PROGRAMS: [&str; 3] = ["spmv", "union", "spgemm"];

/// The programs whose golden files have readable C.
const READ_PROGRAMS: [&str; 5] = ["spmv", "spmv_in_lanes", "union", "spgemm", "triangles"];

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

/// Readable C has the names that textbooks use, and no frame around its loops.
#[test]
fn kernels_to_read_are_as_reviewed() {
    let text = |name| reading_text(&lower_to_read(&golden_program(name), &[], LoweringOptions::default()));
    redpoll_golden::check_all(GOLDEN, "reading.c", READ_PROGRAMS.map(|name| (name, text(name))));
}

/// The readable C of every golden program contains no part of the frame.
#[test]
fn kernels_to_read_have_no_frame() {
    let programs = std::fs::read_dir(GOLDEN).unwrap().map(|entry| entry.unwrap());
    let programs: Vec<String> = programs
        .filter(|entry| entry.path().join("program.rp").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert!(programs.len() > 10, "{programs:?}");
    for name in programs {
        let text = reading_text(&lower_to_read(&golden_program(&name), &[], LoweringOptions::default()));
        for part in ["frame", "chunk", "RP_", "rp_", "__capacity", "callbacks", "lengths"] {
            assert!(!text.contains(part), "`{part}` in the kernel of {name}:\n{text}");
        }
    }
}

#[test]
fn kernels_are_as_reviewed() {
    let found = PROGRAMS.map(|name| (name, kernel(name))).into_iter().chain([("unit", unit())]);
    redpoll_golden::check_all(GOLDEN, "kernel.c", found);
}
