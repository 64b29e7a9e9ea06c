//! Drafts: programs lowered for the layouts of their inputs, which engines make kernels of.

use crate::assembly::{Buffer, Function};
use crate::emit::cranelift::Effort;
use crate::grid::{Lanes, Lists, Plan};
use crate::lower::{Binding, Layout, Lowered, Options, PositionWidth, lower, lower_in_rounds};
use crate::notation::Program;
use crate::run::Signature;
use redpoll_logic::FloatMode;
use std::sync::Arc;

/// A lowered program. Clones share it.
#[derive(Clone)]
pub struct Draft {
    pub(super) program: Arc<Program>,
    pub(super) lowered: Arc<Lowered>,
    signature: Arc<Signature>,
    /// The array types of inputs that differ from the narrow ones.
    layouts: Arc<[Option<Layout>]>,
    options: Options,
    /// The steps of loops that a run is expected to take.
    steps: f64,
    /// How long the lists of inputs are.
    lists: Option<Arc<Lists>>,
}

impl Draft {
    /// Lowers a program in normal form for inputs of the given layouts, by tensor; `None` for the narrow one.
    pub fn new(program: &Arc<Program>, layouts: &[Option<Layout>], mode: FloatMode) -> Draft {
        Draft::with_options(program, layouts, Options { mode, ..Options::default() })
    }

    pub(crate) fn with_options(program: &Arc<Program>, layouts: &[Option<Layout>], options: Options) -> Draft {
        let lowered = lower(program, layouts, options);
        let signature = Signature::of(&lowered.function);
        let (program, lowered, steps) = (program.clone(), Arc::new(lowered), f64::INFINITY);
        Draft { program, lowered, signature, layouts: layouts.into(), options, steps, lists: None }
    }

    /// The same, expected to take so many steps of loops in a run, in the unit of estimated costs. Without it much is
    /// expected.
    #[must_use]
    pub fn expecting(self, steps: f64) -> Draft {
        Draft { steps, ..self }
    }

    /// The same for inputs whose lists are as long as these: machines of many threads fold along them in that many lanes, and
    /// cut them where one is long, so that floats are added in an order of their own there. Without it that order is the same
    /// on all machines.
    #[must_use]
    pub fn over(self, lists: Lists) -> Draft {
        Draft { lists: Some(Arc::new(lists)), ..self }
    }

    /// What may be spent on compiling it in this process.
    pub(super) fn effort(&self) -> Effort {
        Effort::for_steps(self.function(), self.steps)
    }

    /// The same with positions of 64 bits, for inputs of the given layouts.
    pub(super) fn widened(&self, layouts: &[Option<Layout>]) -> Draft {
        let wide = Draft::with_options(&self.program, layouts, Options { width: PositionWidth::Wide, ..self.options });
        Draft { lists: self.lists.clone(), ..wide }
    }

    /// A draft of another program, lowered as this one.
    pub(super) fn like(&self, program: &Arc<Program>, layouts: &[Option<Layout>]) -> Draft {
        Draft::with_options(program, layouts, self.options)
    }

    /// The same with parameters that are not called after their values: its text is that of drafts for other sizes.
    pub(super) fn of_any_size(self) -> Draft {
        let mut lowered = (*self.lowered).clone();
        let names = lowered.function.params.iter_mut().enumerate();
        names.for_each(|(number, name)| *name = format!("size{number}"));
        let signature = Signature::of(&lowered.function);
        Draft { lowered: Arc::new(lowered), signature, ..self }
    }

    /// The steps that a run is expected to take; 0 where nobody has said.
    pub(super) fn expected_steps(&self) -> u64 {
        if self.steps.is_finite() { self.steps as u64 } else { 0 }
    }

    /// The buffers that are bound to something.
    pub(super) fn buffers(&self, to: impl Fn(&Binding) -> bool) -> Vec<Buffer> {
        (0..).map(Buffer).zip(&self.lowered.bindings).filter(|(_, b)| to(b)).map(|(buffer, _)| buffer).collect()
    }

    /// The float mode.
    pub(super) fn mode(&self) -> FloatMode {
        self.options.mode
    }

    /// The width of positions.
    pub(super) fn width(&self) -> PositionWidth {
        self.options.width
    }

    /// How long the lists of inputs are, as far as that is known.
    #[cfg(test)]
    pub(crate) fn lists(&self) -> Option<&Lists> {
        self.lists.as_deref()
    }

    /// What was lowered.
    #[cfg(test)]
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Its grids.
    pub fn grids(&self, lanes: Lanes) -> Plan {
        let Some(lists) = self.lists.as_deref() else { return Plan::of(&self.program, &self.lowered, lanes, None) };
        let lowered = lower_in_rounds(&self.program, &self.layouts, self.options, lists.lengths());
        assert_eq!(lowered.bindings, self.lowered.bindings, "buffers do not depend on how loops are lowered");
        Plan::of(&self.program, &lowered, lanes, Some((lists, self.options.mode)))
    }

    /// Its Assembly.
    pub fn function(&self) -> &Function {
        &self.lowered.function
    }

    /// What invocations of its kernels are made from.
    pub fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }
}
