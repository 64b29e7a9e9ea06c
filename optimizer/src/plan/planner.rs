//! The planner: the facts, the plan so far and the report, which the driver keeps in one structure.

use super::state::PlanState;
use crate::algebra::{Replacement, Task};
use crate::config::OptimizerConfig;
use crate::error::Error;
use crate::facts::Facts;
use crate::report::Report;
use crate::term::Nest;
use redpoll_logic::Plan;
use redpoll_logic::statistics::Statistics;
use std::fmt;
use std::sync::Arc;

/// The facts about tensors, the state of planning, and the report of the phases. A clone can
/// continue with another plan.
#[derive(Clone)]
pub(crate) struct Planner<'a> {
    pub(crate) facts: Facts<'a>,
    pub(crate) state: PlanState,
    /// The report. During planning, the decisions are in the planned queries, not in the report.
    pub(crate) report: Report,
}

impl<'a> Planner<'a> {
    /// Returns the planner for the nests of a plan.
    pub(crate) fn new(
        plan: &Plan,
        nests: &Arc<[Nest]>,
        statistics: &'a Statistics<'a>,
        config: &'a OptimizerConfig,
    ) -> Planner<'a> {
        let mut report = Report::default();
        report.add_phase("logic", plan.clone());
        report.add_phase("nests", NestsDisplay(nests.clone()));
        let facts = Facts::new(config, statistics, &plan.produces, Vec::new());
        let mut state = PlanState::new(nests);
        state.names.extend(plan.inputs());
        Planner { facts, state, report }
    }

    /// Returns the next nest of the plan, with the present types of the tensors that it reads.
    pub(crate) fn next_nest(&mut self, nests: &[Nest]) -> Option<Nest> {
        let nest = nests.get(self.state.next_nest)?;
        self.state.next_nest += 1;
        Some(self.facts.resolve(nest.clone()))
    }

    /// Adds the replacement of a nest to the pending tasks, and its note, if there is one, to the
    /// report.
    pub(crate) fn replace_nest(&mut self, Replacement { tasks, note }: Replacement) {
        if let Some(note) = note {
            self.report.add_phase("algebra", note);
        }
        self.state.tasks.extend(tasks.into_iter().rev());
    }

    /// Runs `plan` while the task is on the stack of pending tasks.
    pub(crate) fn with_pending_task<T>(
        &mut self,
        task: &Task,
        plan: impl FnOnce(&mut Planner<'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.state.tasks.push(task.clone());
        let planned = plan(self);
        self.state.tasks.pop();
        planned
    }
}

/// The text of nests, one after another.
struct NestsDisplay(Arc<[Nest]>);

impl fmt::Display for NestsDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|nest| writeln!(f, "{nest}"))
    }
}
