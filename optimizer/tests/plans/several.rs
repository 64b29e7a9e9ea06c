//! Nests of several outputs, each of which is rewritten for itself.

use super::algebra::{check, csr, dense, eager};
use super::{Config, Input, Stored, Subjects, counts, plan, rewritten};
use expect_test::expect;
use redpoll_logic::statistics::Statistics;
use redpoll_optimizer::{Choice, Report, optimize};

/// `SELECT k, sum(a * b), count(*), sum(a * b * b)` over a join.
const GROUPS: &str = "(plan
    (query s (aggregate + 0.0 (mapjoin * (table A k j) (table B j l)) j l))
    (query n (aggregate + 0 (mapjoin cast-i64 (mapjoin and (mapjoin ne (table A k j) 0.0) (mapjoin ne (table B j l) 0.0))) j l))
    (query q (aggregate + 0.0 (mapjoin * (table A k j) (table B j l) (table B j l)) j l))
    (produces s n q))";

fn made(text: &str, inputs: &[Input], config: &Config) -> Report {
    let counts = counts(inputs);
    let made = optimize(&plan(text, inputs), &Statistics::new(&counts), config);
    made.unwrap_or_else(|e| panic!("{e}\n{text}")).1
}

/// The fields that are eliminated first are eliminated for all in one pass, and so are the others.
#[test]
fn sums_and_counts_of_a_join_are_eliminated_together() {
    let report = check(
        GROUPS,
        &[csr("A", &[10_000, 10_000]).stored(50_000.0), csr("B", &[10_000, 10_000]).stored(1_000_000.0)],
        &[csr("A", &[4, 5]), csr("B", &[5, 6])],
        &expect![[r#"
            s.1: j l
            s: k j
        "#]],
    );
    let text = report.to_string();
    assert!(text.contains("eliminate: "), "{text}");
}

/// What is left of one output alone is a nest of its own.
#[test]
fn outputs_part_where_one_is_better_apart() {
    check(
        "(plan
           (query s (aggregate + 0.0 (mapjoin * (table A i j) (table B j k)) i j k))
           (query C (aggregate + 0.0 (mapjoin * (table A i j) (table B j k)) j))
           (produces s C))",
        &[csr("A", &[10_000, 10_000]).stored(200_000.0), csr("B", &[10_000, 10_000]).stored(200_000.0)],
        &[csr("A", &[4, 5]), csr("B", &[5, 6])],
        &expect![[r#"
            s.1: j k
            s: i j
            C: i j k
        "#]],
    );
}

/// One pass over a matrix that no rule makes cheaper stays one pass.
#[test]
fn what_costs_least_together_stays_together() {
    check(
        "(plan
           (query r (mapjoin - (table b i) (aggregate + 0.0 (mapjoin * (table A i j) (table x j)) j)))
           (query n (mapjoin * (table b i) (aggregate + 0.0 (mapjoin * (table A i j) (table x j)) j)))
           (produces r n))",
        &[csr("A", &[10_000, 10_000]).stored(200_000.0), dense("x", &[10_000]), dense("b", &[10_000])],
        &[csr("A", &[4, 5]), dense("x", &[5]), dense("b", &[4])],
        &expect![[r#"
            r: i (j)
        "#]],
    );
}

/// Protects the choice between outputs together and apart: it costs at most what either does.
#[test]
fn several_outputs_cost_at_most_what_they_cost_together_or_apart() {
    for (a, b) in [(1e4, 1e4), (1e4, 1e6), (1e6, 1e4), (3e5, 3e5)] {
        let inputs = [csr("A", &[10_000, 10_000]).stored(a), csr("B", &[10_000, 10_000]).stored(b)];
        let cost = |text: &str, config: &Config| made(text, &inputs, config).work().cost();
        let chosen = cost(GROUPS, &eager());
        let together = cost(GROUPS, &Config { subjects: Subjects::none(), ..eager() });
        let apart: f64 = ["s", "n", "q"]
            .iter()
            .map(|one| cost(&GROUPS.replace("produces s n q", &format!("produces {one}")), &eager()))
            .sum();
        assert!(chosen <= together * 1.001, "{a} {b}: {chosen}, together {together}");
        assert!(chosen <= apart * 1.001, "{a} {b}: {chosen}, apart {apart}");
    }
}

/// Protects what outputs mean whichever of their equal terms are planned together.
#[test]
fn several_outputs_keep_their_meaning() {
    for seed in 0..40 {
        let config = Config { choice: Choice::Drawn(seed), ..eager() };
        rewritten(GROUPS, &[csr("A", &[4, 5]), csr("B", &[5, 6])], &config);
    }
}
