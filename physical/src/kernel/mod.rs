//! Kernels: a Notation program made runnable over tensors.
//!
//! [`Kernel::new`] lowers and compiles a program; [`Kernel::run`] binds the arrays of input tensors to its buffers
//! without copies, calls it, and makes tensors of what it leaves.

mod bind;
mod collect;

use crate::Error;
use crate::assembly::{Counts, Function, Program as Interpreter, Status};
use crate::emit::cranelift;
use crate::lower::{Layout, Lowered, Options, PositionWidth, lower};
use crate::notation::{Program, Role};
use crate::run::{Invocation, Limits, Signature};
use crate::storage::Tensor;
use redpoll_logic::FloatMode;
use std::ops::Range;
use std::sync::Arc;

/// What runs the Assembly of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// Machine code by Cranelift.
    #[default]
    Instant,
    /// The bounds-checked interpreter, which counts work.
    Interpreter,
}

/// A program, lowered and compiled for an engine.
pub struct Kernel {
    program: Arc<Program>,
    lowered: Lowered,
    signature: Arc<Signature>,
    code: Code,
    options: Options,
    engine: Engine,
}

enum Code {
    Machine(cranelift::Kernel),
    Interpreter(Interpreter),
}

/// What a run gives.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs of the program, in the order of its tensors.
    pub outputs: Vec<Tensor>,
    /// The work done; only the interpreter counts.
    pub counts: Option<Counts>,
}

impl Kernel {
    /// Lowers and compiles a program in normal form for inputs of the given layouts, by tensor; `None` for the narrow
    /// one.
    ///
    /// # Errors
    /// [`Error::Compile`] when the engine does not support this machine.
    pub fn new(
        program: &Arc<Program>,
        layouts: &[Option<Layout>],
        mode: FloatMode,
        engine: Engine,
    ) -> Result<Kernel, Error> {
        Kernel::with_options(program, layouts, Options { mode, ..Options::default() }, engine)
    }

    /// As [`Kernel::new`], with all options of lowering.
    pub(crate) fn with_options(
        program: &Arc<Program>,
        layouts: &[Option<Layout>],
        options: Options,
        engine: Engine,
    ) -> Result<Kernel, Error> {
        let lowered = lower(program, layouts, options);
        let code = match engine {
            Engine::Instant => Code::Machine(cranelift::compile(&lowered.function)?),
            Engine::Interpreter => Code::Interpreter(Interpreter::new(&lowered.function)?),
        };
        let signature = match &code {
            Code::Machine(kernel) => kernel.signature().clone(),
            Code::Interpreter(interpreter) => interpreter.signature().clone(),
        };
        Ok(Kernel { program: program.clone(), lowered, signature, code, options, engine })
    }

    /// The kernel with its interpreter stopping after so many rounds of loops in one run; machine code has no such
    /// limit.
    pub fn with_iteration_limit(mut self, limit: u64) -> Kernel {
        self.code = match self.code {
            Code::Interpreter(interpreter) => Code::Interpreter(interpreter.with_iteration_limit(limit)),
            machine @ Code::Machine(_) => machine,
        };
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Its Assembly.
    pub fn function(&self) -> &Function {
        &self.lowered.function
    }

    /// The layouts of inputs: what a kernel for them must be made for.
    pub fn layouts(program: &Program, inputs: &[&Tensor]) -> Vec<Option<Layout>> {
        let mut inputs = inputs.iter();
        let layout = |t: &Tensor| Layout {
            levels: t.levels().iter().map(|level| level.iter().map(crate::storage::Array::prim).collect()).collect(),
        };
        let of = |role: Role| (role == Role::Input).then(|| inputs.next().map(|t| layout(t))).flatten();
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
            Err(Error::KernelStopped(Status::PositionOverflow)) if self.options.width == PositionWidth::Narrow => {
                let options = Options { width: PositionWidth::Wide, ..self.options };
                let layouts = Kernel::layouts(&self.program, inputs);
                Kernel::with_options(&self.program, &layouts, options, self.engine)?.run_once(inputs, limits)
            }
            result => result,
        }
    }

    fn run_once(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        let mut invocation = self.bind(inputs, limits)?;
        let counts = self.call(&mut invocation)?;
        Ok(Outcome { outputs: self.collect(&mut invocation)?, counts })
    }

    /// The memory of one run: the arrays of the inputs, shared, and empty outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the inputs are not those of the program.
    pub fn bind(&self, inputs: &[&Tensor], limits: &Limits) -> Result<Invocation, Error> {
        let (buffers, params) = bind::bind(&self.program, &self.lowered, inputs)?;
        Invocation::new(&self.signature, buffers, params, limits.clone())
    }

    /// Calls the code over all of the outermost loop.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] when it does not come to its end.
    pub fn call(&self, invocation: &mut Invocation) -> Result<Option<Counts>, Error> {
        self.call_chunk(invocation, 0..i64::MAX / 2)
    }

    /// Calls the code over a chunk of the outermost loop; what earlier chunks left in dense outputs stays. A program
    /// with several outermost loops has no chunks: every call runs all of it.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] when it does not come to its end.
    pub fn call_chunk(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<Option<Counts>, Error> {
        let (status, counts) = match &self.code {
            // SAFETY: the invocation was bound to validated tensors of the types that the function was lowered for, and
            // lowering keeps all accesses within their arrays and within what it has grown.
            Code::Machine(kernel) => (unsafe { kernel.call(invocation, chunk)? }, None),
            Code::Interpreter(interpreter) => {
                let mut counts = Counts::default();
                (interpreter.run(invocation, chunk, &mut counts)?, Some(counts))
            }
        };
        match status {
            Status::Done => Ok(counts),
            status => Err(Error::KernelStopped(status)),
        }
    }

    /// Makes tensors of what a call has left, in the order of the program's outputs.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the code was not called.
    pub fn collect(&self, invocation: &mut Invocation) -> Result<Vec<Tensor>, Error> {
        collect::collect(&self.program, &self.lowered, invocation)
    }
}
