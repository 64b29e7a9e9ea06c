//! The cheapest choice of one kernel per query, by branch and bound.
//!
//! Queries are processed from last to first, so that the layouts in which a query's outputs are
//! read are known before the query's kernel is chosen. The lower bound is the cost of the chosen
//! kernels and their conversions, plus the costs of the cheapest kernels of all other queries. If a
//! kernel reads a layout that no input has and no chosen kernel writes, the tensor is converted
//! from a layout that an input has or a chosen kernel writes. Each conversion is counted once,
//! however many kernels read its result.

use super::graph::LayoutGraph;
use egg::Id;
use redpoll_logic::Alias;
use std::collections::{BTreeSet, HashMap};

/// Largest number of kernels that a search tries before it takes the best choice so far.
const MAX_TRIED: usize = 20_000;

/// One kernel for each query.
pub(super) struct LayoutChoice {
    pub(super) kernels: Vec<usize>,
    pub(super) cost: f64,
}

/// Returns the cheapest choice among those that the search tries; `None` if it finds no choice.
pub(super) fn cheapest(graph: &LayoutGraph) -> Option<LayoutChoice> {
    LayoutSearch::new(graph, graph.kernels_by_query()).run()
}

/// Returns a random choice, determined by a seed; `None` if a query has no kernel, or if the chosen
/// kernels need a conversion that the graph does not have.
pub(super) fn random(graph: &LayoutGraph, seed: u64) -> Option<LayoutChoice> {
    let mut state = seed;
    let mut one = |kernels: Vec<usize>| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 33) as usize % kernels.len().max(1);
        kernels.get(at).copied().into_iter().collect()
    };
    LayoutSearch::new(graph, graph.kernels_by_query().into_iter().map(&mut one).collect()).run()
}

impl LayoutGraph {
    /// Returns the cost of the previous plan; `None` if the graph does not contain it.
    pub(super) fn previous_cost(&self) -> Option<f64> {
        let planned = |kernels: Vec<usize>| kernels.into_iter().filter(|k| self.kernels[*k].is_previous).collect();
        LayoutSearch::new(self, self.kernels_by_query().into_iter().map(planned).collect())
            .run()
            .map(|chosen| chosen.cost)
    }
}

/// The search for the cheapest choice.
struct LayoutSearch<'g> {
    graph: &'g LayoutGraph,
    tensors: HashMap<Id, &'g Alias>,
    /// The classes that each kernel writes.
    writes: Vec<Vec<Id>>,
    /// The candidate kernels of each query.
    kernels: Vec<Vec<usize>>,
    /// Lower bounds of the cost of the first `k` queries, for each `k`.
    lower_bounds: Vec<f64>,
    tried: usize,
    best: Option<LayoutChoice>,
}

impl<'g> LayoutSearch<'g> {
    fn new(graph: &'g LayoutGraph, kernels: Vec<Vec<usize>>) -> LayoutSearch<'g> {
        let mut lower_bounds = vec![0.0];
        for own in &kernels {
            let cheapest = own.first().map_or(f64::INFINITY, |k| graph.kernels[*k].cost);
            lower_bounds.push(lower_bounds[lower_bounds.len() - 1] + cheapest);
        }
        let writes = (0..graph.kernels.len()).map(|kernel| graph.writes(kernel)).collect();
        LayoutSearch { graph, tensors: graph.tensors(), writes, kernels, lower_bounds, tried: 0, best: None }
    }

    fn run(mut self) -> Option<LayoutChoice> {
        self.choose(self.kernels.len(), &BTreeSet::new(), 0.0, &mut Vec::new());
        self.best
    }

    /// Chooses kernels for the first `count` queries, and keeps the choice if it is the cheapest so
    /// far. `needed` has the layouts that the kernels in `chosen` read, `spent` the cost of these
    /// kernels and their conversions.
    fn choose(&mut self, count: usize, needed: &BTreeSet<Id>, spent: f64, chosen: &mut Vec<usize>) {
        let bound = spent + self.lower_bounds[count];
        if !bound.is_finite() || self.best.as_ref().is_some_and(|best| bound >= best.cost) {
            return;
        }
        let Some(query) = count.checked_sub(1) else {
            self.best = Some(LayoutChoice { kernels: chosen.iter().rev().copied().collect(), cost: spent });
            return;
        };
        for kernel in self.kernels[query].clone() {
            self.tried += 1;
            if self.tried > MAX_TRIED {
                return;
            }
            if let Some((needed, cost)) = self.add_kernel(kernel, needed) {
                chosen.push(kernel);
                self.choose(query, &needed, spent + cost, chosen);
                chosen.pop();
            }
        }
    }

    /// Returns the layouts still needed after a kernel is chosen, and the cost that the kernel
    /// adds. This cost includes conversions of its outputs, and of inputs to layouts that no kernel
    /// chosen earlier needs. `None` if an output is needed in a layout to which it cannot be
    /// converted.
    fn add_kernel(&self, kernel: usize, needed: &BTreeSet<Id>) -> Option<(BTreeSet<Id>, f64)> {
        let graph = self.graph;
        let written = &self.writes[kernel];
        let tensors: Vec<&Alias> = written.iter().map(|class| self.tensors[class]).collect();
        let mut cost = graph.kernels[kernel].cost;
        let mut rest = BTreeSet::new();
        for class in needed {
            if !tensors.contains(&self.tensors[class]) {
                rest.insert(*class);
            } else if !written.contains(class) {
                if !graph.can_convert(*class, |from| written.contains(&from)) {
                    return None;
                }
                cost += graph.conversions[self.tensors[class]];
            }
        }
        for class in graph.reads(kernel) {
            let is_converted = || graph.can_convert(class, |from| graph.is_input(from));
            if rest.insert(class) && !graph.is_input(class) && is_converted() {
                cost += graph.conversions[self.tensors[&class]];
            }
        }
        Some((rest, cost))
    }
}
