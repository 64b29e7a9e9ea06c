//! Runs the candidates of a group in the order of estimated cost.
//!
//! Candidates with an estimate above [`Settings::screen`] times the cheapest are not run. Every
//! other candidate runs once. A run that takes longer than [`CUT`] times the best time so far is
//! cancelled at its next allocation, and not repeated. The others are repeated within their budget.
//! Candidates near the best then run again in turns, so that noise of the machine affects them
//! alike. Equal plans run once.

use super::candidates::{Candidate, candidates};
use super::problems::Group;
use anyhow::{Context, Result};
use redpoll::{Config, Engine, PreparedPlan, Session};
use redpoll_physical::run::{Limits, Workers};
use redpoll_physical::storage::Tensor;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Runs are cancelled at this multiple of the best time.
pub const CUT: f64 = 10.0;
/// Smallest number of runs of a candidate, and of rounds in turns.
const LEAST: usize = 2;
/// Largest number of runs of a candidate.
const MOST: usize = 100;
/// Number of runs of a candidate in its turn.
const IN_TURN: usize = 3;
/// Time limit of the free choice in seconds.
const FIRST: f64 = 60.0;
/// Candidates within this factor of the best time run in turns.
const NEAR: f64 = 1.5;

/// The settings of the experiment.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The tier.
    pub engine: Engine,
    /// Candidates run if their cost is at most this multiple of the cheapest cost.
    pub screen: f64,
    /// Time for the repeated runs of one candidate.
    pub budget: Duration,
    /// Number of bytes that a plan may allocate.
    pub memory: usize,
}

/// The measurements of a candidate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// A description of the fixed choices; empty for the free choice.
    pub name: String,
    /// The estimated cost in steps along a list; `None` if the optimizer rejects the choices.
    pub cost: Option<f64>,
    /// The best time in seconds; `None` if no run finished.
    pub time: Option<f64>,
    /// The reason why there is no time.
    pub left_out: Option<String>,
    /// The estimated numbers of events, by name.
    pub events: Vec<(String, f64)>,
}

/// A message sent while a group is measured.
#[derive(Debug, Serialize, Deserialize)]
pub enum Note {
    /// The first run of a candidate starts.
    Begins {
        /// The index of the candidate.
        candidate: usize,
        /// The time limit of the run in seconds.
        seconds: f64,
    },
    /// The run has ended.
    Ended,
    /// The group is measured.
    Outcome(Box<Outcome>),
}

impl Measured {
    /// Returns whether the candidate was run, or left out for a reason.
    fn tried(&self) -> bool {
        self.time.is_some() || self.left_out.is_some()
    }
}

/// The measurements of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The workload.
    pub workload: String,
    /// The input.
    pub data: String,
    /// The formats of the inputs.
    pub stored: String,
    /// The plan that the optimizer chose freely.
    pub choice: String,
    /// The factor by which the number of stored values of the result is over- or underestimated, if
    /// the result is sparse.
    pub size_error: Option<f64>,
    /// All candidates, with the free choice first.
    pub candidates: Vec<Measured>,
}

/// A candidate that can be run.
struct Ready {
    prepared: PreparedPlan,
    limits: Limits,
}

/// Measures all candidates of a group except `without`, which are known to exceed their time limit.
/// Calls `say` with each message.
///
/// # Errors
/// If the free choice cannot be planned or run.
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
    // The free choice runs first and sets the best time.
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

/// Describes the loop orders and output formats of all queries in one line.
fn describe(prepared: &PreparedPlan) -> String {
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

fn unmeasured(candidate: &Candidate, planned: Option<&PreparedPlan>) -> Measured {
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

/// Returns the best time of several runs after the first one, and the estimation error of the
/// result's size, or the reason why the candidate is left out.
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

/// Returns the time of a run without a watching thread. Starting and joining a thread takes longer
/// than short kernels, and disturbs their caches and branch predictors.
fn timed(Ready { prepared, .. }: &Ready) -> Result<f64, String> {
    let start = Instant::now();
    let run = prepared.run();
    let time = start.elapsed().as_secs_f64();
    run.map(|_| time).map_err(|error| error.to_string())
}

/// Runs a plan once and cancels it after `most` seconds. Returns its time and the estimation error
/// of the result's size.
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

/// Runs the candidates near the best in turns.
fn take_turns(ready: &[(usize, Ready)], measured: &mut [Measured], best: f64, budget: Duration) {
    let near: Vec<&(usize, Ready)> =
        ready.iter().filter(|(k, _)| *k == 0 || measured[*k].time.is_some_and(|t| t < NEAR * best)).collect();
    let start = Instant::now();
    for round in 0..10 {
        if round >= LEAST && start.elapsed() > budget * near.len() as u32 {
            break;
        }
        for (k, plan) in &near {
            // The first of these runs sees the caches of the previous plan.
            for time in (0..IN_TURN).flat_map(|_| timed(plan)) {
                measured[*k].time = measured[*k].time.map(|known| known.min(time));
            }
        }
    }
}
