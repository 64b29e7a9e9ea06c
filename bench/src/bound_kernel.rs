//! Programs in Notation with their inputs, ready to run.

use anyhow::{Result, anyhow};
use redpoll_compiler::lower::InputLayout;
use redpoll_compiler::notation::{normalize, parse};
use redpoll_kernels::CacheFolder;
use redpoll_kernels::backend::{self, Backend, OptimizingBackend};
use redpoll_kernels::c::{Toolchain, ToolchainOptions};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::Limits;
use redpoll_logic::FloatMode;
use redpoll_storage::Tensor;
use std::sync::Arc;

/// A kernel and the tensors that it reads.
pub struct BoundKernel {
    /// The kernel.
    pub kernel: Kernel,
    inputs: Vec<Tensor>,
    limits: Limits,
}

impl BoundKernel {
    /// Compiles the text of a program with the instant tier.
    ///
    /// # Errors
    /// If the text is not a program, or cannot be compiled.
    pub fn new(text: &str, inputs: Vec<Tensor>) -> Result<BoundKernel> {
        let program = Arc::new(normalize(parse(text)?)?);
        let layouts = InputLayout::of_inputs(&program, &inputs.iter().collect::<Vec<_>>());
        let kernel = Kernel::new(&program, &layouts, FloatMode::default(), &backend::instant())?;
        Ok(BoundKernel { kernel, inputs, limits: Limits::default() })
    }

    /// Compiles the same program with the optimizing tier, without the cache.
    ///
    /// # Errors
    /// If there is no C compiler, or the compilation fails.
    pub fn compile_optimizing(&self) -> Result<BoundKernel> {
        let toolchain = Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() });
        let backend: Arc<dyn Backend> = Arc::new(OptimizingBackend::new(&Arc::new(toolchain)));
        let kernel = Kernel::compile(self.kernel.draft(), &backend)?;
        Ok(BoundKernel { kernel, inputs: self.inputs.clone(), limits: self.limits.clone() })
    }

    /// Compiles the given C text instead of the text that the optimizing tier emits for the
    /// program.
    ///
    /// # Errors
    /// If there is no C compiler, or the compiler rejects the text.
    pub fn compile_text(&self, text: &str) -> Result<BoundKernel> {
        let toolchain = Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() });
        let kernel =
            OptimizingBackend::new(&Arc::new(toolchain)).compile_edited(text, &[self.kernel.draft()])?.remove(0);
        Ok(BoundKernel { kernel, inputs: self.inputs.clone(), limits: self.limits.clone() })
    }

    /// Runs the kernel once: allocates the outputs, calls the code, and returns the outputs as
    /// tensors.
    ///
    /// # Errors
    /// If the inputs do not match the program, or the run stops before its end.
    pub fn run(&self) -> Result<Vec<Tensor>> {
        let inputs: Vec<&Tensor> = self.inputs.iter().collect();
        Ok(self.kernel.run(&inputs, &self.limits)?.outputs)
    }
}

/// Returns the values of an output of `f64`.
///
/// # Errors
/// If the output has another dtype.
pub fn f64_values(tensor: &Tensor) -> Result<&[f64]> {
    tensor.leaf()[0].as_slice().ok_or_else(|| anyhow!("expected values of f64, found {:?}", tensor.ty().dtype))
}
