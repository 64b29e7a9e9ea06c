//! Prepared plans: everything that was made of a plan, ready to run any number of times.

use crate::config::{Config, Engine};
use crate::engine::{Compile, Optimizing, Stage, Work, run_kernel, run_logic, run_notation};
use crate::error::Error;
use crate::session::Bindings;
use crate::timings::{Phase, Timings};
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::{Alias, Plan};
use redpoll_optimizer::Report;
use redpoll_physical::assembly::Counts;
use redpoll_physical::run::Limits;
use redpoll_physical::storage::{Tensor, convert_within};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    pub(crate) config: Config,
    pub(crate) plan: Plan,
    pub(crate) physical: PhysicalPlan,
    pub(crate) report: Report,
    pub(crate) stages: Arc<Vec<Stage>>,
    pub(crate) optimizing: Arc<Optimizing>,
}

/// Results by name, in the order in which a plan produces them.
type Results = Vec<(Alias, Tensor)>;

/// A query that has run.
pub(crate) struct Step<'a> {
    pub(crate) name: &'a str,
    pub(crate) writes: &'a [Alias],
    pub(crate) outputs: &'a [Tensor],
    pub(crate) time: Duration,
    pub(crate) counts: Option<Counts>,
}

/// What one run gives.
#[derive(Clone, Debug)]
pub struct Run {
    /// The results that the plan produces, in its order.
    pub outputs: Vec<(Alias, Tensor)>,
    /// The work of all queries; only the interpreter of Assembly counts.
    pub counts: Option<Counts>,
    /// How long it took.
    pub time: Duration,
}

impl Run {
    /// The result of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.outputs.iter().find(|(alias, _)| alias.as_str() == name).map(|(_, tensor)| tensor)
    }
}

impl Prepared {
    /// The Logic plan.
    pub fn plan(&self) -> &Plan {
        &self.made.plan
    }

    /// The physical plan.
    pub fn physical(&self) -> &PhysicalPlan {
        &self.made.physical
    }

    /// What the optimizer decided, and why.
    pub fn report(&self) -> &Report {
        &self.made.report
    }

    /// How long each phase took until it was prepared.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// The names of its results, in order.
    pub fn produces(&self) -> &[Alias] {
        &self.made.physical.produces
    }

    /// Runs the plan on the engine of its session.
    ///
    /// # Errors
    /// When a kernel stops: the memory limit, cancellation, a checked operator.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_with(self.made.config.engine)
    }

    /// Runs the plan on a given engine.
    ///
    /// # Errors
    /// As [`Prepared::run`]; and when the engine computes densely, and a tensor is too large for that.
    pub fn run_with(&self, engine: Engine) -> Result<Run, Error> {
        self.run_observed(engine, &mut |_| {})
    }

    /// Runs the plan on a given engine and shows each query that has run.
    pub(crate) fn run_observed(&self, engine: Engine, seen: &mut dyn FnMut(Step<'_>)) -> Result<Run, Error> {
        let engine = match engine {
            Engine::Auto if self.made.optimizing.is_ready(&self.made.stages) => Engine::Optimizing,
            Engine::Optimizing => {
                self.made.optimizing.compile(&self.made.stages)?;
                engine
            }
            Engine::Auto => {
                self.made.optimizing.start_if_worth(&self.made.stages);
                engine
            }
            engine => engine,
        };
        let start = Instant::now();
        let mode = self.made.config.optimizer.float_mode;
        let (outputs, counts) = match engine {
            Engine::LogicInterpreter => (run_logic(&self.made.plan, &self.bindings, mode)?, None),
            _ => self.run_stages(engine, seen)?,
        };
        let time = start.elapsed();
        if engine == Engine::Auto {
            self.made.optimizing.count_run(time);
        }
        Ok(Run { outputs, counts, time })
    }

    /// The tier whose machine code the next run on [`Engine::Auto`] calls.
    pub fn tier(&self) -> Engine {
        if self.made.optimizing.is_ready(&self.made.stages) { Engine::Optimizing } else { Engine::Instant }
    }

    /// Waits until the optimizing tier is there, if it is being compiled in the background.
    pub fn wait_for_take_over(&self) {
        self.made.optimizing.wait();
    }

    /// What a user may want to know of the optimizing tier: why it is missing although the plan is worth it, or why its
    /// kernels are not kept on disk.
    pub fn tier_note(&self) -> Option<String> {
        if let Some(failure) = self.made.optimizing.failure() {
            return Some(failure.into());
        }
        let fault = if self.tier() == Engine::Optimizing { self.made.config.toolchain.cache_fault() } else { None };
        fault.map(|fault| format!("kernels are compiled anew in each process: {fault}"))
    }

    /// Runs the queries in order; what one writes, later ones read. Intermediates are dropped after their last read.
    fn run_stages(&self, engine: Engine, seen: &mut dyn FnMut(Step<'_>)) -> Result<(Results, Option<Counts>), Error> {
        let mut tensors: HashMap<Alias, Tensor> = self.bindings.iter().map(|(a, t)| (a.clone(), t.clone())).collect();
        let mut total = (engine == Engine::AssemblyInterpreter).then(Counts::default);
        for stage in self.made.stages.iter() {
            let input = |name: &Alias| tensors.get(name).expect("tensors are bound or written before");
            let inputs: Vec<&Tensor> = stage.reads.iter().map(input).collect();
            let start = Instant::now();
            let mut counts = None;
            let outputs = match (&stage.work, engine.of_kernels()) {
                (Work::Convert(ty), _) => {
                    let converted = convert_within(inputs[0], &ty.format, &self.limits.memory);
                    vec![converted.map_err(|source| stage.refused(Phase::Run, source))?]
                }
                (Work::Loops(loops), None) => run_notation(loops, &inputs)?,
                (Work::Loops(loops), Some(engine)) => {
                    let mode = self.made.config.optimizer.float_mode;
                    let how = Compile { engine, mode, toolchain: &self.made.config.toolchain };
                    let outcome = run_kernel(loops, &inputs, how, &self.limits)?;
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
        let produces = self.made.physical.produces.iter();
        let outputs = produces
            .map(|name| (name.clone(), tensors.get(name).cloned().expect("physical plans write what they produce")));
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
