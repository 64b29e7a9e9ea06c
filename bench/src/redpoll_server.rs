//! Redpoll as a server of the harness: generates the data of workloads, and runs and verifies the
//! workloads. Runs use each tier, cold and warm; variants run warm in the optimizing tier.

use crate::checks::Sums;
use crate::npy::write_input;
use crate::protocol::{
    InputFile, RunMemory, Server, ServerReply, ServerRequest, VariantInfo, WorkloadChoice, WorkloadTask,
};
use crate::runner::{WorkloadRunner, config_with};
use crate::workload::{DataSize, MakeOutcome, Variant, WorkloadInput, WorkloadProblem, WorkloadProgram};
use crate::workloads;
use anyhow::{Context, Result, bail, ensure};
use redpoll::datasets::Data;
use redpoll::{Bindings, Config, Target};
use redpoll_kernels::CacheFolder;
use redpoll_kernels::c::{Toolchain, ToolchainOptions};
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// An execution mode of redpoll: a tier, with or without caches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExecutionMode {
    /// Instant tier without caches: every call plans and compiles.
    Cold,
    /// Optimizing tier without caches in memory or on disk.
    ColdOptimizing,
    /// Instant tier with cached plans and kernels.
    Instant,
    /// Optimizing tier with cached plans and kernels.
    Optimizing,
    /// For queries: optimizing tier with cached plans and kernels, over tables that are tensors.
    Tensors,
    /// For queries: instant tier without caches, over tables that are tensors.
    ColdTensors,
}

impl ExecutionMode {
    /// The modes for plans and programs.
    pub const ALL: [ExecutionMode; 4] =
        [ExecutionMode::Instant, ExecutionMode::Optimizing, ExecutionMode::Cold, ExecutionMode::ColdOptimizing];

    /// The modes for queries. All but the last two read tables of record batches and encode them.
    pub const QUERY: [ExecutionMode; 6] = [
        ExecutionMode::Instant,
        ExecutionMode::Optimizing,
        ExecutionMode::Cold,
        ExecutionMode::ColdOptimizing,
        ExecutionMode::Tensors,
        ExecutionMode::ColdTensors,
    ];

    /// Returns the modes for a task.
    pub fn for_task(task: &WorkloadTask) -> &'static [ExecutionMode] {
        if task.query.is_some() { &ExecutionMode::QUERY } else { &ExecutionMode::ALL }
    }

    /// Finds a mode by its name.
    ///
    /// # Errors
    /// If there is no such mode.
    pub fn find(name: &str) -> Result<ExecutionMode> {
        let found = ExecutionMode::QUERY.into_iter().find(|mode| mode.name() == name);
        found.with_context(|| format!("no execution mode `{name}`"))
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionMode::Cold => "cold",
            ExecutionMode::ColdOptimizing => "cold optimizing",
            ExecutionMode::Instant => "instant",
            ExecutionMode::Optimizing => "optimizing",
            ExecutionMode::Tensors => "tensors",
            ExecutionMode::ColdTensors => "cold tensors",
        }
    }

    /// Returns whether nothing is cached between runs.
    pub fn is_cold(self) -> bool {
        matches!(self, ExecutionMode::Cold | ExecutionMode::ColdOptimizing | ExecutionMode::ColdTensors)
    }

    /// Returns whether the tables of queries are tensors.
    pub fn has_tensors(self) -> bool {
        matches!(self, ExecutionMode::Tensors | ExecutionMode::ColdTensors)
    }

    /// Returns the configuration of a session for this mode.
    pub fn config(self) -> Config {
        match self {
            ExecutionMode::Cold | ExecutionMode::ColdTensors | ExecutionMode::Instant => config_with(Target::INSTANT),
            ExecutionMode::ColdOptimizing | ExecutionMode::Optimizing | ExecutionMode::Tensors => {
                let toolchain =
                    Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() });
                Config { toolchain: Arc::new(toolchain), ..config_with(Target::OPTIMIZING) }
            }
        }
    }
}

/// The server of redpoll, in this process.
#[derive(Default)]
pub struct RedpollServer {
    inputs: Vec<WorkloadInput>,
    program: Option<WorkloadProgram>,
    task: Option<WorkloadTask>,
    bindings: Bindings,
    runners: HashMap<ExecutionMode, WorkloadRunner>,
    /// The variants of the problem; each has a runner once its inputs are built.
    variants: Vec<(Variant, Option<WorkloadRunner>)>,
    /// The variant of the last run.
    last_variant: Option<usize>,
    results: Vec<Tensor>,
    /// The server that runs queries, if the task is a query.
    query_server: Option<Box<dyn Server>>,
}

/// A conversion of results to the form of the baseline's results.
type ResultConversion = fn(Vec<Tensor>) -> Result<Vec<Tensor>>;

impl Server for RedpollServer {
    fn handle(&mut self, request: ServerRequest) -> Result<ServerReply> {
        if let (Some(server), ServerRequest::Run { .. } | ServerRequest::Check) = (&mut self.query_server, &request) {
            return server.handle(request);
        }
        match request {
            ServerRequest::Hello { .. } => {
                Ok(ServerReply::Hello { name: "redpoll".into(), version: env!("CARGO_PKG_VERSION").into() })
            }
            ServerRequest::Generate(choice) => self.generate(&choice),
            ServerRequest::Verify(choice) => verify(&choice),
            ServerRequest::Load(task) if task.query.is_some() => {
                let mut server = query_server(std::mem::take(&mut self.inputs))?;
                let reply = server.handle(ServerRequest::Load(task))?;
                self.query_server = Some(server);
                Ok(reply)
            }
            ServerRequest::Load(_) => self.build(),
            ServerRequest::Run { mode, repeat } => self.run(&mode, repeat),
            ServerRequest::Check => {
                let task = self.task.as_ref().context("no task is loaded")?;
                let variant = self.last_variant.map(|k| &self.variants[k].0);
                let convert_results = variant.map_or(Ok as ResultConversion, |variant| variant.convert_results);
                Ok(ServerReply::Checked { sums: compute_sums(&convert_results(self.results.clone())?, task)? })
            }
            ServerRequest::Quit => bail!("the process ends without a reply"),
        }
    }
}

impl RedpollServer {
    fn generate(&mut self, choice: &WorkloadChoice) -> Result<ServerReply> {
        let start = Instant::now();
        let problem = match make_problem(choice)? {
            Ok(problem) => problem,
            Err(reason) => return Ok(ServerReply::Unsupported { reason }),
        };
        let generate = start.elapsed().as_secs_f64();
        for input in &problem.inputs {
            write_input(&choice.folder, &input.name, &input.content)?;
        }
        let task = make_task(choice, &problem);
        let (bytes, operations) = (problem.work.bytes, problem.work.operations);
        let info = |v: &Variant| VariantInfo { name: v.name.clone(), paper: v.paper.map(Into::into) };
        let variants = problem.variants.iter().map(info).collect();
        *self = RedpollServer {
            inputs: problem.inputs,
            program: Some(problem.program),
            task: Some(task.clone()),
            variants: problem.variants.into_iter().map(|variant| (variant, None)).collect(),
            ..RedpollServer::default()
        };
        Ok(ServerReply::Generated { task, data: problem.data, bytes, operations, generate, variants })
    }

    /// Builds the tensors of all inputs and drops their contents.
    fn build(&mut self) -> Result<ServerReply> {
        let start = Instant::now();
        self.bindings = store_inputs(std::mem::take(&mut self.inputs))?;
        for (variant, runner) in &mut self.variants {
            let inputs = store_inputs(std::mem::take(&mut variant.inputs)).with_context(|| variant.name.clone())?;
            *runner = Some(WorkloadRunner::new(ExecutionMode::Optimizing.config(), inputs));
        }
        Ok(ServerReply::Loaded { load: 0.0, build: start.elapsed().as_secs_f64() })
    }

    fn run(&mut self, mode: &str, repeat: u32) -> Result<ServerReply> {
        if let Some(k) = self.variants.iter().position(|(variant, _)| variant.name == mode) {
            let (variant, runner) = &mut self.variants[k];
            let runner = runner.as_mut().context("no data are loaded")?;
            let (reply, results) = run_timed(&variant.program, runner, repeat)?;
            (self.results, self.last_variant) = (results, Some(k));
            return Ok(reply);
        }
        let mode = ExecutionMode::find(mode)?;
        let program = self.program.as_ref().context("no task is loaded")?;
        let mut fresh;
        let runner = if mode.is_cold() {
            fresh = WorkloadRunner::new(mode.config(), self.bindings.clone());
            &mut fresh
        } else {
            let bindings = &self.bindings;
            self.runners.entry(mode).or_insert_with(|| WorkloadRunner::new(mode.config(), bindings.clone()))
        };
        let (reply, results) = run_timed(program, runner, repeat)?;
        self.results = results;
        Ok(reply)
    }
}

/// Runs a program `repeat` times. Returns its results, the mean times of a run, and the peak of the
/// memory that these runs allocate. Memory that the session already uses is not counted.
fn run_timed(
    program: &WorkloadProgram,
    runner: &mut WorkloadRunner,
    repeat: u32,
) -> Result<(ServerReply, Vec<Tensor>)> {
    runner.take_kernel_time();
    let budget = runner.session().limits().memory.clone();
    budget.reset_peak();
    let before = budget.used();
    let start = Instant::now();
    for _ in 1..repeat {
        program(runner)?;
    }
    let results = program(runner)?;
    let seconds = start.elapsed().as_secs_f64() / f64::from(repeat);
    let kernel = runner.take_kernel_time().as_secs_f64() / f64::from(repeat);
    let memory = RunMemory { peak: (budget.peak() - before) as u64, results: results.iter().map(Tensor::bytes).sum() };
    Ok((ServerReply::Ran { seconds, kernel: Some(kernel), memory: Some(memory) }, results))
}

/// Converts inputs to tensors in their formats.
pub fn store_inputs(inputs: Vec<WorkloadInput>) -> Result<Bindings> {
    inputs.into_iter().try_fold(Bindings::new(), |all, input| {
        Ok(all.with(input.name, input.content.into_tensor(Some(input.format))?))
    })
}

/// Makes the chosen problem, or returns the reason why it cannot run.
fn make_problem(choice: &WorkloadChoice) -> Result<Result<WorkloadProblem, String>> {
    let (workload, data) = workloads::find(&choice.id)?;
    Ok(match (workload.make)(data, choice.size).with_context(|| format!("cannot make {}", choice.id))? {
        MakeOutcome::Problem(problem) if problem.query.is_some() && !cfg!(feature = "sql") => {
            Err("needs the SQL front end; build with `--features sql`, see bench/README.md".into())
        }
        MakeOutcome::Problem(problem) => Ok(*problem),
        MakeOutcome::Missing(reason) => Err(reason),
    })
}

fn make_task(choice: &WorkloadChoice, problem: &WorkloadProblem) -> WorkloadTask {
    let file = |input: &WorkloadInput| InputFile {
        name: input.name.clone(),
        shape: input.content.shape.clone(),
        dense: matches!(input.content.data, Data::Dense(_)),
        fill: crate::protocol::Fill(input.content.fill.to_f64().unwrap_or(0.0)),
    };
    let name = choice.id.split('/').nth(1).unwrap_or_default();
    WorkloadTask {
        // Servers without SQL select a program by this name. No program has the name of a query, so
        // these servers reply that the task is not supported.
        operation: if problem.query.is_some() { format!("query {name}") } else { name.into() },
        folder: choice.folder.clone(),
        inputs: problem.inputs.iter().map(file).collect(),
        parameters: problem.parameters.clone(),
        fills: problem.fills.clone(),
        tolerance: problem.tolerance,
        query: problem.query.clone(),
    }
}

/// Creates the server that runs queries over inputs.
#[cfg(feature = "sql")]
fn query_server(inputs: Vec<WorkloadInput>) -> Result<Box<dyn Server>> {
    Ok(Box::new(crate::peers::sql::QueryServer::redpoll(inputs)?))
}

#[cfg(not(feature = "sql"))]
fn query_server(_: Vec<WorkloadInput>) -> Result<Box<dyn Server>> {
    bail!("needs the SQL front end; build with `--features sql`")
}

fn compute_sums(results: &[Tensor], task: &WorkloadTask) -> Result<Vec<Sums>> {
    let (found, expected) = (results.len(), task.fills.len());
    ensure!(found == expected, "{found} results, expected {expected}");
    results.iter().zip(&task.fills).map(|(tensor, fill)| Sums::of(tensor, fill.0)).collect()
}

/// Returns the sums of a workload on tiny data: first by kernels, then by the reference
/// interpreter, or by DataFusion for queries.
fn verify(choice: &WorkloadChoice) -> Result<ServerReply> {
    let choice = WorkloadChoice { size: DataSize::Tiny, ..choice.clone() };
    let problem = match make_problem(&choice)? {
        Ok(problem) => problem,
        Err(reason) => return Ok(ServerReply::Unsupported { reason }),
    };
    let task = make_task(&choice, &problem);
    #[cfg(feature = "sql")]
    if task.query.is_some() {
        return Ok(ServerReply::Checked { sums: crate::peers::sql::verify(&task, problem.inputs)? });
    }
    let mut runs: Vec<(String, Bindings, WorkloadProgram, ResultConversion)> = Vec::new();
    for variant in problem.variants {
        runs.push((variant.name, store_inputs(variant.inputs)?, variant.program, variant.convert_results));
    }
    if runs.is_empty() {
        runs.push((choice.id.clone(), store_inputs(problem.inputs)?, problem.program, Ok));
    }
    let mut all = Vec::new();
    for target in [Target::INSTANT, Target::LOGIC] {
        for (name, bindings, program, convert_results) in &runs {
            let mut runner = WorkloadRunner::new(config_with(target), bindings.clone());
            let results = program(&mut runner).and_then(convert_results);
            let results = results.with_context(|| format!("{name} on target {}", target.name()))?;
            all.extend(compute_sums(&results, &task)?);
        }
    }
    Ok(ServerReply::Checked { sums: all })
}

/// Checks that the sums of the kernels, which are the first half, agree with those of the
/// reference.
///
/// # Errors
/// If the halves differ; the error has the first difference.
pub fn compare_halves(sums: &[Sums], tolerance: f64) -> Result<()> {
    let (kernels, reference) = sums.split_at(sums.len() / 2);
    for (k, (a, b)) in kernels.iter().zip(reference).enumerate() {
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
        let mut unsupported = 0;
        for (workload, data) in workloads::all() {
            let choice = WorkloadChoice { id: workload.id(data), size: DataSize::Tiny, folder: "unused".into() };
            match verify(&choice).unwrap_or_else(|error| panic!("{}: {error:#}", choice.id)) {
                ServerReply::Checked { sums } => {
                    assert!(sums.iter().any(|sums| sums.count > 0), "{}: every result is empty", choice.id);
                    compare_halves(&sums, ROUNDED).unwrap_or_else(|error| panic!("{}: {error:#}", choice.id));
                }
                _ => unsupported += 1,
            }
        }
        assert!(unsupported < workloads::all().count() / 3, "{unsupported} workloads cannot run");
    }
}
