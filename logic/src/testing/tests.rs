//! Tests of the generators of random plans: what they make is valid, and covers what it claims.

use super::*;
use crate::interp::{Exactness, interpret};
use crate::mode::FloatMode;
use crate::op::Op;
use crate::text::parse;
use crate::{DType, Error, Scalar, verify};

const CASES: u64 = 3000;
/// Cases that are evaluated, which takes longer.
const EVALUATED: u64 = 1000;

fn config(seed: u64) -> Config {
    let data = [Data::Exact, Data::General, Data::Special][(seed % 3) as usize];
    Config { data, ..Config::default() }
}

#[test]
fn random_plans_are_well_typed_and_print_back() {
    for seed in 0..CASES {
        let case = random_case(seed, &config(seed));
        assert_eq!(verify(&case.plan), Ok(()), "seed {seed}: {}", case.plan);
        for input in &case.inputs {
            assert_eq!(input.ty.validate(), Ok(()), "seed {seed}");
        }
        let text = case.plan.to_string();
        assert_eq!(parse(&text, &case.catalog()).as_ref(), Ok(&case.plan), "seed {seed}: {text}");
    }
}

#[test]
fn random_plans_cover_everything() {
    let mut coverage = Coverage::default();
    for seed in 0..CASES {
        coverage.add(&random_case(seed, &config(seed)));
    }
    let missing = coverage.missing(&Coverage::expected(), 50);
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Whether the modes define an operator of a plan differently, where a zero meets a zero, an infinity or NaN.
fn modes_differ(plan: &str) -> bool {
    let words: Vec<&str> = plan.split_whitespace().collect();
    let special = [0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let differs = |op: &Op| {
        special.iter().flat_map(|a| special.iter().map(move |b| [Scalar::F64(*a), Scalar::F64(*b)])).any(|args| {
            let of = |mode| op.eval_in(&args, mode).ok().and_then(|v| v.to_f64());
            let (relaxed, strict) = (of(FloatMode::Relaxed), of(FloatMode::StrictIeee));
            relaxed != strict && !(relaxed.is_some_and(f64::is_nan) && strict.is_some_and(f64::is_nan))
        })
    };
    let takes = |op: &Op| op.signature(&[DType::F64, DType::F64]).is_ok();
    words.windows(2).any(|pair| match pair {
        ["(mapjoin" | "(aggregate" | "(scan", op] => Op::from_name(op).is_some_and(|op| takes(&op) && differs(&op)),
        _ => false,
    })
}

/// The strict mode is a legal engine of the relaxed mode, but where both are defined to differ: it folds in order and rounds
/// every step.
#[test]
fn strict_results_are_legal_in_the_relaxed_mode() {
    // Of each kind of data: values that agree, and such as are not cared about.
    let (mut equal, mut skipped, mut faults, mut defined) = ([0; 3], [0; 3], 0, 0);
    for seed in 0..EVALUATED {
        let case = random_case(seed, &config(seed));
        let inputs = case.dense_inputs();
        let strict = interpret(&case.plan, &inputs, FloatMode::StrictIeee);
        let relaxed = interpret(&case.plan, &inputs, FloatMode::Relaxed);
        let (strict, relaxed) = match (strict, relaxed) {
            (Ok(strict), Ok(relaxed)) => (strict, relaxed),
            // A checked operator may fault in one order on what is not determined in the other mode.
            (Err(Error::Fault { .. }), _) => {
                faults += 1;
                continue;
            }
            (strict, relaxed) => panic!("seed {seed}: {:?} {:?}\n{}", strict.err(), relaxed.err(), case.plan),
        };
        for query in &case.plan.queries {
            let found = strict[&query.alias].scalars();
            match relaxed[&query.alias].compare(&found, Exactness::Bounded) {
                Ok(compared) => {
                    equal[(seed % 3) as usize] += compared.equal;
                    skipped[(seed % 3) as usize] += compared.skipped;
                }
                Err(_) if modes_differ(&case.plan.to_string()) => defined += 1,
                Err(e) => panic!("seed {seed}, query {}: {e}\n{}", query.alias, case.plan),
            }
        }
    }
    assert!(defined * 20 < EVALUATED, "{defined} queries differ by what the modes define");
    let percent = [0, 1, 2].map(|k| 100 * skipped[k] / (skipped[k] + equal[k]));
    assert!(percent.iter().all(|p| *p < 33), "{percent:?} percent are not cared about");
    assert!(faults * 20 < EVALUATED, "{faults} plans fault");
}
