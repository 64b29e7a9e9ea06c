//! Workloads: an equation, its data, and the plan, program or query by which redpoll computes it.

use crate::protocol::{Fill, SqlQuery};
use crate::runner::WorkloadRunner;
use anyhow::{Result, bail};
use clap::ValueEnum;
use redpoll::datasets::Content;
use redpoll_logic::Format;
use redpoll_logic::text::parse_format;
use redpoll_storage::Tensor;
use serde::{Deserialize, Serialize};

/// A group of workloads with its own table and figures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Finch's benchmarks of its array interface: triangles, sampled products, a fused element-wise
    /// expression.
    Paper,
    /// Sparse linear algebra.
    Linear,
    /// Tensors of three modes.
    Tensor,
    /// Element-wise functions, slices, folds with operators other than addition.
    Array,
    /// Graph algorithms, as sparse algebra and as programs with loops.
    Graph,
    /// Images.
    Image,
    /// Tiny inputs, which measure the cost of a call.
    Dispatch,
    /// Inputs of growing size, which measure how costs grow.
    Scale,
    /// The same results computed from structured and from unstructured storage; their times are
    /// compared.
    Structure,
    /// Queries over tables, in the SQL front end.
    Sql,
}

impl Suite {
    /// Returns the name, as written on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The size of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataSize {
    /// Large data: each workload takes seconds.
    Full,
    /// Small data: all workloads together take minutes.
    Quick,
    /// Data small enough for the reference interpreter.
    Tiny,
}

impl DataSize {
    /// Returns the argument for this size.
    pub fn pick<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            DataSize::Full => full,
            DataSize::Quick => quick,
            DataSize::Tiny => tiny,
        }
    }
}

/// A computation and the names of the data it runs on.
pub struct Workload {
    /// The suite of the workload.
    pub suite: Suite,
    /// The name, by which servers select their program.
    pub name: &'static str,
    /// The equation that the workload computes.
    pub equation: &'static str,
    /// The names of the data.
    pub data: &'static [&'static str],
    /// The function that makes the data of a given name.
    pub make: fn(&str, DataSize) -> Result<MakeOutcome>,
}

impl Workload {
    /// Returns the name `suite/workload/data`.
    pub fn id(&self, data: &str) -> String {
        format!("{}/{}/{data}", self.suite.name(), self.name)
    }
}

/// The result of making a workload's data.
pub enum MakeOutcome {
    /// A problem to run.
    Problem(Box<WorkloadProblem>),
    /// The reason why the data are missing on this machine.
    Missing(String),
}

/// A function that computes all results with redpoll, by plans, lazy arrays or programs in
/// Notation.
pub type WorkloadProgram = Box<dyn Fn(&mut WorkloadRunner) -> Result<Vec<Tensor>>>;

/// A workload with its data.
pub struct WorkloadProblem {
    /// A description of the data.
    pub data: String,
    /// The inputs.
    pub inputs: Vec<WorkloadInput>,
    /// The program of redpoll.
    pub program: WorkloadProgram,
    /// The fill values of the results.
    pub fills: Vec<Fill>,
    /// Numbers that peers need.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The largest accepted error, relative to the sum of the absolute values of a result.
    pub tolerance: f64,
    /// The work that every algorithm has to do.
    pub work: RequiredWork,
    /// The SQL query that redpoll and the other engines with SQL run, instead of a program.
    pub query: Option<SqlQuery>,
    /// Variants that are compared with each other instead of with peers; the first is the baseline.
    /// A problem with variants has no program of its own.
    pub variants: Vec<Variant>,
}

/// One of several ways to store the inputs and compute the same results.
pub struct Variant {
    /// The name of the variant.
    pub name: String,
    /// The result that a paper reports, usually as a speedup over its own baseline, and the source.
    pub paper: Option<&'static str>,
    /// The inputs, instead of those of the problem.
    pub inputs: Vec<WorkloadInput>,
    /// The program of redpoll.
    pub program: WorkloadProgram,
    /// The function that converts results to the form of the baseline's results, outside of the
    /// measured time.
    pub convert_results: fn(Vec<Tensor>) -> Result<Vec<Tensor>>,
}

impl Variant {
    /// Creates a variant whose results need no conversion.
    pub fn new(
        name: impl Into<String>,
        inputs: Vec<WorkloadInput>,
        program: impl Fn(&mut WorkloadRunner) -> Result<Vec<Tensor>> + 'static,
    ) -> Variant {
        Variant { name: name.into(), paper: None, inputs, program: Box::new(program), convert_results: Ok }
    }

    /// Creates a variant from the text of one plan or program.
    pub fn from_text(name: impl Into<String>, inputs: Vec<WorkloadInput>, text: &'static str) -> Variant {
        Variant::new(name, inputs, move |runner| runner.run_text(text))
    }

    /// Returns the variant with the result that a paper reports.
    #[must_use]
    pub fn paper(mut self, result: &'static str) -> Variant {
        self.paper = Some(result);
        self
    }

    /// Returns the variant with the conversion of its results to the form of the baseline's.
    #[must_use]
    pub fn convert_results(mut self, convert: fn(Vec<Tensor>) -> Result<Vec<Tensor>>) -> Variant {
        self.convert_results = convert;
        self
    }
}

/// An input that is not stored in a format yet.
pub struct WorkloadInput {
    /// The name, which is the table's name in plans.
    pub name: String,
    /// The entries.
    pub content: Content,
    /// The format in which redpoll stores the input.
    pub format: Format,
}

/// The work that every algorithm has to do; 0 if unknown.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RequiredWork {
    /// Bytes of the arrays read and written, each once.
    pub bytes: f64,
    /// Number of multiplications and additions, or steps of merges.
    pub operations: f64,
}

impl WorkloadProblem {
    /// Creates a problem of one plan, with exact results of fill value 0.
    pub fn plan(
        data: impl Into<String>,
        inputs: Vec<WorkloadInput>,
        results: usize,
        text: impl Into<String>,
    ) -> WorkloadProblem {
        let text = text.into();
        WorkloadProblem::program(data, inputs, results, move |runner| runner.run_plan(&text))
    }

    /// Creates a problem with exact results of fill value 0.
    pub fn program(
        data: impl Into<String>,
        inputs: Vec<WorkloadInput>,
        results: usize,
        program: impl Fn(&mut WorkloadRunner) -> Result<Vec<Tensor>> + 'static,
    ) -> WorkloadProblem {
        WorkloadProblem {
            data: data.into(),
            inputs,
            program: Box::new(program),
            fills: vec![Fill(0.0); results],
            parameters: serde_json::Map::new(),
            tolerance: crate::checks::EXACT,
            work: RequiredWork::default(),
            query: None,
            variants: Vec::new(),
        }
    }

    /// Creates a problem of one SQL query. The rows of the query are the coordinates and values of
    /// one result of the given shape.
    pub fn query(data: impl Into<String>, inputs: Vec<WorkloadInput>, sql: &str, shape: Vec<u64>) -> WorkloadProblem {
        let none = |_: &mut WorkloadRunner| bail!("a query runs in the SQL front end, not as a program");
        WorkloadProblem {
            query: Some(SqlQuery { sql: sql.into(), shape }),
            ..WorkloadProblem::program(data, inputs, 1, none)
        }
    }

    /// Creates a problem that compares several variants, with results of fill value 0. The first
    /// variant is the baseline.
    pub fn comparison(data: impl Into<String>, results: usize, variants: Vec<Variant>) -> WorkloadProblem {
        let none = |_: &mut WorkloadRunner| bail!("a problem of several variants has no program of its own");
        WorkloadProblem { variants, ..WorkloadProblem::program(data, Vec::new(), results, none) }
    }

    /// Returns the problem with another fill value for its first result.
    #[must_use]
    pub fn fill(mut self, fill: f64) -> WorkloadProblem {
        self.fills[0] = Fill(fill);
        self
    }

    /// Returns the problem with another tolerance.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> WorkloadProblem {
        self.tolerance = tolerance;
        self
    }

    /// Returns the problem with a number that peers need.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<serde_json::Value>) -> WorkloadProblem {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Returns the problem with the work that every algorithm has to do: bytes moved, and
    /// operations.
    #[must_use]
    pub fn work(mut self, bytes: f64, operations: f64) -> WorkloadProblem {
        self.work = RequiredWork { bytes, operations };
        self
    }

    /// Returns the problem as the outcome of making it.
    ///
    /// # Errors
    /// Never. The type is a `Result` because the makers of problems return one.
    pub fn into_outcome(self) -> Result<MakeOutcome> {
        Ok(MakeOutcome::Problem(Box::new(self)))
    }
}

impl WorkloadInput {
    /// Creates an input from the text of its format.
    ///
    /// # Errors
    /// If the text is not a format.
    pub fn new(name: &str, content: Content, format: &str) -> Result<WorkloadInput> {
        let format = parse_format(format, content.shape.len())?;
        Ok(WorkloadInput { name: name.into(), content, format })
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> f64 {
        self.content.data.values().len() as f64
    }
}
