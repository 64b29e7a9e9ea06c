//! Schedules of queries, which users add to plans and programs.

use crate::error::Error;
use redpoll_compiler::notation::{Schedule, Transformation};
use redpoll_logic::physical::{PhysicalPlan, PhysicalQuery};
use redpoll_logic::text::PlanText;
use redpoll_logic::{Alias, FloatMode};
use std::fmt;

/// The schedules of a plan or program.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Schedules(Vec<Schedule>);

impl Schedules {
    /// Returns the schedules in the text of a plan, followed by the schedules in `added`.
    pub(crate) fn of_plan_text(text: &PlanText<'_>, added: &[Schedule]) -> Result<Schedules, Error> {
        let written = text.schedules().iter().map(Schedule::from_sexpr).collect::<Result<Vec<_>, _>>();
        Ok(Schedules(written.map_err(Error::Parse)?.into_iter().chain(added.iter().cloned()).collect()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the transformations of the loops of a program with these results, in order.
    ///
    /// # Errors
    /// Fails if a schedule names something other than a result.
    pub(crate) fn of_program(&self, results: &[Alias]) -> Result<Vec<Transformation>, Error> {
        // All results of a program are written by one nest of loops.
        self.check(&results[..results.len().min(1)], results)?;
        Ok(self.0.iter().flat_map(|schedule| schedule.transformations.iter().cloned()).collect())
    }

    /// Checks that each schedule applies to a query of the plan.
    pub(crate) fn check_plan(&self, plan: &PhysicalPlan) -> Result<(), Error> {
        let outputs: Vec<Alias> = plan.queries.iter().flat_map(|q| &q.outputs).map(|o| o.alias.clone()).collect();
        self.check(&plan.produces, &outputs)
    }

    /// Checks that each schedule names one of the outputs. If there is only one result, a schedule
    /// may omit the name.
    fn check(&self, results: &[Alias], outputs: &[Alias]) -> Result<(), Error> {
        let fits = |schedule: &Schedule| match &schedule.query {
            Some(name) => outputs.contains(name),
            None => results.len() == 1,
        };
        match self.0.iter().find(|schedule| !fits(schedule)) {
            Some(schedule) => Err(Error::ScheduledQuery { query: schedule.query.clone(), queries: outputs.to_vec() }),
            None => Ok(()),
        }
    }
}

/// The schedules of a plan, with the results of the plan. If the plan has a single result, a
/// schedule may omit the name of a query, and then applies to the query of that result.
#[derive(Clone, Copy)]
pub(crate) struct Scheduling<'a> {
    pub(crate) schedules: &'a Schedules,
    pub(crate) results: &'a [Alias],
    /// The float mode, on which preconditions depend.
    pub(crate) mode: FloatMode,
}

impl Scheduling<'_> {
    /// Returns the transformations of the loops of a query, in order.
    pub(crate) fn of_query(&self, query: &PhysicalQuery) -> Vec<Transformation> {
        let writes = |name: &Alias| query.outputs.iter().any(|output| output.alias == *name);
        let is_of_query = |schedule: &&Schedule| match (&schedule.query, self.results) {
            (Some(name), _) => writes(name),
            (None, [result]) => writes(result),
            (None, _) => false,
        };
        let own = self.schedules.0.iter().filter(is_of_query);
        own.flat_map(|schedule| schedule.transformations.iter().cloned()).collect()
    }
}

impl From<&[Schedule]> for Schedules {
    fn from(schedules: &[Schedule]) -> Schedules {
        Schedules(schedules.to_vec())
    }
}

impl fmt::Display for Schedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|schedule| writeln!(f, "{schedule}"))
    }
}
