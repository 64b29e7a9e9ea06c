//! Nests with several outputs: each output is rewritten separately.

use super::algebra::{check, csr, dense, eager};
use super::{InputSpec, OptimizerConfig, Subjects, WithStored, check_rewritten, compare, input_statistics, plan};
use expect_test::expect;
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Format, LeafKind, LevelKind, StorageMode};
use redpoll_optimizer::{Choice, Report, optimize};

/// `SELECT k, sum(a * b), count(*), sum(a * b * b)` over a join.
const GROUPS: &str = "(plan
    (query s (aggregate + 0.0 (mapjoin * (table A k j) (table B j l)) j l))
    (query n (aggregate + 0 (mapjoin cast-i64 (mapjoin and (mapjoin ne (table A k j) 0.0) (mapjoin ne (table B j l) 0.0))) j l))
    (query q (aggregate + 0.0 (mapjoin * (table A k j) (table B j l) (table B j l)) j l))
    (produces s n q))";

fn report(text: &str, inputs: &[InputSpec], config: &OptimizerConfig) -> Report {
    let statistics = input_statistics(inputs);
    let planned = optimize(&plan(text, inputs), &Statistics::new(&statistics), config);
    planned.unwrap_or_else(|e| panic!("{e}\n{text}")).1
}

/// One query eliminates the first field for all outputs, and a second query eliminates the other
/// field.
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

/// An output that is cheaper with a rewriting of its own becomes a separate nest.
#[test]
fn outputs_are_separated_where_that_is_cheaper() {
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

/// Two outputs of one pass over a matrix remain one nest if no rule makes either cheaper.
#[test]
fn outputs_stay_together_where_that_is_cheapest() {
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

/// The chosen plan costs at most as much as one joint nest without rewriting, and at most as much
/// as separate plans for the outputs.
#[test]
fn several_outputs_cost_no_more_than_joint_or_separate_plans() {
    for (a, b) in [(1e4, 1e4), (1e4, 1e6), (1e6, 1e4), (3e5, 3e5)] {
        let inputs = [csr("A", &[10_000, 10_000]).stored(a), csr("B", &[10_000, 10_000]).stored(b)];
        let cost = |text: &str, config: &OptimizerConfig| report(text, &inputs, config).work().cost();
        let chosen = cost(GROUPS, &eager());
        let joint = cost(GROUPS, &OptimizerConfig { subjects: Subjects::none(), ..eager() });
        let separate: f64 = ["s", "n", "q"]
            .iter()
            .map(|one| cost(&GROUPS.replace("produces s n q", &format!("produces {one}")), &eager()))
            .sum();
        assert!(chosen <= joint * 1.001, "{a} {b}: {chosen} chosen, {joint} joint");
        assert!(chosen <= separate * 1.001, "{a} {b}: {chosen} chosen, {separate} separate");
    }
}

/// The results do not depend on the choice among equal terms, which is random here.
#[test]
fn several_outputs_keep_their_meaning() {
    for seed in 0..40 {
        let config = OptimizerConfig { choice: Choice::Random(seed), ..eager() };
        check_rewritten(GROUPS, &[csr("A", &[4, 5]), csr("B", &[5, 6])], &config);
    }
}

/// Outputs of a pass may be stored in blocks, of equal or different sizes.
#[test]
fn one_output_may_be_stored_in_blocks() {
    let text = "(plan
        (query s (aggregate + 0.0 (table A i j) j))
        (query c (aggregate + 0 (mapjoin cast-i64 (mapjoin ne (table A i j) 0.0)) j))
        (query m (aggregate min inf (table A i j) j))
        (produces s c m))";
    let inputs = [csr("A", &[6, 5])];
    let blocks = |block: u64, kind: LevelKind| {
        let modes = vec![StorageMode::Outer { mode: 0, block }, StorageMode::Inner { mode: 0, block }];
        Format { modes, ..Format::of_kinds(&[kind, LevelKind::Dense], LeafKind::Element) }
    };
    for kind in [LevelKind::Dense, LevelKind::SparseList] {
        for aliases in [&["s"][..], &["c"], &["m"], &["s", "c"], &["s", "c", "m"]] {
            for sizes in [[4, 4, 4], [2, 3, 4]] {
                let mut config = OptimizerConfig::default();
                config
                    .formats
                    .extend(aliases.iter().zip(sizes).map(|(alias, size)| ((*alias).into(), blocks(size, kind))));
                let (plan, statistics) = (plan(text, &inputs), input_statistics(&inputs));
                let planned = optimize(&plan, &Statistics::new(&statistics), &config);
                let (physical, _) = planned.unwrap_or_else(|e| panic!("{aliases:?} {sizes:?} {kind:?}: {e}"));
                compare(&plan, &physical, &inputs, config.float_mode);
            }
        }
    }
}
