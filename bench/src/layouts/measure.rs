//! Runs the candidates of a group: the free choice, then the others in the order of estimated cost.
//!
//! Except for the free choice, candidates whose estimated cost is above
//! [`ExperimentSettings::screen`] times the lowest estimate are not run. Every other candidate runs
//! once. A run that takes longer than [`CANCEL_FACTOR`] times the best time so far is cancelled,
//! and not repeated. Runs that complete are repeated within the budget of the candidate. The free
//! choice and the candidates near the best then run again in turns, so that noise of the machine
//! affects all of these candidates alike. Equal plans run once.

use super::candidates::{LayoutCandidate, candidates};
use super::problems::LayoutGroup;
use anyhow::{Context, Result};
use redpoll::{Config, Prepared, Session, Target};
use redpoll_kernels::run::{Limits, Workers};
use redpoll_storage::Tensor;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The multiple of the best time at which a run is cancelled.
pub const CANCEL_FACTOR: f64 = 10.0;
/// Smallest number of runs of a candidate after its first run, and smallest number of rounds in
/// turns.
const MIN_RUNS: usize = 2;
/// Largest number of runs of a candidate after its first run and before the rounds in turns.
const MAX_RUNS: usize = 100;
/// Number of runs of a candidate in its turn.
const RUNS_PER_TURN: usize = 3;
/// Time limit of the free choice in seconds.
const FREE_CHOICE_LIMIT: f64 = 60.0;
/// Largest time of the candidates that run again in turns, as a multiple of the best time. The free
/// choice always runs again.
const NEAR_FACTOR: f64 = 1.5;

/// The settings of the experiment.
#[derive(Clone, Copy)]
pub struct ExperimentSettings {
    /// The tier.
    pub target: Target,
    /// Largest cost of the candidates that run, as a multiple of the lowest cost.
    pub screen: f64,
    /// Time for the repeated runs of one candidate.
    pub budget: Duration,
    /// Number of bytes that a plan may allocate.
    pub memory: usize,
}

/// The measurements of a candidate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CandidateTimes {
    /// A description of the fixed choices; empty for the free choice.
    pub name: String,
    /// The estimated cost, in units of a step along a list; `None` if the optimizer rejects the
    /// choices.
    pub cost: Option<f64>,
    /// The best time in seconds; `None` if no run completed.
    pub time: Option<f64>,
    /// The reason why there is no time.
    #[serde(rename = "left_out")]
    pub reason: Option<String>,
    /// The estimated numbers of events, by name.
    pub events: Vec<(String, f64)>,
}

/// A message sent while a group is measured.
#[derive(Debug, Serialize, Deserialize)]
pub enum ProgressMessage {
    /// The first run of a candidate starts.
    Started {
        /// The index of the candidate.
        candidate: usize,
        /// The time limit of the run in seconds.
        seconds: f64,
    },
    /// The run has finished.
    Finished,
    /// The group is measured.
    Complete(Box<GroupOutcome>),
}

impl CandidateTimes {
    /// Returns whether the candidate has a time, or a reason for having none.
    fn is_settled(&self) -> bool {
        self.time.is_some() || self.reason.is_some()
    }
}

/// The measurements of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupOutcome {
    /// The workload.
    pub workload: String,
    /// The input.
    pub data: String,
    /// The formats of the inputs.
    #[serde(rename = "stored")]
    pub formats: String,
    /// The plan that the optimizer chose freely.
    pub choice: String,
    /// The factor by which the number of stored values of the result is over- or underestimated, if
    /// the result is sparse.
    pub size_error: Option<f64>,
    /// All candidates, with the free choice first.
    pub candidates: Vec<CandidateTimes>,
}

/// A candidate that can be run.
struct PreparedCandidate {
    prepared: Prepared,
    limits: Limits,
}

/// Measures all candidates of a group except those with the indices in `without`, which are known
/// to exceed their time limit. Calls `send` with each message.
///
/// # Errors
/// If the free choice cannot be planned or run.
pub fn measure(
    group: &LayoutGroup,
    settings: ExperimentSettings,
    without: &[usize],
    send: &mut dyn FnMut(&ProgressMessage),
) -> Result<GroupOutcome> {
    let all = candidates(group.workload);
    let planned: Vec<Option<PreparedCandidate>> = all.iter().map(|c| plan(c, group, Target::LOGIC, settings)).collect();
    let texts: Vec<Option<String>> =
        planned.iter().map(|p| Some(p.as_ref()?.prepared.physical()?.to_string())).collect();
    let cost =
        |k: usize| planned[k].as_ref().and_then(|p| p.prepared.report()).map_or(f64::INFINITY, |r| r.work().cost());
    let mut times: Vec<CandidateTimes> =
        (0..all.len()).map(|k| initial_times(&all[k], planned[k].as_ref().map(|p| &p.prepared))).collect();
    let cheapest = (0..all.len()).map(cost).fold(f64::INFINITY, f64::min);
    let mut turns: Vec<usize> = (0..all.len()).collect();
    turns.sort_by(|a, b| cost(*a).total_cmp(&cost(*b)));
    // The free choice runs first and sets the best time.
    turns.retain(|k| *k != 0);
    turns.insert(0, 0);
    let (mut best, mut size_error) = (f64::INFINITY, None);
    let mut ready: Vec<(usize, PreparedCandidate)> = Vec::new();
    let mut duplicates: Vec<(usize, usize)> = Vec::new();
    for k in turns {
        let is_original = |other: &usize| times[*other].is_settled() && texts[k].is_some() && texts[*other] == texts[k];
        if let Some(original) = (0..all.len()).find(is_original) {
            duplicates.push((k, original));
            continue;
        }
        if k > 0 && cost(k) > settings.screen * cheapest {
            times[k].reason.get_or_insert_with(|| "estimated cost is too high".into());
            continue;
        }
        if without.contains(&k) {
            times[k].reason = Some(timeout_reason());
            continue;
        }
        let Some(plan) = plan(&all[k], group, settings.target, settings) else { continue };
        let seconds = if best.is_finite() { CANCEL_FACTOR * best } else { FREE_CHOICE_LIMIT };
        send(&ProgressMessage::Started { candidate: k, seconds });
        let first = run_once(&plan, CANCEL_FACTOR * best);
        send(&ProgressMessage::Finished);
        match first.and_then(|first| run_repeatedly(&plan, first, best, settings.budget)) {
            Ok((time, error)) => {
                size_error = error.or(size_error);
                times[k].time = Some(time);
                best = best.min(time);
                ready.push((k, plan));
            }
            Err(reason) => times[k].reason = Some(reason),
        }
    }
    times[0].time.with_context(|| format!("the free choice does not run: {:?}", times[0].reason))?;
    take_turns(&ready, &mut times, best, settings.budget);
    for (duplicate, original) in duplicates {
        (times[duplicate].time, times[duplicate].reason) = (times[original].time, times[original].reason.clone());
    }
    let choice = planned[0].as_ref().map(|p| describe(&p.prepared)).unwrap_or_default();
    let LayoutGroup { workload, data, formats, .. } = group;
    let (workload, data, formats) = (workload.name.to_owned(), data.clone(), (*formats).to_owned());
    Ok(GroupOutcome { workload, data, formats, choice, size_error, candidates: times })
}

/// Describes the loop order and the output formats of each query, in one line.
fn describe(prepared: &Prepared) -> String {
    let decisions = prepared.report().into_iter().flat_map(|report| &report.decisions).map(|decision| {
        let order: Vec<&str> = decision.order.iter().map(redpoll_logic::Field::as_str).collect();
        let outputs = decision.outputs.iter().map(|o| {
            let kinds: Vec<&str> = o.ty.format.levels.iter().map(|l| l.kind.traits().name).collect();
            format!("{} {}", o.alias, kinds.join("/"))
        });
        format!("{} [{}]", outputs.collect::<Vec<_>>().join(" "), order.join(" "))
    });
    decisions.collect::<Vec<_>>().join("; ")
}

fn plan(
    candidate: &LayoutCandidate,
    group: &LayoutGroup,
    target: Target,
    settings: ExperimentSettings,
) -> Option<PreparedCandidate> {
    let config = Config {
        optimizer: candidate.config.clone(),
        target,
        memory_limit: Some(settings.memory),
        workers: Workers::caller().clone(),
        ..Config::default()
    };
    let session = Session::new(config);
    let prepared = session.prepare(candidate.plan, &group.bindings).ok()?;
    Some(PreparedCandidate { prepared, limits: session.limits().clone() })
}

fn initial_times(candidate: &LayoutCandidate, planned: Option<&Prepared>) -> CandidateTimes {
    let work = planned.and_then(Prepared::report).map(redpoll_optimizer::Report::work);
    CandidateTimes {
        name: candidate.name.clone(),
        cost: work.map(|w| w.cost()),
        time: None,
        reason: work.is_none().then(|| "rejected by the optimizer".into()),
        events: work
            .iter()
            .flat_map(|w| w.counts().map(|(e, n)| (e.name().to_owned(), n)).collect::<Vec<_>>())
            .collect(),
    }
}

fn timeout_reason() -> String {
    format!("slower than {CANCEL_FACTOR} times the best")
}

/// Runs a candidate several more times after its first run. Returns the best time of all runs and
/// the estimation error of the result's size, or else the reason why the candidate is left out.
fn run_repeatedly(
    plan: &PreparedCandidate,
    (mut time, error): (f64, Option<f64>),
    best: f64,
    budget: Duration,
) -> Result<(f64, Option<f64>), String> {
    if time > CANCEL_FACTOR * best {
        return Err(timeout_reason());
    }
    let start = Instant::now();
    for run in 0..MAX_RUNS {
        if run >= MIN_RUNS && start.elapsed() > budget {
            break;
        }
        time = time.min(run_timed(plan)?);
    }
    Ok((time, error))
}

/// Returns the time of a run without a watching thread. Starting and joining a thread takes longer
/// than short kernels, and disturbs their caches and branch predictors.
fn run_timed(PreparedCandidate { prepared, .. }: &PreparedCandidate) -> Result<f64, String> {
    let start = Instant::now();
    let run = prepared.run();
    let time = start.elapsed().as_secs_f64();
    run.map(|_| time).map_err(|error| error.to_string())
}

/// Runs a plan once and cancels it after `limit` seconds. Returns its time and the estimation error
/// of the result's size.
fn run_once(
    PreparedCandidate { prepared, limits }: &PreparedCandidate,
    limit: f64,
) -> Result<(f64, Option<f64>), String> {
    let cancel = limits.cancel.clone();
    let (done, waiting) = channel::<()>();
    let watch = std::thread::spawn(move || {
        let is_late =
            limit.is_finite() && waiting.recv_timeout(Duration::from_secs_f64(limit)) == Err(RecvTimeoutError::Timeout);
        if is_late {
            cancel.store(true, Ordering::Relaxed);
        }
    });
    let start = Instant::now();
    let run = prepared.run();
    let time = start.elapsed().as_secs_f64();
    drop(done);
    watch.join().map_err(|_| "the thread that watches the time limit panicked".to_owned())?;
    let cancelled = limits.cancel.swap(false, Ordering::Relaxed);
    let run = run.map_err(|error| if cancelled { timeout_reason() } else { error.to_string() })?;
    let estimated = prepared
        .report()
        .and_then(|report| report.decisions.last())
        .and_then(|d| d.outputs.last())
        .map(redpoll_optimizer::OutputDecision::stored);
    let stored = run.outputs.last().map(|(_, tensor)| tensor);
    let stored = stored.filter(|t| t.ty().format.levels.last().is_some_and(|l| !l.kind.traits().full));
    let stored = stored.map(Tensor::count_stored).transpose().map_err(|error| error.to_string())?;
    let error = estimated.zip(stored).map(|(estimated, stored)| {
        let (a, b) = (estimated.max(1.0), (stored as f64).max(1.0));
        (a / b).max(b / a)
    });
    Ok((time, error))
}

/// Runs the free choice and the candidates near the best in turns.
fn take_turns(ready: &[(usize, PreparedCandidate)], times: &mut [CandidateTimes], best: f64, budget: Duration) {
    let near: Vec<&(usize, PreparedCandidate)> =
        ready.iter().filter(|(k, _)| *k == 0 || times[*k].time.is_some_and(|t| t < NEAR_FACTOR * best)).collect();
    let start = Instant::now();
    for round in 0..10 {
        if round >= MIN_RUNS && start.elapsed() > budget * near.len() as u32 {
            break;
        }
        for (k, plan) in &near {
            // The first of these runs finds the data of the previous plan in the caches, so one
            // turn has several runs.
            for time in (0..RUNS_PER_TURN).flat_map(|_| run_timed(plan)) {
                times[*k].time = times[*k].time.map(|best| best.min(time));
            }
        }
    }
}
