//! Adaptivity: after each query of the first run of a plan, except the last query, the sizes of the
//! outputs are compared with their estimates. If a size is far from its estimate and a cheaper plan
//! is found, the rest of the plan is replaced and compiled. Later runs use the adapted plan.

#[cfg(test)]
mod tests;

use crate::Target;
use crate::bindings::Bindings;
use crate::error::Error;
use crate::executable::{CompletedStage, RunState, StageObserver};
use crate::prepare::{CompiledForm, CompiledKind, CompiledPlan, check_inputs};
use crate::run::Run;
use crate::schedules::Schedules;
use redpoll_kernels::run::Limits;
use redpoll_logic::Alias;
use redpoll_logic::physical::verify;
use redpoll_logic::statistics::Statistics;
use redpoll_optimizer::WrittenTensor;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Runs a plan for the first time. A successful run stores the adapted plan, if there is one, with
/// the original plan.
pub(crate) fn run_first(
    form: &Arc<CompiledForm>,
    requested: Target,
    (bindings, limits): (&Bindings, &Limits),
    observer: &mut StageObserver<'_>,
) -> Result<Run, Error> {
    let mut current = form.clone();
    let target = current.executable.prepare_target(requested, bindings)?;
    let start = Instant::now();
    let mut state = RunState::new((requested, target), bindings, limits);
    // The numbers of positions that replanning needs are fetched within the stage. If a device that
    // `Target::AUTO` chose has lost the outputs, the CPU runs the stage again.
    let mut observe_counts = |completed: CompletedStage<'_>| {
        for tensor in completed.outputs {
            tensor.level_positions()?;
        }
        observer(completed)
    };
    let mut next = 0;
    while next < current.executable.stages.len() {
        current.executable.run_stage(next, &mut state, &mut observe_counts)?;
        if let Some(adapted) = replan(&current, next, &state, bindings)? {
            state.target = adapted.executable.prepare_target(requested, bindings)?;
            current = adapted;
        }
        state.retain(&needed_tensors(&current, next));
        next += 1;
    }
    let run = current.executable.finish(&state, start.elapsed());
    // Concurrent first runs may each adapt the plan; the first run to finish stores its plan.
    let _ = form.adapted.set((!Arc::ptr_eq(&current, form)).then_some(current));
    Ok(run)
}

/// Returns the plan adapted to the outputs of the queries up to query `after`, or `None` if the
/// plan does not change.
fn replan(
    form: &CompiledForm,
    after: usize,
    state: &RunState,
    bindings: &Bindings,
) -> Result<Option<Arc<CompiledForm>>, Error> {
    let CompiledForm { kind: CompiledKind::Plan(compiled), executable, .. } = form else { return Ok(None) };
    let CompiledPlan { plan, adaptive, statistics } = &**compiled;
    let config = &executable.config;
    let written = adaptive.physical.queries[..=after].iter().flat_map(|q| &q.outputs).filter_map(|output| {
        let tensor = state.tensor(&output.alias)?;
        let written = |positions| WrittenTensor { alias: output.alias.clone(), positions };
        Some(tensor.level_positions().map(written))
    });
    let written = written.collect::<Result<Vec<_>, _>>()?;
    let source = statistics.source(bindings);
    let replanned = adaptive.adapt(after, &written, &Statistics::new(&*source), &config.optimizer)?;
    // The plan does not change if the new queries read a table that is not bound, because the
    // original plan did not need it.
    let Some(adaptive) = replanned.filter(|p| check_inputs(&p.physical, bindings).is_ok()) else { return Ok(None) };
    verify::verify(&adaptive.physical).map_err(Error::VerifyPhysical)?;
    let executable = executable.adapt(after, &adaptive, bindings)?;
    let compiled = CompiledPlan { plan: plan.clone(), adaptive, statistics: statistics.clone() };
    let kind = CompiledKind::Plan(Box::new(compiled));
    // Plans with schedules are not adapted.
    let schedules = Schedules::default();
    Ok(Some(Arc::new(CompiledForm { kind, executable, schedules, adapted: OnceLock::from(None) })))
}

/// Returns the names of the results and of the tensors that the stages after stage `after` may
/// read, with the current plan or after another replanning.
fn needed_tensors(form: &CompiledForm, after: usize) -> HashSet<Alias> {
    let rest = form.executable.stages[after + 1..].iter().flat_map(|stage| &stage.reads);
    let needed = form.plan().into_iter().flat_map(|compiled| compiled.adaptive.needed_tensors(after));
    rest.chain(&form.executable.produces).chain(needed).cloned().collect()
}
