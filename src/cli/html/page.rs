//! The content of a page: a plan with its graph, queries, times and code, as texts and numbers.

use super::graph::Graph;
use crate::{Section, Size};
use std::time::Duration;

/// The content of a page.
pub(super) struct Page {
    /// The word `Plan` or `Program`.
    pub(super) kind: &'static str,
    /// The title.
    pub(super) title: String,
    /// The text of the plan or program.
    pub(super) source: String,
    /// The target that runs the plan, and the reason.
    pub(super) engine: String,
    /// Notes for the author of the plan.
    pub(super) notes: Vec<String>,
    /// The tensors and queries.
    pub(super) graph: Graph,
    /// The time of each phase of the preparation.
    pub(super) phases: Vec<(&'static str, Duration)>,
    /// The measurements of the run, if the plan has run.
    pub(super) run: Option<RunMeasurements>,
    /// The queries, in execution order.
    pub(super) queries: Vec<QueryPart>,
    /// The plan after each phase of the optimizer.
    pub(super) plans: Vec<Section>,
}

/// The measurements of a run.
pub(super) struct RunMeasurements {
    pub(super) target: &'static str,
    pub(super) time: Duration,
    pub(super) peak_bytes: u64,
}

/// The part of a page about one query.
#[derive(Default)]
pub(super) struct QueryPart {
    /// The names of the outputs.
    pub(super) name: String,
    /// The decisions of the optimizer; `None` for a program.
    pub(super) decisions: Option<Decisions>,
    /// The tensors that the query reads.
    pub(super) reads: Vec<ReadRow>,
    /// The tensors that the query writes.
    pub(super) writes: Vec<WriteRow>,
    /// The way in which threads share the loops, or the reason why the query runs on one thread.
    /// `None` for a program, and for a conversion without a schedule.
    pub(super) threads: Option<String>,
    /// The measurements, if the plan has run.
    pub(super) measured: Option<QueryMeasurements>,
    /// A description of the replanning of the remaining queries; `None` if they were not replanned.
    pub(super) adaptation: Option<String>,
    /// The forms of the query, from its loops to the code of each target.
    pub(super) forms: Vec<Section>,
}

/// The decisions of the optimizer for a query.
pub(super) struct Decisions {
    /// The reason why the optimizer added the query; `None` for a query of the plan.
    pub(super) origin: Option<&'static str>,
    /// The loops, outermost first; empty for a conversion of storage and for a query without loops.
    pub(super) loops: Vec<String>,
    /// Set when the query only converts storage.
    pub(super) is_conversion: bool,
    /// The estimated cost; a step along a list costs 1.
    pub(super) cost: f64,
    /// The cheapest of the rejected loop orders, with their costs.
    pub(super) rejected: Vec<(String, f64)>,
    /// The names and equations of the rules that rewrote the query.
    pub(super) rules: Vec<(&'static str, &'static str)>,
}

/// A tensor that a query reads.
pub(super) struct ReadRow {
    pub(super) tensor: String,
    /// The dtype and the shape.
    pub(super) ty: String,
    pub(super) format: String,
    pub(super) size: Option<Size>,
    /// The protocols of each access.
    pub(super) accesses: Vec<String>,
}

/// A tensor that a query writes.
pub(super) struct WriteRow {
    pub(super) tensor: String,
    /// The dtype and the shape.
    pub(super) ty: String,
    pub(super) format: String,
    pub(super) size: Option<Size>,
    /// The workspace and the pattern, in words.
    pub(super) details: Vec<String>,
}

/// The measurements of a query.
pub(super) struct QueryMeasurements {
    pub(super) time: Duration,
    /// The tier, device or interpreter whose kernel ran; `None` if no kernel ran.
    pub(super) target: Option<&'static str>,
    /// Iterations, loads, stores and bytes, where they are counted.
    pub(super) work: Option<String>,
}
