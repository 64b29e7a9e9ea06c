//! What runs the programs of workloads: a session, with the time that its kernels take.

use anyhow::{Context, Result};
use redpoll::{Array, Bindings, Config, Engine, Prepared, Program, Run, Session};
use redpoll_physical::notation::is_program;
use redpoll_physical::storage::Tensor;
use std::collections::HashMap;
use std::time::Duration;

/// A session over the inputs of a workload.
pub struct Runner {
    session: Session,
    inputs: Bindings,
    /// The time that kernels took since it was last asked for.
    kernel: Duration,
    plans: HashMap<&'static str, Prepared>,
    arrays: HashMap<&'static str, Array>,
}

impl Runner {
    /// A session of that configuration over inputs.
    pub fn new(config: Config, inputs: Bindings) -> Runner {
        Runner {
            session: Session::new(config),
            inputs,
            kernel: Duration::ZERO,
            plans: HashMap::new(),
            arrays: HashMap::new(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The time that kernels took since it was last asked for.
    pub fn take_kernel_time(&mut self) -> Duration {
        std::mem::take(&mut self.kernel)
    }

    /// The input of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn input(&self, name: &str) -> Result<&Tensor> {
        self.inputs.get(name).with_context(|| format!("there is no input `{name}`"))
    }

    /// The input of that name as a lazy array.
    ///
    /// # Errors
    /// When there is none.
    pub fn array(&self, name: &str) -> Result<Array> {
        Ok(self.session.array(self.input(name)?.clone()))
    }

    /// The results of a plan over the inputs.
    ///
    /// # Errors
    /// When the plan is refused, or stops.
    pub fn plan(&mut self, text: &str) -> Result<Vec<Tensor>> {
        let run = self.session.prepare(text, &self.inputs)?.run()?;
        Ok(self.outputs(run))
    }

    /// The results of a plan, or of a program in Notation, over the inputs.
    ///
    /// # Errors
    /// When the text is refused, or its kernels stop.
    pub fn text(&mut self, text: &str) -> Result<Vec<Tensor>> {
        if !is_program(text) {
            return self.plan(text);
        }
        let prepared = self.session.prepare_program(&Program::new(text)?, &self.inputs)?;
        // The interpreter of Logic has no programs; that of Notation is the reference for them.
        let run = match self.session.config().engine {
            Engine::LogicInterpreter => prepared.run_with(Engine::NotationInterpreter)?,
            _ => prepared.run()?,
        };
        Ok(self.outputs(run))
    }

    /// The results of a plan over the inputs and some tensors more.
    ///
    /// # Errors
    /// As [`Runner::plan`].
    pub fn plan_with<const N: usize>(&mut self, text: &str, more: [(&str, &Tensor); N]) -> Result<Vec<Tensor>> {
        let bindings = more.into_iter().fold(self.inputs.clone(), |all, (name, tensor)| all.with(name, tensor.clone()));
        let run = self.session.prepare(text, &bindings)?.run()?;
        Ok(self.outputs(run))
    }

    /// The results of a plan that is prepared when it is first asked for.
    ///
    /// # Errors
    /// As [`Runner::plan`].
    pub fn kept_plan(&mut self, text: &'static str) -> Result<Vec<Tensor>> {
        if !self.plans.contains_key(text) {
            self.plans.insert(text, self.session.prepare(text, &self.inputs)?);
        }
        let run = self.plans[text].run()?;
        Ok(self.outputs(run))
    }

    /// The results of a lazy array that is built when it is first asked for.
    ///
    /// # Errors
    /// When it cannot be built or computed.
    pub fn kept_array(&mut self, name: &'static str, build: impl FnOnce(&Runner) -> Result<Array>) -> Result<Tensor> {
        if !self.arrays.contains_key(name) {
            let array = build(self)?;
            self.arrays.insert(name, array);
        }
        let run = self.arrays[name].prepare()?.run()?;
        Ok(self.outputs(run).swap_remove(0))
    }

    /// The values of a lazy array.
    ///
    /// # Errors
    /// When it cannot be computed.
    pub fn collect(&mut self, array: &Array) -> Result<Tensor> {
        let run = array.prepare()?.run()?;
        Ok(self.outputs(run).swap_remove(0))
    }

    fn outputs(&mut self, run: Run) -> Vec<Tensor> {
        self.kernel += run.time;
        run.outputs.into_iter().map(|(_, tensor)| tensor).collect()
    }
}

/// A configuration that runs on one engine.
pub fn on(engine: Engine) -> Config {
    Config { engine, ..Config::default() }
}
