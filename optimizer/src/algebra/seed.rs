//! The greedy plan: fields are eliminated one after the other, the one first whose factors join over the fewest places.
//!
//! It is in the graph before the rules are tried, so a limit never loses a good plan. Source of the measure: the greedy
//! orders of variable elimination (minimum weight); sizes alone are asked here, the cost model chooses in the end.

use super::graph::{Graph, equate};
use super::language::{ENode, Kind};
use super::rules::eliminations;
use egg::Id;

/// Makes the class's folds equal to those with their fields eliminated greedily.
pub(super) fn seed(graph: &mut Graph, class: Id) {
    let mut left = usize::MAX;
    loop {
        let class = graph.find(class);
        let bound = |node: &ENode| match node.kind {
            Kind::Fold(id, _) => Some(graph.analysis.fold(id).bound.len()),
            _ => None,
        };
        let fewest = graph[class].iter().filter_map(|n| bound(n).map(|k| (k, n.clone()))).min();
        let Some((count, node)) = fewest.filter(|(count, _)| *count < left) else { return };
        left = count;
        let steps = eliminations(graph, class, &node);
        let Some((_, draft, scope)) = steps.into_iter().min_by(|(a, ..), (b, ..)| a.total_cmp(b)) else { return };
        equate(graph, class, &draft, &scope, "eliminate");
        graph.rebuild();
    }
}
