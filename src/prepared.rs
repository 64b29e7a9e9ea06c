//! Prepared plans: everything that was made of a plan, ready to run any number of times.

use crate::adapt::run_first;
use crate::config::Engine;
use crate::engine::{Placement, run_logic};
use crate::error::Error;
use crate::executable::{Executable, Seen, run_or_restart};
use crate::flow::Flow;
use crate::session::Bindings;
use crate::statistics::Told;
use crate::timings::Timings;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Fact;
use redpoll_logic::{Alias, Plan};
use redpoll_optimizer::{AdaptivePlan, Report};
use redpoll_physical::assembly::Counts;
use redpoll_physical::run::Limits;
use redpoll_physical::storage::Tensor;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A plan with the tensors that it reads and the kernels that compute it.
pub struct Prepared {
    pub(crate) made: Arc<Made>,
    pub(crate) limits: Limits,
    /// The tensors, by the names that `made` has for them.
    pub(crate) bindings: Bindings,
    pub(crate) timings: Timings,
}

/// All that is made of a plan and does not depend on the values of tensors: it serves every congruent plan.
pub(crate) struct Made {
    pub(crate) plan: Plan,
    pub(crate) planned: AdaptivePlan,
    /// What the optimizer was told of the inputs.
    pub(crate) told: Told,
    pub(crate) executable: Executable,
    /// What the plan has become in its first run, `None` if it has stayed as it was; empty before that run.
    pub(crate) adapted: OnceLock<Option<Arc<Made>>>,
}

/// What one run gives.
#[derive(Clone, Debug)]
pub struct Run {
    /// The results that the plan produces, in its order. What a device has computed stays there until somebody looks at it;
    /// [`Tensor::fetch`] brings it here.
    pub outputs: Vec<(Alias, Tensor)>,
    /// The work of all queries; only the interpreter of Assembly counts.
    pub counts: Option<Counts>,
    /// How long it took.
    pub time: Duration,
    /// How long launches took by the clock of a device, transfers apart, if one has run some of it.
    pub on_device: Option<Duration>,
    /// The most bytes that were allocated for it at one time: results, tensors between its queries, workspaces. The
    /// inputs do not count, and neither does what interpreters allocate that are not Assembly's.
    pub held: usize,
}

impl Run {
    /// The result of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.outputs.iter().find(|(alias, _)| alias.as_str() == name).map(|(_, tensor)| tensor)
    }
}

impl Made {
    /// What was asked of the inputs, here and for what the plan has become.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &(Alias, Fact, bool)> {
        let adapted = self.adapted.get().into_iter().flatten();
        self.planned.report.facts.iter().chain(adapted.flat_map(|made| &made.planned.report.facts))
    }

    /// What runs now: the plan as it was made, or what it has become.
    pub(crate) fn current(&self) -> &Made {
        self.adapted.get().and_then(Option::as_deref).unwrap_or(self)
    }
}

impl Prepared {
    pub(crate) fn made(&self) -> &Made {
        self.made.current()
    }

    /// The Logic plan.
    pub fn plan(&self) -> &Plan {
        &self.made().plan
    }

    /// The physical plan; once it has run, what it has become when the numbers of positions that its queries wrote were
    /// known.
    pub fn physical(&self) -> &PhysicalPlan {
        &self.made().planned.physical
    }

    /// What the optimizer decided, and why; once it has run, with what was decided anew then.
    pub fn report(&self) -> &Report {
        &self.made().planned.report
    }

    /// The queries of the physical plan and the tensors between them, as planned; [`Profile::flow`] has what was measured,
    /// too.
    ///
    /// # Errors
    /// When an input was left on a device, and that has lost it.
    ///
    /// [`Profile::flow`]: crate::Profile::flow
    pub fn flow(&self) -> Result<Flow, Error> {
        Flow::new(self.made(), &self.bindings, &[])
    }

    /// How long each phase took until it was prepared.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// The names of its results, in order.
    pub fn produces(&self) -> &[Alias] {
        &self.made().plan.produces
    }

    /// Runs the plan on the engine of its session.
    ///
    /// # Errors
    /// When a kernel stops: the memory limit, cancellation, a checked operator.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_with(self.made.executable.config.engine)
    }

    /// Runs the plan on a given engine.
    ///
    /// # Errors
    /// As [`Prepared::run`]; and when the engine computes densely, and a tensor is too large for that.
    pub fn run_with(&self, engine: Engine) -> Result<Run, Error> {
        self.run_observed(engine, &mut |_| Ok(()))
    }

    /// Runs the plan on a given engine and shows each query that has run, also those that have to run once more.
    pub(crate) fn run_observed(&self, engine: Engine, seen: &mut Seen<'_>) -> Result<Run, Error> {
        let (run, lost) = run_or_restart(engine, |engine| self.run_once(engine, seen))?;
        if let Some(error) = lost {
            self.made().executable.decline(&error);
        }
        Ok(run)
    }

    fn run_once(&self, engine: Engine, seen: &mut Seen<'_>) -> Result<Run, Error> {
        let on = (&self.bindings, &self.limits);
        if self.made.adapted.get().is_none() && engine != Engine::LogicInterpreter {
            return run_first(&self.made, engine, on, seen);
        }
        let Made { plan, executable, .. } = self.made();
        let logic = || run_logic(plan, &self.bindings, executable.mode());
        executable.run(engine, on, &logic, seen)
    }

    /// Where the next run on the engine of its session takes place, and why. It asks for a device only where that may matter.
    pub fn placement(&self) -> Placement {
        self.made().executable.next_run(&self.bindings)
    }

    /// The tier whose machine code the next run on [`Engine::Cpu`] calls.
    pub fn tier(&self) -> Engine {
        self.made().executable.tier()
    }

    /// Waits until the optimizing tier is there, if it is being compiled in the background.
    pub fn wait_for_take_over(&self) {
        self.made().executable.optimizing.wait();
    }

    /// What a user may want to know of the optimizing tier: why it is missing although the plan is worth it, or why its
    /// kernels are not kept on disk.
    pub fn tier_note(&self) -> Option<String> {
        self.made().executable.tier_note()
    }
}
