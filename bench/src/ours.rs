//! redpoll as a server of the protocol: makes the data of workloads, and runs them in each tier,
//! cold and warm.

use crate::checks::Sums;
use crate::npy::write_input;
use crate::protocol::{Choice, Compared, InputFile, Memory, Reply, Request, Server, Task};
use crate::runner::{Runner, on};
use crate::workload::{Input, Made, Problem, Program, Size, Variant};
use crate::workloads;
use anyhow::{Context, Result, bail, ensure};
use redpoll::datasets::Data;
use redpoll::{Bindings, Config, Engine};
use redpoll_physical::emit::c::{CacheFolder, Toolchain, ToolchainOptions};
use redpoll_physical::storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The ways in which redpoll runs a workload: a tier, with or without caches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    /// Instant tier without caches: every call plans and compiles.
    Cold,
    /// Optimizing tier without caches, on disk or in memory.
    ColdOptimizing,
    /// Instant tier with cached plans and kernels.
    Instant,
    /// Optimizing tier with cached plans and kernels.
    Optimizing,
    /// For queries: optimizing tier with all caches, over tables that are tensors.
    Tensors,
    /// For queries: instant tier without caches, over tables that are tensors.
    ColdTensors,
}

impl Way {
    /// The ways for plans and programs.
    pub const ALL: [Way; 4] = [Way::Instant, Way::Optimizing, Way::Cold, Way::ColdOptimizing];

    /// The ways for queries. All but the last two read tables of record batches, which they encode.
    pub const QUERY: [Way; 6] =
        [Way::Instant, Way::Optimizing, Way::Cold, Way::ColdOptimizing, Way::Tensors, Way::ColdTensors];

    /// Returns the ways for a task.
    pub fn of(task: &Task) -> &'static [Way] {
        if task.query.is_some() { &Way::QUERY } else { &Way::ALL }
    }

    /// Finds a way by its name.
    ///
    /// # Errors
    /// If there is no such way.
    pub fn find(name: &str) -> Result<Way> {
        let found = Way::QUERY.into_iter().find(|way| way.name() == name);
        found.with_context(|| format!("no way is called `{name}`"))
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Cold => "cold",
            Way::ColdOptimizing => "cold optimizing",
            Way::Instant => "instant",
            Way::Optimizing => "optimizing",
            Way::Tensors => "tensors",
            Way::ColdTensors => "cold tensors",
        }
    }

    /// Returns whether nothing is cached between runs.
    pub fn is_cold(self) -> bool {
        matches!(self, Way::Cold | Way::ColdOptimizing | Way::ColdTensors)
    }

    /// Returns whether the tables of queries are tensors.
    pub fn has_tensors(self) -> bool {
        matches!(self, Way::Tensors | Way::ColdTensors)
    }

    /// Returns the configuration of a session for this way.
    pub fn config(self) -> Config {
        match self {
            Way::Cold | Way::ColdTensors | Way::Instant => on(Engine::Instant),
            Way::ColdOptimizing | Way::Optimizing | Way::Tensors => {
                let toolchain =
                    Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() });
                Config { toolchain: Arc::new(toolchain), ..on(Engine::Optimizing) }
            }
        }
    }
}

/// The server of redpoll, in this process.
#[derive(Default)]
pub struct Ours {
    inputs: Vec<Input>,
    program: Option<Program>,
    task: Option<Task>,
    bindings: Bindings,
    runners: HashMap<Way, Runner>,
    /// The variants of the problem; each has a runner once its inputs are built.
    variants: Vec<(Variant, Option<Runner>)>,
    /// The variant of the last run.
    last: Option<usize>,
    results: Vec<Tensor>,
    /// The server that answers queries, if the task is a query.
    queries: Option<Box<dyn Server>>,
}

/// A conversion of results to the form of the baseline's results.
type Finish = fn(Vec<Tensor>) -> Result<Vec<Tensor>>;

impl Server for Ours {
    fn answer(&mut self, request: Request) -> Result<Reply> {
        if let (Some(queries), Request::Run { .. } | Request::Check) = (&mut self.queries, &request) {
            return queries.answer(request);
        }
        match request {
            Request::Hello { .. } => {
                Ok(Reply::Hello { name: "redpoll".into(), version: env!("CARGO_PKG_VERSION").into() })
            }
            Request::Make(choice) => self.make(&choice),
            Request::Verify(choice) => verify(&choice),
            Request::Load(task) if task.query.is_some() => {
                let mut queries = queries(std::mem::take(&mut self.inputs))?;
                let reply = queries.answer(Request::Load(task))?;
                self.queries = Some(queries);
                Ok(reply)
            }
            Request::Load(_) => self.build(),
            Request::Run { way, repeat } => self.run(&way, repeat),
            Request::Check => {
                let task = self.task.as_ref().context("there is no task")?;
                let finish = self.last.map_or(Ok as Finish, |k| self.variants[k].0.finish);
                Ok(Reply::Checked { sums: sums(&finish(self.results.clone())?, task)? })
            }
            Request::Quit => bail!("the process ends without a reply"),
        }
    }
}

impl Ours {
    fn make(&mut self, choice: &Choice) -> Result<Reply> {
        let start = Instant::now();
        let problem = match make(choice)? {
            Ok(problem) => problem,
            Err(reason) => return Ok(Reply::Unsupported { reason }),
        };
        let generate = start.elapsed().as_secs_f64();
        for input in &problem.inputs {
            write_input(&choice.folder, &input.name, &input.content)?;
        }
        let task = task(choice, &problem);
        let (bytes, operations) = (problem.work.bytes, problem.work.operations);
        let about = |v: &Variant| Compared { name: v.name.clone(), paper: v.paper.map(Into::into) };
        let compared = problem.variants.iter().map(about).collect();
        *self = Ours {
            inputs: problem.inputs,
            program: Some(problem.program),
            task: Some(task.clone()),
            variants: problem.variants.into_iter().map(|variant| (variant, None)).collect(),
            ..Ours::default()
        };
        Ok(Reply::Made { task, data: problem.data, bytes, operations, generate, compared })
    }

    /// Builds the tensors of all inputs and drops the contents they are built from.
    fn build(&mut self) -> Result<Reply> {
        let start = Instant::now();
        self.bindings = stored(std::mem::take(&mut self.inputs))?;
        for (variant, runner) in &mut self.variants {
            let inputs = stored(std::mem::take(&mut variant.inputs)).with_context(|| variant.name.clone())?;
            *runner = Some(Runner::new(Way::Optimizing.config(), inputs));
        }
        Ok(Reply::Loaded { load: 0.0, build: start.elapsed().as_secs_f64() })
    }

    fn run(&mut self, way: &str, repeat: u32) -> Result<Reply> {
        if let Some(k) = self.variants.iter().position(|(variant, _)| variant.name == way) {
            let (variant, runner) = &mut self.variants[k];
            let runner = runner.as_mut().context("there are no data")?;
            let (reply, results) = timed(&variant.program, runner, repeat)?;
            (self.results, self.last) = (results, Some(k));
            return Ok(reply);
        }
        let way = Way::find(way)?;
        let program = self.program.as_ref().context("there is no task")?;
        let mut fresh;
        let runner = if way.is_cold() {
            fresh = Runner::new(way.config(), self.bindings.clone());
            &mut fresh
        } else {
            let bindings = &self.bindings;
            self.runners.entry(way).or_insert_with(|| Runner::new(way.config(), bindings.clone()))
        };
        let (reply, results) = timed(program, runner, repeat)?;
        self.results = results;
        Ok(reply)
    }
}

/// Runs a program `repeat` times, and returns its results with the time and memory of one run.
/// Memory from earlier runs is not counted.
fn timed(program: &Program, runner: &mut Runner, repeat: u32) -> Result<(Reply, Vec<Tensor>)> {
    runner.take_kernel_time();
    let budget = runner.session().limits().memory.clone();
    budget.restart_most();
    let before = budget.used();
    let start = Instant::now();
    for _ in 1..repeat {
        program(runner)?;
    }
    let results = program(runner)?;
    let seconds = start.elapsed().as_secs_f64() / f64::from(repeat);
    let kernel = runner.take_kernel_time().as_secs_f64() / f64::from(repeat);
    let memory = Memory { held: (budget.most() - before) as u64, results: results.iter().map(Tensor::bytes).sum() };
    Ok((Reply::Ran { seconds, kernel: Some(kernel), memory: Some(memory) }, results))
}

/// Converts inputs to tensors in their formats.
pub fn stored(inputs: Vec<Input>) -> Result<Bindings> {
    inputs.into_iter().try_fold(Bindings::new(), |all, input| {
        Ok(all.with(input.name, input.content.into_tensor(Some(input.format))?))
    })
}

/// Makes the chosen problem, or returns the reason why it cannot be made.
fn make(choice: &Choice) -> Result<Result<Problem, String>> {
    let (workload, data) = workloads::find(&choice.id)?;
    Ok(match (workload.make)(data, choice.size).with_context(|| format!("making {}", choice.id))? {
        Made::Problem(problem) if problem.query.is_some() && !cfg!(feature = "sql") => {
            Err("needs the SQL front end: build with `--features sql`, see bench/README.md".into())
        }
        Made::Problem(problem) => Ok(*problem),
        Made::Absent(reason) => Err(reason),
    })
}

fn task(choice: &Choice, problem: &Problem) -> Task {
    let file = |input: &Input| InputFile {
        name: input.name.clone(),
        shape: input.content.shape.clone(),
        dense: matches!(input.content.data, Data::Dense(_)),
        fill: crate::protocol::Fill(input.content.fill.to_f64().unwrap_or(0.0)),
    };
    let name = choice.id.split('/').nth(1).unwrap_or_default();
    Task {
        // Servers without SQL select programs by name, and no program is named after a query.
        operation: if problem.query.is_some() { format!("query {name}") } else { name.into() },
        folder: choice.folder.clone(),
        inputs: problem.inputs.iter().map(file).collect(),
        parameters: problem.parameters.clone(),
        fills: problem.fills.clone(),
        tolerance: problem.tolerance,
        query: problem.query.clone(),
    }
}

/// Returns the server that answers queries over inputs.
#[cfg(feature = "sql")]
fn queries(inputs: Vec<Input>) -> Result<Box<dyn Server>> {
    Ok(Box::new(crate::peers::sql::Queries::redpoll(inputs)?))
}

#[cfg(not(feature = "sql"))]
fn queries(_: Vec<Input>) -> Result<Box<dyn Server>> {
    bail!("needs the SQL front end: build with `--features sql`")
}

fn sums(results: &[Tensor], task: &Task) -> Result<Vec<Sums>> {
    let (found, expected) = (results.len(), task.fills.len());
    ensure!(found == expected, "{found} results, {expected} were expected");
    results.iter().zip(&task.fills).map(|(tensor, fill)| Sums::of(tensor, fill.0)).collect()
}

/// Returns the sums of a workload on tiny data: first by kernels, then by the reference
/// interpreter, or by DataFusion for queries.
fn verify(choice: &Choice) -> Result<Reply> {
    let choice = Choice { size: Size::Tiny, ..choice.clone() };
    let problem = match make(&choice)? {
        Ok(problem) => problem,
        Err(reason) => return Ok(Reply::Unsupported { reason }),
    };
    let task = task(&choice, &problem);
    #[cfg(feature = "sql")]
    if task.query.is_some() {
        return Ok(Reply::Checked { sums: crate::peers::sql::verify(&task, problem.inputs)? });
    }
    let mut ways: Vec<(String, Bindings, Program, Finish)> = Vec::new();
    for variant in problem.variants {
        ways.push((variant.name, stored(variant.inputs)?, variant.program, variant.finish));
    }
    if ways.is_empty() {
        ways.push((choice.id.clone(), stored(problem.inputs)?, problem.program, Ok));
    }
    let mut all = Vec::new();
    for engine in [Engine::Instant, Engine::LogicInterpreter] {
        for (name, bindings, program, finish) in &ways {
            let results = program(&mut Runner::new(on(engine), bindings.clone())).and_then(finish);
            let results = results.with_context(|| format!("{name} on the {}", engine.name()))?;
            all.extend(sums(&results, &task)?);
        }
    }
    Ok(Reply::Checked { sums: all })
}

/// Checks that the two halves of verified sums agree.
///
/// # Errors
/// If they differ, with the first difference.
pub fn compare_halves(sums: &[Sums], tolerance: f64) -> Result<()> {
    let (ours, reference) = sums.split_at(sums.len() / 2);
    for (k, (a, b)) in ours.iter().zip(reference).enumerate() {
        if let Some(difference) = a.difference(b, tolerance) {
            bail!("result {}: {difference}", k + 1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ROUNDED;

    #[test]
    fn every_workload_agrees_with_the_reference_interpreter_on_tiny_data() {
        let mut waiting = 0;
        for (workload, data) in workloads::all() {
            let choice = Choice { id: workload.id(data), size: Size::Tiny, folder: "unused".into() };
            match verify(&choice).unwrap_or_else(|error| panic!("{}: {error:#}", choice.id)) {
                Reply::Checked { sums } => {
                    assert!(sums.iter().any(|sums| sums.count > 0), "{}: every result is empty", choice.id);
                    compare_halves(&sums, ROUNDED).unwrap_or_else(|error| panic!("{}: {error:#}", choice.id));
                }
                _ => waiting += 1,
            }
        }
        assert!(waiting < workloads::all().count() / 3, "{waiting} workloads have nothing to run");
    }
}
