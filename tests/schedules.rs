//! Random schedules of random plans: each schedule that a query accepts keeps the results.

use redpoll::kernels::run::Workers;
use redpoll::logic::FloatMode;
use redpoll::logic::physical::PhysicalQuery;
use redpoll::logic::testing::DataKind;
use redpoll::{Bindings, Config, Error, Phase, Prepared, Schedule, Session, Target};
use redpoll_testing::engines::interpret_case;
use redpoll_testing::random::{self, CaseParameters};
use redpoll_testing::rng::Rng;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;

/// The default seeds; `REDPOLL_SEEDS=LOW..HIGH` selects other seeds.
const SEEDS: Range<u64> = 0..200;
/// Number of schedules that are drawn for each plan.
const SCHEDULES: usize = 4;

/// Draws a schedule of a query. Returns the kind and the text of the schedule, or `None` if the
/// query lacks the loops or accesses that this kind needs.
fn draw_schedule(rng: &mut Rng, query: &PhysicalQuery) -> Option<(&'static str, String)> {
    let loops: Vec<&str> = query.loops.iter().map(|l| l.index.as_str()).collect();
    let name = query.outputs.first()?.alias.as_str();
    if loops.is_empty() {
        return None;
    }
    let i = *rng.pick(&loops);
    let n = 1 + rng.below(4);
    let (kind, text) = match rng.below(8) {
        0 => ("split", format!("split({i}, outer, inner, {n})")),
        1 => ("split into", format!("split({i}, outer, inner, into({n})) parallel(outer)")),
        2 => ("parallel", format!("parallel({i})")),
        3 => ("lanes", format!("lanes({i}, 4)")),
        4 => ("unroll", format!("unroll({i}, {n})")),
        5 => {
            let accesses = query.accesses();
            let read = &accesses.get(rng.index(accesses.len().max(1)))?.tensor;
            match rng.below(2) {
                0 => ("split into stored", format!("split({i}, outer, inner, into({n}, stored({read})))")),
                _ => ("split of stored", format!("split({i}, outer, inner, of({n}, stored({read})))")),
            }
        }
        kind => {
            let k = rng.index(loops.len().checked_sub(1).filter(|n| *n > 0)?);
            let (i, j) = (loops[k], loops[k + 1]);
            match kind {
                6 => ("reorder", format!("reorder({j}, {i})")),
                _ => ("collapse", format!("collapse({i}, {j}, both) split(both, outer, inner, {n})")),
            }
        }
    };
    Some((kind, format!("{name}: {text}")))
}

fn session(config: &redpoll::optimizer::OptimizerConfig, threads: usize) -> Session {
    let workers = Workers::new(NonZero::new(threads).expect("not zero")).into();
    Session::new(Config { target: Target::INSTANT, optimizer: config.clone(), workers, ..Config::default() })
}

/// Returns the prepared plan, or `None` if the schedule does not apply.
fn accepted(prepared: Result<Prepared, Error>) -> Result<Option<Prepared>, Error> {
    match prepared {
        Err(Error::ScheduledLoops { .. } | Error::Query { phase: Phase::Notation, .. }) => Ok(None),
        other => other.map(Some),
    }
}

#[test]
fn schedules_keep_results() {
    let seeds = random::requested_seeds().unwrap_or(SEEDS);
    // The numbers of accepted and of refused preparations, by kind of schedule.
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut equal = 0;
    for seed in seeds.clone() {
        let mut rng = Rng::new(seed ^ 0x5c4e);
        let data = [DataKind::Exact, DataKind::General, DataKind::Special][(seed % 3) as usize];
        let mode = if seed % 5 == 0 { FloatMode::StrictIeee } else { FloatMode::Relaxed };
        let parameters = CaseParameters { data, mode, depth: 2, queries: 1 + (seed / 3 % 2) as usize };
        let (_, case) = random::draw_case(seed, parameters);
        let Ok(expected) = interpret_case(&case).expect("the interpreter of Logic") else { continue };
        let bindings: Bindings = case.inputs.iter().map(|(name, tensor, _)| (name.clone(), tensor.clone())).collect();
        let text = case.plan.to_string();
        let prepared = match session(&case.config, 1).prepare(&text, &bindings) {
            Err(error) if random::is_rejected(&error.to_string()) => continue,
            prepared => prepared.unwrap_or_else(|e| panic!("seed {seed}: {e}")),
        };
        let queries = &prepared.physical().expect("a plan").queries;
        for _ in 0..SCHEDULES {
            let query = rng.index(queries.len());
            let Some((kind, schedule)) = draw_schedule(&mut rng, &queries[query]) else { continue };
            let parsed: Schedule = schedule.parse().unwrap_or_else(|e| panic!("{schedule}: {e}"));
            for (threads, target) in [(1, Target::NOTATION), (1, Target::INSTANT), (2, Target::INSTANT)] {
                let session = session(&case.config, threads);
                let scheduled = session.prepare_scheduled(&text, &bindings, std::slice::from_ref(&parsed));
                let scheduled = accepted(scheduled).unwrap_or_else(|e| panic!("seed {seed}, {schedule}: {e}"));
                counts.entry(kind).or_default()[usize::from(scheduled.is_none())] += 1;
                let Some(scheduled) = scheduled else { break };
                let run = scheduled.run_with(target).unwrap_or_else(|e| panic!("seed {seed}, {schedule}: {e}"));
                for (name, tensor) in &run.outputs {
                    let values = tensor.to_dense_scalars().expect("small results");
                    let compared = expected[name].compare(&values, case.exactness);
                    let wrong = |e| panic!("seed {seed}, {schedule}, {target:?}: `{name}` {e}\n{text}");
                    equal += compared.unwrap_or_else(wrong).equal;
                }
            }
        }
    }
    eprintln!("{equal} values are equal; accepted and refused: {counts:?}");
    assert!(counts.values().all(|[accepted, _]| *accepted > 0) && counts.len() == 9, "{counts:?}");
}
