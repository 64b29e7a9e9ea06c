//! The phases from a Logic plan to kernels, in order.

use crate::bindings::Bindings;
use crate::config::Config;
use crate::dump;
use crate::engine::Stage;
use crate::error::{Error, UnboundTable};
use crate::executable::Executable;
use crate::schedules::{Schedules, Scheduling};
use crate::statistics::StatisticsInput;
use crate::timings::{Phase, Timings};
use redpoll_logic::physical::{PhysicalPlan, verify};
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Alias, Plan, TensorType};
use redpoll_optimizer::{AdaptivePlan, optimize_adaptive};
use redpoll_storage::Tensor;

/// A plan with the decisions of the optimizer.
pub(crate) struct CompiledPlan {
    pub(crate) plan: Plan,
    pub(crate) adaptive: AdaptivePlan,
    /// The source of the input statistics.
    pub(crate) statistics: StatisticsInput,
}

impl CompiledPlan {
    /// Returns whether each fact that the optimizer requested has the same truth value for these
    /// tensors as when the plan was compiled.
    pub(crate) fn facts_hold(&self, bindings: &Bindings) -> bool {
        self.adaptive.report.facts.iter().all(|(input, fact, holds)| {
            bindings.get(input.as_str()).is_some_and(|tensor| tensor.holds(*fact) == *holds)
        })
    }
}

/// Runs all phases on a plan; `statistics` is the source of statistics of the tensors.
pub(super) fn compile_plan(
    config: &Config,
    (plan, schedules): (Plan, &Schedules),
    (bindings, statistics): (&Bindings, StatisticsInput),
    timings: &mut Timings,
) -> Result<(CompiledPlan, Executable), Error> {
    let verified = || redpoll_logic::verify(&plan).and_then(|()| redpoll_logic::check_masks(&plan));
    timings.time(Phase::Verify, verified).map_err(Error::Verify)?;
    let source = statistics.source(bindings);
    let optimize = || optimize_adaptive(&plan, &Statistics::new(&*source), &config.optimizer);
    let adaptive = timings.time(Phase::Optimize, optimize)?;
    drop(source);
    timings.time(Phase::Verify, || verify::verify(&adaptive.physical)).map_err(Error::VerifyPhysical)?;
    check_inputs(&adaptive.physical, bindings)?;
    schedules.check_plan(&adaptive.physical)?;
    let mode = config.optimizer.float_mode;
    let scheduling = Scheduling { schedules, results: &adaptive.physical.produces, mode };
    let stages = timings.time(Phase::Notation, || Stage::build_all(&adaptive, bindings, scheduling, &[]))?;
    let edited_text = dump::read_edited(config, || format!("{plan}{schedules}"), &plan.produces)?;
    let executable = Executable::new(config, stages, adaptive.physical.produces.clone(), edited_text);
    timings.time(Phase::Compile, || executable.compile())?;
    Ok((CompiledPlan { plan, adaptive, statistics }, executable))
}

/// Checks that each input is bound to a tensor of the type that the plan was compiled for, and that
/// each parameter has one of its possible values.
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
    // Kernels rely on these bounds of parameters.
    for parameter in physical.parameters() {
        let range = bound(&parameter.input).and_then(Tensor::value_range);
        if !range.is_some_and(|(least, greatest)| parameter.has_value(least) && parameter.has_value(greatest)) {
            let difference = "the number is out of the range of its parameter";
            return Err(Error::Binding { table: parameter.input.clone(), difference });
        }
    }
    Ok(())
}

/// Returns the first difference between two types, if they differ.
fn difference(a: &TensorType, b: &TensorType) -> Option<&'static str> {
    let parts = [
        (a.shape == b.shape, "the shapes differ"),
        (a.dtype == b.dtype, "the dtypes differ"),
        (a.fill == b.fill, "the fill values differ"),
        (a.format == b.format, "the formats differ"),
    ];
    parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
}
