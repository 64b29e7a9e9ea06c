//! Profiles of plans and programs: the times of phases and queries, and stored sizes beside their
//! estimates.

use crate::Target;
use crate::error::Error;
use crate::flow::Flow;
use crate::notes::Note;
use crate::prepare::Prepared;
use crate::timings::Timings;
use redpoll_compiler::assembly::Counts;
use redpoll_logic::{Alias, plural};
use redpoll_storage::Tensor;
use std::fmt;
use std::time::Duration;

/// The measurements of one run of a plan or program.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The target.
    pub target: Target,
    /// The time of each phase of the preparation.
    pub phases: Timings,
    /// The queries, in execution order; none in the interpreter of Logic, one for a program.
    pub queries: Vec<QueryProfile>,
    /// The queries as planned, with measurements; none for a program.
    pub flow: Flow,
    /// The elapsed time of the whole run.
    pub time: Duration,
    /// The work of all queries apart from conversions of storage, counted only by the interpreter
    /// of Assembly.
    pub counts: Option<Counts>,
    /// The peak of allocated bytes, as in [`Run::peak_bytes`](crate::Run::peak_bytes).
    pub peak_bytes: usize,
    /// Notes for the author of the plan or program.
    pub notes: Vec<Note>,
    /// The results, by name.
    pub outputs: Vec<(Alias, Tensor)>,
}

/// The measurements of one query.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryProfile {
    /// The names of the outputs of the query.
    pub name: String,
    /// The target whose kernel ran; a tier in a run on [`Target::CPU`], or on [`Target::AUTO`] if
    /// it chose the CPU. `None` if no kernel ran, as in the interpreter of Notation and in
    /// conversions of storage on the host.
    pub target: Option<Target>,
    /// The elapsed time of the query.
    pub time: Duration,
    /// The outputs of the query.
    pub outputs: Vec<OutputProfile>,
    /// The work of the query, counted only by the interpreter of Assembly.
    pub counts: Option<Counts>,
}

/// The measurements of one output of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputProfile {
    /// The name of the output.
    pub alias: Alias,
    /// The number of stored values.
    pub stored: u64,
    /// The estimated number of stored values; `None` for a program.
    pub estimated: Option<f64>,
}

impl OutputProfile {
    /// Returns the factor by which the estimate is off, in either direction. Numbers below 1 count
    /// as 1. Returns `None` without an estimate.
    ///
    /// ```
    /// use redpoll::OutputProfile;
    ///
    /// let output = OutputProfile { alias: "y".into(), stored: 50, estimated: Some(100.0) };
    /// assert_eq!(output.q_error(), Some(2.0));
    /// ```
    pub fn q_error(&self) -> Option<f64> {
        let (estimated, stored) = (self.estimated?.max(1.0), (self.stored as f64).max(1.0));
        Some((estimated / stored).max(stored / estimated))
    }
}

impl Prepared {
    /// Runs the plan or program and reports the time of each phase and query, and the stored sizes.
    /// The interpreter of Logic runs the plan as a whole and reports no queries. A program is
    /// reported as one query.
    ///
    /// ```
    /// use redpoll::Target;
    ///
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// let profile = prepared.profile(Target::ASSEMBLY)?;
    /// println!("{profile}");
    /// assert!(profile.counts.is_some());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Prepared::run_with`]; also fails if a device has lost an input or an output.
    pub fn profile(&self, target: Target) -> Result<Profile, Error> {
        let mut queries = Vec::new();
        let run = self.run_observed(target, &mut |completed| {
            let output = |(alias, tensor): (&Alias, &Tensor)| -> Result<OutputProfile, Error> {
                Ok(OutputProfile { alias: alias.clone(), stored: tensor.count_stored()?, estimated: None })
            };
            let outputs = completed.writes.iter().zip(completed.outputs).map(output).collect::<Result<_, _>>()?;
            // A query that ran twice is reported once.
            queries.retain(|query: &QueryProfile| query.name != completed.name);
            queries.push(QueryProfile {
                name: completed.name.to_owned(),
                target: completed.target,
                time: completed.time,
                outputs,
                counts: completed.counts,
            });
            Ok(())
        })?;
        // Estimates are taken from the plan as it ran: the first run may have replanned some
        // queries.
        for output in queries.iter_mut().flat_map(|query: &mut QueryProfile| &mut query.outputs) {
            output.estimated = self.estimate_of(&output.alias);
        }
        Ok(Profile {
            target,
            phases: self.timings.clone(),
            flow: match self.plan() {
                Some(_) => self.flow_with(&queries)?,
                None => Flow { queries: Vec::new(), produces: self.produces().to_vec() },
            },
            queries,
            time: run.time,
            counts: run.counts,
            peak_bytes: run.peak_bytes,
            notes: self.notes(),
            outputs: run.outputs,
        })
    }

    fn estimate_of(&self, alias: &Alias) -> Option<f64> {
        let mut outputs = self.report()?.decisions.iter().flat_map(|d| &d.outputs);
        outputs.find(|o| o.alias == *alias).map(redpoll_optimizer::OutputDecision::stored)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (phase, time) in self.phases.iter() {
            writeln!(f, "{:<24} {time:>12.1?}", phase.name())?;
        }
        writeln!(
            f,
            "{:<24} {:>12.1?}  {}, peak memory {} bytes",
            "run",
            self.time,
            self.target.name(),
            self.peak_bytes
        )?;
        for query in &self.queries {
            write!(f, "  {:<22} {:>12.1?}", query.name, query.time)?;
            match query.target.filter(|target| *target != self.target) {
                Some(target) => writeln!(f, "  {}", target.name())?,
                None => writeln!(f)?,
            }
            for output in &query.outputs {
                let values = plural(output.stored, "value", "values");
                write!(f, "    {}: {} stored {values}", output.alias, output.stored)?;
                match output.estimated {
                    Some(n) => writeln!(f, ", estimated {n:.0}")?,
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
