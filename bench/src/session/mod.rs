//! Whole sessions of redpoll and of other engines. A session runs many different queries over the
//! same tables, and then runs each query once more. Tables are files, or are already in memory.
//!
//! `workload` has the tables and queries, `engines` the engines, and `report` the sums of first and
//! of second calls.

mod engines;
mod report;
mod workload;

pub use report::report;
pub use workload::TableSource;

use anyhow::{Context, Result, ensure};
use engines::{ENGINES, SessionEngine};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The sessions to measure.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Number of queries of the session of join counts.
    pub queries: usize,
    /// The size of the tables of the session of join counts, in percent of 90,000 rows.
    pub percent: u64,
    /// Number of copies of the tables of TPC-H at scale factor 0.01; 0 for no session of TPC-H.
    pub copies: usize,
    /// Number of times that each session runs.
    pub rounds: usize,
    /// Number of threads of each engine.
    pub threads: usize,
}

/// The times of a session in an engine, in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionTimes {
    /// The name of the workload.
    pub workload: String,
    /// The source of the tables.
    pub source: TableSource,
    /// The name of the engine.
    pub engine: String,
    /// For each round, the time of the first call of each query.
    pub first: Vec<Vec<f64>>,
    /// For each round, the time of the second call of each query.
    pub second: Vec<Vec<f64>>,
    /// The reason why the engine cannot run.
    pub unavailable: Option<String>,
    /// The error of a query that failed, or the difference of its answer from the first answer that
    /// any engine gave.
    pub fault: Option<String>,
}

/// Measures all sessions, and calls `done` with the times of each session.
///
/// # Errors
/// If the tables cannot be created.
pub fn measure(settings: &SessionSettings, mut done: impl FnMut(&SessionTimes)) -> Result<Vec<SessionTimes>> {
    let mut all = Vec::new();
    for workload in workload::workloads(settings)? {
        for &source in workload.sources {
            let mut times: Vec<SessionTimes> = ENGINES
                .iter()
                .map(|(engine, _)| SessionTimes {
                    workload: workload.name.clone(),
                    source,
                    engine: (*engine).to_owned(),
                    first: Vec::new(),
                    second: Vec::new(),
                    unavailable: None,
                    fault: None,
                })
                .collect();
            let mut answers: Vec<Option<Answer>> = vec![None; workload.queries.len()];
            // The engines take turns, so that a disturbance of the machine affects all of them.
            for _ in 0..settings.rounds.max(1) {
                for ((_, start), times) in ENGINES.iter().zip(&mut times) {
                    if times.fault.is_some() || times.unavailable.is_some() {
                        continue;
                    }
                    match start(&workload, source, settings.threads) {
                        Ok(mut engine) => {
                            let outcome = run_session(&mut *engine, &workload.queries, times, &mut answers);
                            times.fault = outcome.err().map(|e| format!("{e:#}"));
                        }
                        Err(error) => times.unavailable = Some(format!("{error:#}")),
                    }
                }
            }
            times.iter().for_each(&mut done);
            all.extend(times);
        }
    }
    Ok(all)
}

/// The part of the answer of a query that all engines represent alike: the number of rows, and the
/// value if the answer is a single integer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Answer {
    rows: usize,
    count: Option<i64>,
}

/// Runs all queries of a new session in order, then all of them once more. Waits for work in the
/// background after each pass. Fails if an answer differs from the first answer of any engine to
/// the same query, which `answers` stores.
fn run_session(
    engine: &mut dyn SessionEngine,
    queries: &[String],
    times: &mut SessionTimes,
    answers: &mut [Option<Answer>],
) -> Result<()> {
    for seconds in [&mut times.first, &mut times.second] {
        let mut round = Vec::new();
        for (sql, expected) in queries.iter().zip(answers.iter_mut()) {
            let start = Instant::now();
            let found = engine.run(sql).with_context(|| format!("`{sql}`"))?;
            round.push(start.elapsed().as_secs_f64());
            let expected = expected.get_or_insert_with(|| found.clone());
            ensure!(*expected == found, "`{sql}`: {found:?}, expected {expected:?}");
        }
        engine.wait_until_idle()?;
        seconds.push(round);
    }
    Ok(())
}
