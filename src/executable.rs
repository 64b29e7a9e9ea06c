//! What runs prepared plans and programs: stages in order, on any engine, in two tiers.

use crate::config::{Config, Engine};
use crate::engine::{Compile, Loops, Optimizing, Stage, Work, run_kernel, run_notation};
use crate::error::Error;
use crate::prepared::Run;
use crate::session::Bindings;
use crate::timings::Phase;
use rayon::prelude::*;
use redpoll_logic::{Alias, FloatMode};
use redpoll_optimizer::AdaptivePlan;
use redpoll_physical::assembly::Counts;
use redpoll_physical::run::Limits;
use redpoll_physical::storage::{Tensor, convert_within};
use std::collections::{HashMap, HashSet};
use std::ops::Add;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Stages with their kernels. It does not depend on the values of tensors.
pub(crate) struct Executable {
    pub(crate) config: Config,
    pub(crate) stages: Arc<Vec<Stage>>,
    pub(crate) optimizing: Arc<Optimizing>,
    /// The names of its results, in order.
    pub(crate) produces: Vec<Alias>,
}

/// A run on its way: what one stage writes, later ones read.
pub(crate) struct Running {
    pub(crate) engine: Engine,
    tensors: HashMap<Alias, Tensor>,
    /// The work so far, if it is counted.
    counts: Option<Counts>,
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

impl Executable {
    /// The stages under a configuration; `edited` takes the place of the C text of their kernels.
    pub(crate) fn new(config: &Config, stages: Vec<Stage>, produces: Vec<Alias>, edited: Option<String>) -> Executable {
        let mode = config.optimizer.float_mode;
        let optimizing = Arc::new(Optimizing::new(&config.toolchain, mode, edited));
        Executable { config: config.clone(), stages: Arc::new(stages), optimizing, produces }
    }

    /// The stages of an adapted plan: those up to `after` have run, with the kernels that they had.
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

    fn compile_by(&self, engine: redpoll_physical::kernel::Engine) -> Compile<'_> {
        Compile { engine, mode: self.mode(), toolchain: &self.config.toolchain }
    }

    /// Compiles kernels for the engine of the configuration; for others that happens when they are asked for.
    pub(crate) fn compile(&self) -> Result<(), Error> {
        match self.config.engine {
            Engine::Optimizing => self.optimizing.compile(&self.stages),
            // Who has edited a text wants it to run.
            Engine::Auto if self.optimizing.edited.is_some() => self.optimizing.compile(&self.stages),
            engine => match engine.of_kernels() {
                Some(engine) => self.compile_loops(self.compile_by(engine)),
                None => Ok(()),
            },
        }
    }

    /// Compiles the kernels of all loops, those of several side by side: layouts are known, so none waits for another.
    fn compile_loops(&self, how: Compile<'_>) -> Result<(), Error> {
        let loops: Vec<&Loops> = self.stages.iter().filter_map(Stage::loops).collect();
        if let [one] = loops[..] {
            return one.compiled(how).map(drop);
        }
        let compiled = loops.par_iter().with_max_len(1).map(|l| l.compiled(how).map(drop));
        // Of several errors the one of the first query is told, in whatever order they came.
        compiled.collect::<Vec<_>>().into_iter().collect()
    }

    /// Runs on a given engine and shows each stage that has run. `logic` runs on the interpreter of Logic.
    pub(crate) fn run(
        &self,
        engine: Engine,
        (bindings, limits): (&Bindings, &Limits),
        logic: &dyn Fn() -> Result<Vec<(Alias, Tensor)>, Error>,
        seen: &mut dyn FnMut(Step<'_>),
    ) -> Result<Run, Error> {
        let engine = self.ready(engine)?;
        let start = Instant::now();
        Ok(match engine {
            Engine::LogicInterpreter => Run { outputs: logic()?, counts: None, time: start.elapsed(), held: 0 },
            _ => {
                let mut running = Running::new(engine, bindings, limits);
                for (number, stage) in self.stages.iter().enumerate() {
                    self.run_stage(number, &mut running, seen)?;
                    running.forget(&stage.last_read);
                }
                self.finish(&running, start.elapsed())
            }
        })
    }

    /// The engine of a run, once what it needs is there.
    pub(crate) fn ready(&self, engine: Engine) -> Result<Engine, Error> {
        match engine {
            Engine::Auto if self.optimizing.is_ready(&self.stages) => return Ok(Engine::Optimizing),
            Engine::Optimizing => self.optimizing.compile(&self.stages)?,
            Engine::Auto => self.optimizing.start_if_worth(&self.stages),
            _ => {}
        }
        Ok(engine)
    }

    /// The tier whose machine code the next run on [`Engine::Auto`] calls.
    pub(crate) fn tier(&self) -> Engine {
        if self.optimizing.is_ready(&self.stages) { Engine::Optimizing } else { Engine::Instant }
    }

    /// What a user may want to know of the optimizing tier.
    pub(crate) fn tier_note(&self) -> Option<String> {
        if let Some(failure) = self.optimizing.failure() {
            return Some(failure.into());
        }
        let fault = if self.tier() == Engine::Optimizing { self.config.toolchain.cache_fault() } else { None };
        fault.map(|fault| format!("kernels are compiled anew in each process: {fault}"))
    }

    /// Runs a stage after those before it.
    pub(crate) fn run_stage(
        &self,
        number: usize,
        running: &mut Running,
        seen: &mut dyn FnMut(Step<'_>),
    ) -> Result<(), Error> {
        let stage = &self.stages[number];
        let input = |name: &Alias| running.tensor(name).expect("tensors are bound or written before");
        let inputs: Vec<&Tensor> = stage.reads.iter().map(input).collect();
        let (limits, start) = (&running.limits, Instant::now());
        let mut counts = None;
        let outputs = match (&stage.work, running.engine.of_kernels()) {
            (Work::Convert(ty), _) => {
                let converted = convert_within(inputs[0], &ty.format, &limits.memory);
                vec![converted.map_err(|source| stage.refused(Phase::Run, source))?]
            }
            (Work::Loops(loops), None) => run_notation(loops, &inputs)?,
            (Work::Loops(loops), Some(engine)) => {
                let outcome = run_kernel(loops, &inputs, self.compile_by(engine), limits)?;
                counts = outcome.counts;
                outcome.outputs
            }
        };
        let time = start.elapsed();
        running.counts = [running.counts, counts].into_iter().flatten().reduce(Add::add);
        seen(Step { name: &stage.name, writes: &stage.writes, outputs: &outputs, time, counts });
        running.tensors.extend(stage.writes.iter().cloned().zip(outputs));
        Ok(())
    }

    /// What a run gives once all stages have run.
    pub(crate) fn finish(&self, running: &Running, time: Duration) -> Run {
        let result = |name: &Alias| running.tensor(name).cloned().expect("stages write what is produced");
        let outputs = self.produces.iter().map(|name| (name.clone(), result(name))).collect();
        if running.engine == Engine::Auto {
            self.optimizing.count_run(time);
        }
        Run { outputs, counts: running.counts, time, held: running.limits.memory.most() }
    }
}

impl Running {
    /// The inputs are there, and nothing has run.
    pub(crate) fn new(engine: Engine, bindings: &Bindings, limits: &Limits) -> Running {
        let tensors = bindings.iter().map(|(alias, tensor)| (alias.clone(), tensor.clone())).collect();
        let counts = (engine == Engine::AssemblyInterpreter).then(Counts::default);
        Running { engine, tensors, counts, limits: limits.of_one_run() }
    }

    /// A tensor that is at hand.
    pub(crate) fn tensor(&self, name: &Alias) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    fn forget(&mut self, names: &[Alias]) {
        for name in names {
            self.tensors.remove(name);
        }
    }

    /// Forgets all other tensors.
    pub(crate) fn retain(&mut self, wanted: &HashSet<Alias>) {
        self.tensors.retain(|name, _| wanted.contains(name));
    }
}
