//! Random programs of operations. `REDPOLL_SEEDS=LOW..HIGH` sets the seeds.

use redpoll_testing::arrays::{ArrayOutcome, GROUPS, RecordedChoices, run, shapes, smallest_failure};
use redpoll_testing::random::requested_seeds;
use std::collections::HashMap;

/// Least number of times that each operation takes an earlier result or, for constants, is drawn.
const HITS: u64 = 1;
/// Number of failures after which the test ends; each failure is shrunk and shown.
const MAX_SHOWN: usize = 4;

/// Operations agree with the oracle if their operands are results of earlier operations. Such
/// operands may be fused with an operation, shared, or computed together.
#[test]
fn random_programs_agree() {
    let requested = requested_seeds();
    let mut hits: HashMap<&str, u64> = HashMap::new();
    let (mut failures, mut rejected, mut programs) = (Vec::new(), 0, 0);
    std::panic::set_hook(Box::new(|_| {}));
    for seed in requested.clone().unwrap_or(0..1500) {
        let report = run(RecordedChoices::from_seed(seed));
        programs += 1;
        match report.outcome {
            ArrayOutcome::Agrees => {
                for (name, takes_result) in &report.operations {
                    let is_constant = shapes::CONSTANTS.iter().any(|(constant, _)| constant == name);
                    *hits.entry(name).or_default() += u64::from(*takes_result || is_constant);
                }
            }
            ArrayOutcome::Rejected => rejected += 1,
            ArrayOutcome::Failed(failure) => {
                let smaller = smallest_failure(&report.choices, failure.phase);
                let (text, failure) = match smaller.map(|s| (s.text, s.outcome)) {
                    Some((text, ArrayOutcome::Failed(failure))) => (text, failure),
                    _ => (report.text, failure),
                };
                failures.push(format!("seed {seed}: {}: {}\n{text}", failure.phase, failure.message));
                if failures.len() == MAX_SHOWN {
                    break;
                }
            }
        }
    }
    let _ = std::panic::take_hook();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(rejected * 20 <= programs, "{rejected} of {programs} programs are rejected");
    // `reshape` need not take an earlier result, because few results have a shape that it accepts.
    // `reshape of any shape` takes every result.
    let names = GROUPS.iter().flat_map(|group| group.iter()).map(|(name, _)| *name).filter(|name| *name != "reshape");
    let missing: Vec<&str> = names.filter(|name| hits.get(name).copied().unwrap_or(0) < HITS).collect();
    assert!(requested.is_some() || missing.is_empty(), "covered fewer than {HITS} times: {missing:?}");
}
