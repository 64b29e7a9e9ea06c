//! The state of planning: the queries planned so far, and the nests that are left to plan.

use crate::algebra::Task;
use crate::report::{Decision, total_work};
use crate::term::Nest;
use crate::term::names::Names;
use crate::work::Work;
use redpoll_logic::physical::PhysicalQuery;
use redpoll_logic::{Alias, Field, Format};
use std::collections::HashSet;

/// The plan so far, and the nests that remain to be planned.
#[derive(Clone, Default)]
pub(crate) struct PlanState {
    /// The names in use.
    pub(crate) names: Names,
    /// Source, format and name of each copy.
    pub(crate) copies: Vec<(Alias, Format, Alias)>,
    /// The planned queries, in the order in which they run.
    pub(crate) planned: Vec<PlannedQuery>,
    /// Stack of pending tasks; the next one is last.
    pub(crate) tasks: Vec<Task>,
    /// Index of the first nest of the plan whose planning has not begun.
    pub(crate) next_nest: usize,
}

/// A query of the plan.
#[derive(Clone)]
pub(crate) struct PlannedQuery {
    pub(crate) query: PhysicalQuery,
    pub(crate) decision: Decision,
    pub(crate) step: PlanStep,
}

/// The nest and the loop order of a planned query, and the work that remained after it.
#[derive(Clone)]
pub(crate) struct PlanStep {
    /// The nest that the query computes, before discordant accesses were replaced by copies.
    pub(crate) nest: Nest,
    pub(crate) order: Vec<Field>,
    pub(crate) tasks: Vec<Task>,
    /// Index of the first nest of the plan whose planning had not begun.
    pub(crate) next_nest: usize,
    /// The names that were in use.
    pub(crate) names: Names,
}

impl PlanState {
    /// Returns the state before any of the nests is planned.
    pub(crate) fn new(nests: &[Nest]) -> PlanState {
        let mut names: Names = nests.iter().flat_map(|n| &n.outputs).map(|t| t.alias.clone()).collect();
        for target in nests.iter().flat_map(|n| &n.outputs) {
            target.value.each_access(&mut |r| {
                names.insert(r.tensor.clone());
            });
        }
        PlanState { names, ..PlanState::default() }
    }

    /// Appends a query, which computes the nest in the given order, with the work that remains.
    pub(crate) fn push(&mut self, (query, decision): (PhysicalQuery, Decision), nest: Nest, order: Vec<Field>) {
        let (tasks, next_nest, names) = (self.tasks.clone(), self.next_nest, self.names.clone());
        self.planned.push(PlannedQuery { query, decision, step: PlanStep { nest, order, tasks, next_nest, names } });
    }

    /// Removes the queries from `from` on, with the copies that they make.
    pub(crate) fn truncate(&mut self, from: usize) {
        self.planned.truncate(from);
        let written: HashSet<&Alias> = self.planned.iter().flat_map(|p| &p.query.outputs).map(|o| &o.alias).collect();
        self.copies.retain(|(.., copy)| written.contains(copy));
    }

    /// Returns the estimated work of the planned queries.
    pub(crate) fn work(&self) -> Work {
        total_work(self.planned.iter().map(|planned| &planned.decision))
    }
}
