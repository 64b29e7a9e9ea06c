//! The input of `run` and `explain`: a compiled plan or program.

use crate::logic::Alias;
use crate::{Detail, Error, Note, Placement, Prepared, PreparedProgram, Run, Section, Timings};

/// A compiled plan or program.
pub(super) enum Runnable {
    /// A Logic plan.
    Plan(Box<Prepared>),
    /// A program in Notation.
    Program(Box<PreparedProgram>),
}

impl Runnable {
    pub(super) fn produces(&self) -> &[Alias] {
        match self {
            Runnable::Plan(p) => p.produces(),
            Runnable::Program(p) => p.produces(),
        }
    }

    pub(super) fn run(&self) -> Result<Run, Error> {
        match self {
            Runnable::Plan(p) => p.run(),
            Runnable::Program(p) => p.run(),
        }
    }

    pub(super) fn timings(&self) -> &Timings {
        match self {
            Runnable::Plan(p) => p.timings(),
            Runnable::Program(p) => p.timings(),
        }
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        match self {
            Runnable::Plan(p) => p.notes(),
            Runnable::Program(_) => Vec::new(),
        }
    }

    pub(super) fn tier_note(&self) -> Option<String> {
        match self {
            Runnable::Plan(p) => p.tier_note(),
            Runnable::Program(p) => p.tier_note(),
        }
    }

    pub(super) fn placement(&self) -> Placement {
        match self {
            Runnable::Plan(p) => p.placement(),
            Runnable::Program(p) => p.placement(),
        }
    }

    pub(super) fn explain(&self, detail: Detail) -> Result<Vec<Section>, Error> {
        match self {
            Runnable::Plan(p) => p.explain(detail),
            Runnable::Program(p) => p.explain(detail),
        }
    }

    /// Returns the physical plan, or `None` for a program.
    pub(super) fn physical(&self) -> Option<String> {
        match self {
            Runnable::Plan(p) => Some(p.physical().to_string()),
            Runnable::Program(_) => None,
        }
    }
}
