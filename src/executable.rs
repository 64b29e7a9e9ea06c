//! What runs prepared plans and programs: stages in order, on any engine, in two tiers.

use crate::config::{Config, Engine};
use crate::engine::{Compile, Loops, Optimizing, Stage, Work, run_kernel, run_notation};
use crate::error::Error;
use crate::prepared::Run;
use crate::session::Bindings;
use crate::timings::Phase;
use rayon::prelude::*;
use redpoll_logic::{Alias, FloatMode};
use redpoll_physical::assembly::Counts;
use redpoll_physical::run::Limits;
use redpoll_physical::storage::{Tensor, convert_within};
use std::collections::HashMap;
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

/// Results by name, in the order in which they are produced, and the work if it was counted.
pub(crate) type Results = (Vec<(Alias, Tensor)>, Option<Counts>);

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
        let engine = match engine {
            Engine::Auto if self.optimizing.is_ready(&self.stages) => Engine::Optimizing,
            Engine::Optimizing => {
                self.optimizing.compile(&self.stages)?;
                engine
            }
            Engine::Auto => {
                self.optimizing.start_if_worth(&self.stages);
                engine
            }
            engine => engine,
        };
        let start = Instant::now();
        let (outputs, counts) = match engine {
            Engine::LogicInterpreter => (logic()?, None),
            _ => self.run_stages(engine, bindings, limits, seen)?,
        };
        let time = start.elapsed();
        if engine == Engine::Auto {
            self.optimizing.count_run(time);
        }
        Ok(Run { outputs, counts, time })
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

    /// Runs the stages in order; what one writes, later ones read. Intermediates are dropped after their last read.
    fn run_stages(
        &self,
        engine: Engine,
        bindings: &Bindings,
        limits: &Limits,
        seen: &mut dyn FnMut(Step<'_>),
    ) -> Result<Results, Error> {
        let mut tensors: HashMap<Alias, Tensor> = bindings.iter().map(|(a, t)| (a.clone(), t.clone())).collect();
        let mut total = (engine == Engine::AssemblyInterpreter).then(Counts::default);
        for stage in self.stages.iter() {
            let input = |name: &Alias| tensors.get(name).expect("tensors are bound or written before");
            let inputs: Vec<&Tensor> = stage.reads.iter().map(input).collect();
            let start = Instant::now();
            let mut counts = None;
            let outputs = match (&stage.work, engine.of_kernels()) {
                (Work::Convert(ty), _) => {
                    let converted = convert_within(inputs[0], &ty.format, &limits.memory);
                    vec![converted.map_err(|source| stage.refused(Phase::Run, source))?]
                }
                (Work::Loops(loops), None) => run_notation(loops, &inputs)?,
                (Work::Loops(loops), Some(engine)) => {
                    let outcome = run_kernel(loops, &inputs, self.compile_by(engine), limits)?;
                    total = sum(total, outcome.counts);
                    counts = outcome.counts;
                    outcome.outputs
                }
            };
            let time = start.elapsed();
            seen(Step { name: &stage.name, writes: &stage.writes, outputs: &outputs, time, counts });
            for name in &stage.last_read {
                tensors.remove(name);
            }
            tensors.extend(stage.writes.iter().cloned().zip(outputs));
        }
        let outputs = self.produces.iter();
        let outputs =
            outputs.map(|name| (name.clone(), tensors.get(name).cloned().expect("stages write what is produced")));
        Ok((outputs.collect(), total))
    }
}

fn sum(a: Option<Counts>, b: Option<Counts>) -> Option<Counts> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    Some(Counts {
        iterations: a.iterations + b.iterations,
        loads: a.loads + b.loads,
        stores: a.stores + b.stores,
        allocated_bytes: a.allocated_bytes + b.allocated_bytes,
    })
}
