//! Execution of prepared plans and programs: stages in order, on any target, in two tiers.

use crate::bindings::Bindings;
use crate::config::Config;
use crate::engine::{
    DeviceState, KernelOptions, OptimizingTier, Placement, Reason, RunEstimate, Stage, StageLoops, StageWork,
    TierChoice, choose_target, run_in_tiers, run_kernel, run_notation,
};
use crate::error::Error;
use crate::run::Run;
use crate::schedules::{Schedules, Scheduling};
use crate::target::Target;
use crate::timings::Phase;
use rayon::prelude::*;
use redpoll_compiler::assembly::Counts;
use redpoll_kernels::run::Limits;
use redpoll_logic::{Alias, FloatMode};
use redpoll_optimizer::AdaptivePlan;
use redpoll_storage::Tensor;
use std::collections::{HashMap, HashSet};
use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Stages with their kernels, independent of the values of tensors.
pub(crate) struct Executable {
    pub(crate) config: Config,
    pub(crate) stages: Arc<Vec<Stage>>,
    pub(crate) optimizing_tier: Arc<OptimizingTier>,
    /// Number of completed runs.
    runs: AtomicU64,
    /// The failure of the device that [`Target::AUTO`] chose. After a failure, the CPU runs the
    /// stages.
    device_failure: OnceLock<String>,
    /// The names of the results, in order.
    pub(crate) produces: Vec<Alias>,
}

/// The state of a run, with the tensors that later stages read.
pub(crate) struct RunState {
    /// The requested target.
    requested: Target,
    /// The target of the next stage.
    pub(crate) target: Target,
    tensors: HashMap<Alias, Tensor>,
    /// The work so far, if it is counted.
    counts: Option<Counts>,
    /// The time of launches on a device so far.
    device_time: Option<Duration>,
    limits: Limits,
}

/// A stage that has run.
pub(crate) struct CompletedStage<'a> {
    pub(crate) name: &'a str,
    pub(crate) writes: &'a [Alias],
    pub(crate) outputs: &'a [Tensor],
    /// The target whose kernel ran; `None` if there was no kernel.
    pub(crate) target: Option<Target>,
    pub(crate) time: Duration,
    pub(crate) counts: Option<Counts>,
}

/// Observer of completed stages. The stage fails if the observer returns an error, for example
/// because a device has lost an output.
pub(crate) type StageObserver<'s> = dyn FnMut(CompletedStage<'_>) -> Result<(), Error> + 's;

impl Executable {
    /// Creates an executable of the stages. `edited_text` replaces the C text of their kernels.
    pub(crate) fn new(
        config: &Config,
        stages: Vec<Stage>,
        produces: Vec<Alias>,
        edited_text: Option<String>,
    ) -> Executable {
        let mode = config.optimizer.float_mode;
        let optimizing_tier = Arc::new(OptimizingTier::new(&config.toolchain, mode, edited_text));
        Executable {
            config: config.clone(),
            stages: Arc::new(stages),
            optimizing_tier,
            runs: AtomicU64::new(0),
            device_failure: OnceLock::new(),
            produces,
        }
    }

    /// Creates and compiles the stages of an adapted plan. The stages up to `after` have run and
    /// keep their kernels. The new executable has the run count and the device failure of this one.
    pub(crate) fn adapt(
        &self,
        after: usize,
        adaptive: &AdaptivePlan,
        bindings: &Bindings,
    ) -> Result<Executable, Error> {
        // Plans with schedules are not adapted.
        let results = &adaptive.physical.produces;
        let scheduling = Scheduling { schedules: &Schedules::default(), results, mode: self.mode() };
        let stages = Stage::build_all(adaptive, bindings, scheduling, &self.stages[..=after])?;
        let executable = Executable {
            runs: AtomicU64::new(self.runs.load(Ordering::Relaxed)),
            device_failure: self.device_failure.clone(),
            ..Executable::new(&self.config, stages, adaptive.physical.produces.clone(), None)
        };
        executable.compile()?;
        Ok(executable)
    }

    pub(crate) fn mode(&self) -> FloatMode {
        self.config.optimizer.float_mode
    }

    fn kernel_options(&self, target: Target) -> KernelOptions<'_> {
        KernelOptions { target, config: &self.config }
    }

    /// Compiles kernels for the configured target. For other targets, kernels are compiled on first
    /// use.
    pub(crate) fn compile(&self) -> Result<(), Error> {
        match self.config.target {
            Target::OPTIMIZING => self.optimizing_tier.compile(&self.stages),
            // Only the optimizing tier runs edited text, so this tier is compiled at once.
            Target::CPU | Target::AUTO if self.optimizing_tier.edited_text.is_some() => {
                self.optimizing_tier.compile(&self.stages)
            }
            target => match target.kernel_target() {
                Some(target) => self.compile_loops(self.kernel_options(target)),
                None => Ok(()),
            },
        }
    }

    /// Compiles the kernels of all loops in parallel: layouts are fixed, so kernels are
    /// independent.
    fn compile_loops(&self, options: KernelOptions<'_>) -> Result<(), Error> {
        let loops: Vec<&StageLoops> = self.stages.iter().filter_map(Stage::loops).collect();
        if let [loops] = loops[..] {
            return loops.kernel(options).map(drop);
        }
        let compiled = loops.par_iter().with_max_len(1).map(|l| l.kernel(options).map(drop));
        // If several kernels fail, the error of the first query is reported, so that the error is
        // deterministic.
        compiled.collect::<Vec<_>>().into_iter().collect()
    }

    /// Runs the stages on a given target and reports each completed stage. On [`Target::LOGIC`],
    /// calls `logic` in place of the stages.
    pub(crate) fn run(
        &self,
        requested: Target,
        (bindings, limits): (&Bindings, &Limits),
        logic: &dyn Fn() -> Result<Vec<(Alias, Tensor)>, Error>,
        observer: &mut StageObserver<'_>,
    ) -> Result<Run, Error> {
        let target = self.prepare_target(requested, bindings)?;
        let start = Instant::now();
        Ok(match target {
            Target::LOGIC => {
                Run { outputs: logic()?, counts: None, time: start.elapsed(), device_time: None, peak_bytes: 0 }
            }
            _ => {
                let mut state = RunState::new((requested, target), bindings, limits);
                for (number, stage) in self.stages.iter().enumerate() {
                    self.run_stage(number, &mut state, observer)?;
                    state.drop_tensors(&stage.last_read);
                }
                self.finish(&state, start.elapsed())
            }
        })
    }

    /// Returns the target that runs the stages on these inputs: a device or [`Target::CPU`] in
    /// place of [`Target::AUTO`], and the optimizing tier in place of [`Target::CPU`] if the C text
    /// is edited. Compiles the kernels of the optimizing tier if it is the target, and the kernels
    /// of a device that replaces [`Target::AUTO`]. For [`Target::CPU`], starts the optimizing tier
    /// in the background if it is due.
    pub(crate) fn prepare_target(&self, target: Target, bindings: &Bindings) -> Result<Target, Error> {
        match target {
            Target::AUTO => self.prepare_target(self.resolve_auto(bindings), bindings),
            // Only the optimizing tier runs edited text.
            Target::CPU if self.optimizing_tier.edited_text.is_some() => {
                self.prepare_target(Target::OPTIMIZING, bindings)
            }
            Target::CPU => {
                if !self.optimizing_tier.is_ready(&self.stages) {
                    self.optimizing_tier.start_if_due(&self.stages);
                }
                Ok(target)
            }
            Target::OPTIMIZING => self.optimizing_tier.compile(&self.stages).map(|()| target),
            _ => Ok(target),
        }
    }

    /// Returns a device or [`Target::CPU`] in place of [`Target::AUTO`]. The kernels of a chosen
    /// device are compiled; if this fails, returns [`Target::CPU`].
    fn resolve_auto(&self, bindings: &Bindings) -> Target {
        let target = self.placement(bindings).target;
        if !target.is_device() {
            return Target::CPU;
        }
        match self.compile_loops(self.kernel_options(target)) {
            Ok(()) => target,
            Err(error) => {
                self.decline(&error);
                Target::CPU
            }
        }
    }

    /// Records that the chosen device cannot run the stages.
    pub(crate) fn decline(&self, error: &Error) {
        self.device_failure.get_or_init(|| error.to_string());
    }

    /// Returns the target of the next run, and the reason.
    pub(crate) fn next_placement(&self, bindings: &Bindings) -> Placement {
        match self.config.target {
            Target::AUTO => self.placement(bindings),
            target => Placement { target, reason: Reason::Requested },
        }
    }

    /// Returns the target of the next run on [`Target::AUTO`] over these inputs, and the reason.
    pub(crate) fn placement(&self, bindings: &Bindings) -> Placement {
        choose_target(self.estimate(), || {
            if let Some(why) = self.device_failure.get() {
                return Err(why.clone());
            }
            let device = Target::first_device();
            let backend = device.backend(&self.config).map_err(|error| error.to_string())?;
            backend.check().map_err(|error| error.to_string())?;
            let mut inputs: Vec<&Alias> = self.stages.iter().flat_map(|stage| &stage.reads).collect();
            inputs.sort_unstable();
            inputs.dedup();
            let inputs: Vec<&Tensor> = inputs.into_iter().filter_map(|name| bindings.get(name.as_str())).collect();
            let mut loops = self.stages.iter().filter_map(Stage::loops);
            Ok(DeviceState {
                missing_bytes: backend.missing_bytes(&inputs),
                compiled: loops.all(|l| l.is_compiled(device)),
                runs: self.runs.load(Ordering::Relaxed),
            })
        })
    }

    /// Returns the estimates that are available before a run.
    fn estimate(&self) -> RunEstimate {
        let loops = || self.stages.iter().filter_map(Stage::loops);
        let results = self.stages.iter().flat_map(|stage| &stage.output_bytes);
        RunEstimate {
            cost: loops().map(StageLoops::cost).sum(),
            queries: loops().count(),
            threads: self.config.workers.threads(),
            result_bytes: results.filter(|(name, _)| self.produces.contains(name)).map(|(_, bytes)| bytes).sum(),
        }
    }

    /// Returns the tier that [`Target::CPU`] has reached: the optimizing tier once it is compiled,
    /// unless the trials of all kernels have chosen the instant tier.
    pub(crate) fn tier(&self) -> Target {
        let mut loops = self.stages.iter().filter_map(Stage::loops).peekable();
        let is_ready = self.optimizing_tier.is_ready(&self.stages);
        let is_slower = loops.peek().is_some() && loops.all(|l| l.trial.chosen() == Some(Target::INSTANT));
        if is_ready && !is_slower { Target::OPTIMIZING } else { Target::INSTANT }
    }

    /// Returns the tier choices of the trials that have ended, in the order of the stages.
    pub(crate) fn tier_choices(&self) -> Vec<TierChoice> {
        self.stages.iter().filter_map(Stage::loops).filter_map(StageLoops::tier_choice).collect()
    }

    /// Returns a note for the user if the optimizing tier failed to compile in the background, or
    /// if the tier is used but its kernels cannot be cached on disk.
    pub(crate) fn tier_note(&self) -> Option<String> {
        if let Some(failure) = self.optimizing_tier.failure() {
            return Some(failure.into());
        }
        let fault = if self.tier() == Target::OPTIMIZING { self.config.toolchain.cache_fault() } else { None };
        fault.map(|fault| format!("kernels are not cached on disk, so each process compiles them again: {fault}"))
    }

    /// Runs a stage after its predecessors. If a device chosen by [`Target::AUTO`] fails, the CPU
    /// runs this stage and all later stages.
    pub(crate) fn run_stage(
        &self,
        number: usize,
        state: &mut RunState,
        observer: &mut StageObserver<'_>,
    ) -> Result<(), Error> {
        match self.run_stage_once(number, state, observer) {
            Err(error) if state.is_on_chosen_device() && error.is_device_failure() => {
                self.decline(&error);
                state.target = Target::CPU;
                self.run_stage_once(number, state, observer)
            }
            result => result,
        }
    }

    fn run_stage_once(
        &self,
        number: usize,
        state: &mut RunState,
        observer: &mut StageObserver<'_>,
    ) -> Result<(), Error> {
        let stage = &self.stages[number];
        if let StageWork::Loops(loops) = &stage.work {
            let derived = loops.block_inputs.compute(|name| state.tensor(name))?;
            state.tensors.extend(derived);
        }
        let input = |name: &Alias| state.tensor(name).expect("inputs are bound or written by earlier stages");
        let inputs: Vec<&Tensor> = stage.reads.iter().map(input).collect();
        let progress = state.limits.progress.as_ref().map(|p| p.for_query(&stage.name, number, self.stages.len()));
        let (limits, start) = (&Limits { progress, ..state.limits.clone() }, Instant::now());
        limits.progress.iter().for_each(|progress| progress.report(0.0));
        let (mut counts, mut device_time, mut target) = (None, None, state.target.kernel_target());
        let outputs = match (&stage.work, state.target.kernel_target()) {
            (StageWork::Conversion(_, Some(loops)), Some(target)) if self.converts_in_kernel(target, inputs[0]) => {
                let outcome = run_kernel(loops, &inputs, self.kernel_options(target), limits)?;
                device_time = outcome.on_device;
                outcome.outputs
            }
            (StageWork::Conversion(ty, _), _) => {
                target = None;
                let converted = limits.copies.convert_within(inputs[0], &ty.format, &limits.memory);
                vec![converted.map_err(|source| stage.phase_error(Phase::Run, source))?]
            }
            (StageWork::Loops(loops), None) => run_notation(loops, &inputs, self.mode())?,
            (StageWork::Loops(loops), Some(_)) if state.target == Target::CPU => {
                let (outcome, tier) = run_in_tiers(loops, &inputs, &self.config, limits)?;
                target = Some(tier);
                outcome.outputs
            }
            (StageWork::Loops(loops), Some(target)) => {
                let outcome = run_kernel(loops, &inputs, self.kernel_options(target), limits)?;
                counts = outcome.counts;
                device_time = outcome.on_device;
                outcome.outputs
            }
        };
        let time = start.elapsed();
        state.device_time = [state.device_time, device_time].into_iter().flatten().reduce(Add::add);
        state.counts = [state.counts, counts].into_iter().flatten().reduce(Add::add);
        let (name, writes) = (stage.name.as_str(), &stage.writes[..]);
        observer(CompletedStage { name, writes, outputs: &outputs, target, time, counts })?;
        state.tensors.extend(stage.writes.iter().cloned().zip(outputs));
        Ok(())
    }

    /// Returns whether a kernel of the target converts the storage of this tensor.
    fn converts_in_kernel(&self, target: Target, source: &Tensor) -> bool {
        target.backend(&self.config).is_ok_and(|backend| backend.converts(source))
    }

    /// Counts the run and returns its results, after all stages have run.
    pub(crate) fn finish(&self, state: &RunState, time: Duration) -> Run {
        let result = |name: &Alias| state.tensor(name).cloned().expect("the stages write all results");
        let outputs = self.produces.iter().map(|name| (name.clone(), result(name))).collect();
        self.runs.fetch_add(1, Ordering::Relaxed);
        if state.target == Target::CPU && !self.optimizing_tier.is_ready(&self.stages) {
            self.optimizing_tier.count_run(time);
        }
        Run {
            outputs,
            counts: state.counts,
            time,
            device_time: state.device_time,
            peak_bytes: state.limits.memory.peak(),
        }
    }
}

impl RunState {
    /// Creates the state of a run with its inputs, before the first stage.
    pub(crate) fn new((requested, target): (Target, Target), bindings: &Bindings, limits: &Limits) -> RunState {
        let tensors = bindings.iter().map(|(alias, tensor)| (alias.clone(), tensor.clone())).collect();
        let counts = (target == Target::ASSEMBLY).then(Counts::default);
        RunState { requested, target, tensors, counts, device_time: None, limits: limits.for_one_run() }
    }

    /// Returns whether the run is on a device chosen by [`Target::AUTO`].
    fn is_on_chosen_device(&self) -> bool {
        self.requested == Target::AUTO && self.target.is_device()
    }

    /// Returns an input or a tensor written so far.
    pub(crate) fn tensor(&self, name: &Alias) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    fn drop_tensors(&mut self, names: &[Alias]) {
        for name in names {
            self.tensors.remove(name);
        }
    }

    /// Keeps the needed tensors and drops all others.
    pub(crate) fn retain(&mut self, needed: &HashSet<Alias>) {
        self.tensors.retain(|name, _| needed.contains(name));
    }
}

/// Calls `run` with the requested target. Under [`Target::AUTO`], if a device fails and its results
/// are lost, calls `run` again with the CPU as the target, and also returns the error of the
/// device.
pub(crate) fn run_or_restart(
    requested: Target,
    mut run: impl FnMut(Target) -> Result<Run, Error>,
) -> Result<(Run, Option<Error>), Error> {
    match run(requested) {
        Err(error) if requested == Target::AUTO && error.is_device_failure() => Ok((run(Target::CPU)?, Some(error))),
        result => result.map(|run| (run, None)),
    }
}
