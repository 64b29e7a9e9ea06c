//! Execution of the kernel of a stage, on any target that runs kernels.

use super::{KernelOptions, StageLoops};
use crate::config::Config;
use crate::error::Error;
use crate::target::Target;
use crate::timings::Phase;
use redpoll_kernels::kernel::Outcome;
use redpoll_kernels::run::Limits;
use redpoll_storage::Tensor;
use std::time::Instant;

/// Runs the kernel of the loops of a stage. The inputs must be in the order of the inputs of the
/// program.
pub(crate) fn run_kernel(
    loops: &StageLoops,
    inputs: &[&Tensor],
    options: KernelOptions<'_>,
    limits: &Limits,
) -> Result<Outcome, Error> {
    let other = loops.kernel_for(inputs, options)?;
    let kernel = match &other {
        Some(kernel) => kernel,
        None => loops.kernel(options)?,
    };
    kernel.run(inputs, limits).map_err(|source| loops.phase_error(Phase::Run, source))
}

/// Runs the kernel of the loops of a stage in the tier that its trial assigns, and records the time
/// if the trial needs it. The instant tier runs until the optimizing tier is compiled. After that,
/// inputs with unexpected layouts run in the optimizing tier, without a trial. Returns the outcome
/// and the tier.
pub(crate) fn run_in_tiers(
    loops: &StageLoops,
    inputs: &[&Tensor],
    config: &Config,
    limits: &Limits,
) -> Result<(Outcome, Target), Error> {
    let run = |target| Ok((run_kernel(loops, inputs, KernelOptions { target, config }, limits)?, target));
    if !loops.is_compiled(Target::OPTIMIZING) {
        return run(Target::INSTANT);
    }
    // Another kernel runs for inputs of another layout, and the run may include its compilation. So
    // the times are not comparable.
    if !loops.fits(inputs) {
        return run(Target::OPTIMIZING);
    }
    inputs.iter().try_for_each(|input| input.fetch()).map_err(|source| loops.phase_error(Phase::Run, source))?;
    let work = inputs.iter().fold(0, |sum: u64, input| sum.saturating_add(input.positions()));
    let assignment = loops.trial.assign(work);
    let start = assignment.is_measured.then(Instant::now);
    let completed = run(assignment.tier)?;
    if let Some(start) = start {
        loops.trial.record(assignment.tier, work, start.elapsed());
    }
    Ok(completed)
}
