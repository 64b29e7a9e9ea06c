//! The steps from a request to a prepared plan or program, in order.

use super::Prepared;
use super::cache::RequestKey;
use super::form::{CompiledForm, CompiledKind};
use super::plan::compile_plan;
use super::program::compile_program;
use super::request::Request;
use crate::bindings::Bindings;
use crate::config::Config;
use crate::dump;
use crate::error::Error;
use crate::explain::Detail;
use crate::schedules::Schedules;
use crate::session::Session;
use crate::target::Target;
use crate::timings::Timings;
use redpoll_optimizer::Adaptivity;
use std::sync::{Arc, OnceLock};

/// Prepares a plan or program. Kernels are compiled for the target of the session, and for other
/// targets on first use.
pub(crate) fn prepare(
    session: &Session,
    (request, schedules): (Request<'_>, &Schedules),
    bindings: &Bindings,
    mut timings: Timings,
) -> Result<Prepared, Error> {
    let (config, cache) = (session.config(), session.compilation_cache());
    let request = request.in_mode(config.optimizer.float_mode)?;
    let bindings = request.bind(bindings)?;
    bindings.iter().try_for_each(|(_, tensor)| tensor.load_files())?;
    let key = if bypasses_cache(config) { None } else { RequestKey::new(&request, schedules, &bindings) };
    let found = key.as_ref().and_then(|key| cache.find(key, &request, &bindings));
    let (form, bindings) = match found {
        Some((form, renamed)) => {
            let bindings = renamed.unwrap_or_else(|| bindings.into_owned());
            form.check_inputs(&bindings)?;
            (form, bindings)
        }
        None => {
            let form = Arc::new(compile(config, (request, schedules), &bindings, &mut timings)?);
            if let Some(key) = key {
                cache.insert(key, form.clone());
            }
            (form, bindings.into_owned())
        }
    };
    let prepared = Prepared { form, limits: session.limits().clone(), bindings, timings, fills: Vec::new() };
    if let Some(folder) = &config.dump {
        let executable = &prepared.form.executable;
        let folder = dump::folder_of(&prepared.form.text(), &executable.produces, folder);
        dump::write(&folder, &prepared.explain(Detail::Code(Target::INSTANT))?, executable)?;
    }
    Ok(prepared)
}

/// Returns whether the configuration bypasses the cache. Dumps must show every phase. Edited text
/// applies only to the plan with the dumped names, but the cache ignores the names of inputs.
fn bypasses_cache(config: &Config) -> bool {
    config.dump.is_some() || config.load.is_some()
}

/// Compiles a plan or program for bound tensors.
fn compile(
    config: &Config,
    (request, schedules): (Request<'_>, &Schedules),
    bindings: &Bindings,
    timings: &mut Timings,
) -> Result<CompiledForm, Error> {
    config.check_environment()?;
    let (kind, executable) = match request {
        Request::Plan(plan, statistics) => {
            let (compiled, executable) = compile_plan(config, (plan, schedules), (bindings, statistics), timings)?;
            (CompiledKind::Plan(Box::new(compiled)), executable)
        }
        Request::Program(program) => {
            let (compiled, executable) = compile_program(config, (program, schedules), bindings, timings)?;
            (CompiledKind::Program(compiled), executable)
        }
    };
    // A program is one stage, which leaves nothing to adapt. Schedules name loops of this plan, so
    // the plan must not change.
    let adapts = executable.stages.len() > 1 && schedules.is_empty() && config.optimizer.adaptivity != Adaptivity::Off;
    let adapted = if adapts && !bypasses_cache(config) { OnceLock::new() } else { OnceLock::from(None) };
    Ok(CompiledForm { kind, executable, schedules: schedules.clone(), adapted })
}
