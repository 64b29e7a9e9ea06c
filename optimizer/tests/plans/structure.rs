//! Outputs that inherit the structure of their operands.

use super::*;
use expect_test::{Expect, expect};
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{LeafKind, LevelKind};

const N: u64 = 1000;

/// Returns a matrix whose innermost level has the given kind, with `positions` positions per row.
fn rows(name: &str, n: u64, kind: LevelKind, positions: f64) -> InputSpec {
    let format = Format::of_kinds(&[LevelKind::Dense, kind], LeafKind::Element);
    input(name, &[n, n], format).stored(positions * n as f64)
}

/// Checks the format of the result of a query with the expression `value` over the matrices `A` and
/// `B` and the vectors `u` and `v`. The innermost levels of `A` and `B` have the given kinds.
fn check(value: &str, kinds: [LevelKind; 2], expected: &Expect) {
    let text = format!("(plan (query R {value}) (produces R))");
    let inputs = |n: u64, positions: f64| {
        let vector = |name: &str| input(name, &[n], Format::dense(1));
        [rows("A", n, kinds[0], positions), rows("B", n, kinds[1], positions), vector("u"), vector("v")]
    };
    check_rewritten(&text, &inputs(9, 2.0), &OptimizerConfig::default());
    let inputs = inputs(N, 20.0);
    let (_, report) =
        optimize(&plan(&text, &inputs), &Statistics::new(&input_statistics(&inputs)), &OptimizerConfig::default())
            .unwrap();
    expected.assert_eq(&FormatDisplay(&report.decisions.last().unwrap().outputs[0].ty.format).to_string());
}

#[test]
fn outputs_of_runs_have_runs() {
    use LevelKind::{RunLength, SparseRunLength};
    check("(mapjoin + (table A i j) (table B i j))", [RunLength; 2], &expect!["(dense run-length)"]);
    check("(mapjoin * (table A i j) (table B i j))", [SparseRunLength; 2], &expect!["(dense run-length)"]);
    check("(mapjoin * (table A i j) (table u i) 3.0)", [SparseRunLength; 2], &expect!["(dense run-length)"]);
    check("(mapjoin + (table A i j) 1.0)", [SparseRunLength; 2], &expect!["(dense run-length)"]);
}

/// An output has runs only if all operands that vary along the rows have runs.
#[test]
fn lists_among_the_operands_end_runs() {
    use LevelKind::{RunLength, SparseList};
    check("(mapjoin + (table A i j) (table v j))", [RunLength; 2], &expect!["(dense dense)"]);
    check("(mapjoin * (table A i j) (table B i j))", [RunLength, SparseList], &expect!["(dense sparse-list)"]);
    check("(mapjoin * (table A i j) (coordinate j))", [RunLength; 2], &expect!["(dense dense)"]);
}

#[test]
fn outputs_of_blocks_and_bands_have_blocks_and_bands() {
    use LevelKind::{Band, BlockList, SparseList};
    check("(mapjoin * (table A i j) (table u i) (table v j))", [Band; 2], &expect!["(dense band)"]);
    check("(mapjoin * (table A i j) (table B i j))", [BlockList; 2], &expect!["(sparse-list block-list)"]);
    check("(mapjoin + (table A i j) (table B i j))", [Band, BlockList], &expect!["(dense block-list)"]);
    check("(mapjoin + (table A i j) (table B i j))", [Band, SparseList], &expect!["(dense sparse-list)"]);
    check("(mapjoin * (table A i j) (table B i j))", [Band, SparseList], &expect!["(sparse-list sparse-list)"]);
}
