//! Outputs that share the levels of an operand with the same stored coordinates.

use super::algebra::csr;
use super::*;
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{LeafKind, LevelKind};
use redpoll_optimizer::Subject;

/// Returns the format of each output of a plan, and the tensor whose levels the output shares, if
/// there is one.
fn output_formats(text: &str, inputs: &[InputSpec], config: &OptimizerConfig) -> String {
    let (plan, report) = check_rewritten(text, inputs, config);
    assert_eq!(redpoll_logic::physical::parse(&plan.to_string()).as_ref(), Ok(&plan), "{plan}");
    let outputs =
        plan.queries.iter().flat_map(|query| &query.outputs).zip(report.decisions.iter().flat_map(|d| &d.outputs));
    let of_output = |(output, decision): (&redpoll_logic::physical::Output, &redpoll_optimizer::OutputDecision)| {
        assert_eq!(output.pattern, decision.pattern);
        let format = FormatDisplay(&output.ty.format);
        output.pattern.as_ref().map_or(format!("{format}"), |of| format!("{format} of {of}"))
    };
    outputs.map(of_output).collect::<Vec<_>>().join(", ")
}

fn check(text: &str, inputs: &[InputSpec], expected: &str) {
    assert_eq!(output_formats(text, inputs, &OptimizerConfig::default()), expected, "{text}");
}

const SCALED: &str = "(plan (query B (mapjoin * (table A i j) (table x i))) (produces B))";

fn scaled(format: Format) -> [InputSpec; 2] {
    [input("A", &[7, 9], format).stored(15.0), input("x", &[7], Format::dense(1))]
}

#[test]
fn scaled_matrices_share_their_levels() {
    let listed = |kind: LevelKind| Format::dense_above(kind, 2);
    for (format, expected) in [
        (Format::csr(), "(dense sparse-list) of A"),
        (Format::csc(), "(dense@1 sparse-list@0) of A"),
        (Format::coo(2), "(sparse-list* singleton) of A"),
        (Format::csf(2), "(sparse-list sparse-list) of A"),
        (Format::bcsr(2, 4), "(dense@0/2 sparse-list@1/4 dense@0%2 dense@1%4) of A"),
        (listed(LevelKind::BitMap), "(dense bit-map) of A"),
        (listed(LevelKind::BlockList), "(dense block-list) of A"),
    ] {
        check(SCALED, &scaled(format), expected);
    }
    let pattern = Format { leaf: LeafKind::Pattern, ..Format::csr() };
    let text = "(plan (query B (mapjoin * (mapjoin cast-f64 (table A i j)) (table x i))) (produces B))";
    let inputs = [filled("A", &[7, 9], pattern, Scalar::Bool(false)).stored(15.0), input("x", &[7], Format::dense(1))];
    check(text, &inputs, "(dense sparse-list) of A");
}

#[test]
fn sampled_products_and_maps_of_values_share_levels() {
    let sampled = "(plan (query B (mapjoin * (table A i j)
        (aggregate + 0 (mapjoin * (table U i k) (table V k j)) k))) (produces B))";
    let dense = |name: &str, shape: &[u64]| input(name, shape, Format::dense(2));
    let [a, x] = scaled(Format::csr());
    check(sampled, &[a.clone(), dense("U", &[7, 3]), dense("V", &[3, 9])], "(dense sparse-list) of A");
    for value in [
        "(mapjoin sqrt (table A i j))",
        "(mapjoin + (table A i j) 1.0)",
        "(mapjoin + (table A i j) (mapjoin square (table A i j)))",
    ] {
        let mapped = format!("(plan (query B {value}) (produces B))");
        check(&mapped, std::slice::from_ref(&a), "(dense sparse-list) of A");
    }
    let twice = "(plan (query B (mapjoin * (table A i j) (table x i)))
        (query C (reformat csr (mapjoin * (table B i j) (table B i j) (table x i)))) (produces B C))";
    check(twice, &[a, x], "(dense sparse-list) of A, (dense sparse-list) of B");
}

/// An output has levels of its own in four cases: it stores fewer or more coordinates than the
/// operands, its requested format differs from the operand's, the operand has runs, or
/// [`Subject::Layout`] is off.
#[test]
fn other_outputs_have_levels_of_their_own() {
    let [a, x] = scaled(Format::csr());
    let b = csr("S", &[7, 9]).stored(15.0);
    let both = |op: &str| format!("(plan (query B (mapjoin {op} (table A i j) (table S i j))) (produces B))");
    check(&both("*"), &[a.clone(), b.clone()], "(sparse-list sparse-list)");
    check(&both("+"), &[a.clone(), b], "(dense sparse-list)");
    let asked = SCALED.replace("(mapjoin *", "(reformat dcsr (mapjoin *").replace("))) (produces", ")))) (produces");
    check(&asked, &[a.clone(), x.clone()], "(sparse-list sparse-list)");
    let runs = Format::dense_above(LevelKind::RunLength, 2);
    assert!(!output_formats(SCALED, &scaled(runs), &OptimizerConfig::default()).contains("of A"));
    let diagonal = "(plan (query B (reformat csr
        (mapjoin * (mapjoin eq (coordinate i) (coordinate j)) (table A i j) (table x i)))) (produces B))";
    let square = [input("A", &[7, 7], Format::csr()).stored(15.0), input("x", &[7], Format::dense(1))];
    assert!(
        !output_formats(diagonal, &square, &OptimizerConfig::default()).contains("of A"),
        "off the diagonal nothing is stored"
    );
    let off = OptimizerConfig { subjects: Subjects::default().without(Subject::Layout), ..OptimizerConfig::default() };
    assert_eq!(output_formats(SCALED, &[a, x], &off), "(dense sparse-list)");
}
