//! Running the loops of a stage by their kernel, as machine code or in the interpreter of Assembly.

use super::Loops;
use crate::error::Error;
use crate::timings::Phase;
use redpoll_logic::FloatMode;
use redpoll_physical::kernel::{Engine, Outcome};
use redpoll_physical::run::Limits;
use redpoll_physical::storage::Tensor;

/// Runs the kernel of loops on its inputs, in the order of its program.
pub(crate) fn run_kernel(
    loops: &Loops,
    inputs: &[&Tensor],
    engine: Engine,
    mode: FloatMode,
    limits: &Limits,
) -> Result<Outcome, Error> {
    let anew = loops.compiled_anew(inputs, engine, mode)?;
    let kernel = match &anew {
        Some(kernel) => kernel,
        None => loops.compiled(engine, mode)?,
    };
    kernel.run(inputs, limits).map_err(|source| loops.refused(Phase::Run, source))
}
