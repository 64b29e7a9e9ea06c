//! Random plans that are adapted wherever possible: results stay the same, also with statistics
//! that are wrong by a factor of a thousand.

use redpoll::{Bindings, Config, Session, Target};
use redpoll_logic::physical::verify::verify;
use redpoll_logic::statistics::{Answer, PositionCounts, Statistics};
use redpoll_logic::testing::DataKind;
use redpoll_logic::{Alias, FloatMode};
use redpoll_optimizer::{Adaptivity, CostThreshold, WrittenTensor, optimize_adaptive};
use redpoll_storage::Tensor;
use redpoll_storage::levels::level;
use redpoll_testing::engines::{EngineCase, check_plan, interpret_case, run};
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::random::{CaseParameters, draw_case};
use redpoll_testing::rng::Rng;

/// Adaptivity that replans after any difference in size, whatever the savings or losses.
const ALWAYS: Adaptivity = Adaptivity::On { factor: 1.0, min_savings: CostThreshold(f64::NEG_INFINITY) };

fn adapting_case(seed: u64) -> EngineCase {
    let (data, mode) = match seed % 3 {
        0 => (DataKind::Exact, FloatMode::Relaxed),
        1 => (DataKind::General, FloatMode::Relaxed),
        _ => (DataKind::Special, FloatMode::StrictIeee),
    };
    let (_, mut case) = draw_case(seed, CaseParameters { data, mode, depth: 2, queries: 6 });
    case.config.rewrite_threshold = CostThreshold(0.0);
    case.config.adaptivity = ALWAYS;
    case
}

/// Returns the number of positions below each level of a tensor.
fn positions(tensor: &Tensor) -> Vec<u64> {
    let mut above = 1;
    let levels = (0..tensor.levels().len()).map(|k| {
        let data = tensor.level(k);
        let entries = level(data.format.kind).entries(data, above);
        above = entries.end.saturating_sub(entries.start);
        above
    });
    levels.collect()
}

/// Returns the numbers of positions of the inputs, as statistics. For each input, the numbers are
/// right, or all of them are too large or too small by a factor of a thousand.
fn wrong_counts(seed: u64, case: &EngineCase) -> PositionCounts {
    let mut rng = Rng::new(seed ^ 0xbad);
    let mut counts = PositionCounts::default();
    for (alias, tensor, _) in &case.inputs {
        let factor = [1e3, 1.0, 1e-3][rng.below(3) as usize];
        let wrong = |n: u64| Answer { estimate: n as f64 * factor, bound: n as f64 * factor };
        counts.insert(alias.clone(), positions(tensor).into_iter().map(wrong).collect());
    }
    counts
}

#[test]
fn plans_adapted_after_any_query_mean_the_same() {
    optimizing::select_kernels(KernelSelection::None);
    let (mut adapted, mut kept) = (0, 0);
    for seed in 0..320 {
        let case = adapting_case(seed);
        let expected = interpret_case(&case).unwrap_or_else(|f| panic!("seed {seed}: {}", f.message));
        let counts = wrong_counts(seed, &case);
        let statistics = Statistics::new(&counts);
        let Ok(planned) = optimize_adaptive(&case.plan, &statistics, &case.config) else { continue };
        let Ok(ran) = run(&planned.physical, &case) else { continue };
        for after in 0..planned.physical.queries.len() {
            let outputs = planned.physical.queries[..=after].iter().flat_map(|q| &q.outputs);
            let written =
                |alias: &Alias| WrittenTensor { alias: alias.clone(), positions: positions(&ran.assembly[alias]) };
            let written: Vec<WrittenTensor> = outputs.map(|o| written(&o.alias)).collect();
            let found = planned.adapt(after, &written, &statistics, &case.config);
            let Some(found) = found.unwrap_or_else(|e| panic!("seed {seed} after {after}: {e}")) else {
                kept += 1;
                continue;
            };
            adapted += 1;
            assert_eq!(found.physical.queries[..=after], planned.physical.queries[..=after]);
            verify(&found.physical).unwrap_or_else(|e| panic!("seed {seed} after {after}: {e}\n{}", found.physical));
            let checked = check_plan(&case, &found.physical, &expected);
            checked.unwrap_or_else(|f| panic!("seed {seed} after {after}: {}", f.message));
        }
    }
    eprintln!("adapted {adapted} times, kept {kept} times");
    assert!(adapted >= 20 && kept >= 20, "adapted {adapted} times, kept {kept} times");
}

#[test]
fn runs_that_adapt_give_the_same_results() {
    let mut adapted = 0;
    for seed in 1000..1250 {
        let case = adapting_case(seed);
        let Ok(expected) = interpret_case(&case).unwrap_or_else(|f| panic!("seed {seed}: {}", f.message)) else {
            continue;
        };
        let bindings: Bindings = case.inputs.iter().map(|(alias, t, _)| (alias.clone(), t.clone())).collect();
        for target in [Target::NOTATION, Target::ASSEMBLY, Target::INSTANT] {
            let config = Config { optimizer: case.config.clone(), dump: None, load: None, target, ..Config::default() };
            let Ok(prepared) = Session::new(config).prepare_plan(case.plan.clone(), &bindings) else { continue };
            for _ in 0..2 {
                let run = prepared.run().unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", target.name()));
                for (alias, tensor) in &run.outputs {
                    let found = tensor.to_dense_scalars().expect("the tensor is small");
                    let compared = expected[alias].compare(&found, case.exactness);
                    compared.unwrap_or_else(|e| panic!("seed {seed}, {}: `{alias}` {e}", target.name()));
                }
            }
            adapted += prepared.report().unwrap().adaptations.len();
        }
    }
    eprintln!("adapted {adapted} times");
    assert!(adapted >= 30, "adapted {adapted} times");
}
