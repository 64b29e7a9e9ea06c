//! Prepared plans and programs: compiled forms that can run any number of times.
//!
//! A session prepares a request (`request.rs`) by the steps in `pipeline.rs`: it takes the compiled
//! form (`form.rs`) from its cache (`cache.rs`), or compiles a plan (`plan.rs`) or a program
//! (`program.rs`).

mod cache;
mod form;
mod pipeline;
mod plan;
mod program;
mod request;

pub(crate) use cache::CompilationCache;
pub(crate) use form::{CompiledForm, CompiledKind};
pub(crate) use pipeline::prepare;
pub(crate) use plan::{CompiledPlan, check_inputs};
pub(crate) use program::CompiledProgram;
pub(crate) use request::Request;

use crate::Target;
use crate::adapt::run_first;
use crate::bindings::Bindings;
use crate::engine::{Placement, TierChoice, run_logic};
use crate::error::Error;
use crate::executable::{StageObserver, run_or_restart};
use crate::flow::Flow;
use crate::profile::QueryProfile;
use crate::run::Run;
use crate::timings::Timings;
use redpoll_kernels::run::Limits;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::{Alias, Plan, Scalar};
use redpoll_optimizer::Report;
use std::sync::Arc;

/// A compiled plan or program with the tensors that it reads.
pub struct Prepared {
    pub(crate) form: Arc<CompiledForm>,
    pub(crate) limits: Limits,
    /// The tensors, by the names of the inputs of `form`.
    pub(crate) bindings: Bindings,
    pub(crate) timings: Timings,
    /// The results whose fill values differ from those in the plan, with the new fill values.
    pub(crate) fills: Vec<(Alias, Scalar)>,
}

impl Prepared {
    /// Returns the prepared plan with other fill values for results that store all their values.
    pub(crate) fn with_fills(self, fills: Vec<(Alias, Scalar)>) -> Prepared {
        Prepared { fills, ..self }
    }

    /// Returns the form that the next run uses.
    pub(crate) fn current(&self) -> &CompiledForm {
        self.form.current()
    }

    /// Returns the Logic plan, or `None` for a program.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// assert_eq!(prepared.plan().map(|plan| plan.queries.len()), Some(1));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn plan(&self) -> Option<&Plan> {
        self.current().plan().map(|compiled| &compiled.plan)
    }

    /// Returns the physical plan, or `None` for a program. If the first run has adapted the plan to
    /// the observed numbers of positions, returns the adapted plan.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// assert_eq!(prepared.physical().map(|plan| plan.queries.len()), Some(1));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn physical(&self) -> Option<&PhysicalPlan> {
        self.current().plan().map(|compiled| &*compiled.adaptive.physical)
    }

    /// Returns the decisions of the optimizer and their reasons, or `None` for a program. After the
    /// first run, the report includes the decisions of the adaptation.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// assert_eq!(prepared.report().map(|report| report.decisions.len()), Some(1));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn report(&self) -> Option<&Report> {
        self.current().plan().map(|compiled| &compiled.adaptive.report)
    }

    /// Returns the queries of the physical plan and the tensors between them, as planned.
    /// [`Profile::flow`] also has measurements.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// assert_eq!(prepared.flow()?.queries.len(), 1);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails for a program, or if a device has lost an input.
    ///
    /// [`Profile::flow`]: crate::Profile::flow
    pub fn flow(&self) -> Result<Flow, Error> {
        self.flow_with(&[])
    }

    /// Returns the flow with the given profiles of queries.
    pub(crate) fn flow_with(&self, profiles: &[QueryProfile]) -> Result<Flow, Error> {
        let form = self.current();
        Flow::new(form.plan().ok_or(Error::NoPlan)?, &form.executable, &self.bindings, profiles)
    }

    /// Returns the time of each phase of the preparation.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// for (phase, time) in prepared.timings().iter() {
    ///     println!("{phase}: {time:?}");
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Returns the names of the results, in order.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// assert_eq!(prepared.produces()[0].as_str(), "result");
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn produces(&self) -> &[Alias] {
        &self.current().executable.produces
    }

    /// Runs the plan or program on the target of its session.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// let run = prepared.run()?;
    /// assert_eq!(run.outputs[0].1.sum()?, Some(3.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a kernel stops: because of the memory limit, cancellation, a checked operator, a
    /// coordinate out of bounds, or entries that a requested format or the widths of its arrays
    /// cannot store. Also fails if kernels cannot be compiled or run on the target, and if a mapped
    /// file has changed.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_with(self.form.executable.config.target)
    }

    /// Runs the plan or program on a given target. A program has no Logic plan, so the interpreter
    /// of Logic cannot run it.
    ///
    /// ```
    /// use redpoll::Target;
    ///
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// for target in [Target::LOGIC, Target::INSTANT] {
    ///     assert_eq!(prepared.run_with(target)?.outputs[0].1.sum()?, Some(3.0));
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Prepared::run`]; also if the target computes dense tensors and a tensor is
    /// too large, or if the target is the interpreter of Logic for a program.
    pub fn run_with(&self, target: Target) -> Result<Run, Error> {
        self.run_observed(target, &mut |_| Ok(()))
    }

    /// Runs on a given target and reports each query that has run. If the run starts again on the
    /// CPU, queries that run again are reported again.
    pub(crate) fn run_observed(&self, target: Target, observer: &mut StageObserver<'_>) -> Result<Run, Error> {
        let run = run_or_restart(target, |target| self.run_once(target, observer));
        let (mut run, device_error) = run.map_err(|error| self.form.convert_run_error(error))?;
        self.bindings.iter().try_for_each(|(_, tensor)| tensor.check_files())?;
        for (alias, fill) in &self.fills {
            for (_, tensor) in run.outputs.iter_mut().filter(|(name, _)| name == alias) {
                *tensor = tensor.with_fill(fill)?;
            }
        }
        if let Some(error) = device_error {
            self.current().executable.decline(&error);
        }
        Ok(run)
    }

    fn run_once(&self, target: Target, observer: &mut StageObserver<'_>) -> Result<Run, Error> {
        let on = (&self.bindings, &self.limits);
        if self.form.adapted.get().is_none() && target != Target::LOGIC {
            return run_first(&self.form, target, on, observer);
        }
        let CompiledForm { kind, executable, .. } = self.current();
        let logic = || match kind {
            CompiledKind::Plan(compiled) => run_logic(&compiled.plan, &self.bindings, executable.mode()),
            CompiledKind::Program(_) => Err(Error::NoLogic),
        };
        executable.run(target, on, &logic, observer)
    }

    /// Returns the target that the next call of [`Prepared::run`] chooses, and the reason. For
    /// [`Target::AUTO`], the choice is a device or the CPU, and a device is queried only if its
    /// state may matter.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// println!("{}", prepared.placement());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn placement(&self) -> Placement {
        self.current().executable.next_placement(&self.bindings)
    }

    /// Returns the tier that [`Target::CPU`] has reached: the optimizing tier once it is compiled,
    /// unless all kernels have turned out to be faster in the instant tier.
    ///
    /// ```
    /// use redpoll::Target;
    ///
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// assert!([Target::INSTANT, Target::OPTIMIZING].contains(&prepared.tier()));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn tier(&self) -> Target {
        self.current().executable.tier()
    }

    /// Returns the faster tier of each kernel whose runs on [`Target::CPU`] have been compared.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// for choice in prepared.tier_choices() {
    ///     println!("{choice}");
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn tier_choices(&self) -> Vec<TierChoice> {
        self.current().executable.tier_choices()
    }

    /// Waits for the optimizing tier, if it is being compiled in the background.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// prepared.run()?;
    /// prepared.wait_for_optimizing_tier();
    /// println!("the next run is on the tier {}", prepared.tier());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn wait_for_optimizing_tier(&self) {
        self.current().executable.optimizing_tier.wait();
    }

    /// Returns a note on the optimizing tier for the user: the reason why its compilation in the
    /// background failed, or why its kernels are not cached on disk.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// if let Some(note) = prepared.tier_note() {
    ///     eprintln!("{note}");
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn tier_note(&self) -> Option<String> {
        self.current().executable.tier_note()
    }
}
