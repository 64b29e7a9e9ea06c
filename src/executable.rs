//! Execution of prepared plans and programs: stages in order, on any engine, in two tiers.

use crate::bindings::Bindings;
use crate::config::{Config, Engine};
use crate::engine::{
    DeviceState, KernelOptions, OptimizingTier, Placement, Reason, RunEstimate, Stage, StageLoops, StageWork,
    choose_processor, run_kernel, run_notation,
};
use crate::error::Error;
use crate::run::Run;
use crate::timings::Phase;
use rayon::prelude::*;
use redpoll_logic::{Alias, FloatMode};
use redpoll_optimizer::AdaptivePlan;
use redpoll_physical::assembly::Counts;
use redpoll_physical::emit::cuda::Cuda;
use redpoll_physical::kernel::{self, Processor};
use redpoll_physical::run::Limits;
use redpoll_physical::storage::{Tensor, convert_within};
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
    /// The reason why the chosen device does not run the stages, once it has failed.
    device_failure: OnceLock<String>,
    /// The names of the results, in order.
    pub(crate) produces: Vec<Alias>,
}

/// The state of a run: tensors written by one stage are read by later ones.
pub(crate) struct RunState {
    /// The requested engine.
    requested: Engine,
    /// The engine of the next stage.
    pub(crate) engine: Engine,
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
    pub(crate) time: Duration,
    pub(crate) counts: Option<Counts>,
}

/// Observer of completed stages. An error of the observer, such as for an output that a device
/// lost, fails the stage.
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
    /// keep their kernels.
    pub(crate) fn adapt(
        &self,
        after: usize,
        adaptive: &AdaptivePlan,
        bindings: &Bindings,
    ) -> Result<Executable, Error> {
        let stages = Stage::build_all(adaptive, bindings, &self.stages[..=after])?;
        let executable = Executable::new(&self.config, stages, adaptive.physical.produces.clone(), None);
        executable.compile()?;
        Ok(executable)
    }

    pub(crate) fn mode(&self) -> FloatMode {
        self.config.optimizer.float_mode
    }

    fn kernel_options(&self, engine: kernel::KernelEngine) -> KernelOptions<'_> {
        KernelOptions { engine, mode: self.mode(), toolchain: &self.config.toolchain }
    }

    /// Compiles kernels for the configured engine. For other engines, kernels are compiled on first
    /// use.
    pub(crate) fn compile(&self) -> Result<(), Error> {
        match self.config.engine {
            Engine::Optimizing => self.optimizing_tier.compile(&self.stages),
            // Edited text must run, so the optimizing tier is compiled at once.
            Engine::Cpu | Engine::Auto if self.optimizing_tier.edited_text.is_some() => {
                self.optimizing_tier.compile(&self.stages)
            }
            engine => match engine.kernel_engine() {
                Some(engine) => self.compile_loops(self.kernel_options(engine)),
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
        // Of several errors, that of the first query is reported, for a deterministic result.
        compiled.collect::<Vec<_>>().into_iter().collect()
    }

    /// Runs the stages on a given engine and reports each completed stage. `logic` runs the
    /// interpreter of Logic.
    pub(crate) fn run(
        &self,
        requested: Engine,
        (bindings, limits): (&Bindings, &Limits),
        logic: &dyn Fn() -> Result<Vec<(Alias, Tensor)>, Error>,
        observer: &mut StageObserver<'_>,
    ) -> Result<Run, Error> {
        let engine = self.prepare_engine(requested, bindings)?;
        let start = Instant::now();
        Ok(match engine {
            Engine::LogicInterpreter => {
                Run { outputs: logic()?, counts: None, time: start.elapsed(), device_time: None, peak_bytes: 0 }
            }
            _ => {
                let mut state = RunState::new((requested, engine), bindings, limits);
                for (number, stage) in self.stages.iter().enumerate() {
                    self.run_stage(number, &mut state, observer)?;
                    state.drop_tensors(&stage.last_read);
                }
                self.finish(&state, start.elapsed())
            }
        })
    }

    /// Resolves the engine for these inputs and prepares it. The result is never [`Engine::Auto`].
    pub(crate) fn prepare_engine(&self, engine: Engine, bindings: &Bindings) -> Result<Engine, Error> {
        match engine {
            Engine::Auto => self.prepare_engine(self.choose_engine(bindings), bindings),
            Engine::Cpu if self.optimizing_tier.is_ready(&self.stages) => Ok(Engine::Optimizing),
            Engine::Cpu => {
                self.optimizing_tier.start_if_due(&self.stages);
                Ok(engine)
            }
            Engine::Optimizing => self.optimizing_tier.compile(&self.stages).map(|()| engine),
            _ => Ok(engine),
        }
    }

    /// Resolves [`Engine::Auto`]. If a device is chosen, its kernels are compiled.
    fn choose_engine(&self, bindings: &Bindings) -> Engine {
        let Processor::Cuda(ordinal) = self.placement(bindings).processor else { return Engine::Cpu };
        match self.compile_loops(self.kernel_options(kernel::KernelEngine::Cuda(ordinal))) {
            Ok(()) => Engine::Cuda(ordinal),
            Err(error) => {
                self.decline(&error);
                Engine::Cpu
            }
        }
    }

    /// Records that the chosen device cannot run the stages.
    pub(crate) fn decline(&self, error: &Error) {
        self.device_failure.get_or_init(|| error.to_string());
    }

    /// Returns the processor of the next run on the configured engine, and the reason.
    pub(crate) fn next_placement(&self, bindings: &Bindings) -> Placement {
        match self.config.engine {
            Engine::Auto => self.placement(bindings),
            Engine::Cuda(ordinal) => Placement { processor: Processor::Cuda(ordinal), reason: Reason::Requested },
            _ => Placement { processor: Processor::Cpu, reason: Reason::Requested },
        }
    }

    /// Returns the processor of the next run on [`Engine::Auto`] over these inputs, and the reason.
    pub(crate) fn placement(&self, bindings: &Bindings) -> Placement {
        choose_processor(self.estimate(), || {
            if let Some(why) = self.device_failure.get() {
                return Err(why.clone());
            }
            let cuda = Cuda::first().map_err(ToString::to_string)?;
            let mut inputs: Vec<&Alias> = self.stages.iter().flat_map(|stage| &stage.reads).collect();
            inputs.sort_unstable();
            inputs.dedup();
            let inputs: Vec<&Tensor> = inputs.into_iter().filter_map(|name| bindings.get(name.as_str())).collect();
            let mut loops = self.stages.iter().filter_map(Stage::loops);
            Ok(DeviceState {
                missing_bytes: cuda.missing_bytes(&inputs),
                compiled: loops.all(|l| l.is_compiled(kernel::KernelEngine::Cuda(0))),
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

    /// Returns the tier that the next run on [`Engine::Cpu`] uses.
    pub(crate) fn tier(&self) -> Engine {
        if self.optimizing_tier.is_ready(&self.stages) { Engine::Optimizing } else { Engine::Instant }
    }

    /// Returns a note on the optimizing tier for the user.
    pub(crate) fn tier_note(&self) -> Option<String> {
        if let Some(failure) = self.optimizing_tier.failure() {
            return Some(failure.into());
        }
        let fault = if self.tier() == Engine::Optimizing { self.config.toolchain.cache_fault() } else { None };
        fault.map(|fault| format!("each process compiles its kernels again: {fault}"))
    }

    /// Runs a stage after its predecessors. If a device chosen by [`Engine::Auto`] fails, the CPU
    /// runs this stage and the rest.
    pub(crate) fn run_stage(
        &self,
        number: usize,
        state: &mut RunState,
        observer: &mut StageObserver<'_>,
    ) -> Result<(), Error> {
        match self.run_stage_once(number, state, observer) {
            Err(error) if state.is_on_chosen_device() && error.is_device_failure() => {
                self.decline(&error);
                state.engine = Engine::Cpu;
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
        let input = |name: &Alias| state.tensor(name).expect("inputs are bound or written by earlier stages");
        let inputs: Vec<&Tensor> = stage.reads.iter().map(input).collect();
        let (limits, start) = (&state.limits, Instant::now());
        let (mut counts, mut device_time) = (None, None);
        let outputs = match (&stage.work, state.engine.kernel_engine()) {
            (StageWork::Conversion(_, Some(loops)), Some(engine)) if converts_in_kernel(engine, inputs[0]) => {
                let outcome = run_kernel(loops, &inputs, self.kernel_options(engine), limits)?;
                device_time = outcome.on_device;
                outcome.outputs
            }
            (StageWork::Conversion(ty, _), _) => {
                let converted = convert_within(inputs[0], &ty.format, &limits.memory);
                vec![converted.map_err(|source| stage.phase_error(Phase::Run, source))?]
            }
            (StageWork::Loops(loops), None) => run_notation(loops, &inputs, self.mode())?,
            (StageWork::Loops(loops), Some(engine)) => {
                let outcome = run_kernel(loops, &inputs, self.kernel_options(engine), limits)?;
                counts = outcome.counts;
                device_time = outcome.on_device;
                outcome.outputs
            }
        };
        let time = start.elapsed();
        state.device_time = [state.device_time, device_time].into_iter().flatten().reduce(Add::add);
        state.counts = [state.counts, counts].into_iter().flatten().reduce(Add::add);
        observer(CompletedStage { name: &stage.name, writes: &stage.writes, outputs: &outputs, time, counts })?;
        state.tensors.extend(stage.writes.iter().cloned().zip(outputs));
        Ok(())
    }

    /// Returns the results after all stages have run.
    pub(crate) fn finish(&self, state: &RunState, time: Duration) -> Run {
        let result = |name: &Alias| state.tensor(name).cloned().expect("the stages write all results");
        let outputs = self.produces.iter().map(|name| (name.clone(), result(name))).collect();
        self.runs.fetch_add(1, Ordering::Relaxed);
        if state.engine == Engine::Cpu {
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
    pub(crate) fn new((requested, engine): (Engine, Engine), bindings: &Bindings, limits: &Limits) -> RunState {
        let tensors = bindings.iter().map(|(alias, tensor)| (alias.clone(), tensor.clone())).collect();
        let counts = (engine == Engine::AssemblyInterpreter).then(Counts::default);
        RunState { requested, engine, tensors, counts, device_time: None, limits: limits.for_one_run() }
    }

    /// Returns whether the run is on a device chosen by [`Engine::Auto`].
    fn is_on_chosen_device(&self) -> bool {
        self.requested == Engine::Auto && matches!(self.engine, Engine::Cuda(_))
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

    /// Drops all other tensors.
    pub(crate) fn retain(&mut self, needed: &HashSet<Alias>) {
        self.tensors.retain(|name, _| needed.contains(name));
    }
}

/// Runs on the requested engine. Under [`Engine::Auto`], if a device fails together with its
/// results, the CPU restarts the run. Also returns the error of the device.
pub(crate) fn run_or_restart(
    requested: Engine,
    mut run: impl FnMut(Engine) -> Result<Run, Error>,
) -> Result<(Run, Option<Error>), Error> {
    match run(requested) {
        Err(error) if requested == Engine::Auto && error.is_device_failure() => Ok((run(Engine::Cpu)?, Some(error))),
        result => result.map(|run| (run, None)),
    }
}

/// Returns whether a kernel of the engine converts storage: on a device if the source is there, and
/// in the interpreter of grids, which emulates a device.
fn converts_in_kernel(engine: kernel::KernelEngine, source: &Tensor) -> bool {
    match engine {
        kernel::KernelEngine::Cuda(_) => !source.is_on_host(),
        kernel::KernelEngine::Grid => true,
        _ => false,
    }
}
