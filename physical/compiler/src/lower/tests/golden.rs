//! Golden kernels: the Assembly of small programs, reviewed like code.

use crate::lower::{LoweringOptions, lower};
use crate::testing::{GOLDEN, golden_program};

/// The programs whose Assembly is a golden file.
const PROGRAMS: [&str; 13] = [
    "spmv",
    "spmv_in_lanes",
    "spgemm",
    "triangles",
    "mttkrp",
    "union",
    "galloping_intersection",
    "sum_of_runs",
    "xor_with_fill_true",
    "histogram_of_bytes",
    "sum_of_tensor",
    "sum_of_coo",
    "largest_element",
];

/// Returns the code of a program's kernel, without declarations.
fn assembly(name: &str) -> String {
    let printed = lower(&golden_program(name), &[], LoweringOptions::default()).function.to_string();
    let is_code = |line: &&str| !["  local ", "  input ", "  owned ", "  chunk "].iter().any(|d| line.starts_with(d));
    printed.lines().filter(is_code).map(|l| format!("{l}\n")).collect()
}

#[test]
fn kernels_are_as_reviewed() {
    redpoll_golden::check_all(GOLDEN, "assembly.txt", PROGRAMS.map(|name| (name, assembly(name))));
}
