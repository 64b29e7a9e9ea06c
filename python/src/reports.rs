//! Reports on arrays: their plans, measurements and kept tensors, as data for the Python layer.

use crate::array::{Array, Core};
use crate::run::run;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use redpoll::{Flow, FlowNodeKind};

/// A node of a flow: its kind, and the lines of its label.
type Node = (&'static str, Vec<String>);
/// An edge of a flow: the indices of its nodes, and the lines of its label.
type Edge = (usize, usize, Vec<String>);
/// The measurements of a query: its name, its target, its seconds, and for each output the name,
/// the number of stored values and the estimate of that number.
type Query = (String, Option<&'static str>, f64, Vec<(String, u64, Option<f64>)>);

/// The measurements of a run.
#[derive(IntoPyObject)]
pub(crate) struct Measurements {
    text: String,
    target: &'static str,
    seconds: f64,
    peak_bytes: usize,
    phases: Vec<(&'static str, f64)>,
    queries: Vec<Query>,
    notes: Vec<String>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// Returns the tensor of an array that is a tensor in memory or has been computed. Returns `None`
/// for other arrays, and if the tensor was evicted.
#[pyfunction]
pub(crate) fn kept_tensor(array: &Bound<'_, Array>) -> Option<Tensor> {
    array.get().core().inner.kept_tensor().map(Tensor)
}

/// Returns the title and the text of each section of the explanation. The sections have the forms
/// of the plan and the decisions of the optimizer.
#[pyfunction]
#[pyo3(signature = (array, schedule = None))]
pub(crate) fn explain(array: &Bound<'_, Array>, schedule: Option<String>) -> PyResult<Vec<(String, String)>> {
    let Core { inner, work, .. } = &*array.get().core();
    let inner = inner.clone();
    run(array.py(), *work, move |_| {
        let explanation = match schedule {
            Some(schedule) => inner.schedule(&schedule)?.explain(),
            None => inner.explain(),
        };
        Ok(explanation?.into_iter().map(|section| (section.title, section.text)).collect())
    })
}

/// Returns the nodes and edges of the flow of the plan: its inputs, queries and results, and the
/// tensors between them.
#[pyfunction]
pub(crate) fn flow(array: &Bound<'_, Array>) -> PyResult<(Vec<Node>, Vec<Edge>)> {
    let Core { inner, work, .. } = &*array.get().core();
    let inner = inner.clone();
    run(array.py(), *work, move |_| Ok(graph(&inner.flow()?)))
}

/// Computes the array without keeping its tensor, and returns the measurements of the run.
#[pyfunction]
pub(crate) fn profile(array: &Bound<'_, Array>) -> PyResult<Measurements> {
    let Core { inner, work, .. } = &*array.get().core();
    let inner = inner.clone();
    run(array.py(), *work, move |cancel| {
        let profile = inner.cancelled_by(cancel).profile()?;
        let (nodes, edges) = graph(&profile.flow);
        let queries = profile.queries.iter().map(|query| {
            let outputs = query.outputs.iter();
            let outputs = outputs.map(|output| (output.alias.to_string(), output.stored, output.estimated)).collect();
            (query.name.clone(), query.target.map(redpoll::Target::name), query.time.as_secs_f64(), outputs)
        });
        Ok(Measurements {
            text: profile.to_string(),
            target: profile.target.name(),
            seconds: profile.time.as_secs_f64(),
            peak_bytes: profile.peak_bytes,
            phases: profile.phases.iter().map(|(phase, time)| (phase.name(), time.as_secs_f64())).collect(),
            queries: queries.collect(),
            notes: profile.notes.iter().map(ToString::to_string).collect(),
            nodes,
            edges,
        })
    })
}

fn graph(flow: &Flow) -> (Vec<Node>, Vec<Edge>) {
    let graph = flow.graph();
    let kind = |kind: FlowNodeKind| match kind {
        FlowNodeKind::Input => "input",
        FlowNodeKind::Query => "query",
        FlowNodeKind::Result => "result",
    };
    let nodes = graph.nodes.into_iter().map(|node| (kind(node.kind), node.lines)).collect();
    (nodes, graph.edges.into_iter().map(|edge| (edge.from, edge.to, edge.lines)).collect())
}
