//! Execution of the kernel of a stage, on any engine that runs kernels.

use super::{Compile, Loops};
use crate::error::Error;
use crate::timings::Phase;
use redpoll_physical::kernel::Outcome;
use redpoll_physical::run::Limits;
use redpoll_physical::storage::Tensor;

/// Runs the kernel of loops on its inputs, in the order of the inputs of its program.
pub(crate) fn run_kernel(
    loops: &Loops,
    inputs: &[&Tensor],
    how: Compile<'_>,
    limits: &Limits,
) -> Result<Outcome, Error> {
    let anew = loops.compiled_anew(inputs, how)?;
    let kernel = match &anew {
        Some(kernel) => kernel,
        None => loops.compiled(how)?,
    };
    kernel.run(inputs, limits).map_err(|source| loops.refused(Phase::Run, source))
}
