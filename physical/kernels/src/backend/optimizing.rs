//! The optimizing tier as a backend.

use super::{Backend, Code};
use crate::c::{self, Toolchain};
use crate::kernel::Kernel;
use crate::{CompiledKernel, Error};
use redpoll_compiler::assembly::Function;
use redpoll_compiler::lower::Draft;
use std::borrow::Cow;
use std::sync::Arc;

/// Machine code by the C compiler of this machine.
#[derive(Clone, Debug)]
pub struct OptimizingBackend {
    toolchain: Arc<Toolchain>,
}

impl OptimizingBackend {
    /// Makes the backend of a toolchain.
    pub fn new(toolchain: &Arc<Toolchain>) -> OptimizingBackend {
        OptimizingBackend { toolchain: toolchain.clone() }
    }

    /// Returns the C text of drafts as one unit.
    ///
    /// # Errors
    /// Like [`emit`](crate::c::emit).
    pub fn text(&self, drafts: &[&Draft]) -> Result<String, Error> {
        c::emit(&functions(drafts))
    }

    /// Compiles edited C text in place of the text that [`emit`](crate::c::emit) generates from
    /// drafts. The text is trusted like any program that the user starts.
    ///
    /// # Errors
    /// [`Error::InterfaceMismatch`] when the text was made for drafts with other buffers or
    /// parameters, or for another calling convention; else like [`Backend::compile`].
    pub fn compile_edited(&self, text: &str, drafts: &[&Draft]) -> Result<Vec<Kernel>, Error> {
        let signatures: Vec<_> = drafts.iter().map(|draft| draft.signature().clone()).collect();
        let kernels = self.toolchain.compile_edited(text, &signatures)?;
        let backend: Arc<dyn Backend> = Arc::new(self.clone());
        let kernel = |(draft, kernel): (&&Draft, CompiledKernel)| Kernel::with_code(draft, &backend, Box::new(kernel));
        Ok(drafts.iter().zip(kernels).map(kernel).collect())
    }
}

fn functions<'a>(drafts: &[&'a Draft]) -> Vec<&'a Function> {
    drafts.iter().map(|draft| draft.function()).collect()
}

impl Backend for OptimizingBackend {
    fn name(&self) -> Cow<'static, str> {
        "optimizing".into()
    }

    /// Compiles drafts in one unit.
    ///
    /// # Errors
    /// Like [`Toolchain::compile`].
    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, Error> {
        let kernels = self.toolchain.compile(&functions(drafts))?;
        Ok(kernels.into_iter().map(|kernel| Box::new(kernel) as Box<dyn Code>).collect())
    }

    fn unit(&self, drafts: &[&Draft]) -> Result<Option<(&'static str, String)>, Error> {
        Ok(Some(("c", self.text(drafts)?)))
    }
}
