//! Execution of the kernel of a stage, on any target that runs kernels.

use super::{KernelOptions, StageLoops};
use crate::error::Error;
use crate::timings::Phase;
use redpoll_kernels::kernel::Outcome;
use redpoll_kernels::run::Limits;
use redpoll_storage::Tensor;

/// Runs the kernel of loops on its inputs, in the order of the inputs of its program.
pub(crate) fn run_kernel(
    loops: &StageLoops,
    inputs: &[&Tensor],
    options: KernelOptions<'_>,
    limits: &Limits,
) -> Result<Outcome, Error> {
    let compiled = loops.compile_for(inputs, options)?;
    let kernel = match &compiled {
        Some(kernel) => kernel,
        None => loops.kernel(options)?,
    };
    kernel.run(inputs, limits).map_err(|source| loops.phase_error(Phase::Run, source))
}
