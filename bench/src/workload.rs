//! Workloads: what is computed over which data, and how redpoll is asked to.

use crate::protocol::{Fill, Query};
use crate::runner::Runner;
use anyhow::{Result, bail};
use clap::ValueEnum;
use redpoll::datasets::Content;
use redpoll_logic::Format;
use redpoll_logic::text::parse_format;
use redpoll_physical::storage::Tensor;
use serde::{Deserialize, Serialize};

/// A group of workloads with a table and figures of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// What Finch measures its array interface by: triangles, sampled products, a fused element-wise expression.
    Paper,
    /// Sparse linear algebra.
    Linear,
    /// Tensors of three modes.
    Tensor,
    /// Element-wise functions, slices, folds of other operators.
    Array,
    /// Graph algorithms as algebra.
    Graph,
    /// Images.
    Image,
    /// Tiny inputs: what a call costs.
    Dispatch,
    /// How costs grow as inputs do.
    Scale,
    /// The same results from structured and from unstructured storage, with each other.
    Structure,
    /// Queries over tables, in the SQL front end.
    Sql,
}

impl Suite {
    /// Its name.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// How large data are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Seconds a workload.
    Full,
    /// Small ones, so that all workloads together take minutes.
    Quick,
    /// As small as the reference interpreter takes them.
    Tiny,
}

impl Size {
    /// One of three numbers.
    pub fn pick<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            Size::Full => full,
            Size::Quick => quick,
            Size::Tiny => tiny,
        }
    }
}

/// Something to compute, over some sets of data.
pub struct Workload {
    /// The group it belongs to.
    pub suite: Suite,
    /// Its name; one that servers know it by.
    pub name: &'static str,
    /// What is computed.
    pub equation: &'static str,
    /// The names of the data.
    pub data: &'static [&'static str],
    /// Makes the data of that name.
    pub make: fn(&str, Size) -> Result<Made>,
}

impl Workload {
    /// The name of the workload over some data.
    pub fn id(&self, data: &str) -> String {
        format!("{}/{}/{data}", self.suite.name(), self.name)
    }
}

/// What a workload makes of the name of data.
pub enum Made {
    /// Something to run.
    Problem(Box<Problem>),
    /// Nothing here: data that this machine does not have.
    Absent(String),
}

/// What redpoll does: it computes all results, in one plan or in many.
pub type Program = Box<dyn Fn(&mut Runner) -> Result<Vec<Tensor>>>;

/// A workload over data.
pub struct Problem {
    /// The data in words.
    pub data: String,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// What redpoll does.
    pub program: Program,
    /// The fill values of the results.
    pub fills: Vec<Fill>,
    /// Numbers that peers need.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// How far results may be off.
    pub tolerance: f64,
    /// The work that cannot be left out.
    pub work: Work,
    /// The query that all sides are asked; then there is no program.
    pub query: Option<Query>,
    /// What is compared with each other instead, the first being the baseline; then there is no program of its own.
    pub variants: Vec<Variant>,
}

/// One of several ways to store and compute the same.
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What a paper found for it, as a multiple of its baseline, and where.
    pub paper: Option<&'static str>,
    /// Its inputs, instead of those of the problem.
    pub inputs: Vec<Input>,
    /// What redpoll does.
    pub program: Program,
    /// Brings results into the form of the baseline's, outside of the measured time.
    pub finish: fn(Vec<Tensor>) -> Result<Vec<Tensor>>,
}

impl Variant {
    /// A variant whose results have the form of all others.
    pub fn new(
        name: impl Into<String>,
        inputs: Vec<Input>,
        program: impl Fn(&mut Runner) -> Result<Vec<Tensor>> + 'static,
    ) -> Variant {
        Variant { name: name.into(), paper: None, inputs, program: Box::new(program), finish: Ok }
    }

    /// A variant of one plan or program in text.
    pub fn text(name: impl Into<String>, inputs: Vec<Input>, text: &'static str) -> Variant {
        Variant::new(name, inputs, move |runner| runner.text(text))
    }

    /// The variant with what a paper found for it.
    #[must_use]
    pub fn paper(mut self, found: &'static str) -> Variant {
        self.paper = Some(found);
        self
    }

    /// The variant with what brings its results into the form of the baseline's.
    #[must_use]
    pub fn finish(mut self, finish: fn(Vec<Tensor>) -> Result<Vec<Tensor>>) -> Variant {
        self.finish = finish;
        self
    }
}

/// An input before anybody has stored it.
pub struct Input {
    /// Its name, that of the table in plans.
    pub name: String,
    /// Its entries.
    pub content: Content,
    /// How redpoll stores it.
    pub format: Format,
}

/// Work that cannot be left out; 0 where it is not told.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Bytes of the arrays read and written, each once.
    pub bytes: f64,
    /// Multiplications and additions.
    pub operations: f64,
}

impl Problem {
    /// A problem of one plan with exact results of fill value 0.
    pub fn plan(data: impl Into<String>, inputs: Vec<Input>, results: usize, text: impl Into<String>) -> Problem {
        let text = text.into();
        Problem::program(data, inputs, results, move |runner| runner.plan(&text))
    }

    /// A problem with exact results of fill value 0.
    pub fn program(
        data: impl Into<String>,
        inputs: Vec<Input>,
        results: usize,
        program: impl Fn(&mut Runner) -> Result<Vec<Tensor>> + 'static,
    ) -> Problem {
        Problem {
            data: data.into(),
            inputs,
            program: Box::new(program),
            fills: vec![Fill(0.0); results],
            parameters: serde_json::Map::new(),
            tolerance: crate::checks::EXACT,
            work: Work::default(),
            query: None,
            variants: Vec::new(),
        }
    }

    /// A problem of one SQL query, whose rows are the coordinates of a result of that shape and its values.
    pub fn query(data: impl Into<String>, inputs: Vec<Input>, sql: &str, shape: Vec<u64>) -> Problem {
        let none = |_: &mut Runner| bail!("queries are asked of the SQL front end");
        Problem { query: Some(Query { sql: sql.into(), shape }), ..Problem::program(data, inputs, 1, none) }
    }

    /// Several ways to the same results, the first one being the baseline; their fill value is 0.
    pub fn compare(data: impl Into<String>, results: usize, variants: Vec<Variant>) -> Problem {
        let none = |_: &mut Runner| bail!("variants have programs of their own");
        Problem { variants, ..Problem::program(data, Vec::new(), results, none) }
    }

    /// The problem with another fill value of its first result.
    #[must_use]
    pub fn fill(mut self, fill: f64) -> Problem {
        self.fills[0] = Fill(fill);
        self
    }

    /// The problem with another tolerance.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Problem {
        self.tolerance = tolerance;
        self
    }

    /// The problem with a number that peers need.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<serde_json::Value>) -> Problem {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// The problem with work that cannot be left out.
    #[must_use]
    pub fn work(mut self, bytes: f64, operations: f64) -> Problem {
        self.work = Work { bytes, operations };
        self
    }

    /// Something to run.
    ///
    /// # Errors
    /// None: it is the shape that makers return.
    pub fn made(self) -> Result<Made> {
        Ok(Made::Problem(Box::new(self)))
    }
}

impl Input {
    /// An input stored in the format of a text.
    ///
    /// # Errors
    /// When the text is no format.
    pub fn new(name: &str, content: Content, format: &str) -> Result<Input> {
        let format = parse_format(format, content.shape.len())?;
        Ok(Input { name: name.into(), content, format })
    }

    /// The number of entries.
    pub fn entries(&self) -> f64 {
        self.content.data.values().len() as f64
    }
}
