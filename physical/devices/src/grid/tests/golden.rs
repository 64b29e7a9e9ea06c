//! Golden grids of small programs, reviewed like code.

use crate::grid::{GridPlan, TeamSize};
use crate::tests::lowering::appends;
use redpoll_compiler::lower::{Draft, ListLengths};
use redpoll_compiler::testing::{GOLDEN, golden_program, skewed};
use redpoll_logic::FloatMode;
use std::sync::Arc;

/// The golden programs whose grids are compared.
const PROGRAMS: [&str; 6] = ["spmv", "spgemm", "mttkrp", "dense_products", "counts_of_columns", "column_sums"];

/// The names and texts of programs whose grids depend on the lengths of the inputs' lists.
const SKEWED: [(&str, &str); 5] = [
    // The lanes of a team append to the workspace and to the output.
    ("spgemm_in_teams", appends::PROGRAMS[0]),
    // The lanes of a team share a row if rows are long.
    ("long_rows", skewed::PROGRAMS[0]),
    ("intersection_triangles", skewed::INTERSECTIONS[0]),
    // Each round of a list writes one element of an output in the pattern of the list.
    ("intersection_in_a_pattern", skewed::INTERSECTIONS[2]),
    // Both lists are searched for the first entry in the chunk, and the leading list for the first
    // entry after the chunk.
    ("intersection_of_vectors", skewed::INTERSECTIONS[4]),
];

/// Returns the grids of a golden program.
fn plan(name: &str) -> GridPlan {
    let draft = Draft::new(&Arc::new(golden_program(name)), &[], FloatMode::default());
    GridPlan::of(&draft.with_lists(ListLengths::default()), TeamSize::Automatic)
}

/// Returns the text of grids, without the declarations of inputs, locals and chunks.
fn code(plan: &GridPlan) -> String {
    let printed: String = plan.grids().map(|grid| format!("{grid}\n")).collect();
    let is_code = |line: &&str| !["  local ", "  input ", "  chunk chunk"].iter().any(|d| line.starts_with(d));
    printed.lines().filter(is_code).map(|l| format!("{l}\n")).collect()
}

#[test]
fn grids_are_as_reviewed() {
    let skewed = SKEWED.map(|(name, text)| (name, code(&GridPlan::of(&skewed::draft(text).0, TeamSize::Automatic))));
    let found = PROGRAMS.map(|name| (name, code(&plan(name)))).into_iter().chain(skewed);
    redpoll_golden::check_all(GOLDEN, "grid.txt", found);
}
