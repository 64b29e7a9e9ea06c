//! Loop orders and formats that are chosen together.

use super::algebra::csr;
use super::*;
use expect_test::{Expect, expect};
use redpoll_logic::Field;
use redpoll_logic::physical::FormatDisplay;
use redpoll_optimizer::{CostThreshold, Decision, OutputDecision, Subject};

/// Returns the reports of two plans: with layouts chosen query by query, and chosen together.
fn both(text: &str, inputs: &[InputSpec]) -> [Report; 2] {
    let statistics = input_statistics(inputs);
    [Subjects::none(), Subjects::none().with(Subject::Layout)].map(|subjects| {
        let config = OptimizerConfig { subjects, rewrite_threshold: CostThreshold(0.0), ..OptimizerConfig::default() };
        optimize(&plan(text, inputs), &Statistics::new(&statistics), &config)
            .unwrap_or_else(|e| panic!("{e}\n{text}"))
            .1
    })
}

/// Returns the queries with their loops and the formats of their outputs, as text.
fn show(report: &Report) -> String {
    let line = |decision: &Decision| {
        let loops: Vec<&str> = decision.order.iter().map(Field::as_str).collect();
        let OutputDecision { alias, ty, .. } = &decision.outputs[0];
        format!("{alias}: {} to {}\n", loops.join(" "), FormatDisplay(&ty.format))
    };
    report.decisions.iter().map(line).collect()
}

fn check(text: &str, large: &[InputSpec], small: &[InputSpec], expected: [&Expect; 2]) {
    check_rewritten(
        text,
        small,
        &OptimizerConfig { rewrite_threshold: CostThreshold(0.0), ..OptimizerConfig::default() },
    );
    let [apart, together] = both(text, large);
    expected[0].assert_eq(&show(&apart));
    expected[1].assert_eq(&show(&together));
    assert!(together.work().cost() < apart.work().cost(), "{apart}\n{together}");
}

/// A product costs the same by rows and by columns, and its reader prefers columns.
#[test]
fn a_product_is_written_as_its_reader_wants() {
    let matrices = |n: u64, stored: [f64; 3]| {
        let columns = |name: &str| input(name, &[n, n], Format::csc());
        [csr("A", &[n, n]).stored(stored[0]), columns("B").stored(stored[1]), columns("C").stored(stored[2])]
    };
    check(
        "(plan (query T (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))
           (query R (aggregate + 0 (mapjoin * (table T i k) (table C k j)) k)) (produces T R))",
        &matrices(20_000, [60_000.0, 60_000.0, 2_000_000.0]),
        &matrices(5, [8.0; 3]),
        [
            &expect![[r#"
                B.1: c1 c0 to (dense sparse-list)
                T: i k j to (dense sparse-list)
                T.1: c0 c1 to (dense@1 sparse-list@0)
                R: j k i to (dense@1 sparse-list@0)
            "#]],
            &expect![[r#"
                A.1: c0 c1 to (dense@1 sparse-list@0)
                T: j k i to (dense@1 sparse-list@0)
                R: j k i to (dense@1 sparse-list@0)
            "#]],
        ],
    );
}

/// Planned alone, each product converts its smaller factor; planned together, the products convert
/// the factor that they share.
#[test]
fn products_share_a_conversion() {
    let matrices = |n: u64, stored: f64| {
        let rows = |name: &str, rows: u64| csr(name, &[rows, n]).stored(stored);
        [rows("A", n), rows("C", n + 1), rows("D", n + 2), input("B", &[n, n], Format::csc()).stored(1.2 * stored)]
    };
    check(
        "(plan (query R (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))
           (query S (aggregate + 0 (mapjoin * (table C m k) (table B k j)) k))
           (query T (aggregate + 0 (mapjoin * (table D n k) (table B k j)) k)) (produces R S T))",
        &matrices(6000, 50_000.0),
        &matrices(5, 8.0),
        [
            &expect![[r#"
            A.1: c0 c1 to (dense@1 sparse-list@0)
            R: j k i to (dense@1 sparse-list@0)
            C.1: c0 c1 to (dense@1 sparse-list@0)
            S: j k m to (dense@1 sparse-list@0)
            D.1: c0 c1 to (dense@1 sparse-list@0)
            T: j k n to (dense@1 sparse-list@0)
        "#]],
            &expect![[r#"
            B.1: c1 c0 to (dense sparse-list)
            R: i k j to (dense sparse-list)
            S: m k j to (dense sparse-list)
            T: n k j to (dense sparse-list)
        "#]],
        ],
    );
}
