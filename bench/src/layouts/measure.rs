//! Runs the candidates of a group, those that the estimate calls cheapest first.
//!
//! What is estimated at more than [`Settings::screen`] times the cheapest is not run. Every other candidate runs once; what
//! takes longer than [`CUT`] times the best so far is cancelled where it allocates, and does not run again. The others run
//! until they have had their time, and those near the best once more in turns with it, so that what else the machine does
//! meets them alike. Plans that come out the same run once.

use super::candidates::{Candidate, candidates};
use super::problems::Group;
use anyhow::{Context, Result};
use redpoll::{Config, Engine, Prepared, Session};
use redpoll_physical::run::{Limits, Workers};
use redpoll_physical::storage::Tensor;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Runs are cut at so many times the best time.
pub const CUT: f64 = 10.0;
/// Runs of a candidate that is not cut, and rounds of turns, at least.
const LEAST: usize = 2;
/// And at most so often.
const MOST: usize = 100;
/// How often in its turn.
const IN_TURN: usize = 3;
/// Seconds that the free choice may take.
const FIRST: f64 = 60.0;
/// Candidates this near to the best take turns with it.
const NEAR: f64 = 1.5;

/// What a run of the experiment is told.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The tier.
    pub engine: Engine,
    /// How many times the cost of the cheapest candidate one may have to be run.
    pub screen: f64,
    /// Time for the runs of one candidate, its first one aside.
    pub budget: Duration,
    /// Bytes that a plan may allocate.
    pub memory: usize,
}

/// What became of a candidate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// What is given; empty for the free choice.
    pub name: String,
    /// The estimated cost, in steps along a list; `None` where the optimizer refuses it.
    pub cost: Option<f64>,
    /// The best time, in seconds; `None` where it was not run to its end.
    pub time: Option<f64>,
    /// Why there is no time.
    pub left_out: Option<String>,
    /// The estimated numbers of events, by name.
    pub events: Vec<(String, f64)>,
}

/// What is said while a group is measured.
#[derive(Debug, Serialize, Deserialize)]
pub enum Note {
    /// The first run of a candidate begins, which may take so many seconds.
    Begins {
        /// The number of the candidate.
        candidate: usize,
        /// Seconds.
        seconds: f64,
    },
    /// That run has ended.
    Ended,
    /// The group is measured.
    Outcome(Box<Outcome>),
}

impl Measured {
    /// Whether it was run, or was not for a reason.
    fn tried(&self) -> bool {
        self.time.is_some() || self.left_out.is_some()
    }
}

/// What became of a group; the first candidate is the free choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The workload.
    pub workload: String,
    /// The input.
    pub data: String,
    /// How it is stored.
    pub stored: String,
    /// What the optimizer chose freely.
    pub choice: String,
    /// The factor by which the number of stored values of the result is estimated wrong, where it is known.
    pub size_error: Option<f64>,
    /// All candidates.
    pub candidates: Vec<Measured>,
}

/// A candidate that can be run.
struct Ready {
    prepared: Prepared,
    limits: Limits,
}

/// Measures all candidates of a group but some, which are known to take too long.
///
/// # Errors
/// When the free choice cannot be planned or run.
pub fn measure(group: &Group, settings: Settings, without: &[usize], say: &mut dyn FnMut(&Note)) -> Result<Outcome> {
    let all = candidates(group.workload);
    let planned: Vec<Option<Ready>> = all.iter().map(|c| plan(c, group, Engine::LogicInterpreter, settings)).collect();
    let texts: Vec<Option<String>> =
        planned.iter().map(|p| Some(p.as_ref()?.prepared.physical().to_string())).collect();
    let cost = |k: usize| planned[k].as_ref().map_or(f64::INFINITY, |p| p.prepared.report().work().cost());
    let mut measured: Vec<Measured> =
        (0..all.len()).map(|k| unmeasured(&all[k], planned[k].as_ref().map(|p| &p.prepared))).collect();
    let cheapest = (0..all.len()).map(cost).fold(f64::INFINITY, f64::min);
    let mut turns: Vec<usize> = (0..all.len()).collect();
    turns.sort_by(|a, b| cost(*a).total_cmp(&cost(*b)));
    // The free choice sets the mark.
    turns.retain(|k| *k != 0);
    turns.insert(0, 0);
    let (mut best, mut size_error) = (f64::INFINITY, None);
    let mut ready: Vec<(usize, Ready)> = Vec::new();
    let mut twins: Vec<(usize, usize)> = Vec::new();
    for k in turns {
        let same = |other: &usize| measured[*other].tried() && texts[k].is_some() && texts[*other] == texts[k];
        if let Some(same) = (0..all.len()).find(same) {
            twins.push((k, same));
            continue;
        }
        if k > 0 && cost(k) > settings.screen * cheapest {
            measured[k].left_out.get_or_insert_with(|| "by its cost".into());
            continue;
        }
        if without.contains(&k) {
            measured[k].left_out = Some(too_long());
            continue;
        }
        let Some(plan) = plan(&all[k], group, settings.engine, settings) else { continue };
        let seconds = if best.is_finite() { CUT * best } else { FIRST };
        say(&Note::Begins { candidate: k, seconds });
        let first = once(&plan, CUT * best);
        say(&Note::Ended);
        match first.and_then(|first| repeated(&plan, first, best, settings.budget)) {
            Ok((time, error)) => {
                size_error = error.or(size_error);
                measured[k].time = Some(time);
                best = best.min(time);
                ready.push((k, plan));
            }
            Err(reason) => measured[k].left_out = Some(reason),
        }
    }
    measured[0].time.with_context(|| format!("the free choice does not run: {:?}", measured[0].left_out))?;
    take_turns(&ready, &mut measured, best, settings.budget);
    for (twin, same) in twins {
        (measured[twin].time, measured[twin].left_out) = (measured[same].time, measured[same].left_out.clone());
    }
    let choice = planned[0].as_ref().map(|p| describe(&p.prepared)).unwrap_or_default();
    let Group { workload, data, stored, .. } = group;
    let (workload, data, stored) = (workload.name.to_owned(), data.clone(), (*stored).to_owned());
    Ok(Outcome { workload, data, stored, choice, size_error, candidates: measured })
}

/// Orders, formats and workspaces in one line.
fn describe(prepared: &Prepared) -> String {
    let decisions = prepared.report().decisions.iter().map(|decision| {
        let order: Vec<&str> = decision.order.iter().map(redpoll_logic::Field::as_str).collect();
        let outputs = decision.outputs.iter().map(|o| {
            let kinds: Vec<&str> = o.ty.format.levels.iter().map(|l| l.kind.traits().name).collect();
            format!("{} {}", o.alias, kinds.join("/"))
        });
        format!("{} [{}]", outputs.collect::<Vec<_>>().join(" "), order.join(" "))
    });
    decisions.collect::<Vec<_>>().join("; ")
}

fn plan(candidate: &Candidate, group: &Group, engine: Engine, settings: Settings) -> Option<Ready> {
    let config = Config {
        optimizer: candidate.config.clone(),
        engine,
        memory_limit: Some(settings.memory),
        workers: Workers::caller().clone(),
        ..Config::default()
    };
    let session = Session::new(config);
    let prepared = session.prepare(candidate.plan, &group.bindings).ok()?;
    Some(Ready { prepared, limits: session.limits().clone() })
}

fn unmeasured(candidate: &Candidate, planned: Option<&Prepared>) -> Measured {
    let work = planned.map(|p| p.report().work());
    Measured {
        name: candidate.name.clone(),
        cost: work.map(|w| w.cost()),
        time: None,
        left_out: work.is_none().then(|| "refused".into()),
        events: work
            .iter()
            .flat_map(|w| w.counts().map(|(e, n)| (e.name().to_owned(), n)).collect::<Vec<_>>())
            .collect(),
    }
}

fn too_long() -> String {
    format!("over {CUT} times the best")
}

/// The best time of several runs after the first one, and how wrong the size of the result was estimated; or why there is
/// none.
fn repeated(
    plan: &Ready,
    (mut least, error): (f64, Option<f64>),
    best: f64,
    budget: Duration,
) -> Result<(f64, Option<f64>), String> {
    if least > CUT * best {
        return Err(too_long());
    }
    let start = Instant::now();
    for run in 0..MOST {
        if run >= LEAST && start.elapsed() > budget {
            break;
        }
        least = least.min(timed(plan)?);
    }
    Ok((least, error))
}

/// The time of a run with nothing beside it: that a thread begins and ends takes longer than short kernels, and leaves
/// caches and branch predictors to them as no user finds them.
fn timed(Ready { prepared, .. }: &Ready) -> Result<f64, String> {
    let start = Instant::now();
    let run = prepared.run();
    let time = start.elapsed().as_secs_f64();
    run.map(|_| time).map_err(|error| error.to_string())
}

/// The time of a run, which is cancelled after so many seconds where it can be.
fn once(Ready { prepared, limits }: &Ready, most: f64) -> Result<(f64, Option<f64>), String> {
    let cancel = limits.cancel.clone();
    let (done, waiting) = channel::<()>();
    let watch = std::thread::spawn(move || {
        let late =
            most.is_finite() && waiting.recv_timeout(Duration::from_secs_f64(most)) == Err(RecvTimeoutError::Timeout);
        if late {
            cancel.store(true, Ordering::Relaxed);
        }
    });
    let start = Instant::now();
    let run = prepared.run();
    let time = start.elapsed().as_secs_f64();
    drop(done);
    watch.join().map_err(|_| "the clock failed".to_owned())?;
    let cancelled = limits.cancel.swap(false, Ordering::Relaxed);
    let run = run.map_err(|error| if cancelled { too_long() } else { error.to_string() })?;
    let estimated =
        prepared.report().decisions.last().and_then(|d| d.outputs.last()).map(redpoll_optimizer::DecidedOutput::stored);
    let stored = run.outputs.last().map(|(_, tensor)| tensor);
    let stored = stored.filter(|t| t.ty().format.levels.last().is_some_and(|l| !l.kind.traits().full));
    let stored = stored.map(Tensor::count_stored).transpose().map_err(|error| error.to_string())?;
    let error = estimated.zip(stored).map(|(estimated, stored)| {
        let (a, b) = (estimated.max(1.0), (stored as f64).max(1.0));
        (a / b).max(b / a)
    });
    Ok((time, error))
}

/// Runs those near the best in turns.
fn take_turns(ready: &[(usize, Ready)], measured: &mut [Measured], best: f64, budget: Duration) {
    let near: Vec<&(usize, Ready)> =
        ready.iter().filter(|(k, _)| *k == 0 || measured[*k].time.is_some_and(|t| t < NEAR * best)).collect();
    let start = Instant::now();
    for round in 0..10 {
        if round >= LEAST && start.elapsed() > budget * near.len() as u32 {
            break;
        }
        for (k, plan) in &near {
            // The first of these runs finds what the plan before has left.
            for time in (0..IN_TURN).flat_map(|_| timed(plan)) {
                measured[*k].time = measured[*k].time.map(|known| known.min(time));
            }
        }
    }
}
