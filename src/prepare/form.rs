//! Compiled forms of plans and programs, without the tensors that they read.

use super::plan::{CompiledPlan, check_inputs};
use super::program::CompiledProgram;
use crate::bindings::Bindings;
use crate::error::Error;
use crate::executable::Executable;
use crate::schedules::Schedules;
use std::iter;
use std::sync::{Arc, OnceLock};

/// The compiled form of a plan or program. A form is valid for all tensors that have the properties
/// in its cache key, and for which the facts and ranges in `kind` hold. So congruent plans over
/// similar tensors share a form, and so do runs of a program.
pub(crate) struct CompiledForm {
    pub(crate) kind: CompiledKind,
    pub(crate) executable: Executable,
    /// The schedules that were added to the plan or program.
    pub(crate) schedules: Schedules,
    /// The form after adaptation in its first run. Empty before that run if the form may be
    /// adapted; `None` if the form is not changed.
    pub(crate) adapted: OnceLock<Option<Arc<CompiledForm>>>,
}

/// The source of a compiled form, with the decisions of its compilation.
pub(crate) enum CompiledKind {
    /// A Logic plan.
    Plan(Box<CompiledPlan>),
    /// A program in Notation.
    Program(CompiledProgram),
}

impl CompiledForm {
    /// Returns the adapted form if there is one, otherwise this form.
    pub(crate) fn current(&self) -> &CompiledForm {
        self.adapted.get().and_then(Option::as_deref).unwrap_or(self)
    }

    /// Returns the compiled plan, or `None` for a program.
    pub(crate) fn plan(&self) -> Option<&CompiledPlan> {
        match &self.kind {
            CompiledKind::Plan(compiled) => Some(compiled),
            CompiledKind::Program(_) => None,
        }
    }

    /// Returns the text of the plan or program, with the schedules.
    pub(crate) fn text(&self) -> String {
        match &self.kind {
            CompiledKind::Plan(compiled) => format!("{}{}", compiled.plan, self.schedules),
            CompiledKind::Program(compiled) => format!("{}{}", compiled.text, self.schedules),
        }
    }

    /// Returns whether this form and its adapted form are valid for the values of these tensors.
    /// The tensors must have the types that the form was compiled for.
    pub(crate) fn serves(&self, bindings: &Bindings) -> bool {
        let adapted = self.adapted.get().into_iter().flatten().map(AsRef::as_ref);
        iter::once(self).chain(adapted).all(|form| match &form.kind {
            CompiledKind::Plan(compiled) => compiled.facts_hold(bindings),
            CompiledKind::Program(compiled) => compiled.covers(bindings),
        })
    }

    /// Checks the tensors against the types and the parameters that a plan was compiled for. The
    /// types of the inputs of a program are part of its key in the cache.
    pub(crate) fn check_inputs(&self, bindings: &Bindings) -> Result<(), Error> {
        self.plan().map_or(Ok(()), |compiled| check_inputs(&compiled.adaptive.physical, bindings))
    }

    /// Converts an error of a run: a coordinate of a program that is out of bounds becomes an
    /// [`Error::Program`], like an error in the text of the program.
    pub(crate) fn convert_run_error(&self, error: Error) -> Error {
        match (&self.kind, error) {
            (CompiledKind::Program(_), Error::Query { source, .. })
                if matches!(*source, redpoll_kernels::Error::OutOfBounds(_)) =>
            {
                Error::Program { at: None, source }
            }
            (_, other) => other,
        }
    }
}
