//! The steps of a plan, and the nests that are left to plan.

use crate::names::Names;
use crate::report::{AppliedRule, Origin};
use crate::term::Nest;
use redpoll_logic::Field;

/// A planned query, and the remaining work at that point.
#[derive(Clone)]
pub(crate) struct PlanStep {
    /// The nest that the query computes, before discordant accesses were replaced by copies.
    pub(crate) nest: Nest,
    pub(crate) order: Vec<Field>,
    pub(crate) tasks: Vec<Task>,
    /// Index of the first nest of the plan that was not planned.
    pub(crate) next_nest: usize,
    /// The names in use at that point.
    pub(crate) names: Names,
}

/// A nest to plan, once the tensors that it reads are stored.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) nest: Nest,
    pub(crate) origin: Origin,
    pub(crate) rules: Vec<AppliedRule>,
}

impl From<Nest> for Task {
    /// Wraps a nest of the plan.
    fn from(nest: Nest) -> Task {
        Task { nest, origin: Origin::Plan, rules: Vec::new() }
    }
}
