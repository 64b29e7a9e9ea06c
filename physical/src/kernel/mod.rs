//! Kernels: a Notation program made runnable over tensors.
//!
//! A [`Draft`] is a lowered program; [`Kernel::new`] and [`Kernel::optimizing`] compile drafts; [`Kernel::run`] binds the
//! arrays of input tensors to the buffers of a kernel without copies, calls it, and makes tensors of what it leaves. What
//! is much work is cut into chunks of the outermost loop (`bounds`), which threads run at once (`parallel`) and whose
//! outputs are put together (`append`, `merge`).

mod append;
mod bind;
mod bounds;
mod collect;
mod decided;
mod draft;
mod folds;
mod grids;
mod merge;
mod parallel;
mod processor;
mod room;
mod whole;

pub use draft::Draft;
pub use processor::{NoProcessor, Processor};

use crate::Error;
use crate::assembly::{Counts, Function, Program as Interpreter, Status};
use crate::emit::c::Toolchain;
use crate::emit::{Kernel as Machine, cranelift};
use crate::error::OutOfBounds;
use crate::grid::Lanes;
use crate::lower::{Layout, PositionWidth};
use crate::notation::{ALL, Program, Role};
use crate::run::{Invocation, Limits};
use crate::storage::Tensor;
use bounds::Share;
use decided::Decisions;
use folds::Folds;
pub(crate) use grids::Grids;
use merge::Merges;
use redpoll_logic::{FloatMode, Scalar};
use room::Room;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What runs the Assembly of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// Machine code by Cranelift.
    #[default]
    Instant,
    /// Machine code by the C compiler of this machine.
    Optimizing,
    /// The bounds-checked interpreter, which counts work.
    Interpreter,
    /// The interpreter of grids, which runs the mapping for machines of many threads in random orders and reports races.
    Grid,
    /// Grids on the CUDA device of that number.
    Cuda(u32),
}

/// A program, lowered and compiled for an engine.
pub struct Kernel {
    draft: Draft,
    code: Code,
    room: Room,
    merges: Merges,
    /// Kernels that fold what chunks have left, where it lies.
    folds: Folds,
}

/// The steps that a round of a loop has at most, for limits.
const STEPS_OF_A_ROUND: u64 = 1 << 12;

enum Code {
    Instant(Machine),
    Optimizing(Machine, Arc<Toolchain>),
    Interpreter(Interpreter),
    Grid(Box<Grids>),
}

/// What a run gives.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs of the program, in the order of its tensors.
    pub outputs: Vec<Tensor>,
    /// The work done; only the interpreter counts.
    pub counts: Option<Counts>,
    /// How long its launches took by the clock of a device, if one has run them.
    pub on_device: Option<Duration>,
}

impl Kernel {
    /// Lowers and compiles a program in normal form for inputs of the given layouts, by tensor; `None` for the narrow
    /// one.
    ///
    /// # Errors
    /// [`Error::Compile`] when the engine does not support this machine; [`Error::NoDevice`] when it is a device that is not
    /// there; for the optimizing engine, which uses the
    /// toolchain of this process, as [`Kernel::optimizing`].
    pub fn new(
        program: &Arc<Program>,
        layouts: &[Option<Layout>],
        mode: FloatMode,
        engine: Engine,
    ) -> Result<Kernel, Error> {
        Kernel::of(&Draft::new(program, layouts, mode), engine)
    }

    /// As [`Kernel::new`], with all options of lowering.
    #[cfg(test)]
    pub(crate) fn with_options(
        program: &Arc<Program>,
        layouts: &[Option<Layout>],
        options: crate::lower::Options,
        engine: Engine,
    ) -> Result<Kernel, Error> {
        Kernel::of(&Draft::with_options(program, layouts, options), engine)
    }

    /// Compiles a draft.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn of(draft: &Draft, engine: Engine) -> Result<Kernel, Error> {
        let code = match engine {
            Engine::Instant => Code::Instant(cranelift::compile(draft.function(), draft.effort())?),
            Engine::Interpreter => Code::Interpreter(Interpreter::new(draft.function())?),
            Engine::Grid => Code::Grid(Box::new(Grids::of(draft, Lanes::Exactly(grids::LANES))?)),
            Engine::Cuda(ordinal) => Code::Grid(Box::new(Grids::on_cuda(draft, ordinal)?)),
            Engine::Optimizing => return Kernel::optimizing_one(draft, Toolchain::host()),
        };
        Ok(Kernel::with_code(draft, code))
    }

    /// Compiles drafts by the optimizing tier, all at once; kernels are in the order of the drafts.
    ///
    /// # Errors
    /// [`Error::NoCompiler`], [`Error::CompileC`] and [`Error::LoadLibrary`] when this machine cannot make kernels of C.
    pub fn optimizing(drafts: &[&Draft], toolchain: &Arc<Toolchain>) -> Result<Vec<Kernel>, Error> {
        let functions: Vec<&Function> = drafts.iter().map(|draft| draft.function()).collect();
        Ok(Kernel::of_machine_code(drafts, toolchain.compile(&functions)?, toolchain))
    }

    /// Compiles a text in place of the one that [`emit`](crate::emit::c::emit) makes of drafts: one that was edited. What it
    /// does is its author's business, as with any program that one starts.
    ///
    /// # Errors
    /// [`Error::OtherInterface`] when the text was made for other drafts; as [`Kernel::optimizing`].
    pub fn optimizing_edited(text: &str, drafts: &[&Draft], toolchain: &Arc<Toolchain>) -> Result<Vec<Kernel>, Error> {
        let signatures: Vec<_> = drafts.iter().map(|draft| draft.signature().clone()).collect();
        Ok(Kernel::of_machine_code(drafts, toolchain.compile_edited(text, &signatures)?, toolchain))
    }

    fn of_machine_code(drafts: &[&Draft], kernels: Vec<Machine>, toolchain: &Arc<Toolchain>) -> Vec<Kernel> {
        let kernel =
            |(draft, kernel): (&&Draft, Machine)| Kernel::with_code(draft, Code::Optimizing(kernel, toolchain.clone()));
        drafts.iter().zip(kernels).map(kernel).collect()
    }

    /// Compiles a draft for the interpreter of grids with teams of so many lanes.
    #[cfg(test)]
    pub(crate) fn in_teams(draft: &Draft, lanes: u32) -> Result<Kernel, Error> {
        Ok(Kernel::on_grids(draft, Grids::of(draft, Lanes::Exactly(lanes))?))
    }

    /// A kernel whose grids are run by something.
    #[cfg(test)]
    pub(crate) fn on_grids(draft: &Draft, grids: Grids) -> Kernel {
        Kernel::with_code(draft, Code::Grid(Box::new(grids)))
    }

    fn with_code(draft: &Draft, code: Code) -> Kernel {
        Kernel {
            draft: draft.clone(),
            code,
            room: Room::of_buffers(draft.function().buffers.len()),
            merges: Merges::default(),
            folds: Folds::default(),
        }
    }

    fn optimizing_one(draft: &Draft, toolchain: &Arc<Toolchain>) -> Result<Kernel, Error> {
        let mut kernels = Kernel::optimizing(&[draft], toolchain)?;
        Ok(kernels.pop().expect("one draft makes one kernel"))
    }

    /// The kernel with positions of 64 bits, by the same engine.
    fn widened(&self, inputs: &[&Tensor]) -> Result<Kernel, Error> {
        let draft = self.draft.widened(&Kernel::layouts(&self.draft.program, inputs));
        match &self.code {
            Code::Instant(_) => Kernel::of(&draft, Engine::Instant),
            Code::Interpreter(_) => Kernel::of(&draft, Engine::Interpreter),
            Code::Grid(grids) => Kernel::of(&draft, grids.engine()),
            Code::Optimizing(_, toolchain) => Kernel::optimizing_one(&draft, toolchain),
        }
    }

    /// The kernel with its interpreter stopping after so many rounds of loops in one run, that of grids after as many times
    /// the steps that rounds may have; machine code has no such limit.
    pub fn with_iteration_limit(mut self, limit: u64) -> Kernel {
        self.code = match self.code {
            Code::Interpreter(interpreter) => Code::Interpreter(interpreter.with_iteration_limit(limit)),
            Code::Grid(grids) => Code::Grid(Box::new(grids.with_step_limit(limit.saturating_mul(STEPS_OF_A_ROUND)))),
            machine => machine,
        };
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.draft.program
    }

    /// What it was compiled from.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Its Assembly.
    pub fn function(&self) -> &Function {
        self.draft.function()
    }

    /// The layouts of inputs: what a kernel for them must be made for.
    pub fn layouts(program: &Program, inputs: &[&Tensor]) -> Vec<Option<Layout>> {
        let mut inputs = inputs.iter();
        let of = |role: Role| (role == Role::Input).then(|| inputs.next().map(|t| Layout::of(t))).flatten();
        program.tensors.iter().map(|t| t.role).map(of).collect()
    }

    /// Runs over the inputs of the program, in the order of its tensors. Where positions of an output turn out not to
    /// fit 32 bits, the kernel is made anew for 64.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs are not those of the program; [`Error::KernelStopped`] when the run did
    /// not come to its end.
    pub fn run(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        match self.run_once(inputs, limits) {
            Err(Error::KernelStopped(Status::PositionOverflow)) if self.draft.width() == PositionWidth::Narrow => {
                self.widened(inputs)?.run_once(inputs, limits)
            }
            // Chunks that run at once come to their errors in any order; one after the other says which is the first.
            Err(error @ (Error::OutOfBounds(_) | Error::KernelStopped(Status::OutOfBounds))) => {
                Err(self.in_order(inputs, limits).err().unwrap_or(error))
            }
            result => result,
        }
    }

    /// Runs all rounds in order, on the caller's thread.
    fn in_order(&self, inputs: &[&Tensor], limits: &Limits) -> Result<(), Error> {
        if let Code::Grid(_) = &self.code {
            return Kernel::of(&self.draft, Engine::Instant)?.in_order(inputs, limits);
        }
        self.call(&mut self.bind(inputs, limits)?).map(drop)
    }

    /// The error of a check that has failed.
    fn out_of_bounds(&self, invocation: &Invocation) -> Error {
        let Draft { program, lowered, .. } = &self.draft;
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
        bind::check_sizes(&self.draft.program)?;
        if let Code::Grid(grids) = &self.code {
            let cut = self.draft.lowered.cut.as_ref();
            cut.map_or(Ok(()), |cut| cut.looked_at().try_for_each(|k| inputs[k].fetch_ends()))?;
            let chunks = cut.map(|cut| grids.chunks(&self.draft, cut, inputs, limits));
            let (chunks, sections): (Vec<_>, Vec<_>) = chunks.unwrap_or_else(|_| vec![(ALL, ALL)]).into_iter().unzip();
            return grids::run(self, grids, (&chunks, &sections), inputs, limits);
        }
        inputs.iter().try_for_each(|input| input.fetch())?;
        if let Ok(cut) = &self.draft.lowered.cut {
            if let Some(decisions) = Decisions::of(&self.draft.program, cut, self.draft.mode()) {
                let ramp = bounds::ramp(&self.draft, cut, inputs, &limits.workers);
                if ramp.chunks.len() > 1 {
                    return parallel::run_in_order(self, cut, (&ramp, decisions), inputs, limits);
                }
            } else {
                let chunks = bounds::chunks(&self.draft, cut, inputs, Share::Threads(&limits.workers));
                if chunks.len() > 1 {
                    return parallel::run(self, cut, &chunks, inputs, limits);
                }
            }
        }
        let mut invocation = self.bind(inputs, limits)?;
        // SAFETY: the code writes each element that these buffers come to have, by lowering's word, and they are taken once
        // it is done.
        unsafe { invocation.leave_unfilled(&self.draft.lowered.unfilled) };
        // The interpreter counts what a first run allocates.
        if !matches!(self.code, Code::Interpreter(_)) {
            self.room.reserve(&mut invocation);
        }
        let counts = self.call(&mut invocation)?;
        Ok(Outcome { outputs: self.collect(&mut invocation, inputs)?, counts, on_device: None })
    }

    /// The memory of one run: the arrays of the inputs, shared, and empty outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs are not those of the program; and as [`Tensor::fetch`].
    pub fn bind(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        inputs.iter().try_for_each(|input| input.fetch())?;
        let (arrays, params) = bind::bind(&self.draft.program, &self.draft.lowered, inputs)?;
        let buffers = arrays.iter().map(|array| array.buffer().clone());
        Invocation::new(self.draft.signature(), buffers, params, limits.clone())
    }

    /// As [`Kernel::bind`], for who reads inputs that are on a device there.
    fn bind_elsewhere(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        let (arrays, params) = bind::bind(&self.draft.program, &self.draft.lowered, inputs)?;
        Invocation::elsewhere(self.draft.signature(), &arrays, params, limits.clone())
    }

    /// Calls the code over all of the outermost loop.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] when it does not come to its end.
    pub fn call(&self, invocation: &mut Invocation) -> Result<Option<Counts>, Error> {
        self.call_chunk(invocation, ALL)
    }

    /// Calls the code over a chunk of the outermost loop; what earlier chunks left in dense outputs stays. Where the loop
    /// cannot be cut, every call runs all of it.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] when it does not come to its end; [`Error::InvalidInvocation`] by the interpreter of grids.
    pub fn call_chunk(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<Option<Counts>, Error> {
        let (status, counts) = match &self.code {
            // SAFETY: the invocation was bound to validated tensors of the types that the function was lowered for, and
            // lowering keeps all accesses within their arrays and within what it has grown.
            Code::Instant(kernel) | Code::Optimizing(kernel, _) => (unsafe { kernel.call(invocation, chunk)? }, None),
            Code::Interpreter(interpreter) => {
                let mut counts = Counts::default();
                (interpreter.run(invocation, chunk, &mut counts)?, Some(counts))
            }
            Code::Grid(_) => {
                return Err(Error::InvalidInvocation("grids are run as a whole, not chunk by chunk".into()));
            }
        };
        match status {
            Status::Done => Ok(counts),
            Status::OutOfBounds => Err(self.out_of_bounds(invocation)),
            status => Err(Error::KernelStopped(status)),
        }
    }

    /// Makes tensors of what a call over those inputs has left, in the order of the program's outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the code was not called.
    pub fn collect(&self, invocation: &mut Invocation, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let Draft { program, lowered, .. } = &self.draft;
        let used = collect::used(program, lowered, invocation)?;
        let output = |id| collect::left(program, lowered, (id, &used), (&mut *invocation, inputs));
        let outputs = program.outputs().map(output).collect::<Result<_, _>>()?;
        self.room.note(used);
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
    fn a_run_begins_with_the_room_that_the_last_one_filled() {
        let text = "(program (input x (type (shape 1000) f64 0.0 dense))
               (output y (type (shape 1000) f64 0.0 (sparse-list (element)))) (for i (init (y i) (x i))))";
        let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
        let values: Vec<f64> = (0..1000).map(|k| f64::from(k % 3)).collect();
        let x = Tensor::from_dense(program.tensors[0].ty.clone(), &Values::from(values)).unwrap();
        let kernel = Kernel::new(&program, &[], FloatMode::default(), Engine::Instant).unwrap();
        let rooms = |limits: &Limits| {
            let mut invocation = kernel.bind(&[&x], limits).unwrap();
            kernel.room.reserve(&mut invocation);
            let buffers = (0..kernel.function().buffers.len() as u32).map(Buffer);
            buffers.map(|b| invocation.room(b) / invocation.prim(b).bytes()).collect::<Vec<_>>()
        };
        let before = rooms(&Limits::default());
        let first = kernel.run(&[&x], &Limits::default()).unwrap();
        let after = rooms(&Limits::default());
        let arrays = || first.outputs[0].arrays();
        for (name, array) in ["y.ptr0", "y.idx0", "y.val"].into_iter().zip(arrays()) {
            let at = kernel.function().buffers.iter().position(|b| b.name == name).unwrap();
            assert_eq!(before[at], 0, "{name}");
            assert!(after[at] >= array.len() && after[at] < array.len() + 64, "{name}: {after:?}");
        }
        let second = kernel.run(&[&x], &Limits::default()).unwrap();
        let dense = |outcome: &Outcome| outcome.outputs[0].to_dense_scalars().unwrap();
        assert_eq!(dense(&first), dense(&second));
        assert_eq!(rooms(&Limits::memory(0)), before, "there is no memory");
    }
}
