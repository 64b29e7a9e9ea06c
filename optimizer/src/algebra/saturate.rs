//! Saturation: applies rules until nothing changes, first to every class, then to changed classes
//! and their parents.
//!
//! A rule reads only the nodes of a class and of its children's classes, so nothing else can
//! produce new matches. All limits are counts, never times, because plans must not differ between
//! runs.

use super::graph::Graph;
use super::language::{ENode, Kind};
use super::rules::{Rule, open};
use egg::{Id, Language};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::fmt;

/// Number of nodes at which saturation stops.
pub(super) const MOST_NODES: usize = 550;
/// Number of node visits at which saturation stops. A rule visits all nodes of a node's child
/// classes, so the visits grow with the square of the nodes in few classes.
pub(super) const MOST_LOOKS: usize = 400_000;
/// Largest number of iterations over the graph of a plan.
pub(super) const MOST_ITERATIONS: usize = 12;

/// The reason why saturation stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The rules find nothing new.
    Saturated,
    /// The limit of nodes is reached.
    Nodes,
    /// The limit of node visits is reached.
    Looks,
    /// The limit of iterations is reached.
    Iterations,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Saturated => "saturated",
            Stop::Nodes => "at the limit of nodes",
            Stop::Looks => "at the limit of looks",
            Stop::Iterations => "at the limit of rounds",
        })
    }
}

/// The child classes of a node, with the number of nodes in each.
type Below = SmallVec<[(Id, usize); 4]>;

/// Applies rules until nothing changes or a limit is reached.
pub(super) fn saturate(graph: &mut Graph, rules: &[&'static Rule], iterations: usize) -> Stop {
    let mut before: FxHashMap<Id, usize> = FxHashMap::default();
    // Nodes to which all rules were applied, with the child classes and their sizes at the time.
    let mut tried: FxHashMap<ENode, Below> = FxHashMap::default();
    for _ in 0..iterations {
        // Until it is rebuilt, a graph grows by as many nodes as its index does.
        let room = graph.total_size() + MOST_NODES.saturating_sub(graph.total_number_of_nodes());
        let classes = due(graph, &before);
        if classes.is_empty() {
            return Stop::Saturated;
        }
        before = graph.classes().map(|c| (c.id, c.nodes.len())).collect();
        for class in classes {
            let looked_at = |node: &ENode| {
                let below = |id: &Id| (graph.find(*id), graph[graph.find(*id)].nodes.len());
                node.children().iter().map(below).collect::<Below>()
            };
            let nodes = graph[graph.find(class)].nodes.iter();
            let fresh: Vec<_> = nodes
                .map(|node| (node, looked_at(node)))
                .filter(|(node, below)| tried.get(*node) != Some(below))
                .map(|(node, below)| (node.clone(), below))
                .collect();
            let nodes: Vec<_> = fresh.iter().map(|(node, _)| open(graph, class, node)).collect();
            for rule in rules {
                // A rule can double the matches of the previous one.
                if graph.total_size() > room {
                    graph.rebuild();
                    return Stop::Nodes;
                }
                if graph.analysis.looks.get() > MOST_LOOKS {
                    graph.rebuild();
                    return Stop::Looks;
                }
                rule.apply(graph, class, &nodes, room);
            }
            tried.extend(fresh);
        }
        graph.rebuild();
    }
    Stop::Iterations
}

/// Returns the classes whose nodes have changed, and their parents, sorted by id; no leaves.
fn due(graph: &Graph, before: &FxHashMap<Id, usize>) -> Vec<Id> {
    let other = |id: &Id, nodes: usize| before.get(id) != Some(&nodes);
    // A united class can have as many nodes as one of its parts had.
    let merged = before.keys().map(|id| (id, graph.find(*id))).filter(|(id, now)| *id != now).map(|(_, now)| now);
    let grown = graph.classes().filter(|c| other(&c.id, c.nodes.len())).map(|c| c.id);
    let changed: FxHashSet<Id> = grown.chain(merged).collect();
    let above = |c: &egg::EClass<ENode, _>| {
        let inner = c.nodes.iter().any(|n| !matches!(n.kind, Kind::Leaf(_)));
        let below = || c.nodes.iter().flat_map(Language::children).any(|id| changed.contains(&graph.find(*id)));
        inner && (changed.contains(&c.id) || below())
    };
    let mut due: Vec<Id> = graph.classes().filter(|c| above(c)).map(|c| c.id).collect();
    due.sort();
    due
}
