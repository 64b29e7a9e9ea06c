//! Flows as nodes and edges, independent of the language of the drawing.

use super::{Flow, FlowQuery, FlowRead, Size};
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{Alias, TensorType};
use redpoll_optimizer::OutputDecision;
use std::collections::HashMap;

/// The nodes of a drawing of a flow, and the edges between them.
#[derive(Clone, Debug)]
pub struct FlowGraph {
    /// The inputs, queries and results. The nodes that a query reads precede the query.
    pub nodes: Vec<FlowNode>,
    /// The tensors that are passed between nodes.
    pub edges: Vec<FlowEdge>,
}

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowNodeKind {
    /// A tensor that the plan reads.
    Input,
    /// A query of the plan.
    Query,
    /// A tensor that the plan produces.
    Result,
}

/// A node, identified by its index in the graph.
#[derive(Clone, Debug)]
pub struct FlowNode {
    /// The kind.
    pub kind: FlowNodeKind,
    /// The lines of the label.
    pub lines: Vec<String>,
}

/// A tensor that is passed between two nodes.
#[derive(Clone, Debug)]
pub struct FlowEdge {
    /// The index of the node that provides the tensor.
    pub from: usize,
    /// The index of the node that receives the tensor.
    pub to: usize,
    /// The lines of the label.
    pub lines: Vec<String>,
}

/// Joins lines with a separator. Characters are escaped by `escape`; control characters that
/// `escape` does not replace become blanks.
pub(super) fn escape_lines(lines: &[String], separator: &str, escape: impl Fn(char) -> Option<String>) -> String {
    let character = |c: char| match escape(c) {
        Some(escaped) => escaped,
        None if c.is_control() => " ".to_owned(),
        None => c.to_string(),
    };
    lines.iter().map(|line| line.chars().map(character).collect::<String>()).collect::<Vec<_>>().join(separator)
}

impl FlowGraph {
    /// Converts a flow to a graph of inputs, queries and results, with an edge for each read tensor
    /// and each result.
    pub(super) fn of(flow: &Flow) -> FlowGraph {
        let mut graph = FlowGraph { nodes: Vec::new(), edges: Vec::new() };
        let mut inputs: HashMap<&Alias, usize> = HashMap::new();
        let mut queries: Vec<usize> = Vec::new();
        for query in &flow.queries {
            for read in query.reads.iter().filter(|read| read.from.is_none()) {
                inputs.entry(&read.tensor).or_insert_with(|| graph.node(FlowNodeKind::Input, input(read)));
            }
            let number = graph.node(FlowNodeKind::Query, self::query(query));
            queries.push(number);
            for read in &query.reads {
                let from = read.from.map_or_else(|| inputs[&read.tensor], |k| queries[k]);
                graph.edges.push(FlowEdge { from, to: number, lines: self::read(read) });
            }
        }
        for alias in &flow.produces {
            for (query, from) in flow.queries.iter().zip(&queries) {
                let outputs = query.decision.outputs.iter().enumerate();
                for (k, output) in outputs.filter(|(_, output)| output.alias == *alias) {
                    let stored = query.profile.as_ref().and_then(|m| Some(m.outputs.get(k)?.stored));
                    let to = graph.node(FlowNodeKind::Result, tensor(alias, &output.ty));
                    graph.edges.push(FlowEdge { from: *from, to, lines: write(output, stored) });
                }
            }
        }
        graph
    }

    fn node(&mut self, kind: FlowNodeKind, lines: Vec<String>) -> usize {
        self.nodes.push(FlowNode { kind, lines });
        self.nodes.len() - 1
    }
}

/// Returns the name, dtype and shape of a tensor.
fn tensor(alias: &Alias, ty: &TensorType) -> Vec<String> {
    let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
    vec![alias.to_string(), format!("{} {}", ty.dtype, shape.join(" x ")).trim_end().to_owned()]
}

fn input(read: &FlowRead) -> Vec<String> {
    let mut lines = tensor(&read.tensor, &read.ty);
    lines.push(read.size.to_string());
    lines
}

fn query(query: &FlowQuery) -> Vec<String> {
    let decision = &query.decision;
    let names: Vec<&str> = decision.outputs.iter().map(|o| o.alias.as_str()).collect();
    let mut lines = vec![names.join(", ")];
    lines.extend(decision.origin.label().map(str::to_owned));
    if query.is_conversion {
        lines.push("converts storage".to_owned());
    } else if !decision.order.is_empty() {
        let order: Vec<String> = decision.order.iter().map(ToString::to_string).collect();
        lines.push(format!("loops {}", order.join(" ")));
    }
    if !decision.rules.is_empty() {
        lines.push(format!("by {}", decision.rules.iter().map(|r| r.name).collect::<Vec<_>>().join(", ")));
    }
    lines.push(format!("cost {:.0}", decision.cost));
    lines.extend(query.profile.as_ref().map(|m| format!("took {:.1?}", m.time)));
    lines.extend(query.adaptation.as_ref().map(|_| "the remaining queries are replanned".to_owned()));
    lines
}

/// Labels an edge to a query. The name and the size of an input are omitted, because its node shows
/// them.
fn read(read: &FlowRead) -> Vec<String> {
    let format = FormatDisplay(&read.ty.format);
    let mut lines = match read.from {
        None => vec![format.to_string()],
        Some(_) => vec![format!("{} {format}", read.tensor), read.size.to_string()],
    };
    lines.extend(read.protocols());
    lines
}

/// Labels an edge to a result.
fn write(output: &OutputDecision, stored: Option<u64>) -> Vec<String> {
    let mut lines = vec![FormatDisplay(&output.ty.format).to_string(), Size::of(output.stored(), stored).to_string()];
    if let Some(workspace) = &output.workspace {
        lines.push(format!("through a workspace {}", FormatDisplay(&workspace.format)));
    }
    if let Some(pattern) = &output.pattern {
        lines.push(format!("sharing the levels of {pattern}"));
    }
    lines
}
