//! Drafts: programs lowered for the layouts of their inputs, from which engines make kernels.

use super::bind::check_sizes;
use crate::Error;
use crate::assembly::{Buffer, Function};
use crate::emit::cranelift::Effort;
use crate::grid::{GridPlan, ListLengths, TeamSize};
use crate::lower::{Binding, InputLayout, LoweredFunction, LoweringOptions, PositionWidth, lower, lower_in_rounds};
use crate::notation::Program;
use crate::run::Signature;
use redpoll_logic::FloatMode;
use std::sync::Arc;

/// A lowered program. Clones share its parts.
#[derive(Clone)]
pub struct Draft {
    pub(super) program: Arc<Program>,
    pub(super) lowered: Arc<LoweredFunction>,
    signature: Arc<Signature>,
    /// The array types of inputs that differ from the narrow ones.
    layouts: Arc<[Option<InputLayout>]>,
    options: LoweringOptions,
    /// The expected number of loop steps of a run.
    expected_steps: f64,
    /// The lengths of the lists of inputs.
    lists: Option<Arc<ListLengths>>,
    /// True if the positions of all tensors can be counted.
    sizes_fit: bool,
}

impl Draft {
    /// Lowers a program in normal form for inputs of the given layouts, by tensor; `None` is the
    /// narrow layout.
    pub fn new(program: &Arc<Program>, layouts: &[Option<InputLayout>], mode: FloatMode) -> Draft {
        Draft::with_options(program, layouts, LoweringOptions { mode, ..LoweringOptions::default() })
    }

    pub(crate) fn with_options(
        program: &Arc<Program>,
        layouts: &[Option<InputLayout>],
        options: LoweringOptions,
    ) -> Draft {
        let lowered = lower(program, layouts, options);
        let signature = Signature::of(&lowered.function);
        let (program, lowered, expected_steps) = (program.clone(), Arc::new(lowered), f64::INFINITY);
        let sizes_fit = check_sizes(&program).is_ok();
        Draft { program, lowered, signature, layouts: layouts.into(), options, expected_steps, lists: None, sizes_fit }
    }

    /// Checks that the positions of all tensors can be counted.
    ///
    /// # Errors
    /// [`Error::TooManyPositions`].
    pub(super) fn check_sizes(&self) -> Result<(), Error> {
        if self.sizes_fit { Ok(()) } else { check_sizes(&self.program) }
    }

    /// Sets the expected number of loop steps of a run, in the unit of estimated costs. Without
    /// this call, a long run is expected.
    #[must_use]
    pub fn with_expected_steps(self, expected_steps: f64) -> Draft {
        Draft { expected_steps, ..self }
    }

    /// Sets the lengths of the lists of inputs. Grids then fold along lists in a matching number of
    /// lanes, and cut long lists, so that floats are added in an order that depends on the lengths.
    /// Without this call, the order is the same on all machines.
    #[must_use]
    pub fn with_lists(self, lists: ListLengths) -> Draft {
        Draft { lists: Some(Arc::new(lists)), ..self }
    }

    /// Returns the effort for compiling in this process.
    pub(super) fn effort(&self) -> Effort {
        Effort::for_steps(self.function(), self.expected_steps)
    }

    /// Returns the draft with positions of 64 bits, for inputs of the given layouts.
    pub(super) fn with_wide_positions(&self, layouts: &[Option<InputLayout>]) -> Draft {
        let wide =
            Draft::with_options(&self.program, layouts, LoweringOptions { width: PositionWidth::Wide, ..self.options });
        Draft { lists: self.lists.clone(), ..wide }
    }

    /// Makes a draft of another program with the same options.
    pub(super) fn for_program(&self, program: &Arc<Program>, layouts: &[Option<InputLayout>]) -> Draft {
        Draft::with_options(program, layouts, self.options)
    }

    /// Renames parameters so that their names do not contain their values; drafts for other sizes
    /// then have the same text.
    pub(super) fn without_sizes(self) -> Draft {
        let mut lowered = (*self.lowered).clone();
        let names = lowered.function.params.iter_mut().enumerate();
        names.for_each(|(number, name)| *name = format!("size{number}"));
        let signature = Signature::of(&lowered.function);
        Draft { lowered: Arc::new(lowered), signature, ..self }
    }

    /// Returns the expected number of loop steps of a run; 0 if none was set.
    pub(super) fn expected_steps(&self) -> u64 {
        if self.expected_steps.is_finite() { self.expected_steps as u64 } else { 0 }
    }

    /// Returns the buffers whose binding passes the test.
    pub(super) fn buffers(&self, to: impl Fn(&Binding) -> bool) -> Vec<Buffer> {
        (0..).map(Buffer).zip(&self.lowered.bindings).filter(|(_, b)| to(b)).map(|(buffer, _)| buffer).collect()
    }

    /// Returns the float mode.
    pub(super) fn mode(&self) -> FloatMode {
        self.options.mode
    }

    /// Returns the width of positions.
    pub(super) fn width(&self) -> PositionWidth {
        self.options.width
    }

    /// Returns the lengths of the lists of inputs, if they were set.
    #[cfg(test)]
    pub(crate) fn lists(&self) -> Option<&ListLengths> {
        self.lists.as_deref()
    }

    /// Returns the program.
    #[cfg(test)]
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the grids of the program.
    pub fn grids(&self, team_size: TeamSize) -> GridPlan {
        let Some(lists) = self.lists.as_deref() else {
            return GridPlan::of(&self.program, &self.lowered, team_size, None);
        };
        let lowered = lower_in_rounds(&self.program, &self.layouts, self.options, lists.lengths());
        assert_eq!(lowered.bindings, self.lowered.bindings, "buffers do not depend on how loops are lowered");
        GridPlan::of(&self.program, &lowered, team_size, Some((lists, self.options.mode)))
    }

    /// Returns the function of Assembly.
    pub fn function(&self) -> &Function {
        &self.lowered.function
    }

    /// Returns the signature from which invocations of the kernels are made.
    pub fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }
}
