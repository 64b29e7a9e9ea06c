//! The graph of a page: tensors and queries as boxes, and the edges between them.

use super::page::{Decisions, QueryPart};
use crate::Size;

/// Boxes and edges.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

/// Kind of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeKind {
    /// A tensor that the plan reads.
    Table,
    /// A query.
    Query,
    /// A tensor between queries.
    Intermediate,
    /// A tensor that the plan produces.
    Result,
}

/// A box.
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// The lines of text; the first line is the name.
    pub(super) lines: Vec<String>,
    /// The index of the query, for a link to its part of the page.
    pub(super) query: Option<usize>,
}

/// An edge between two boxes.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The accesses of a tensor that is read, or the workspace and the pattern of a tensor that is
    /// written.
    pub(super) description: String,
}

impl Graph {
    /// Returns the graph of queries. A written tensor is a result if `produces` contains its name.
    pub(super) fn of(queries: &[QueryPart], produces: &[String]) -> Graph {
        let mut graph = Graph::default();
        let mut tensors: Vec<(&str, usize)> = Vec::new();
        let find = |tensors: &[(&str, usize)], name: &str| tensors.iter().rev().find(|(n, _)| *n == name).map(|t| t.1);
        for (number, query) in queries.iter().enumerate() {
            let reads: Vec<usize> = query
                .reads
                .iter()
                .map(|read| {
                    find(&tensors, &read.tensor).unwrap_or_else(|| {
                        let node = graph.node(NodeKind::Table, tensor(&read.tensor, &read.ty, &read.format, read.size));
                        tensors.push((&read.tensor, node));
                        node
                    })
                })
                .collect();
            let node = graph.node(NodeKind::Query, lines(query));
            graph.nodes[node].query = Some(number);
            for (read, from) in query.reads.iter().zip(reads) {
                graph.edges.push(Edge { from, to: node, description: read.accesses.join("; ") });
            }
            for write in &query.writes {
                let is_result = produces.contains(&write.tensor);
                let kind = if is_result { NodeKind::Result } else { NodeKind::Intermediate };
                let to = graph.node(kind, tensor(&write.tensor, &write.ty, &write.format, write.size));
                tensors.push((&write.tensor, to));
                graph.edges.push(Edge { from: node, to, description: write.details.join("; ") });
            }
        }
        graph
    }

    fn node(&mut self, kind: NodeKind, lines: Vec<String>) -> usize {
        self.nodes.push(Node { kind, lines, query: None });
        self.nodes.len() - 1
    }
}

fn tensor(name: &str, ty: &str, format: &str, size: Option<Size>) -> Vec<String> {
    let texts = [name.to_owned(), ty.to_owned(), format.to_owned()];
    texts.into_iter().chain(size.map(|size| size.to_string())).filter(|line| !line.is_empty()).collect()
}

fn lines(query: &QueryPart) -> Vec<String> {
    let mut lines = vec![query.name.clone()];
    if let Some(decisions) = &query.decisions {
        lines.extend(decisions.origin.map(str::to_owned));
        lines.push(decisions.loops_text());
        lines.push(format!("cost {:.0}", decisions.cost));
    }
    lines.extend(query.measured.as_ref().map(|measured| format!("took {:.1?}", measured.time)));
    lines
}

impl Decisions {
    /// Returns the loops in words.
    pub(super) fn loops_text(&self) -> String {
        match (self.is_conversion, self.loops.is_empty()) {
            (true, _) => "converts storage".to_owned(),
            (false, true) => "no loops".to_owned(),
            (false, false) => format!("loops {}", self.loops.join(" ")),
        }
    }
}
