//! The input of `run` and `explain`: a compiled plan or program.

use crate::logic::Alias;
use crate::{Detail, Error, Note, Placement, PreparedPlan, PreparedProgram, Run, Section, Timings};

/// A compiled plan or program.
pub(super) enum PlanOrProgram {
    /// A Logic plan.
    Plan(Box<PreparedPlan>),
    /// A program in Notation.
    Program(Box<PreparedProgram>),
}

impl PlanOrProgram {
    pub(super) fn produces(&self) -> &[Alias] {
        match self {
            PlanOrProgram::Plan(p) => p.produces(),
            PlanOrProgram::Program(p) => p.produces(),
        }
    }

    pub(super) fn run(&self) -> Result<Run, Error> {
        match self {
            PlanOrProgram::Plan(p) => p.run(),
            PlanOrProgram::Program(p) => p.run(),
        }
    }

    pub(super) fn timings(&self) -> &Timings {
        match self {
            PlanOrProgram::Plan(p) => p.timings(),
            PlanOrProgram::Program(p) => p.timings(),
        }
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        match self {
            PlanOrProgram::Plan(p) => p.notes(),
            PlanOrProgram::Program(_) => Vec::new(),
        }
    }

    pub(super) fn tier_note(&self) -> Option<String> {
        match self {
            PlanOrProgram::Plan(p) => p.tier_note(),
            PlanOrProgram::Program(p) => p.tier_note(),
        }
    }

    pub(super) fn placement(&self) -> Placement {
        match self {
            PlanOrProgram::Plan(p) => p.placement(),
            PlanOrProgram::Program(p) => p.placement(),
        }
    }

    pub(super) fn explain(&self, detail: Detail) -> Result<Vec<Section>, Error> {
        match self {
            PlanOrProgram::Plan(p) => p.explain(detail),
            PlanOrProgram::Program(p) => p.explain(detail),
        }
    }

    /// Returns the physical plan, or `None` for a program.
    pub(super) fn physical(&self) -> Option<String> {
        match self {
            PlanOrProgram::Plan(p) => Some(p.physical().to_string()),
            PlanOrProgram::Program(_) => None,
        }
    }
}
