//! Plans rewritten by the algebra: the loops of their queries, and equal results.

use super::{
    Format, InputSpec, InputSymmetry, OptimizerConfig, WithStored, check_rewritten, filled, input, input_statistics,
    plan,
};
use expect_test::{Expect, expect};
use redpoll_logic::Scalar;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Statistics;
use redpoll_optimizer::{CostThreshold, Report, Subject, Subjects, optimize};

pub(super) fn dense(name: &str, shape: &[u64]) -> InputSpec {
    input(name, shape, Format::dense(shape.len()))
}

pub(super) fn csr(name: &str, shape: &[u64]) -> InputSpec {
    input(name, shape, redpoll_logic::text::parse_format("csr", 2).unwrap())
}

/// Returns the loops of each query, with the loops of its temporaries in parentheses.
fn loops(physical: &PhysicalPlan) -> String {
    let line = |q: &redpoll_logic::physical::PhysicalQuery| {
        let names = |loops: &[redpoll_logic::physical::Loop]| {
            loops.iter().map(|l| l.index.to_string()).collect::<Vec<_>>().join(" ")
        };
        let inner: Vec<String> = q.temporaries.iter().map(|t| format!(" ({})", names(&t.loops))).collect();
        format!("{}: {}{}\n", q.outputs[0].alias, names(&q.loops), inner.concat())
    };
    physical.queries.iter().map(line).collect()
}

/// Returns a configuration in which rules are applied to every query, however cheap the query is.
pub(super) fn eager() -> OptimizerConfig {
    OptimizerConfig { rewrite_threshold: CostThreshold(0.0), ..OptimizerConfig::default() }
}

/// Checks the loops of a plan on large inputs, and its results on small ones.
pub(super) fn check(text: &str, large: &[InputSpec], small: &[InputSpec], expected: &Expect) -> Report {
    check_rewritten(text, small, &eager());
    let statistics = input_statistics(large);
    let planned = optimize(&plan(text, large), &Statistics::new(&statistics), &eager());
    let (physical, report) = planned.unwrap_or_else(|e| panic!("{e}\n{text}"));
    expected.assert_eq(&loops(&physical));
    report
}

#[test]
fn a_chain_of_products_gets_the_cheapest_order() {
    let sizes = |s: [u64; 7]| {
        let pairs = s.windows(2).zip(["A", "B", "C", "D", "E", "F"]);
        pairs.map(|(w, name)| dense(name, &[w[0], w[1]])).collect::<Vec<_>>()
    };
    // The example of Cormen, Leiserson, Rivest and Stein: (A (B C)) ((D E) F).
    check(
        "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table C k l) (table D l m)
           (table E m n) (table F n o)) j k l m n)) (produces R))",
        &sizes([300, 350, 150, 50, 100, 200, 250]),
        &sizes([3, 2, 4, 1, 2, 3, 2]),
        &expect![[r#"
            R.1: j k l
            R.2: i j l
            R.3.1: l m n
            R.3: l n o
            R: i l o
        "#]],
    );
}

/// The order of the aggregate's fields is the order of folding, if the fold cannot be regrouped.
#[test]
fn folds_that_cannot_be_regrouped_keep_their_order() {
    let text = "(plan (define-op (smooth (x f64) (y f64)) f64 (if (lt x y) (* x 0.5) (+ y 1.0)))
        (query s (aggregate smooth 4.25 (mapjoin + (table A k j) (table x k)) j k)) (produces s))";
    check_rewritten(text, &[csr("A", &[4, 5]), dense("x", &[4])], &eager());
}

#[test]
fn products_of_products_are_reordered() {
    check(
        "(plan (query R (aggregate + 0 (mapjoin * (aggregate + 0 (mapjoin * (table A i j) (table B j k)) j)
           (table x k)) k)) (produces R))",
        &[dense("A", &[500, 500]), dense("B", &[500, 500]), dense("x", &[500])],
        &[dense("A", &[3, 4]), dense("B", &[4, 5]), dense("x", &[5])],
        &expect![[r#"
            R.1: k j
            R: i k
        "#]],
    );
}

#[test]
fn four_cycles_go_through_one_matrix_of_pairs() {
    let report = check(
        "(plan (query s (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A k l) (table A l i)) i j k l))
           (produces s))",
        &[csr("A", &[1000, 1000]).stored(10_000.0)],
        &[csr("A", &[5, 5])],
        &expect![[r#"
            s.1: k l i
            A.1: c0 c1
            s: k j i
        "#]],
    );
    let text = report.to_string();
    assert!(text.contains("eliminate: sum(i j k, x * y)"), "{text}");
}

#[test]
fn triangles_are_one_kernel() {
    check(
        "(plan (query s (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A i k)) i j k)) (produces s))",
        &[csr("A", &[1000, 1000]).stored(10_000.0)],
        &[csr("A", &[5, 5])],
        &expect![[r#"
            s: i j k
        "#]],
    );
}

#[test]
fn sums_of_products_reduce_early() {
    check(
        "(plan (query s (aggregate + 0 (mapjoin * (table A i j) (table B j k)) i j k)) (produces s))",
        &[csr("A", &[1000, 1000]).stored(10_000.0), csr("B", &[1000, 1000]).stored(10_000.0)],
        &[csr("A", &[3, 4]), csr("B", &[4, 5])],
        &expect![[r#"
            s.1: j k
            s: i j
        "#]],
    );
}

#[test]
fn sampled_products_do_the_work_of_the_sample() {
    check(
        "(plan (query S (mapjoin * (table M i j) (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)))
           (produces S))",
        &[csr("M", &[1000, 1000]).stored(5000.0), dense("A", &[1000, 32]), dense("B", &[32, 1000])],
        &[csr("M", &[4, 5]), dense("A", &[4, 3]), dense("B", &[3, 5])],
        &expect![[r#"
            S: i j (k)
        "#]],
    );
}

#[test]
fn sums_are_distributed_only_where_that_pays() {
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (mapjoin + (table B j k) (table C j k))) j))
                  (produces R))";
    let small = [csr("A", &[3, 4]), csr("B", &[4, 5]), csr("C", &[4, 5])];
    let stored = |name: &str, n: f64| csr(name, &[1000, 1000]).stored(n);
    check(
        text,
        &[stored("A", 1e4), stored("B", 1e4), stored("C", 1e4)],
        &small,
        &expect![[r#"
        R: i j k
    "#]],
    );
    // A sparse matrix plus a rank-1 matrix that is never materialized.
    let text = "(plan (query y (aggregate + 0 (mapjoin * (mapjoin + (table B j k) (mapjoin * (table u j) (table v k)))
                  (table x k)) k)) (produces y))";
    let with = |n: u64, b: InputSpec| [b, dense("u", &[n]), dense("v", &[n]), dense("x", &[n])];
    check(
        text,
        &with(1000, stored("B", 1e4)),
        &with(4, csr("B", &[4, 4])),
        &expect![[r#"
        y: j (k) (e1)
    "#]],
    );
}

#[test]
fn chains_of_ten_get_the_cheapest_order() {
    // The least cost of every subchain, by the dynamic program over intervals.
    let sizes: [u64; 11] = [400, 30, 500, 80, 600, 20, 700, 90, 300, 50, 450];
    let mut best = [[0u64; 10]; 10];
    for length in 1..10 {
        for first in 0..10 - length {
            let last = first + length;
            let split = |k: usize| best[first][k] + best[k + 1][last] + sizes[first] * sizes[k + 1] * sizes[last + 1];
            best[first][last] = (first..last).map(split).min().unwrap();
        }
    }
    let indices = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let names = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];
    let tables: Vec<String> =
        (0..10).map(|k| format!("(table {} {} {})", names[k], indices[k], indices[k + 1])).collect();
    let text = format!(
        "(plan (query R (aggregate + 0 (mapjoin * {}) {})) (produces R))",
        tables.join(" "),
        indices[1..10].join(" ")
    );
    let inputs: Vec<InputSpec> = (0..10).map(|k| dense(names[k], &[sizes[k], sizes[k + 1]])).collect();
    let statistics = input_statistics(&inputs);
    let (physical, _) = optimize(&plan(&text, &inputs), &Statistics::new(&statistics), &eager()).unwrap();
    let size = |index: &str| sizes[indices.iter().position(|i| *i == index).unwrap()];
    let rounds =
        |loops: &[redpoll_logic::physical::Loop]| -> u64 { loops.iter().map(|l| size(l.index.as_str())).product() };
    // A fold in place runs once per round of the loops around the fold; these loops also count
    // their own rounds.
    let work = |q: &redpoll_logic::physical::PhysicalQuery| -> u64 {
        let inner = q.temporaries.iter().map(|t| rounds(&q.loops[..t.depth]) * rounds(&t.loops));
        rounds(&q.loops) + inner.sum::<u64>()
    };
    assert_eq!(physical.queries.iter().map(work).sum::<u64>(), best[0][9], "{physical}");
}

#[test]
fn shortest_paths_of_three_steps_go_step_by_step() {
    let a = |n: u64| {
        let ty = csr("A", &[n, n]);
        let fill = Scalar::F64(f64::INFINITY);
        InputSpec { ty: redpoll_logic::TensorType { fill, ..ty.ty.clone() }, ..ty }
    };
    check(
        "(plan (query d (aggregate min inf (mapjoin + (table A i j) (table A j k) (table A k l)) i j k)) (produces d))",
        &[a(1000).stored(10_000.0)],
        &[a(4)],
        &expect![[r#"
            d.1.1: k j
            d.1: j i
            d: i l
        "#]],
    );
}

#[test]
fn walks_over_a_pattern_are_counted_step_by_step() {
    let pattern = |n: u64| {
        let ty = csr("A", &[n, n]);
        let fill = Scalar::Bool(false);
        InputSpec { ty: redpoll_logic::TensorType { dtype: fill.dtype(), fill, ..ty.ty.clone() }, ..ty }
    };
    check(
        "(plan (query s (aggregate + 0 (mapjoin cast-i64 (mapjoin and (table A i j) (table A j k) (table A k l))) i j k l))
           (produces s))",
        &[pattern(1000).stored(10_000.0)],
        &[pattern(4)],
        &expect![[r#"
            s.1.1: k l
            s.1: j k
            s: i j
        "#]],
    );
}

/// Fields of the plan keep their names even if these look like generated ones.
#[test]
fn fields_keep_their_names() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A e1 j)
                  (mapjoin + (table B j k) (mapjoin * (table u j) (table v k))) (table x k)) j k)) (produces y))";
    let with = |n: u64| {
        [csr("A", &[n, n]).stored(5.0 * n as f64), csr("B", &[n, n]).stored(5.0 * n as f64)]
            .into_iter()
            .chain(["u", "v", "x"].map(|name| dense(name, &[n])))
            .collect::<Vec<_>>()
    };
    check_rewritten(text, &with(60), &eager());
}

/// A product with ordered arguments, such as a quotient, cannot be regrouped. Even so, a field of a
/// single argument is eliminated in that argument.
#[test]
fn quotients_of_sums_are_found() {
    let text = "(plan (query R (aggregate + 0 (mapjoin / (mapjoin * (table A i j) (table B j k) (table x k))
                  (table b i)) j k)) (produces R))";
    let with = |n: u64| {
        let matrix = |name| csr(name, &[n, n]).stored(5.0 * n as f64);
        [matrix("A"), matrix("B"), dense("x", &[n]), dense("b", &[n])]
    };
    check(
        text,
        &with(1000),
        &with(6),
        &expect![[r#"
        R.1: j k
        R: i (j)
    "#]],
    );
}

#[test]
fn cheap_queries_are_not_rewritten() {
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table x k)) j k)) (produces R))";
    let inputs = [dense("A", &[20, 30]), dense("B", &[30, 40]), dense("x", &[40])];
    let statistics = input_statistics(&inputs);
    let physical =
        |config: &OptimizerConfig| optimize(&plan(text, &inputs), &Statistics::new(&statistics), config).unwrap().0;
    let plain = physical(&OptimizerConfig { subjects: Subjects::none(), ..eager() });
    assert_eq!(physical(&OptimizerConfig::default()), plain);
    assert_ne!(physical(&eager()), plain);
}

#[test]
fn subjects_can_be_turned_off() {
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table x k)) j k)) (produces R))";
    let inputs = [dense("A", &[500, 600]), dense("B", &[600, 700]), dense("x", &[700])];
    let query_count = |subjects: Subjects| {
        let config = OptimizerConfig { subjects, ..eager() };
        let statistics = input_statistics(&inputs);
        optimize(&plan(text, &inputs), &Statistics::new(&statistics), &config).unwrap().0.queries.len()
    };
    assert_eq!(query_count(Subjects::none()), 1);
    assert_eq!(query_count(Subjects::default()), 2);
    assert_eq!(query_count(Subjects::default().without(Subject::Elimination)), 1);
}

/// Counting triangles of an undirected graph visits every set of three vertices once.
#[test]
fn symmetric_joins_are_cut_to_one_order() {
    let csr = redpoll_logic::text::parse_format("csr", 2).expect("csr is a format");
    let symmetric = |stored: f64| InputSpec {
        symmetry: InputSymmetry::OffDiagonal,
        ..input("E", &[8, 8], csr.clone()).stored(stored)
    };
    let text =
        "(plan (query R (aggregate + 0.0 (mapjoin * (table E i j) (table E j k) (table E i k)) i j k)) (produces R))";
    let (physical, _) = check_rewritten(text, &[symmetric(30.0)], &eager());
    let shown = physical.to_string();
    assert_eq!(shown.matches("gt (coordinate").count(), 2, "{shown}");
    assert!(shown.contains("6"), "{shown}");
    // A directed graph has no such symmetry.
    let (physical, _) = check_rewritten(text, &[input("E", &[8, 8], csr).stored(30.0)], &eager());
    assert!(!physical.to_string().contains("gt (coordinate"), "{physical}");
}

/// Forms over symmetric matrices with a diagonal count each diagonal entry once.
#[test]
fn symmetric_forms_go_over_one_triangle_and_the_diagonal() {
    let text = |fold: &str, product: &str| {
        format!(
            "(plan (query R (aggregate {fold} (mapjoin {product} (table S i j) (table x i) (table x j)) i j)) (produces R))"
        )
    };
    let with = |symmetry: InputSymmetry, fill: f64| {
        let csr = redpoll_logic::text::parse_format("csr", 2).expect("csr is a format");
        let matrix = filled("S", &[10_000, 10_000], csr, Scalar::F64(fill));
        [InputSpec { symmetry, ..matrix.stored(1e6) }, dense("x", &[10_000])]
    };
    let shown = |text: &str, symmetry: InputSymmetry, fill: f64| {
        let inputs = with(symmetry, fill);
        let statistics = input_statistics(&inputs);
        optimize(&plan(text, &inputs), &Statistics::new(&statistics), &eager()).unwrap().0.to_string()
    };
    let sum = text("+ 0.0", "*");
    let weighted = shown(&sum, InputSymmetry::WithDiagonal, 0.0);
    assert_eq!(weighted.matches("gt (coordinate").count(), 2, "{weighted}");
    assert!(weighted.contains("(coordinate (+ "), "{weighted}");
    let cut = shown(&sum, InputSymmetry::OffDiagonal, 0.0);
    assert_eq!(cut.matches("gt (coordinate").count(), 1, "{cut}");
    // A minimum does not depend on the number of repetitions.
    let least = shown(&text("min inf", "+"), InputSymmetry::WithDiagonal, f64::INFINITY);
    assert_eq!(least.matches("gt (coordinate").count(), 1, "{least}");
    assert_eq!(shown(&sum, InputSymmetry::None, 0.0).matches("gt (coordinate").count(), 0);
}

/// A fold down the columns, with a result that depends on the fills, follows the rows of the matrix
/// without a copy.
#[test]
fn folds_count_the_fills_that_they_do_not_visit() {
    let cost = |text: &str, inputs: &[InputSpec]| {
        let statistics = input_statistics(inputs);
        let planned = optimize(&plan(text, inputs), &Statistics::new(&statistics), &OptimizerConfig::default());
        planned.unwrap_or_else(|e| panic!("{e}\n{text}")).1.work().cost()
    };
    let large = [csr("A", &[100_000, 100_000]).stored(300_000.0)];
    let small = [csr("A", &[4, 3])];
    let text = |value: &str, fold: &str| format!("(plan (query m (aggregate {fold} {value} i)) (produces m))");
    let sum = cost(&text("(table A i j)", "+ 0"), &large);
    for (value, fold) in [
        ("(table A i j)", "max -inf"),
        ("(table A i j)", "min inf"),
        ("(table A i j)", "* 1"),
        ("(mapjoin gt (table A i j) 0)", "and true"),
        ("(mapjoin cos (table A i j))", "+ 0"),
        ("(mapjoin abs (table A i j))", "max -0.5"),
    ] {
        check(&text(value, fold), &large, &small, &expect![["m.1: i j\nm: j\n"]]);
        let found = cost(&text(value, fold), &large);
        assert!(found <= 4.0 * sum, "{fold} of {value}: {found}, {sum} for a sum");
    }
}
