//! Execution of prepared plans and programs: stages in order, on any engine, in two tiers.

use crate::config::{Config, Engine};
use crate::engine::{
    Compile, Device, Expected, Loops, Optimizing, Placement, Reason, Stage, Work, place, run_kernel, run_notation,
};
use crate::error::Error;
use crate::prepared::Run;
use crate::session::Bindings;
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
    pub(crate) optimizing: Arc<Optimizing>,
    /// Number of completed runs.
    runs: AtomicU64,
    /// The reason why the chosen device does not run the stages, once it has failed.
    declined: OnceLock<String>,
    /// The names of the results, in order.
    pub(crate) produces: Vec<Alias>,
}

/// The state of a run: tensors written by one stage are read by later ones.
pub(crate) struct Running {
    /// The requested engine.
    asked: Engine,
    /// The engine of the next stage.
    pub(crate) engine: Engine,
    tensors: HashMap<Alias, Tensor>,
    /// The work so far, if it is counted.
    counts: Option<Counts>,
    /// The time of launches on a device so far.
    on_device: Option<Duration>,
    limits: Limits,
}

/// A stage that has run.
pub(crate) struct Step<'a> {
    pub(crate) name: &'a str,
    pub(crate) writes: &'a [Alias],
    pub(crate) outputs: &'a [Tensor],
    pub(crate) time: Duration,
    pub(crate) counts: Option<Counts>,
}

/// Observer of completed stages. An error of the observer, such as for an output that a device
/// lost, fails the stage.
pub(crate) type Seen<'s> = dyn FnMut(Step<'_>) -> Result<(), Error> + 's;

impl Executable {
    /// Creates an executable of the stages. `edited` replaces the C text of their kernels.
    pub(crate) fn new(config: &Config, stages: Vec<Stage>, produces: Vec<Alias>, edited: Option<String>) -> Executable {
        let mode = config.optimizer.float_mode;
        let optimizing = Arc::new(Optimizing::new(&config.toolchain, mode, edited));
        Executable {
            config: config.clone(),
            stages: Arc::new(stages),
            optimizing,
            runs: AtomicU64::new(0),
            declined: OnceLock::new(),
            produces,
        }
    }

    /// Creates and compiles the stages of an adapted plan. The stages up to `after` have run and
    /// keep their kernels.
    pub(crate) fn adapted(
        &self,
        after: usize,
        planned: &AdaptivePlan,
        bindings: &Bindings,
    ) -> Result<Executable, Error> {
        let stages = Stage::all_of(planned, bindings, &self.stages[..=after])?;
        let executable = Executable::new(&self.config, stages, planned.physical.produces.clone(), None);
        executable.compile()?;
        Ok(executable)
    }

    pub(crate) fn mode(&self) -> FloatMode {
        self.config.optimizer.float_mode
    }

    fn compile_by(&self, engine: kernel::Engine) -> Compile<'_> {
        Compile { engine, mode: self.mode(), toolchain: &self.config.toolchain }
    }

    /// Compiles kernels for the configured engine. For other engines, kernels are compiled on first
    /// use.
    pub(crate) fn compile(&self) -> Result<(), Error> {
        match self.config.engine {
            Engine::Optimizing => self.optimizing.compile(&self.stages),
            // Edited text must run, so the optimizing tier is compiled at once.
            Engine::Cpu | Engine::Auto if self.optimizing.edited.is_some() => self.optimizing.compile(&self.stages),
            engine => match engine.of_kernels() {
                Some(engine) => self.compile_loops(self.compile_by(engine)),
                None => Ok(()),
            },
        }
    }

    /// Compiles the kernels of all loops in parallel: layouts are fixed, so kernels are
    /// independent.
    fn compile_loops(&self, how: Compile<'_>) -> Result<(), Error> {
        let loops: Vec<&Loops> = self.stages.iter().filter_map(Stage::loops).collect();
        if let [one] = loops[..] {
            return one.compiled(how).map(drop);
        }
        let compiled = loops.par_iter().with_max_len(1).map(|l| l.compiled(how).map(drop));
        // Of several errors, that of the first query is reported, for a deterministic result.
        compiled.collect::<Vec<_>>().into_iter().collect()
    }

    /// Runs the stages on a given engine and reports each completed stage. `logic` runs the
    /// interpreter of Logic.
    pub(crate) fn run(
        &self,
        asked: Engine,
        (bindings, limits): (&Bindings, &Limits),
        logic: &dyn Fn() -> Result<Vec<(Alias, Tensor)>, Error>,
        seen: &mut Seen<'_>,
    ) -> Result<Run, Error> {
        let engine = self.ready(asked, bindings)?;
        let start = Instant::now();
        Ok(match engine {
            Engine::LogicInterpreter => {
                Run { outputs: logic()?, counts: None, time: start.elapsed(), on_device: None, held: 0 }
            }
            _ => {
                let mut running = Running::new((asked, engine), bindings, limits);
                for (number, stage) in self.stages.iter().enumerate() {
                    self.run_stage(number, &mut running, seen)?;
                    running.forget(&stage.last_read);
                }
                self.finish(&running, start.elapsed())
            }
        })
    }

    /// Resolves the engine for these inputs and prepares it. The result is never [`Engine::Auto`].
    pub(crate) fn ready(&self, engine: Engine, bindings: &Bindings) -> Result<Engine, Error> {
        match engine {
            Engine::Auto => self.ready(self.chosen(bindings), bindings),
            Engine::Cpu if self.optimizing.is_ready(&self.stages) => Ok(Engine::Optimizing),
            Engine::Cpu => {
                self.optimizing.start_if_worth(&self.stages);
                Ok(engine)
            }
            Engine::Optimizing => self.optimizing.compile(&self.stages).map(|()| engine),
            _ => Ok(engine),
        }
    }

    /// Resolves [`Engine::Auto`]. If a device is chosen, its kernels are compiled.
    fn chosen(&self, bindings: &Bindings) -> Engine {
        let Processor::Cuda(ordinal) = self.placement(bindings).processor else { return Engine::Cpu };
        match self.compile_loops(self.compile_by(kernel::Engine::Cuda(ordinal))) {
            Ok(()) => Engine::Cuda(ordinal),
            Err(error) => {
                self.decline(&error);
                Engine::Cpu
            }
        }
    }

    /// Records that the chosen device cannot run the stages.
    pub(crate) fn decline(&self, error: &Error) {
        self.declined.get_or_init(|| error.to_string());
    }

    /// Returns the processor of the next run on the configured engine, and the reason.
    pub(crate) fn next_run(&self, bindings: &Bindings) -> Placement {
        match self.config.engine {
            Engine::Auto => self.placement(bindings),
            Engine::Cuda(ordinal) => Placement { processor: Processor::Cuda(ordinal), reason: Reason::Asked },
            _ => Placement { processor: Processor::Cpu, reason: Reason::Asked },
        }
    }

    /// Returns the processor of the next run on [`Engine::Auto`] over these inputs, and the reason.
    pub(crate) fn placement(&self, bindings: &Bindings) -> Placement {
        place(self.expected(), || {
            if let Some(why) = self.declined.get() {
                return Err(why.clone());
            }
            let cuda = Cuda::first().map_err(ToString::to_string)?;
            let mut inputs: Vec<&Alias> = self.stages.iter().flat_map(|stage| &stage.reads).collect();
            inputs.sort_unstable();
            inputs.dedup();
            let inputs: Vec<&Tensor> = inputs.into_iter().filter_map(|name| bindings.get(name.as_str())).collect();
            let mut loops = self.stages.iter().filter_map(Stage::loops);
            Ok(Device {
                missing: cuda.missing_bytes(&inputs),
                compiled: loops.all(|l| l.is_compiled(kernel::Engine::Cuda(0))),
                runs: self.runs.load(Ordering::Relaxed),
            })
        })
    }

    /// Returns the estimates that are available before a run.
    fn expected(&self) -> Expected {
        let loops = || self.stages.iter().filter_map(Stage::loops);
        let results = self.stages.iter().flat_map(|stage| &stage.expected);
        Expected {
            cost: loops().map(Loops::cost).sum(),
            queries: loops().count(),
            threads: self.config.workers.threads(),
            results: results.filter(|(name, _)| self.produces.contains(name)).map(|(_, bytes)| bytes).sum(),
        }
    }

    /// Returns the tier that the next run on [`Engine::Cpu`] uses.
    pub(crate) fn tier(&self) -> Engine {
        if self.optimizing.is_ready(&self.stages) { Engine::Optimizing } else { Engine::Instant }
    }

    /// Returns a note on the optimizing tier for the user.
    pub(crate) fn tier_note(&self) -> Option<String> {
        if let Some(failure) = self.optimizing.failure() {
            return Some(failure.into());
        }
        let fault = if self.tier() == Engine::Optimizing { self.config.toolchain.cache_fault() } else { None };
        fault.map(|fault| format!("kernels are compiled anew in each process: {fault}"))
    }

    /// Runs a stage after its predecessors. If a device chosen by [`Engine::Auto`] fails, the CPU
    /// runs this stage and the rest.
    pub(crate) fn run_stage(&self, number: usize, running: &mut Running, seen: &mut Seen<'_>) -> Result<(), Error> {
        match self.run_stage_once(number, running, seen) {
            Err(error) if running.is_chosen() && error.is_of_device() => {
                self.decline(&error);
                running.engine = Engine::Cpu;
                self.run_stage_once(number, running, seen)
            }
            result => result,
        }
    }

    fn run_stage_once(&self, number: usize, running: &mut Running, seen: &mut Seen<'_>) -> Result<(), Error> {
        let stage = &self.stages[number];
        let input = |name: &Alias| running.tensor(name).expect("tensors are bound or written before");
        let inputs: Vec<&Tensor> = stage.reads.iter().map(input).collect();
        let (limits, start) = (&running.limits, Instant::now());
        let (mut counts, mut on_device) = (None, None);
        let outputs = match (&stage.work, running.engine.of_kernels()) {
            (Work::Convert(_, Some(loops)), Some(engine)) if converts_there(engine, inputs[0]) => {
                let outcome = run_kernel(loops, &inputs, self.compile_by(engine), limits)?;
                on_device = outcome.on_device;
                outcome.outputs
            }
            (Work::Convert(ty, _), _) => {
                let converted = convert_within(inputs[0], &ty.format, &limits.memory);
                vec![converted.map_err(|source| stage.refused(Phase::Run, source))?]
            }
            (Work::Loops(loops), None) => run_notation(loops, &inputs, self.mode())?,
            (Work::Loops(loops), Some(engine)) => {
                let outcome = run_kernel(loops, &inputs, self.compile_by(engine), limits)?;
                counts = outcome.counts;
                on_device = outcome.on_device;
                outcome.outputs
            }
        };
        let time = start.elapsed();
        running.on_device = [running.on_device, on_device].into_iter().flatten().reduce(Add::add);
        running.counts = [running.counts, counts].into_iter().flatten().reduce(Add::add);
        seen(Step { name: &stage.name, writes: &stage.writes, outputs: &outputs, time, counts })?;
        running.tensors.extend(stage.writes.iter().cloned().zip(outputs));
        Ok(())
    }

    /// Returns the results after all stages have run.
    pub(crate) fn finish(&self, running: &Running, time: Duration) -> Run {
        let result = |name: &Alias| running.tensor(name).cloned().expect("stages write what is produced");
        let outputs = self.produces.iter().map(|name| (name.clone(), result(name))).collect();
        self.runs.fetch_add(1, Ordering::Relaxed);
        if running.engine == Engine::Cpu {
            self.optimizing.count_run(time);
        }
        Run { outputs, counts: running.counts, time, on_device: running.on_device, held: running.limits.memory.most() }
    }
}

impl Running {
    /// Creates the state of a run with its inputs, before the first stage.
    pub(crate) fn new((asked, engine): (Engine, Engine), bindings: &Bindings, limits: &Limits) -> Running {
        let tensors = bindings.iter().map(|(alias, tensor)| (alias.clone(), tensor.clone())).collect();
        let counts = (engine == Engine::AssemblyInterpreter).then(Counts::default);
        Running { asked, engine, tensors, counts, on_device: None, limits: limits.of_one_run() }
    }

    /// Returns whether the run is on a device chosen by [`Engine::Auto`].
    fn is_chosen(&self) -> bool {
        self.asked == Engine::Auto && matches!(self.engine, Engine::Cuda(_))
    }

    /// Returns an input or a tensor written so far.
    pub(crate) fn tensor(&self, name: &Alias) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    fn forget(&mut self, names: &[Alias]) {
        for name in names {
            self.tensors.remove(name);
        }
    }

    /// Drops all other tensors.
    pub(crate) fn retain(&mut self, wanted: &HashSet<Alias>) {
        self.tensors.retain(|name, _| wanted.contains(name));
    }
}

/// Runs on the requested engine. Under [`Engine::Auto`], if a device fails together with its
/// results, the CPU restarts the run. Also returns the error of the device.
pub(crate) fn run_or_restart(
    asked: Engine,
    mut run: impl FnMut(Engine) -> Result<Run, Error>,
) -> Result<(Run, Option<Error>), Error> {
    match run(asked) {
        Err(error) if asked == Engine::Auto && error.is_of_device() => Ok((run(Engine::Cpu)?, Some(error))),
        result => result.map(|run| (run, None)),
    }
}

/// Returns whether a kernel of the engine converts storage: on a device if the source is there, and
/// in the interpreter of grids, which emulates a device.
fn converts_there(engine: kernel::Engine, source: &Tensor) -> bool {
    match engine {
        kernel::Engine::Cuda(_) => !source.is_on_host(),
        kernel::Engine::Grid => true,
        _ => false,
    }
}
