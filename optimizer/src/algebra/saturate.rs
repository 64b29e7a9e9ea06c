//! Trying rules until nothing changes: on every class at first, then on those that have changed, and on those above them.
//!
//! A rule looks at the nodes of a class and at those of its children's classes, so nothing else can give it something new.
//! The limits are numbers, never time: plans must not differ between runs.

use super::graph::Graph;
use super::language::{ENode, Kind};
use super::rules::{Rule, open};
use egg::{Id, Language};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::fmt;

/// Nodes after which no more rules are tried.
pub(super) const MOST_NODES: usize = 550;
/// Looks at nodes after which no more rules are tried: a rule looks at all nodes of the classes below a node, so that many
/// nodes in a few classes are looked at by the square of their number for each rule.
pub(super) const MOST_LOOKS: usize = 400_000;
/// How often rules are tried on the graph of a plan.
pub(super) const MOST_ITERATIONS: usize = 12;

/// Why no more rules were tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// They give nothing new.
    Saturated,
    /// There are too many nodes.
    Nodes,
    /// They have looked at too many.
    Looks,
    /// They were tried often enough.
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

/// The classes below a node, with the number of nodes of each.
type Below = SmallVec<[(Id, usize); 4]>;

/// Tries rules until nothing changes, so often at most, or until there are too many nodes.
pub(super) fn saturate(graph: &mut Graph, rules: &[&'static Rule], iterations: usize) -> Stop {
    let mut before: FxHashMap<Id, usize> = FxHashMap::default();
    // Nodes on which all rules were tried, with the classes below them and how many nodes these had.
    let mut tried: FxHashMap<ENode, Below> = FxHashMap::default();
    for _ in 0..iterations {
        // Until it is rebuilt, a graph has as many nodes more as its index has.
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
                // A rule may double what it finds.
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

/// The classes that have other nodes than before, and those above them, by number; no leaves.
fn due(graph: &Graph, before: &FxHashMap<Id, usize>) -> Vec<Id> {
    let other = |id: &Id, nodes: usize| before.get(id) != Some(&nodes);
    // Classes that were two may have as many nodes as one of them had.
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
