//! Golden text of small grids, reviewed like code.

use super::emulated::{LONG, draft};
use super::{grids, grids_of};
use crate::cuda::emit;
use crate::cuda::unit::HEAD;
use crate::grid::{Grid, GridPlan, TeamSize};
use crate::tests::lowering::appends;
use redpoll_compiler::lower::Draft;
use redpoll_compiler::testing::{GOLDEN, golden_program, normal_form, skewed};

/// The golden programs whose CUDA text is compared.
const PROGRAMS: [&str; 14] = [
    "spgemm_by_hash",
    "spmv",
    "spgemm",
    "mttkrp",
    "triangles",
    "sddmm",
    "union",
    "dense_products",
    "counts_of_columns",
    "spmv_in_lanes",
    "galloping_intersection",
    "sum_of_runs",
    "xor_with_fill_true",
    "histogram_of_bytes",
];

/// Returns the names and drafts of programs whose grids depend on the lengths of the inputs' lists.
fn drafts() -> [(&'static str, Draft); 4] {
    [
        // The lanes of a team append to the workspace and to the output.
        ("spgemm_in_teams", skewed::draft(appends::PROGRAMS[0]).0),
        // The lanes of a team share a row if rows are long.
        ("long_rows", skewed::draft(skewed::PROGRAMS[0]).0),
        // The lanes of a block share an intersection of long lists: each lane searches for its own
        // entries, and the folds of the lanes are combined.
        ("longer_lists", draft(normal_form(LONG[4].0)).0),
        // The lanes of a block share a row if rows are too long for a warp.
        ("longer_rows", draft(normal_form(LONG[1].0)).0),
    ]
}

/// Returns the kernels of a unit: its text without the head that all units have.
fn kernels(grids: &[Grid]) -> String {
    let text = emit(&grids.iter().collect::<Vec<_>>()).unwrap();
    assert!(text.starts_with(HEAD));
    let (_, kernels) = text.split_once("\n};\n\nenum").map_or(("", &text[..]), |(head, rest)| (head, rest));
    kernels.split_once("RP_OUT_OF_BOUNDS = 7,\n};\n").unwrap().1.to_string()
}

#[test]
fn kernels_are_as_reviewed() {
    let drafts = drafts().map(|(name, draft)| (name, kernels(&[GridPlan::of(&draft, TeamSize::Automatic).run])));
    let found = PROGRAMS.map(|name| (name, kernels(&grids_of(&golden_program(name))))).into_iter().chain(drafts);
    redpoll_golden::check_all(GOLDEN, "kernel.cu", found);
}

/// A query that calls a function of the host is rejected, because a device may compute other bits.
/// The message names the function.
#[test]
fn functions_of_the_host_are_declined() {
    let grids = grids(
        "(program (input x (type (shape 5) f64 0.0 dense)) (output y (type (shape 5) f64 1.0 dense))
           (for i (init (y i) (sin (x i)))))",
    );
    let error = emit(&grids.iter().collect::<Vec<_>>()).unwrap_err().to_string();
    assert_eq!(error, "compiling `kernel`: `sin` is a function of the host; run this query on the CPU");
}
