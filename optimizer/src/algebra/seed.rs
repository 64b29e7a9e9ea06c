//! The greedy plan: eliminates fields one by one, at each step the field whose factors join over
//! the fewest coordinates.
//!
//! The greedy plan is added before the rules that spread aggregates are applied, so that a limit
//! reached in that round never loses the plan. Source of the measure: greedy orders of variable
//! elimination (minimum weight). Only sizes are used here; the cost model makes the final choice.

use super::graph::{AlgebraGraph, equate};
use super::language::{ENode, NodeKind};
use super::rules::eliminations;
use egg::Id;

/// Adds to the class an equal fold whose fields are eliminated greedily.
pub(super) fn seed(graph: &mut AlgebraGraph, class: Id) {
    let mut remaining = usize::MAX;
    loop {
        let class = graph.find(class);
        let bound = |node: &ENode| match node.kind {
            NodeKind::Fold(id, _) => Some(graph.analysis.fold(id).bound.len()),
            _ => None,
        };
        let fewest = graph[class].iter().filter_map(|n| bound(n).map(|k| (k, n.clone()))).min();
        let Some((count, node)) = fewest.filter(|(count, _)| *count < remaining) else { return };
        remaining = count;
        let steps = eliminations(graph, class, &node);
        let Some((_, draft, scope)) = steps.into_iter().min_by(|(a, ..), (b, ..)| a.total_cmp(b)) else { return };
        equate(graph, class, &draft, &scope, "eliminate");
        graph.rebuild();
    }
}
