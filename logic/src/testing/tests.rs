//! Tests over random plans: the plans are valid, cover the expected constructs, and have results
//! that can be compared. Lifting constants preserves the results.

use super::*;
use crate::expr::LiftedConstant;
use crate::interp::{Exactness, interpret, interpret_in_order};
use crate::mode::FloatMode;
use crate::plan::Query;
use crate::text::parse;
use crate::{Error, verify};

const CASES: u64 = 3000;
/// Number of cases that are also interpreted, which takes longer.
const EVALUATED: u64 = 1000;

fn config(seed: u64) -> CaseConfig {
    let data = [DataKind::Exact, DataKind::General, DataKind::Special][(seed % 3) as usize];
    CaseConfig { data, ..CaseConfig::default() }
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

/// Folds in order, with every step rounded, are legal in the relaxed mode.
#[test]
fn results_in_order_are_legal_in_the_relaxed_mode() {
    // Counts of equal and of don't-care values, per kind of data.
    let (mut equal, mut skipped, mut faults) = ([0; 3], [0; 3], 0);
    for seed in 0..EVALUATED {
        let case = random_case(seed, &config(seed));
        let inputs = case.dense_inputs();
        let in_order = interpret_in_order(&case.plan, &inputs);
        let relaxed = interpret(&case.plan, &inputs, FloatMode::Relaxed);
        let (in_order, relaxed) = match (in_order, relaxed) {
            (Ok(in_order), Ok(relaxed)) => (in_order, relaxed),
            (Err(Error::Fault { .. }), Err(Error::Fault { .. })) => {
                faults += 1;
                continue;
            }
            (Err(Error::Fault { .. }), Ok(relaxed)) if relaxed.values().any(|r| r.may_fault) => {
                faults += 1;
                continue;
            }
            (in_order, relaxed) => panic!("seed {seed}: {:?} {:?}\n{}", in_order.err(), relaxed.err(), case.plan),
        };
        for query in &case.plan.queries {
            let found = in_order[&query.alias].scalars();
            match relaxed[&query.alias].compare(&found, Exactness::Bounded) {
                Ok(counts) => {
                    equal[(seed % 3) as usize] += counts.equal;
                    skipped[(seed % 3) as usize] += counts.skipped;
                }
                Err(e) => panic!("seed {seed}, query {}: {e}\n{}", query.alias, case.plan),
            }
        }
    }
    let percent = [0, 1, 2].map(|k| 100 * skipped[k] / (skipped[k] + equal[k]));
    assert!(percent.iter().all(|p| *p < 33), "{percent:?} percent of the values are don't-care");
    assert!(faults * 20 < EVALUATED, "{faults} plans fault");
}

/// Lifting constants and offsets into inputs leaves the results unchanged, apart from fill values.
#[test]
fn lifted_plans_have_the_same_results() {
    let (mut lifted_cases, mut parameters) = (0, 0);
    for seed in 0..EVALUATED / 4 {
        let case = random_case(seed, &config(seed));
        for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
            let plan = case.plan.to_mode(mode).unwrap();
            let lifted = plan.lift_constants().unwrap();
            assert_eq!(verify(&lifted.plan), Ok(()), "seed {seed}: {}", lifted.plan);
            let mut inputs = case.dense_inputs();
            let mut catalog = case.catalog();
            for LiftedConstant { name, ty, value } in &lifted.constants {
                catalog.insert(name.clone(), ty.clone());
                inputs.insert(name.clone(), DenseTensor { shape: Vec::new(), values: vec![value.clone()] });
            }
            let text = lifted.plan.to_string();
            // The claim `(iteration ..)` of an operator with a lifted constant holds only for
            // constants of one class, see `expr/constants.rs`. The parser tries other values too,
            // so it may reject such an operator.
            if !text.contains("(iteration") {
                let parsed = parse(&text, &catalog).and_then(|plan| plan.to_mode(mode));
                assert_eq!(parsed.as_ref(), Ok(&lifted.plan), "{text}");
            }
            let (Ok(expected), Ok(found)) = (interpret(&plan, &inputs, mode), interpret(&lifted.plan, &inputs, mode))
            else {
                continue;
            };
            lifted_cases += usize::from(!lifted.constants.is_empty());
            parameters += text.matches("(parameter").count();
            for Query { alias, .. } in &plan.queries {
                let found = found[alias].scalars();
                if let Err(error) = expected[alias].compare(&found, Exactness::Bounded) {
                    panic!("seed {seed}, {mode:?}, query {alias}: {error}\n{plan}\n{text}");
                }
                let own_fill = lifted.fills.iter().find(|(name, _)| name == alias).map(|(_, fill)| fill);
                let in_plan = lifted.plan.queries.iter().find(|query| query.alias == *alias).unwrap();
                let own_fill = own_fill.unwrap_or(&in_plan.expr.info().fill);
                assert!(!plan.produces.contains(alias) || *own_fill == expected[alias].fill, "{alias}");
            }
        }
    }
    assert!(lifted_cases > 40 && parameters > 10, "{lifted_cases} cases, {parameters} parameters");
}
