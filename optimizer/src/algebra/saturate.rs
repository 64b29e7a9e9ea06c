//! Saturation: applies rules until nothing changes, first to every class, then to changed classes
//! and their parents.
//!
//! A rule reads only the nodes of a class and of its children's classes, so only changed classes
//! and their parents can have new matches. Only the rules of symmetry and filters also look for
//! leaves in classes further below. These rules may miss a match that a change of a class further
//! below creates. All limits are counts, never times, because plans must not differ between runs.

use super::graph::AlgebraGraph;
use super::language::{ENode, NodeKind};
use super::rules::{RewriteRule, open_node};
use egg::{Id, Language};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::fmt;

/// Number of nodes at which saturation stops.
pub(super) const MAX_NODES: usize = 550;
/// Number of node visits at which saturation stops. A rule visits all nodes of a node's child
/// classes. If there are few classes, the visits grow with the square of the number of nodes.
pub(super) const MAX_VISITS: usize = 400_000;
/// Largest number of iterations over a graph in one round of rules.
pub(super) const MAX_ITERATIONS: usize = 12;

/// The reason why saturation stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StopReason {
    /// The rules find nothing new.
    Saturated,
    /// The node limit is reached.
    Nodes,
    /// The node visit limit is reached.
    Visits,
    /// The iteration limit is reached.
    Iterations,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Saturated => "saturated",
            StopReason::Nodes => "stopped at the node limit",
            StopReason::Visits => "stopped at the node visit limit",
            StopReason::Iterations => "stopped at the iteration limit",
        })
    }
}

/// The child classes of a node, with the number of nodes in each.
type ChildClasses = SmallVec<[(Id, usize); 4]>;

/// Applies rules until nothing changes or a limit is reached.
pub(super) fn saturate(graph: &mut AlgebraGraph, rules: &[&'static RewriteRule], iterations: usize) -> StopReason {
    let mut before: FxHashMap<Id, usize> = FxHashMap::default();
    // Nodes to which all rules were applied, with the child classes and their sizes at the time.
    let mut tried: FxHashMap<ENode, ChildClasses> = FxHashMap::default();
    for _ in 0..iterations {
        // Until it is rebuilt, a graph grows by as many nodes as its index does.
        let max_size = graph.total_size() + MAX_NODES.saturating_sub(graph.total_number_of_nodes());
        let classes = changed_classes(graph, &before);
        if classes.is_empty() {
            return StopReason::Saturated;
        }
        before = graph.classes().map(|c| (c.id, c.nodes.len())).collect();
        for class in classes {
            let child_classes = |node: &ENode| {
                let below = |id: &Id| (graph.find(*id), graph[graph.find(*id)].nodes.len());
                node.children().iter().map(below).collect::<ChildClasses>()
            };
            let nodes = graph[graph.find(class)].nodes.iter();
            let fresh: Vec<_> = nodes
                .map(|node| (node, child_classes(node)))
                .filter(|(node, below)| tried.get(*node) != Some(below))
                .map(|(node, below)| (node.clone(), below))
                .collect();
            let nodes: Vec<_> = fresh.iter().map(|(node, _)| open_node(graph, class, node)).collect();
            for rule in rules {
                // The limits are checked before each rule, because each rule can double the
                // matches.
                if graph.total_size() > max_size {
                    graph.rebuild();
                    return StopReason::Nodes;
                }
                if graph.analysis.visits.get() > MAX_VISITS {
                    graph.rebuild();
                    return StopReason::Visits;
                }
                rule.apply(graph, class, &nodes, max_size);
            }
            tried.extend(fresh);
        }
        graph.rebuild();
    }
    StopReason::Iterations
}

/// Returns the classes whose nodes have changed, and their parents, sorted by id. Classes that have
/// only leaves are left out.
fn changed_classes(graph: &AlgebraGraph, before: &FxHashMap<Id, usize>) -> Vec<Id> {
    let has_changed = |id: &Id, nodes: usize| before.get(id) != Some(&nodes);
    // A union of classes can have as many nodes as one of the classes had before.
    let merged = before.keys().map(|id| (id, graph.find(*id))).filter(|(id, now)| *id != now).map(|(_, now)| now);
    let grown = graph.classes().filter(|c| has_changed(&c.id, c.nodes.len())).map(|c| c.id);
    let changed: FxHashSet<Id> = grown.chain(merged).collect();
    let is_affected = |c: &egg::EClass<ENode, _>| {
        let is_inner = c.nodes.iter().any(|n| !matches!(n.kind, NodeKind::Leaf(_)));
        let below = || c.nodes.iter().flat_map(Language::children).any(|id| changed.contains(&graph.find(*id)));
        is_inner && (changed.contains(&c.id) || below())
    };
    let mut classes: Vec<Id> = graph.classes().filter(|c| is_affected(c)).map(|c| c.id).collect();
    classes.sort();
    classes
}
