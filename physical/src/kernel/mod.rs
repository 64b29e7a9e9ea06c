//! Kernels: Notation programs compiled to run over tensors.
//!
//! A [`Draft`] is a lowered program; [`Kernel::new`] and [`Kernel::compile_optimizing`] compile
//! drafts. [`Kernel::run`] binds the arrays of input tensors to the buffers of a kernel without
//! copies, calls the kernel, and makes tensors of its outputs. A long run is cut into chunks of the
//! outermost loop (`bounds`), which run in parallel (`parallel`) and whose outputs are joined
//! (`append`, `merge`).

mod append;
mod bind;
mod bounds;
mod capacities;
mod collect;
mod decisions;
mod folds;
mod grids;
mod merge;
mod outputs;
mod parallel;
mod processor;

pub use crate::lower::Draft;
pub use processor::{ParseProcessorError, Processor};

use crate::Error;
use crate::assembly::{Counts, Function, Interpreter, Status};
use crate::emit::c::Toolchain;
use crate::emit::{CompiledKernel, cranelift};
use crate::error::OutOfBounds;
use crate::grid::TeamSize;
use crate::lower::{InputLayout, PositionWidth};
use crate::notation::{ALL_ROUNDS, Program, Role};
use crate::run::{Invocation, Limits};
use crate::storage::Tensor;
use bounds::WorkShare;
use capacities::LastCapacities;
use decisions::Decisions;
use folds::FoldKernels;
pub(crate) use grids::Grids;
use merge::MergeKernels;
use redpoll_logic::{FloatMode, Scalar};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// An engine that runs the Assembly of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum KernelEngine {
    /// Machine code by Cranelift.
    #[default]
    Instant,
    /// Machine code by the C compiler of this machine.
    Optimizing,
    /// The bounds-checked interpreter, which counts work.
    Interpreter,
    /// The interpreter of grids, which runs the mapping to teams of lanes in random orders and
    /// reports races.
    Grid,
    /// Grids on the CUDA device with this number.
    Cuda(u32),
}

/// A program, lowered and compiled for an engine.
pub struct Kernel {
    draft: Draft,
    code: KernelCode,
    capacities: LastCapacities,
    merges: MergeKernels,
    /// Kernels that fold partial results of chunks on the processor that computed them.
    folds: FoldKernels,
}

/// The maximum number of steps per round of a loop, to convert limits.
const STEPS_PER_ROUND: u64 = 1 << 12;

enum KernelCode {
    Instant(CompiledKernel),
    Optimizing(CompiledKernel, Arc<Toolchain>),
    Interpreter(Interpreter),
    Grid(Box<Grids>),
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs of the program, in the order of its tensors.
    pub outputs: Vec<Tensor>,
    /// The work done; only the interpreter counts it.
    pub counts: Option<Counts>,
    /// The duration of the launches by the clock of the device; `None` if no device ran them.
    pub on_device: Option<Duration>,
}

impl Kernel {
    /// Lowers and compiles a program in normal form for inputs of the given layouts, by tensor;
    /// `None` is the narrow layout.
    ///
    /// # Errors
    /// [`Error::Compile`] when the engine does not support this machine; [`Error::NoDevice`] when
    /// the device is missing; for the optimizing engine, which uses the toolchain of this process,
    /// like [`Kernel::compile_optimizing`].
    pub fn new(
        program: &Arc<Program>,
        layouts: &[Option<InputLayout>],
        mode: FloatMode,
        engine: KernelEngine,
    ) -> Result<Kernel, Error> {
        Kernel::compile(&Draft::new(program, layouts, mode), engine)
    }

    /// Lowers and compiles a program like [`Kernel::new`], with all options of lowering.
    #[cfg(test)]
    pub(crate) fn with_options(
        program: &Arc<Program>,
        layouts: &[Option<InputLayout>],
        options: crate::lower::LoweringOptions,
        engine: KernelEngine,
    ) -> Result<Kernel, Error> {
        Kernel::compile(&Draft::with_options(program, layouts, options), engine)
    }

    /// Compiles a draft.
    ///
    /// # Errors
    /// Like [`Kernel::new`].
    pub fn compile(draft: &Draft, engine: KernelEngine) -> Result<Kernel, Error> {
        let code = match engine {
            KernelEngine::Instant => {
                KernelCode::Instant(cranelift::compile(draft.function(), cranelift::Effort::for_draft(draft))?)
            }
            KernelEngine::Interpreter => KernelCode::Interpreter(Interpreter::new(draft.function())?),
            KernelEngine::Grid => KernelCode::Grid(Box::new(Grids::of(draft, TeamSize::Exact(grids::LANES))?)),
            KernelEngine::Cuda(ordinal) => KernelCode::Grid(Box::new(Grids::on_cuda(draft, ordinal)?)),
            KernelEngine::Optimizing => return Kernel::compile_optimizing_one(draft, Toolchain::host()),
        };
        Ok(Kernel::with_code(draft, code))
    }

    /// Compiles drafts by the optimizing tier, all in one unit; the kernels are in the order of the
    /// drafts.
    ///
    /// # Errors
    /// [`Error::NoCompiler`], [`Error::CompileC`] and [`Error::LoadLibrary`] when this machine
    /// cannot compile kernels from C.
    pub fn compile_optimizing(drafts: &[&Draft], toolchain: &Arc<Toolchain>) -> Result<Vec<Kernel>, Error> {
        let functions: Vec<&Function> = drafts.iter().map(|draft| draft.function()).collect();
        Ok(Kernel::of_machine_code(drafts, toolchain.compile(&functions)?, toolchain))
    }

    /// Compiles an edited text in place of the one that [`emit`](crate::emit::c::emit) generates
    /// from drafts. The text is trusted like any program that the user starts.
    ///
    /// # Errors
    /// [`Error::InterfaceMismatch`] when the text was made for other drafts; else like
    /// [`Kernel::compile_optimizing`].
    pub fn compile_edited(text: &str, drafts: &[&Draft], toolchain: &Arc<Toolchain>) -> Result<Vec<Kernel>, Error> {
        let signatures: Vec<_> = drafts.iter().map(|draft| draft.signature().clone()).collect();
        Ok(Kernel::of_machine_code(drafts, toolchain.compile_edited(text, &signatures)?, toolchain))
    }

    fn of_machine_code(drafts: &[&Draft], kernels: Vec<CompiledKernel>, toolchain: &Arc<Toolchain>) -> Vec<Kernel> {
        let kernel = |(draft, kernel): (&&Draft, CompiledKernel)| {
            Kernel::with_code(draft, KernelCode::Optimizing(kernel, toolchain.clone()))
        };
        drafts.iter().zip(kernels).map(kernel).collect()
    }

    /// Compiles a draft for the interpreter of grids with teams of this many lanes.
    #[cfg(test)]
    pub(crate) fn in_teams(draft: &Draft, lanes: u32) -> Result<Kernel, Error> {
        Ok(Kernel::on_grids(draft, Grids::of(draft, TeamSize::Exact(lanes))?))
    }

    /// Makes a kernel with the given grids.
    #[cfg(test)]
    pub(crate) fn on_grids(draft: &Draft, grids: Grids) -> Kernel {
        Kernel::with_code(draft, KernelCode::Grid(Box::new(grids)))
    }

    fn with_code(draft: &Draft, code: KernelCode) -> Kernel {
        Kernel {
            draft: draft.clone(),
            code,
            capacities: LastCapacities::of_buffers(draft.function().buffers.len()),
            merges: MergeKernels::default(),
            folds: FoldKernels::default(),
        }
    }

    fn compile_optimizing_one(draft: &Draft, toolchain: &Arc<Toolchain>) -> Result<Kernel, Error> {
        let mut kernels = Kernel::compile_optimizing(&[draft], toolchain)?;
        Ok(kernels.pop().expect("one draft makes one kernel"))
    }

    /// Returns the kernel with positions of 64 bits, for the same engine.
    fn with_wide_positions(&self, inputs: &[&Tensor]) -> Result<Kernel, Error> {
        let draft = self.draft.with_wide_positions(&Kernel::layouts(self.draft.program(), inputs));
        match &self.code {
            KernelCode::Instant(_) => Kernel::compile(&draft, KernelEngine::Instant),
            KernelCode::Interpreter(_) => Kernel::compile(&draft, KernelEngine::Interpreter),
            KernelCode::Grid(grids) => Kernel::compile(&draft, grids.engine()),
            KernelCode::Optimizing(_, toolchain) => Kernel::compile_optimizing_one(&draft, toolchain),
        }
    }

    /// Sets a limit of rounds of loops in one run of the interpreter; the interpreter of grids gets
    /// the limit times the maximum number of steps per round. Machine code has no such limit.
    pub fn with_iteration_limit(mut self, limit: u64) -> Kernel {
        self.code = match self.code {
            KernelCode::Interpreter(interpreter) => KernelCode::Interpreter(interpreter.with_iteration_limit(limit)),
            KernelCode::Grid(grids) => {
                KernelCode::Grid(Box::new(grids.with_step_limit(limit.saturating_mul(STEPS_PER_ROUND))))
            }
            machine => machine,
        };
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

    /// Returns the layouts of inputs, by tensor of the program, for which a kernel must be made.
    pub fn layouts(program: &Program, inputs: &[&Tensor]) -> Vec<Option<InputLayout>> {
        let mut inputs = inputs.iter();
        let of = |role: Role| (role == Role::Input).then(|| inputs.next().map(|t| InputLayout::of(t))).flatten();
        program.tensors.iter().map(|t| t.role).map(of).collect()
    }

    /// Runs over the inputs of the program, in the order of its tensors. If positions of an output
    /// do not fit 32 bits, compiles the kernel again for 64 bits and repeats the run.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs do not fit the program; [`Error::OutOfBounds`]
    /// for a failed check; [`Error::KernelStopped`] when the run stopped early.
    pub fn run(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        match self.run_once(inputs, limits) {
            Err(Error::KernelStopped(Status::PositionOverflow)) if self.draft.width() == PositionWidth::Narrow => {
                self.with_wide_positions(inputs)?.run_once(inputs, limits)
            }
            // Parallel chunks report errors in any order; a run in order finds the first one.
            Err(error @ (Error::OutOfBounds(_) | Error::KernelStopped(Status::OutOfBounds))) => {
                Err(self.run_in_order(inputs, limits).err().unwrap_or(error))
            }
            result => result,
        }
    }

    /// Runs all rounds in order, on the caller's thread.
    fn run_in_order(&self, inputs: &[&Tensor], limits: &Limits) -> Result<(), Error> {
        if let KernelCode::Grid(_) = &self.code {
            return Kernel::compile(&self.draft, KernelEngine::Instant)?.run_in_order(inputs, limits);
        }
        self.call(&mut self.bind(inputs, limits)?).map(drop)
    }

    /// Returns the error of a failed check.
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

    fn run_once(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        if let KernelCode::Grid(grids) = &self.code {
            let cut = self.draft.lowered().cut.as_ref();
            cut.map_or(Ok(()), |cut| cut.cut_inputs().try_for_each(|k| inputs[k].fetch_ends()))?;
            let chunks = cut.map(|cut| grids.chunks(&self.draft, cut, inputs, limits));
            let (chunks, sections): (Vec<_>, Vec<_>) =
                chunks.unwrap_or_else(|_| vec![(ALL_ROUNDS, ALL_ROUNDS)]).into_iter().unzip();
            return grids::run(self, grids, (&chunks, &sections), inputs, limits);
        }
        inputs.iter().try_for_each(|input| input.fetch())?;
        if let Ok(cut) = &self.draft.lowered().cut {
            if let Some(decisions) = Decisions::of(self.draft.program(), cut, self.draft.mode()) {
                let ramp = bounds::ramp(&self.draft, cut, inputs, &limits.workers);
                if ramp.chunks.len() > 1 {
                    return parallel::run_in_order(self, cut, (&ramp, decisions), inputs, limits);
                }
            } else {
                let chunks = bounds::chunks(&self.draft, cut, inputs, WorkShare::Threads(&limits.workers));
                if chunks.len() > 1 {
                    return parallel::run(self, cut, &chunks, inputs, limits);
                }
            }
        }
        let mut invocation = self.bind(inputs, limits)?;
        // SAFETY: lowering guarantees that the code writes each element of these buffers that is
        // taken; they are taken after the call.
        unsafe { invocation.omit_fills(&self.draft.lowered().unfilled) };
        // The interpreter counts the allocations of a first run.
        if !matches!(self.code, KernelCode::Interpreter(_)) {
            self.capacities.reserve(&mut invocation);
        }
        let counts = self.call(&mut invocation)?;
        Ok(Outcome { outputs: self.collect(&mut invocation, inputs)?, counts, on_device: None })
    }

    /// Makes the memory of one run: the arrays of the inputs, shared, and empty outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs do not fit the program; else like
    /// [`Tensor::fetch`].
    pub fn bind(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        inputs.iter().try_for_each(|input| input.fetch())?;
        self.draft.check_sizes()?;
        let (arrays, params) = bind::bind(self.draft.program(), self.draft.lowered(), inputs)?;
        let buffers = arrays.iter().map(|array| array.buffer().clone());
        Invocation::new(self.draft.signature(), buffers, params, limits.clone())
    }

    /// Makes the memory of one run like [`Kernel::bind`], but inputs on a device stay there.
    fn bind_on_device(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        self.draft.check_sizes()?;
        let (arrays, params) = bind::bind(self.draft.program(), self.draft.lowered(), inputs)?;
        Invocation::with_device_inputs(self.draft.signature(), &arrays, params, limits.clone())
    }

    /// Calls the code over all rounds of the outermost loop.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a failed check; [`Error::KernelStopped`] when the call stops
    /// early.
    pub fn call(&self, invocation: &mut Invocation) -> Result<Option<Counts>, Error> {
        self.call_chunk(invocation, ALL_ROUNDS)
    }

    /// Calls the code over a chunk of the outermost loop; elements of dense outputs from earlier
    /// chunks are preserved. If the loop cannot be cut, every call runs all rounds.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a failed check; [`Error::KernelStopped`] when the call stops
    /// early; [`Error::InvalidInvocation`] for engines that run grids.
    pub fn call_chunk(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<Option<Counts>, Error> {
        let (status, counts) = match &self.code {
            KernelCode::Instant(kernel) | KernelCode::Optimizing(kernel, _) => {
                // SAFETY: the invocation was bound to validated tensors of the types for which the
                // function was lowered, and lowering keeps all accesses within their arrays and
                // within the buffers that it has grown.
                (unsafe { kernel.call(invocation, chunk)? }, None)
            }
            KernelCode::Interpreter(interpreter) => {
                let mut counts = Counts::default();
                (interpreter.run(invocation, chunk, &mut counts)?, Some(counts))
            }
            KernelCode::Grid(_) => {
                return Err(Error::InvalidInvocation(
                    "grids run as a whole and cannot be called chunk by chunk".into(),
                ));
            }
        };
        match status {
            Status::Done => Ok(counts),
            Status::OutOfBounds => Err(self.out_of_bounds(invocation)),
            status => Err(Error::KernelStopped(status)),
        }
    }

    /// Makes tensors of the outputs of a call over those inputs, in the order of the program's
    /// outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the code was not called.
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
    use crate::assembly::Buffer;
    use crate::notation::{normalize, parse};
    use crate::storage::Values;

    #[test]
    fn a_run_reserves_the_capacities_of_the_last_run() {
        let text = "(program (input x (type (shape 1000) f64 0.0 dense))
               (output y (type (shape 1000) f64 0.0 (sparse-list (element)))) (for i (init (y i) (x i))))";
        let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
        let values: Vec<f64> = (0..1000).map(|k| f64::from(k % 3)).collect();
        let x = Tensor::from_dense(program.tensors[0].ty.clone(), &Values::from(values)).unwrap();
        let kernel = Kernel::new(&program, &[], FloatMode::default(), KernelEngine::Instant).unwrap();
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
