//! Prepared plans: compiled plans that can run any number of times.

use crate::Target;
use crate::adapt::run_first;
use crate::bindings::Bindings;
use crate::engine::{Placement, run_logic};
use crate::error::Error;
use crate::executable::{Executable, StageObserver, run_or_restart};
use crate::flow::Flow;
use crate::run::Run;
use crate::statistics::StatisticsInput;
use crate::timings::Timings;
use redpoll_kernels::run::Limits;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Alias, Plan};
use redpoll_optimizer::{AdaptivePlan, Report};
use std::sync::{Arc, OnceLock};

/// A compiled plan with the tensors that it reads.
pub struct PreparedPlan {
    pub(crate) compiled: Arc<CompiledPlan>,
    pub(crate) limits: Limits,
    /// The tensors, by the names of the inputs of `compiled`.
    pub(crate) bindings: Bindings,
    pub(crate) timings: Timings,
}

/// The compiled form of a plan. It does not depend on the values of tensors and is shared by all
/// congruent plans.
pub(crate) struct CompiledPlan {
    pub(crate) plan: Plan,
    pub(crate) adaptive: AdaptivePlan,
    /// The source of the input statistics.
    pub(crate) statistics: StatisticsInput,
    pub(crate) executable: Executable,
    /// The plan after adaptation in its first run: empty before that run, `None` if the plan was
    /// not changed.
    pub(crate) adapted_plan: OnceLock<Option<Arc<CompiledPlan>>>,
}

impl CompiledPlan {
    /// Returns the facts that the optimizer requested of the inputs, for the original plan and the
    /// adapted one.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &(Alias, Fact, bool)> {
        let adapted = self.adapted_plan.get().into_iter().flatten();
        self.adaptive.report.facts.iter().chain(adapted.flat_map(|compiled| &compiled.adaptive.report.facts))
    }

    /// Returns the adapted plan if there is one, otherwise the plan as compiled.
    pub(crate) fn current(&self) -> &CompiledPlan {
        self.adapted_plan.get().and_then(Option::as_deref).unwrap_or(self)
    }
}

impl PreparedPlan {
    pub(crate) fn current(&self) -> &CompiledPlan {
        self.compiled.current()
    }

    /// Returns the Logic plan.
    pub fn plan(&self) -> &Plan {
        &self.current().plan
    }

    /// Returns the physical plan. After the first run, this is the plan adapted to the observed
    /// numbers of positions.
    pub fn physical(&self) -> &PhysicalPlan {
        &self.current().adaptive.physical
    }

    /// Returns the decisions of the optimizer and their reasons, after the first run including
    /// those of the adaptation.
    pub fn report(&self) -> &Report {
        &self.current().adaptive.report
    }

    /// Returns the queries of the physical plan and the tensors between them, as planned.
    /// [`Profile::flow`] also has measurements.
    ///
    /// # Errors
    /// Fails if an input was on a device that lost it.
    ///
    /// [`Profile::flow`]: crate::Profile::flow
    pub fn flow(&self) -> Result<Flow, Error> {
        Flow::new(self.current(), &self.bindings, &[])
    }

    /// Returns the time of each phase of the preparation.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Returns the names of the results, in order.
    pub fn produces(&self) -> &[Alias] {
        &self.current().plan.produces
    }

    /// Runs the plan on the target of its session.
    ///
    /// # Errors
    /// Fails if a kernel stops because of the memory limit, cancellation, or a checked operator.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_with(self.compiled.executable.config.target)
    }

    /// Runs the plan on a given target.
    ///
    /// # Errors
    /// The errors of [`PreparedPlan::run`]; also if the target computes densely and a tensor is too
    /// large.
    pub fn run_with(&self, target: Target) -> Result<Run, Error> {
        self.run_observed(target, &mut |_| Ok(()))
    }

    /// Runs the plan on a given target and reports each query that has run, including queries that
    /// must run again.
    pub(crate) fn run_observed(&self, target: Target, observer: &mut StageObserver<'_>) -> Result<Run, Error> {
        let (run, device_error) = run_or_restart(target, |target| self.run_once(target, observer))?;
        if let Some(error) = device_error {
            self.current().executable.decline(&error);
        }
        Ok(run)
    }

    fn run_once(&self, target: Target, observer: &mut StageObserver<'_>) -> Result<Run, Error> {
        let on = (&self.bindings, &self.limits);
        if self.compiled.adapted_plan.get().is_none() && target != Target::LOGIC {
            return run_first(&self.compiled, target, on, observer);
        }
        let CompiledPlan { plan, executable, .. } = self.current();
        let logic = || run_logic(plan, &self.bindings, executable.mode());
        executable.run(target, on, &logic, observer)
    }

    /// Returns the target of the next run, a device or the CPU, and the reason. A device is queried
    /// only if its state may matter.
    pub fn placement(&self) -> Placement {
        self.current().executable.next_placement(&self.bindings)
    }

    /// Returns the tier that the next run on [`Target::CPU`] uses.
    pub fn tier(&self) -> Target {
        self.current().executable.tier()
    }

    /// Waits for the optimizing tier, if it is being compiled in the background.
    pub fn wait_for_optimizing_tier(&self) {
        self.current().executable.optimizing_tier.wait();
    }

    /// Returns a note on the optimizing tier for the user: why it could not be compiled although
    /// the plan is worth it, or why its kernels are not cached on disk.
    pub fn tier_note(&self) -> Option<String> {
        self.current().executable.tier_note()
    }
}
