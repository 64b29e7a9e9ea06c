//! Tasks, which are nests to plan, and the replacement of a nest of the plan by tasks.

use crate::report::{AppliedRule, Origin};
use crate::term::Nest;

/// A nest to plan, after the nests that write the tensors that it reads.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) nest: Nest,
    pub(crate) origin: Origin,
    pub(crate) rules: Vec<AppliedRule>,
}

/// Nests that together replace a nest of the plan.
pub(crate) struct Replacement {
    pub(crate) tasks: Vec<Task>,
    /// The text for the report; `None` if nothing was rewritten.
    pub(crate) note: Option<String>,
}

/// The replacement that was chosen for a nest of the plan, and the runners-up. Whole plans are
/// compared: the plan with each runner-up, and the plan with the chosen replacement.
pub(crate) struct ReplacementChoice {
    pub(crate) chosen: Replacement,
    pub(crate) runners_up: Vec<Replacement>,
}

impl From<Nest> for Task {
    /// Wraps a nest of the plan.
    fn from(nest: Nest) -> Task {
        Task { nest, origin: Origin::Plan, rules: Vec::new() }
    }
}

impl From<Nest> for Replacement {
    /// Keeps a nest as it is.
    fn from(nest: Nest) -> Replacement {
        Replacement { tasks: vec![nest.into()], note: None }
    }
}

impl From<Replacement> for ReplacementChoice {
    fn from(chosen: Replacement) -> ReplacementChoice {
        ReplacementChoice { chosen, runners_up: Vec::new() }
    }
}

impl From<Nest> for ReplacementChoice {
    fn from(nest: Nest) -> ReplacementChoice {
        Replacement::from(nest).into()
    }
}
