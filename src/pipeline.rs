//! From a Logic plan to kernels: the phases in order.

use crate::config::{Config, Engine};
use crate::dump;
use crate::engine::{Compile, Loops, Optimizing, Stage};
use crate::error::{Error, Unbound};
use crate::plan_cache::Key;
use crate::prepared::{Made, Prepared};
use crate::session::{Bindings, Session};
use crate::statistics::position_counts;
use crate::timings::{Phase, Timings};
use rayon::prelude::*;
use redpoll_logic::physical::{PhysicalPlan, verify};
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Alias, Plan, TensorType};
use redpoll_optimizer::{Report, optimize_plain};
use std::sync::Arc;

/// Takes a plan through all phases. Kernels are compiled for the engine of the session; for others when they are asked
/// for.
pub(crate) fn prepare(
    session: &Session,
    plan: Plan,
    bindings: &Bindings,
    mut timings: Timings,
) -> Result<Prepared, Error> {
    let config = session.config();
    // Who asks for dumps wants every phase to happen. Edited text is for the plan whose names it was dumped under, where
    // the cache takes plans with other names of inputs for the same.
    let by_text = config.dump.is_some() || config.load.is_some();
    let key = if by_text { None } else { Key::new(&plan, bindings) };
    let found = key.as_ref().and_then(|key| session.plans().find(key, &plan, bindings));
    if let Some((made, bindings)) = found {
        check_inputs(&made.physical, &bindings)?;
        return Ok(Prepared { made, limits: session.limits().clone(), bindings, timings });
    }
    timings.time(Phase::Verify, || redpoll_logic::verify(&plan)).map_err(Error::Verify)?;
    let (physical, report) = timings.time(Phase::Optimize, || optimize(&plan, bindings, config))?;
    timings.time(Phase::Verify, || verify::verify(&physical)).map_err(Error::VerifyPhysical)?;
    check_inputs(&physical, bindings)?;
    let stages = timings.time(Phase::Notation, || Stage::all_of(&physical, &report, bindings))?;
    let mode = config.optimizer.float_mode;
    let optimizing = Optimizing::new(&config.toolchain, mode, dump::edited(config, &plan)?);
    timings.time(Phase::Compile, || match config.engine {
        Engine::Optimizing => optimizing.compile(&stages),
        // Who has edited a text wants it to run.
        Engine::Auto if optimizing.edited.is_some() => optimizing.compile(&stages),
        engine => match engine.of_kernels() {
            Some(engine) => compile(&stages, Compile { engine, mode, toolchain: &config.toolchain }),
            None => Ok(()),
        },
    })?;
    let made = Arc::new(Made {
        config: config.clone(),
        plan,
        physical,
        report,
        stages: Arc::new(stages),
        optimizing: Arc::new(optimizing),
    });
    if let Some(key) = key {
        session.plans().keep(key, made.clone());
    }
    let prepared = Prepared { made, limits: session.limits().clone(), bindings: bindings.clone(), timings };
    if let Some(folder) = &config.dump {
        dump::write(&prepared, folder)?;
    }
    Ok(prepared)
}

fn optimize(plan: &Plan, bindings: &Bindings, config: &Config) -> Result<(PhysicalPlan, Report), Error> {
    let counts = position_counts(bindings);
    Ok(optimize_plain(plan, &Statistics::new(&counts), &config.optimizer)?)
}

/// Compiles the kernels of all loops, those of several side by side: layouts are known, so none waits for another.
fn compile(stages: &[Stage], how: Compile<'_>) -> Result<(), Error> {
    let loops: Vec<&Loops> = stages.iter().filter_map(Stage::loops).collect();
    if let [one] = loops[..] {
        return one.compiled(how).map(drop);
    }
    let compiled = loops.par_iter().with_max_len(1).map(|l| l.compiled(how).map(drop));
    // Of several errors the one of the first query is told, in whatever order they came.
    compiled.collect::<Vec<_>>().into_iter().collect()
}

/// Plans are made for types; the tensors at hand must have them.
fn check_inputs(physical: &PhysicalPlan, bindings: &Bindings) -> Result<(), Error> {
    let bound = |table: &Alias| bindings.get(table.as_str());
    let missing = physical.inputs.iter().filter(|(table, _)| bound(table).is_none());
    let missing: Vec<_> = missing.map(|(t, ty)| Unbound { table: t.clone(), rank: ty.shape.len() }).collect();
    if !missing.is_empty() {
        return Err(Error::Unbound(missing));
    }
    for (table, ty) in &physical.inputs {
        if let Some(what) = bound(table).and_then(|tensor| difference(ty, tensor.ty())) {
            return Err(Error::Binding { table: table.clone(), what });
        }
    }
    Ok(())
}

/// What of two types is not the same.
fn difference(a: &TensorType, b: &TensorType) -> Option<&'static str> {
    let parts = [
        (a.shape == b.shape, "the shapes differ"),
        (a.dtype == b.dtype, "the dtypes differ"),
        (a.fill == b.fill, "the fill values differ"),
        (a.format == b.format, "the formats differ"),
    ];
    parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
}
