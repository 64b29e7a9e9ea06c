//! Tests that folds along long lists are split into lanes, and other loops are not.

use super::algebra::csr;
use super::*;
use redpoll_logic::FloatMode;
use redpoll_logic::physical::{Loop, PhysicalQuery, TemporaryNest};
use redpoll_optimizer::{Choice, ReorderPolicy};

const SPMV: &str = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";

/// Returns a matrix of a thousand rows, with `entries` entries per row on average, and a vector.
fn rows(entries: f64) -> [InputSpec; 2] {
    [csr("A", &[1000, 2000]).stored(1000.0 * entries), input("x", &[2000], Format::dense(1))]
}

/// Returns the loops of a plan that have lanes, including those of temporaries.
fn in_lanes(plan: &PhysicalPlan) -> String {
    fn of_temporaries<'p>(t: &'p TemporaryNest, loops: &mut Vec<&'p Loop>) {
        loops.extend(&t.loops);
        t.temporaries.iter().for_each(|inner| of_temporaries(inner, loops));
    }
    let of_query = |query: &PhysicalQuery| {
        let mut loops: Vec<&Loop> = query.loops.iter().collect();
        query.temporaries.iter().for_each(|t| of_temporaries(t, &mut loops));
        let with_lanes = loops.into_iter().filter(|l| l.lanes != 1).map(|l| format!("{} in {}", l.index, l.lanes));
        with_lanes.collect::<Vec<_>>()
    };
    plan.queries.iter().flat_map(of_query).collect::<Vec<_>>().join(", ")
}

fn planned_lanes(text: &str, inputs: &[InputSpec], config: &OptimizerConfig) -> String {
    let (plan, _) = check_plain(text, inputs, config);
    assert_eq!(redpoll_logic::physical::parse(&plan.to_string()).as_ref(), Ok(&plan), "{plan}");
    in_lanes(&plan)
}

#[test]
fn long_walks_are_folded_in_lanes() {
    let plain = |text: &str, inputs: &[InputSpec]| planned_lanes(text, inputs, &OptimizerConfig::default());
    assert_eq!(plain(SPMV, &rows(73.0)), "j in 4");
    assert_eq!(plain(&SPMV.replace("aggregate + 0", "aggregate max 0"), &rows(73.0)), "j in 4");
    let sums = "(plan (query y (aggregate + 0 (table A i j) j)) (produces y))";
    assert_eq!(plain(sums, &rows(73.0)), "j in 4");
    let norms = "(plan (query y (mapjoin sqrt (aggregate + 0 (mapjoin square (table A i j)) j))) (produces y))";
    assert_eq!(plain(norms, &rows(73.0)), "j in 4", "a temporary");
    let sampled = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table B i j) (table x j)) j)) (produces y))";
    let [a, x] = rows(73.0);
    assert_eq!(plain(sampled, &[a, input("B", &[1000, 2000], Format::dense(2)), x]), "j in 4", "B is looked up");
}

/// Short walks, walks that gather from a large vector, folds of integers, walks along which the
/// output's coordinate changes, merges, and loops with several folds have no lanes. Walks in the
/// strict mode have no lanes either.
#[test]
fn other_walks_have_no_lanes() {
    let plain = |text: &str, inputs: &[InputSpec]| planned_lanes(text, inputs, &OptimizerConfig::default());
    assert_eq!(plain(SPMV, &rows(32.0)), "");
    let whole = |name: &str, shape: &[u64], format: Format| filled(name, shape, format, Scalar::I64(0));
    let wide = |columns: u64| {
        let a = csr("A", &[100_000, columns]).stored(7_300_000.0);
        plain(SPMV, &[a, input("x", &[columns], Format::dense(1))])
    };
    assert_eq!([wide(30_000), wide(40_000)], ["j in 4", ""], "the gathered lines exceed 256 KiB");
    let sums = "(plan (query y (aggregate + 0 (table A i j) j)) (produces y))";
    assert_eq!(plain(sums, &[csr("A", &[100_000, 40_000]).stored(7_300_000.0)]), "j in 4", "nothing is gathered");
    let integers = [whole("A", &[1000, 2000], Format::csr()).stored(73_000.0), whole("x", &[2000], Format::dense(1))];
    assert_eq!(plain(SPMV, &integers), "");
    let columns = [input("A", &[1000, 2000], Format::csc()).stored(73_000.0), input("x", &[2000], Format::dense(1))];
    assert_eq!(plain(SPMV, &columns), "", "each round folds into its own output coordinate");
    let lists = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table B i j)) j)) (produces y))";
    let both = ["A", "B"].map(|name| csr(name, &[1000, 2000]).stored(73_000.0));
    assert_eq!(plain(lists, &both), "", "two lists are merged");
    let two =
        "(plan (query y (aggregate + 0 (table A i j) j)) (query z (aggregate max 0 (table A i j) j)) (produces y z))";
    assert_eq!(plain(two, &rows(73.0)[..1]), "", "two folds share the loop");
    let strict = OptimizerConfig { float_mode: FloatMode::StrictIeee, ..OptimizerConfig::default() };
    assert_eq!(planned_lanes(SPMV, &rows(73.0), &strict), "", "another order is another value");
}

/// Lanes chosen at random do not change the results, whatever the statistics.
#[test]
fn lanes_keep_the_meaning_of_plans() {
    let small = || [csr("A", &[4, 9]), input("x", &[9], Format::dense(1))];
    let mut found = Vec::new();
    for seed in 0..6 {
        let config = OptimizerConfig {
            choice: Choice::Random(seed),
            reorder_policy: ReorderPolicy::Ignore,
            ..OptimizerConfig::default()
        };
        found.push(planned_lanes(SPMV, &small(), &config));
    }
    assert_eq!(found, ["", "j in 2", "j in 4", "", "j in 2", "j in 4"]);
    // The actual rows have a third of the entries in the statistics.
    let inputs = [csr("A", &[4, 60]).stored(240.0), input("x", &[60], Format::dense(1))];
    assert_eq!(planned_lanes(SPMV, &inputs, &OptimizerConfig::default()), "j in 4");
}
