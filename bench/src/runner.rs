//! The runner of the programs of workloads: a session that also sums up the times of runs, without
//! the times of their preparation.

use anyhow::{Context, Result};
use redpoll::{Array, Bindings, Config, Prepared, Program, Run, Session, Target};
use redpoll_compiler::notation::is_program;
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::time::Duration;

/// A session over the inputs of a workload.
pub struct WorkloadRunner {
    session: Session,
    inputs: Bindings,
    /// The time of runs, without preparation, since the last call of `take_kernel_time`.
    kernel: Duration,
    plans: HashMap<&'static str, Prepared>,
    arrays: HashMap<&'static str, Array>,
}

impl WorkloadRunner {
    /// Creates a session with the given configuration over inputs.
    pub fn new(config: Config, inputs: Bindings) -> WorkloadRunner {
        WorkloadRunner {
            session: Session::new(config),
            inputs,
            kernel: Duration::ZERO,
            plans: HashMap::new(),
            arrays: HashMap::new(),
        }
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the time of runs, without preparation, since the last call of this function, and
    /// resets this time.
    pub fn take_kernel_time(&mut self) -> Duration {
        std::mem::take(&mut self.kernel)
    }

    /// Returns the input of the given name.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn input(&self, name: &str) -> Result<&Tensor> {
        self.inputs.get(name).with_context(|| format!("no input `{name}`"))
    }

    /// Returns the input of the given name as a lazy array.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn array(&self, name: &str) -> Result<Array> {
        Ok(self.session.array(self.input(name)?.clone()))
    }

    /// Runs a plan over the inputs and returns its results.
    ///
    /// # Errors
    /// If the plan is rejected, or its run stops.
    pub fn run_plan(&mut self, text: &str) -> Result<Vec<Tensor>> {
        let run = self.session.prepare(text, &self.inputs)?.run()?;
        Ok(self.outputs(run))
    }

    /// Runs a plan, or a program in Notation, over the inputs and returns its results.
    ///
    /// # Errors
    /// If the text is rejected, or its kernels stop.
    pub fn run_text(&mut self, text: &str) -> Result<Vec<Tensor>> {
        if !is_program(text) {
            return self.run_plan(text);
        }
        let prepared = self.session.prepare_program(&Program::new(text)?, &self.inputs)?;
        // The Logic interpreter cannot run programs, so the Notation interpreter is the reference.
        let run = match self.session.config().target {
            Target::LOGIC => prepared.run_with(Target::NOTATION)?,
            _ => prepared.run()?,
        };
        Ok(self.outputs(run))
    }

    /// Runs a plan over the inputs and further tensors, and returns its results. A further tensor
    /// replaces the input of the same name.
    ///
    /// # Errors
    /// The errors of [`WorkloadRunner::run_plan`].
    pub fn run_plan_with<const N: usize>(&mut self, text: &str, more: [(&str, &Tensor); N]) -> Result<Vec<Tensor>> {
        let bindings = more.into_iter().fold(self.inputs.clone(), |all, (name, tensor)| all.with(name, tensor.clone()));
        let run = self.session.prepare(text, &bindings)?.run()?;
        Ok(self.outputs(run))
    }

    /// Runs a plan that is prepared on the first call and cached, and returns its results.
    ///
    /// # Errors
    /// The errors of [`WorkloadRunner::run_plan`].
    pub fn run_cached_plan(&mut self, text: &'static str) -> Result<Vec<Tensor>> {
        if !self.plans.contains_key(text) {
            self.plans.insert(text, self.session.prepare(text, &self.inputs)?);
        }
        let run = self.plans[text].run()?;
        Ok(self.outputs(run))
    }

    /// Runs a lazy array that is built on the first call and cached, and returns its result.
    ///
    /// # Errors
    /// If the array cannot be built or computed.
    pub fn collect_cached(
        &mut self,
        name: &'static str,
        build: impl FnOnce(&WorkloadRunner) -> Result<Array>,
    ) -> Result<Tensor> {
        if !self.arrays.contains_key(name) {
            let array = build(self)?;
            self.arrays.insert(name, array);
        }
        let run = self.arrays[name].prepare()?.run()?;
        Ok(self.outputs(run).swap_remove(0))
    }

    /// Computes a lazy array.
    ///
    /// # Errors
    /// If the array cannot be computed.
    pub fn collect(&mut self, array: &Array) -> Result<Tensor> {
        let run = array.prepare()?.run()?;
        Ok(self.outputs(run).swap_remove(0))
    }

    fn outputs(&mut self, run: Run) -> Vec<Tensor> {
        self.kernel += run.time;
        run.outputs.into_iter().map(|(_, tensor)| tensor).collect()
    }
}

/// Returns the default configuration with the given target.
pub fn config_with(target: Target) -> Config {
    Config { target, ..Config::default() }
}
