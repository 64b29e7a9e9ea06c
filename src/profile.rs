//! Where the time of a plan goes: phases, queries, and what was stored beside what was estimated.

use crate::config::Engine;
use crate::error::Error;
use crate::flow::Flow;
use crate::notes::Note;
use crate::prepared::Prepared;
use crate::timings::Timings;
use redpoll_logic::Alias;
use redpoll_physical::assembly::Counts;
use redpoll_physical::storage::Tensor;
use std::fmt;
use std::time::Duration;

/// One run of a plan, with all that was measured.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The engine.
    pub engine: Engine,
    /// How long each phase took before.
    pub phases: Timings,
    /// The queries, in the order in which they ran.
    pub queries: Vec<QueryProfile>,
    /// The queries as they were planned, with what was measured beside.
    pub flow: Flow,
    /// How long the run took, all queries together.
    pub time: Duration,
    /// The work of all queries; only the interpreter of Assembly counts.
    pub counts: Option<Counts>,
    /// The most bytes that were allocated for the run at one time, as [`Run::held`](crate::Run::held).
    pub held: usize,
    /// What the author may want to know.
    pub notes: Vec<Note>,
    /// The results, by name.
    pub outputs: Vec<(Alias, Tensor)>,
}

/// What was measured of one query.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryProfile {
    /// The names of what it writes.
    pub name: String,
    /// How long it took.
    pub time: Duration,
    /// What it writes.
    pub outputs: Vec<OutputProfile>,
    /// Its work; only the interpreter of Assembly counts.
    pub counts: Option<Counts>,
}

/// What was measured of one output of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputProfile {
    /// Its name.
    pub alias: Alias,
    /// The number of stored places.
    pub stored: u64,
    /// The number that was estimated.
    pub estimated: Option<f64>,
}

impl OutputProfile {
    /// The factor by which the estimate is off, in either direction; numbers below 1 count as 1.
    pub fn q_error(&self) -> Option<f64> {
        let (estimated, stored) = (self.estimated?.max(1.0), (self.stored as f64).max(1.0));
        Some((estimated / stored).max(stored / estimated))
    }
}

impl Prepared {
    /// Runs the plan and tells how long each phase and each query took, and what they stored. The interpreters of Logic
    /// and, for all but the whole plan, have no queries to tell apart.
    ///
    /// # Errors
    /// As [`Prepared::run_with`].
    pub fn profile(&self, engine: Engine) -> Result<Profile, Error> {
        let mut queries = Vec::new();
        let run = self.run_observed(engine, &mut |step| {
            let output = |(alias, tensor): (&Alias, &Tensor)| -> Result<OutputProfile, Error> {
                Ok(OutputProfile { alias: alias.clone(), stored: tensor.count_stored()?, estimated: None })
            };
            let outputs = step.writes.iter().zip(step.outputs).map(output).collect::<Result<_, _>>()?;
            // What has to run once more is told once.
            queries.retain(|query: &QueryProfile| query.name != step.name);
            queries.push(QueryProfile { name: step.name.to_owned(), time: step.time, outputs, counts: step.counts });
            Ok(())
        })?;
        // What was expected of the queries as they have run: the first run may have planned some of them anew.
        for output in queries.iter_mut().flat_map(|query: &mut QueryProfile| &mut query.outputs) {
            output.estimated = self.estimated(&output.alias);
        }
        Ok(Profile {
            engine,
            phases: self.timings.clone(),
            flow: Flow::new(self.made(), &self.bindings, &queries)?,
            queries,
            time: run.time,
            counts: run.counts,
            held: run.held,
            notes: self.notes(),
            outputs: run.outputs,
        })
    }

    fn estimated(&self, alias: &Alias) -> Option<f64> {
        let mut outputs = self.made().planned.report.decisions.iter().flat_map(|d| &d.outputs);
        outputs.find(|o| o.alias == *alias).map(redpoll_optimizer::DecidedOutput::stored)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (phase, time) in self.phases.iter() {
            writeln!(f, "{:<24} {time:>12.1?}", phase.name())?;
        }
        writeln!(f, "{:<24} {:>12.1?}  {}, {} bytes held at most", "run", self.time, self.engine.name(), self.held)?;
        for query in &self.queries {
            writeln!(f, "  {:<22} {:>12.1?}", query.name, query.time)?;
            for output in &query.outputs {
                write!(f, "    {} has {} stored values", output.alias, output.stored)?;
                match output.estimated {
                    Some(n) => writeln!(f, ", {n:.0} were estimated")?,
                    None => writeln!(f)?,
                }
            }
            if let Some(counts) = &query.counts {
                let Counts { iterations, loads, stores, allocated_bytes } = counts;
                writeln!(f, "    {iterations} iterations, {loads} loads, {stores} stores, {allocated_bytes} bytes")?;
            }
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}
