//! Kernels: Notation programs compiled to run over tensors.
//!
//! A [`Draft`] is a lowered program, which a [`Backend`] compiles. [`Kernel::run`] binds the arrays
//! of input tensors to the buffers of a kernel without copies, calls the kernel, and makes tensors
//! of its outputs. A long run is cut into chunks of the outermost loop (`bounds`), which run in
//! parallel (`parallel`) and whose outputs are joined (`append`, `merge`).

mod append;
mod bind;
mod bounds;
mod capacities;
mod collect;
mod decisions;
mod merge;
mod parallel;

pub use append::{PositionSpan, coordinate_span};
pub use bounds::{Shares, WorkShare};
pub use collect::assemble_output;
pub use merge::MergeKernels;
pub use parallel::element_count;

use crate::Error;
use crate::backend::{self, Backend, Code};
use crate::run::{Invocation, Limits};
use capacities::LastCapacities;
use decisions::Decisions;
use redpoll_compiler::OutOfBounds;
use redpoll_compiler::assembly::{Counts, Function, Status};
use redpoll_compiler::lower::{Draft, InputLayout, PositionWidth};
use redpoll_compiler::notation::{ALL_ROUNDS, Program};
use redpoll_logic::{FloatMode, Scalar};
use redpoll_storage::Tensor;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A program, lowered and compiled by a backend.
pub struct Kernel {
    draft: Draft,
    backend: Arc<dyn Backend>,
    code: Box<dyn Code>,
    capacities: LastCapacities,
    merges: MergeKernels,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs of the program, in the order of its tensors.
    pub outputs: Vec<Tensor>,
    /// The work done; only the interpreter of Assembly counts it.
    pub counts: Option<Counts>,
    /// The duration of the launches by the clock of the device; `None` if no device ran them.
    pub on_device: Option<Duration>,
}

impl Kernel {
    /// Lowers and compiles a program in normal form for inputs of the given layouts. `layouts` is
    /// indexed by tensor; `None` and a missing entry stand for narrow positions and no special
    /// values.
    ///
    /// # Errors
    /// The errors of the backend.
    pub fn new(
        program: &Arc<Program>,
        layouts: &[Option<InputLayout>],
        mode: FloatMode,
        backend: &Arc<dyn Backend>,
    ) -> Result<Kernel, Error> {
        Kernel::compile(&Draft::new(program, layouts, mode), backend)
    }

    /// Compiles a draft.
    ///
    /// # Errors
    /// The errors of the backend.
    pub fn compile(draft: &Draft, backend: &Arc<dyn Backend>) -> Result<Kernel, Error> {
        let mut kernels = Kernel::compile_all(&[draft], backend)?;
        Ok(kernels.pop().expect("one draft makes one kernel"))
    }

    /// Compiles drafts, as one unit if the backend has units; the kernels are in the order of the
    /// drafts.
    ///
    /// # Errors
    /// The errors of the backend.
    pub fn compile_all(drafts: &[&Draft], backend: &Arc<dyn Backend>) -> Result<Vec<Kernel>, Error> {
        let codes = backend.compile(drafts)?;
        Ok(drafts.iter().zip(codes).map(|(draft, code)| Kernel::with_code(draft, backend, code)).collect())
    }

    /// Makes a kernel of code that a backend compiled from the draft.
    pub fn with_code(draft: &Draft, backend: &Arc<dyn Backend>, code: Box<dyn Code>) -> Kernel {
        Kernel {
            draft: draft.clone(),
            backend: backend.clone(),
            code,
            capacities: LastCapacities::of_buffers(draft.function().buffers.len()),
            merges: MergeKernels::default(),
        }
    }

    /// Compiles the kernel again with positions of 64 bits, for the same backend.
    fn with_wide_positions(&self, inputs: &[&Tensor]) -> Result<Kernel, Error> {
        let layouts = InputLayout::of_inputs(self.draft.program(), inputs);
        Kernel::compile(&self.draft.with_wide_positions(&layouts), &self.backend)
    }

    /// Limits the number of rounds of loops in one call of an interpreter. Machine code has no such
    /// limit.
    #[must_use]
    pub fn with_iteration_limit(mut self, limit: u64) -> Kernel {
        self.code.limit_rounds(limit);
        self
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        self.draft.program()
    }

    /// Returns the draft from which the kernel was compiled.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Returns the function of Assembly.
    pub fn function(&self) -> &Function {
        self.draft.function()
    }

    /// Runs the kernel over the inputs of the program, in the order of its tensors. If positions of
    /// an output do not fit 32 bits, compiles the kernel again for 64 bits and repeats the run.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs do not fit the program; [`Error::OutOfBounds`]
    /// for a failed check; [`Error::KernelStopped`] when the run stopped early. Also the errors of
    /// [`Kernel::bind`], of the backend, and of conversions of outputs.
    pub fn run(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        match self.run_once(inputs, limits) {
            Err(Error::KernelStopped(Status::PositionOverflow)) if self.draft.width() == PositionWidth::Narrow => {
                self.with_wide_positions(inputs)?.run(inputs, limits)
            }
            // Parallel chunks report errors in any order; a run in order finds the first one.
            Err(error @ (Error::OutOfBounds(_) | Error::KernelStopped(Status::OutOfBounds))) => {
                Err(self.run_in_order(inputs, limits).err().unwrap_or(error))
            }
            result => result,
        }
    }

    /// Runs all rounds in order, on the caller's thread, to find the first error. Code that runs
    /// only as a whole is replaced by code of the instant tier.
    fn run_in_order(&self, inputs: &[&Tensor], limits: &Limits) -> Result<(), Error> {
        if !self.code.runs_in_chunks() {
            return Kernel::compile(&self.draft, &backend::instant())?.run_in_order(inputs, limits);
        }
        self.call(&mut self.bind(inputs, limits)?).map(drop)
    }

    /// Returns the error of a failed check; without details if the call recorded none.
    fn out_of_bounds(&self, invocation: &Invocation) -> Error {
        let (program, lowered) = (self.draft.program(), self.draft.lowered());
        let recorded = |k: i64| {
            let (buffer, first) = lowered.failure?;
            let value = invocation.element(buffer, usize::try_from(first + k).ok()?)?;
            if let Scalar::I64(v) = value { Some(v) } else { None }
        };
        let check = recorded(0).and_then(|number| lowered.checks.get(usize::try_from(number).ok()?));
        let (Some(check), Some(coordinate)) = (check, recorded(1)) else {
            return Error::KernelStopped(Status::OutOfBounds);
        };
        let ty = &program.tensors[check.tensor.index()].ty;
        let size = ty.format.storage_shape(&ty.shape)[check.mode];
        let site = (*check.site).clone();
        Error::OutOfBounds(Box::new(OutOfBounds { site, mode: check.mode, coordinate, size }))
    }

    /// Runs like [`Kernel::run`], but never repeats the run: positions that do not fit their width
    /// are an error, and of several failed checks, any may be reported.
    ///
    /// # Errors
    /// Like [`Kernel::run`].
    pub fn run_once(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        self.code.run(self, inputs, limits)
    }

    /// Runs in chunks on the threads of `limits`, or as a whole if the loop cannot be cut or
    /// cutting does not pay.
    ///
    /// # Errors
    /// Like [`Kernel::run`].
    pub(crate) fn run_in_chunks(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        inputs.iter().try_for_each(|input| input.fetch())?;
        if let Ok(cut) = &self.draft.lowered().cut {
            if let Some(decisions) = Decisions::of(self.draft.program(), cut, self.draft.mode()) {
                let growing = bounds::growing_chunks(&self.draft, cut, inputs, &limits.workers);
                if growing.chunks.len() > 1 {
                    return parallel::run_in_order(self, cut, (&growing, decisions), inputs, limits);
                }
            } else {
                let shares = Shares::of(&self.draft, cut, inputs, WorkShare::Threads(&limits.workers));
                let chunks = shares.chunks(cut, inputs);
                if chunks.len() > 1 {
                    return parallel::run(self, cut, &chunks, inputs, limits);
                }
            }
        }
        let mut invocation = self.bind_fetched(inputs, limits)?;
        // SAFETY: elements are taken from these buffers after the call, and lowering guarantees
        // that the code writes each element that is taken.
        unsafe { invocation.omit_fills(&self.draft.lowered().unfilled) };
        if self.code.reserves() {
            self.capacities.reserve(&mut invocation);
        }
        let counts = self.call(&mut invocation)?;
        Ok(Outcome { outputs: self.collect(&mut invocation, inputs)?, counts, on_device: None })
    }

    /// Makes the memory of one run: the arrays of the inputs, without copies, and empty outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs do not fit the program;
    /// [`TooManyPositions`](redpoll_storage::Error::TooManyPositions) when the positions of a
    /// tensor cannot be counted; else like [`Tensor::fetch`].
    pub fn bind(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        inputs.iter().try_for_each(|input| input.fetch())?;
        self.bind_fetched(inputs, limits)
    }

    /// Makes the memory of one run like [`Kernel::bind`]; the inputs are on the host.
    fn bind_fetched(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        self.draft.check_sizes()?;
        let (arrays, params) = bind::bind(self.draft.program(), self.draft.lowered(), inputs)?;
        let buffers = arrays.iter().map(|array| array.buffer().clone());
        Invocation::new(self.draft.signature(), buffers, params, limits.clone())
    }

    /// Makes the memory of one run like [`Kernel::bind`], but inputs on a device stay there.
    ///
    /// # Errors
    /// Like [`Kernel::bind`].
    pub fn bind_on_device(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        self.draft.check_sizes()?;
        let (arrays, params) = bind::bind(self.draft.program(), self.draft.lowered(), inputs)?;
        Invocation::with_device_inputs(self.draft.signature(), &arrays, params, limits.clone())
    }

    /// Calls the code over all rounds of the outermost loop.
    ///
    /// # Errors
    /// Like [`Kernel::call_chunk`].
    pub(crate) fn call(&self, invocation: &mut Invocation) -> Result<Option<Counts>, Error> {
        self.call_chunk(invocation, ALL_ROUNDS)
    }

    /// Calls the code over a chunk of the outermost loop; elements of dense outputs from earlier
    /// chunks are preserved. If the loop cannot be cut, every call runs all rounds.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a failed check; [`Error::KernelStopped`] when the call stops
    /// early; [`Error::InvalidInvocation`] for code that runs only as a whole.
    pub(crate) fn call_chunk(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<Option<Counts>, Error> {
        // SAFETY: the invocation was bound to validated tensors of the types for which the function
        // was lowered.
        let (status, counts) = unsafe { self.code.call(invocation, chunk)? };
        match status {
            Status::Done => Ok(counts),
            Status::OutOfBounds => Err(self.out_of_bounds(invocation)),
            status => Err(Error::KernelStopped(status)),
        }
    }

    /// Makes tensors from the outputs of a call over these inputs, in the order of the program's
    /// outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the code has not completed a call, or the outputs were
    /// collected already; the error of the conversion of an output whose format kernels do not
    /// write directly.
    pub fn collect(&self, invocation: &mut Invocation, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let (program, lowered) = (self.draft.program(), self.draft.lowered());
        let used = collect::output_lengths(program, lowered, invocation)?;
        let output = |id| collect::output_tensor(program, lowered, (id, &used), (&mut *invocation, inputs));
        let outputs = program.outputs().map(output).collect::<Result<_, _>>()?;
        self.capacities.record(used);
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_compiler::assembly::Buffer;
    use redpoll_compiler::notation::{normalize, parse};
    use redpoll_storage::Values;

    #[test]
    fn a_run_reserves_the_capacities_of_the_last_run() {
        let text = "(program (input x (type (shape 1000) f64 0.0 dense))
               (output y (type (shape 1000) f64 0.0 (sparse-list (element)))) (for i (init (y i) (x i))))";
        let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
        let values: Vec<f64> = (0..1000).map(|k| f64::from(k % 3)).collect();
        let x = Tensor::from_dense(program.tensors[0].ty.clone(), &Values::from(values)).unwrap();
        let kernel = Kernel::new(&program, &[], FloatMode::default(), &backend::instant()).unwrap();
        let reserved = |limits: &Limits| {
            let mut invocation = kernel.bind(&[&x], limits).unwrap();
            kernel.capacities.reserve(&mut invocation);
            let buffers = (0..kernel.function().buffers.len() as u32).map(Buffer);
            buffers.map(|b| invocation.reserved_bytes(b) / invocation.prim(b).bytes()).collect::<Vec<_>>()
        };
        let before = reserved(&Limits::default());
        let first = kernel.run(&[&x], &Limits::default()).unwrap();
        let after = reserved(&Limits::default());
        let arrays = || first.outputs[0].arrays();
        for (name, array) in ["y.ptr0", "y.idx0", "y.val"].into_iter().zip(arrays()) {
            let at = kernel.function().buffers.iter().position(|b| b.name == name).unwrap();
            assert_eq!(before[at], 0, "{name}");
            assert!(after[at] >= array.len() && after[at] < array.len() + 64, "{name}: {after:?}");
        }
        let second = kernel.run(&[&x], &Limits::default()).unwrap();
        let dense = |outcome: &Outcome| outcome.outputs[0].to_dense_scalars().unwrap();
        assert_eq!(dense(&first), dense(&second));
        assert_eq!(reserved(&Limits::memory(0)), before, "there is no memory");
    }
}
