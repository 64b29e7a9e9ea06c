//! Drafts: programs lowered for the layouts of their inputs, from which backends make kernels.

use super::{
    Binding, InputLayout, ListLengths, LoweredFunction, LoweringOptions, PositionWidth, lower, lower_in_rounds,
    lower_to_read,
};
use crate::assembly::{Buffer, Function, Signature};
use crate::notation::Program;
use redpoll_logic::FloatMode;
use redpoll_storage::levels::{full_positions, level};
use std::sync::Arc;

/// A lowered program. Clones share the program and its function.
#[derive(Clone)]
pub struct Draft {
    program: Arc<Program>,
    lowered: Arc<LoweredFunction>,
    signature: Arc<Signature>,
    /// The layouts of inputs, by tensor. `None` has the same meaning as for [`lower`].
    layouts: Arc<[Option<InputLayout>]>,
    options: LoweringOptions,
    /// The expected number of loop steps of a run; infinite if it was not set.
    expected_steps: f64,
    /// The lengths of the lists of inputs, if they were set.
    lists: Option<Arc<ListLengths>>,
    /// True if the numbers of positions of all tensors fit an `i64`.
    sizes_fit: bool,
}

impl Draft {
    /// Lowers a program in normal form for inputs of the given layouts, by tensor; `None` stands
    /// for narrow positions and no special values.
    pub fn new(program: &Arc<Program>, layouts: &[Option<InputLayout>], mode: FloatMode) -> Draft {
        Draft::with_options(program, layouts, LoweringOptions { mode, ..LoweringOptions::default() })
    }

    /// Lowers a program like [`Draft::new`], with all options of lowering; a layout `None` has
    /// positions of the width in `options`.
    pub fn with_options(program: &Arc<Program>, layouts: &[Option<InputLayout>], options: LoweringOptions) -> Draft {
        let lowered = lower(program, layouts, options);
        let signature = Signature::of(&lowered.function);
        let (program, lowered, expected_steps) = (program.clone(), Arc::new(lowered), f64::INFINITY);
        let sizes_fit = check_sizes(&program).is_ok();
        Draft { program, lowered, signature, layouts: layouts.into(), options, expected_steps, lists: None, sizes_fit }
    }

    /// Checks that the positions of all tensors can be counted.
    ///
    /// # Errors
    /// Returns [`TooManyPositions`](redpoll_storage::Error::TooManyPositions) if a tensor has too
    /// many positions.
    pub fn check_sizes(&self) -> Result<(), redpoll_storage::Error> {
        if self.sizes_fit { Ok(()) } else { check_sizes(&self.program) }
    }

    /// Sets the expected number of loop steps of a run, in the unit of estimated costs. Without
    /// this call, a long run is expected.
    #[must_use]
    pub fn with_expected_steps(self, expected_steps: f64) -> Draft {
        Draft { expected_steps, ..self }
    }

    /// Sets the lengths of the lists of inputs. Grids then choose the numbers of lanes of folds
    /// along lists by these lengths, and cut long lists; floats are then added in an order that
    /// depends on the lengths. Without this call, the order is the same on all machines.
    #[must_use]
    pub fn with_lists(self, lists: ListLengths) -> Draft {
        Draft { lists: Some(Arc::new(lists)), ..self }
    }

    /// Returns the draft with positions of 64 bits, for inputs of the given layouts. The new draft
    /// keeps the lengths of lists, but neither the expected number of loop steps nor the parameter
    /// names of [`Draft::without_sizes`].
    pub fn with_wide_positions(&self, layouts: &[Option<InputLayout>]) -> Draft {
        let wide =
            Draft::with_options(&self.program, layouts, LoweringOptions { width: PositionWidth::Wide, ..self.options });
        Draft { lists: self.lists.clone(), ..wide }
    }

    /// Makes a draft of another program with the same options of lowering.
    pub fn for_program(&self, program: &Arc<Program>, layouts: &[Option<InputLayout>]) -> Draft {
        Draft::with_options(program, layouts, self.options)
    }

    /// Renames parameters so that their names do not contain their values; drafts that differ only
    /// in sizes then have the same text.
    pub fn without_sizes(self) -> Draft {
        let mut lowered = (*self.lowered).clone();
        let names = lowered.function.params.iter_mut().enumerate();
        names.for_each(|(number, name)| *name = format!("size{number}"));
        let signature = Signature::of(&lowered.function);
        Draft { lowered: Arc::new(lowered), signature, ..self }
    }

    /// Returns the expected number of loop steps of a run, if one was set.
    pub fn expected_steps(&self) -> Option<f64> {
        Some(self.expected_steps).filter(|steps| steps.is_finite())
    }

    /// Returns the buffers whose binding passes the test.
    pub fn buffers(&self, to: impl Fn(&Binding) -> bool) -> Vec<Buffer> {
        (0..).map(Buffer).zip(&self.lowered.bindings).filter(|(_, b)| to(b)).map(|(buffer, _)| buffer).collect()
    }

    /// Returns the float mode.
    pub fn mode(&self) -> FloatMode {
        self.options.mode
    }

    /// Returns the width of positions.
    pub fn width(&self) -> PositionWidth {
        self.options.width
    }

    /// Returns the lengths of the lists of inputs, if they were set.
    pub fn lists(&self) -> Option<&ListLengths> {
        self.lists.as_deref()
    }

    /// Returns the program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the function, with the meaning of its buffers and parameters.
    pub fn lowered(&self) -> &LoweredFunction {
        &self.lowered
    }

    /// Lowers the program again, for grids: long lists are intersected in rounds that do not depend
    /// on each other, given the lengths of the lists. The buffers and parameters are the same.
    pub fn lowered_in_rounds(&self, lists: &ListLengths) -> LoweredFunction {
        let lowered = lower_in_rounds(&self.program, &self.layouts, self.options, lists.lengths());
        assert_eq!(lowered.bindings, self.lowered.bindings, "buffers do not depend on how loops are lowered");
        lowered
    }

    /// Returns the function of Assembly.
    pub fn function(&self) -> &Function {
        &self.lowered.function
    }

    /// Returns the function of Assembly for readers: where possible, sizes have the names of
    /// indices; see [`lower_to_read`].
    pub fn function_to_read(&self) -> Function {
        lower_to_read(&self.program, &self.layouts, self.options)
    }

    /// Returns the signature of the function, from which invocations of its kernels are made.
    pub fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }
}

/// Checks that the positions of all tensors of a program can be counted.
///
/// # Errors
/// Returns [`TooManyPositions`](redpoll_storage::Error::TooManyPositions) for the first level with
/// too many positions.
fn check_sizes(program: &Program) -> Result<(), redpoll_storage::Error> {
    for decl in &program.tensors {
        let mut levels = decl.ty.format.levels.iter().zip(decl.ty.format.storage_shape(&decl.ty.shape));
        // A level that lists its entries uses memory for each entry, which bounds their number. So
        // sizes are multiplied only along consecutive levels with a position for every coordinate.
        levels.try_fold(1, |parents, (format, dimension)| match level(format.kind).is_table() {
            true => full_positions(parents, dimension),
            false => full_positions(1, dimension).map(|_| 1),
        })?;
    }
    Ok(())
}
