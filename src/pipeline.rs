//! The phases from a Logic plan to kernels, in order.

use crate::bindings::Bindings;
use crate::dump;
use crate::engine::Stage;
use crate::error::{Error, UnboundTable};
use crate::executable::Executable;
use crate::explain::Detail;
use crate::plan_cache::PlanKey;
use crate::prepared_plan::{CompiledPlan, PreparedPlan};
use crate::session::Session;
use crate::statistics::StatisticsInput;
use crate::target::Target;
use crate::timings::{Phase, Timings};
use redpoll_logic::physical::{PhysicalPlan, verify};
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Alias, FloatMode, Plan, TensorType};
use redpoll_optimizer::{Adaptivity, optimize_adaptive};
use std::sync::{Arc, OnceLock};

/// Runs all phases on a plan. Kernels are compiled for the target of the session, and for other
/// targets on first use.
pub(crate) fn prepare(
    session: &Session,
    plan: Plan,
    bindings: &Bindings,
    timings: Timings,
) -> Result<PreparedPlan, Error> {
    prepare_with(session, plan, (bindings, StatisticsInput::Tensors), timings)
}

/// Prepares a plan like [`prepare`]; `statistics` is the source of statistics of the tensors.
pub(crate) fn prepare_with(
    session: &Session,
    plan: Plan,
    (bindings, statistics): (&Bindings, StatisticsInput),
    mut timings: Timings,
) -> Result<PreparedPlan, Error> {
    let config = session.config();
    let plan = match config.optimizer.float_mode {
        FloatMode::Relaxed => plan,
        mode => plan.to_mode(mode).map_err(Error::Verify)?,
    };
    // Dumps must show every phase. Edited text applies only to the plan with the dumped names, but
    // the cache ignores the names of inputs.
    let bypasses_cache = config.dump.is_some() || config.load.is_some();
    let key = if bypasses_cache { None } else { PlanKey::new(&plan, bindings) };
    let found = key.as_ref().and_then(|key| session.plan_cache().find(key, &plan, bindings));
    if let Some((compiled, bindings)) = found {
        check_inputs(&compiled.adaptive.physical, &bindings)?;
        return Ok(PreparedPlan { compiled, limits: session.limits().clone(), bindings, timings });
    }
    config.check_environment()?;
    let verified = || redpoll_logic::verify(&plan).and_then(|()| redpoll_logic::check_masks(&plan));
    timings.time(Phase::Verify, verified).map_err(Error::Verify)?;
    let source = statistics.source(bindings);
    let optimize = || optimize_adaptive(&plan, &Statistics::new(&*source), &config.optimizer);
    let adaptive = timings.time(Phase::Optimize, optimize)?;
    drop(source);
    timings.time(Phase::Verify, || verify::verify(&adaptive.physical)).map_err(Error::VerifyPhysical)?;
    check_inputs(&adaptive.physical, bindings)?;
    let stages = timings.time(Phase::Notation, || Stage::build_all(&adaptive, bindings, &[]))?;
    let edited_text = dump::read_edited(config, &plan.to_string(), &plan.produces)?;
    let executable = Executable::new(config, stages, adaptive.physical.produces.clone(), edited_text);
    timings.time(Phase::Compile, || executable.compile())?;
    let is_final = bypasses_cache || config.optimizer.adaptivity == Adaptivity::Off || executable.stages.len() < 2;
    let adapted_plan = if is_final { OnceLock::from(None) } else { OnceLock::new() };
    let compiled = Arc::new(CompiledPlan { plan, adaptive, statistics, executable, adapted_plan });
    if let Some(key) = key {
        session.plan_cache().insert(key, compiled.clone());
    }
    let prepared = PreparedPlan { compiled, limits: session.limits().clone(), bindings: bindings.clone(), timings };
    if let Some(folder) = &config.dump {
        let CompiledPlan { plan, executable, .. } = &*prepared.compiled;
        let folder = dump::folder_of(&plan.to_string(), &plan.produces, folder);
        dump::write(&folder, &prepared.explain(Detail::Code(Target::INSTANT))?, executable)?;
    }
    Ok(prepared)
}

/// Checks that the bound tensors have the types that the plan was compiled for.
pub(crate) fn check_inputs(physical: &PhysicalPlan, bindings: &Bindings) -> Result<(), Error> {
    let bound = |table: &Alias| bindings.get(table.as_str());
    let missing = physical.inputs.iter().filter(|(table, _)| bound(table).is_none());
    let missing: Vec<_> = missing.map(|(t, ty)| UnboundTable { table: t.clone(), rank: ty.shape.len() }).collect();
    if !missing.is_empty() {
        return Err(Error::UnboundTables(missing));
    }
    for (table, ty) in &physical.inputs {
        if let Some(difference) = bound(table).and_then(|tensor| difference(ty, tensor.ty())) {
            return Err(Error::Binding { table: table.clone(), difference });
        }
    }
    Ok(())
}

/// Returns the first difference between two types.
fn difference(a: &TensorType, b: &TensorType) -> Option<&'static str> {
    let parts = [
        (a.shape == b.shape, "the shapes differ"),
        (a.dtype == b.dtype, "the dtypes differ"),
        (a.fill == b.fill, "the fill values differ"),
        (a.format == b.format, "the formats differ"),
    ];
    parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
}
