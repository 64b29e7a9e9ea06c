//! Backends, which compile and run drafts.
//!
//! A [`Backend`] compiles drafts to [`Code`]; a [`Kernel`] binds tensors to the code and collects
//! its outputs. This crate has the interpreter of Assembly, the instant tier (Cranelift) and the
//! optimizing tier (C); `redpoll-devices` adds the backends of devices and the interpreter of
//! grids. A new backend implements the two traits, in a module of its own.

mod instant;
mod interpreter;
mod optimizing;

pub use optimizing::OptimizingBackend;

use crate::Error;
use crate::kernel::{Kernel, Outcome};
use crate::run::{Invocation, Limits};
use instant::InstantBackend;
use interpreter::InterpreterBackend;
use redpoll_compiler::assembly::{Counts, Status};
use redpoll_compiler::lower::Draft;
use redpoll_storage::Tensor;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// A compiler of drafts: for an interpreter, for this machine, or for a device.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Returns the name for messages, such as `instant` or `cuda:1`.
    fn name(&self) -> Cow<'static, str>;

    /// Checks that this machine has the devices and libraries that the backend needs.
    ///
    /// # Errors
    /// When a device or a library is missing.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Compiles drafts, as one unit if the backend has units. The results are in the order of the
    /// drafts.
    ///
    /// # Errors
    /// When the verifier rejects the function of a draft, or this machine cannot compile or run the
    /// drafts.
    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, Error>;

    /// Prints the forms of a draft between Assembly and the code for explanations, each with its
    /// name. The text of [`Backend::unit`] is not among these forms.
    ///
    /// # Errors
    /// When the forms cannot be generated.
    fn forms(&self, _draft: &Draft) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(Vec::new())
    }

    /// Prints the text of all drafts as one unit, with the name of its language; `None` if the
    /// backend generates no text.
    ///
    /// # Errors
    /// When the text cannot be generated.
    fn unit(&self, _drafts: &[&Draft]) -> Result<Option<(&'static str, String)>, Error> {
        Ok(None)
    }

    /// Returns the number of bytes of inputs that a run would first transfer to the device of the
    /// backend: 0 for backends that compute in the memory of the host.
    fn missing_bytes(&self, _inputs: &[&Tensor]) -> u64 {
        0
    }

    /// Returns whether a kernel of this backend, rather than the host, converts the storage of a
    /// tensor. A device converts the tensors that are on a device.
    fn converts(&self, _source: &Tensor) -> bool {
        false
    }
}

/// The compiled code of one draft.
pub trait Code: Send + Sync {
    /// Runs all rounds over the inputs of a kernel. By default, cuts the rounds into chunks for the
    /// threads of `limits`, if cutting pays.
    ///
    /// # Errors
    /// Like [`Kernel::run`].
    fn run(&self, kernel: &Kernel, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        kernel.run_in_chunks(inputs, limits)
    }

    /// Runs the rounds of a chunk, and counts the work if the backend counts it.
    ///
    /// # Safety
    /// The invocation must be bound to validated tensors of the types and layouts for which the
    /// draft was lowered. Lowering then keeps all accesses within their arrays and within the
    /// buffers that the code has grown.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the invocation has another signature, or when the code
    /// runs only as a whole; [`Error::UnknownStatus`] when edited code returns a number that is not
    /// a status; [`Error::Compiler`] when the interpreter finds a fault of the function.
    unsafe fn call(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<(Status, Option<Counts>), Error>;

    /// Returns whether [`Code::call`] can run the code over single chunks; `false` for code that
    /// runs only as a whole.
    fn runs_in_chunks(&self) -> bool {
        true
    }

    /// Returns whether a run first reserves the capacities of the last run. Code that counts
    /// allocations reserves nothing.
    fn reserves(&self) -> bool {
        true
    }

    /// Limits the number of rounds of loops in one call, if the code counts rounds.
    fn limit_rounds(&mut self, _limit: u64) {}
}

/// Returns the interpreter of Assembly, which checks every bound and counts the work.
pub fn interpreter() -> Arc<dyn Backend> {
    static BACKEND: LazyLock<Arc<dyn Backend>> = LazyLock::new(|| Arc::new(InterpreterBackend));
    BACKEND.clone()
}

/// Returns the instant tier: machine code by Cranelift.
pub fn instant() -> Arc<dyn Backend> {
    static BACKEND: LazyLock<Arc<dyn Backend>> = LazyLock::new(|| Arc::new(InstantBackend));
    BACKEND.clone()
}
