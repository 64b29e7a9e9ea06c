//! Adaptivity: the first run of a plan compares the size of each written tensor with its estimate.
//! If they are far apart, the rest of the plan is replanned and compiled. Later runs use the
//! adapted plan.

#[cfg(test)]
mod tests;

use crate::config::Engine;
use crate::error::Error;
use crate::executable::{Executable, Running, Seen, Step};
use crate::pipeline::check_inputs;
use crate::prepared::{Made, Run};
use crate::session::Bindings;
use redpoll_logic::Alias;
use redpoll_logic::physical::verify;
use redpoll_logic::statistics::Statistics;
use redpoll_optimizer::Written;
use redpoll_physical::run::Limits;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Runs a plan for the first time. If the run succeeds, the adapted plan is stored with the
/// original.
pub(crate) fn run_first(
    made: &Arc<Made>,
    asked: Engine,
    (bindings, limits): (&Bindings, &Limits),
    seen: &mut Seen<'_>,
) -> Result<Run, Error> {
    let mut current = made.clone();
    let engine = current.executable.ready(asked, bindings)?;
    let start = Instant::now();
    let mut running = Running::new((asked, engine), bindings, limits);
    // The numbers of positions that replanning needs are fetched within the stage, so that the CPU
    // takes over if a device has lost the outputs.
    let mut counted = |step: Step<'_>| {
        for tensor in step.outputs {
            tensor.level_positions()?;
        }
        seen(step)
    };
    let mut next = 0;
    while next < current.executable.stages.len() {
        current.executable.run_stage(next, &mut running, &mut counted)?;
        if let Some(adapted) = adapted(&current, next, &running, bindings)? {
            running.engine = adapted.executable.ready(asked, bindings)?;
            current = adapted;
        }
        running.retain(&wanted(&current, next));
        next += 1;
    }
    let run = current.executable.finish(&running, start.elapsed());
    // Concurrent first runs all adapt in the same way; the first to finish stores the adapted plan.
    let _ = made.adapted.set((!Arc::ptr_eq(&current, made)).then_some(current));
    Ok(run)
}

/// Returns the plan adapted to the outputs of a query, or `None` if it does not change.
fn adapted(made: &Made, after: usize, running: &Running, bindings: &Bindings) -> Result<Option<Arc<Made>>, Error> {
    let Made { plan, planned, told, executable, .. } = made;
    let config = &executable.config;
    let written = planned.physical.queries[..=after].iter().flat_map(|q| &q.outputs).filter_map(|output| {
        let tensor = running.tensor(&output.alias)?;
        let written = |positions| Written { alias: output.alias.clone(), positions };
        Some(tensor.level_positions().map(written))
    });
    let written = written.collect::<Result<Vec<_>, _>>()?;
    let source = told.source(bindings);
    let adapted = planned.adapted(after, &written, &Statistics::new(&*source), &config.optimizer)?;
    // Replanning may read a table that is not bound because the original plan did not need it.
    let Some(planned) = adapted.filter(|p| check_inputs(&p.physical, bindings).is_ok()) else { return Ok(None) };
    verify::verify(&planned.physical).map_err(Error::VerifyPhysical)?;
    let executable = Executable::adapted(executable, after, &planned, bindings)?;
    let (plan, told) = (plan.clone(), told.clone());
    Ok(Some(Arc::new(Made { plan, planned, told, executable, adapted: OnceLock::from(None) })))
}

/// Returns the results and the tensors that the rest of a plan may read, as planned or after
/// replanning.
fn wanted(made: &Made, after: usize) -> HashSet<Alias> {
    let rest = made.executable.stages[after + 1..].iter().flat_map(|stage| &stage.reads);
    let wanted = made.planned.wanted(after);
    rest.chain(&made.executable.produces).chain(wanted).cloned().collect()
}
