//! The cheapest choice of one kernel per query, by branch and bound.
//!
//! Queries are processed from last to first, so that the required layouts of their outputs are
//! determined. The lower bound is the cost of the chosen kernels and their conversions plus the
//! cheapest kernels of all other queries. A layout that is not written is converted from one that
//! is; each conversion is counted once, however many kernels read it.

use super::graph::LayoutGraph;
use egg::Id;
use redpoll_logic::Alias;
use std::collections::{BTreeSet, HashMap};

/// Largest number of kernels tried; then the best choice so far is taken.
const MOST_TRIED: usize = 20_000;

/// One kernel for each query.
pub(super) struct Chosen {
    pub(super) kernels: Vec<usize>,
    pub(super) cost: f64,
}

/// Returns the cheapest choice.
pub(super) fn cheapest(graph: &LayoutGraph) -> Option<Chosen> {
    Search::new(graph, graph.by_query()).run()
}

/// Returns a random choice, drawn by a seed.
pub(super) fn drawn(graph: &LayoutGraph, seed: u64) -> Option<Chosen> {
    let mut state = seed;
    let mut one = |kernels: Vec<usize>| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 33) as usize % kernels.len().max(1);
        kernels.get(at).copied().into_iter().collect()
    };
    Search::new(graph, graph.by_query().into_iter().map(&mut one).collect()).run()
}

impl LayoutGraph {
    /// Returns the cost of the previous plan; `None` if the graph does not contain it.
    pub(super) fn as_planned(&self) -> Option<f64> {
        let planned = |kernels: Vec<usize>| kernels.into_iter().filter(|k| self.kernels[*k].as_planned).collect();
        Search::new(self, self.by_query().into_iter().map(planned).collect()).run().map(|chosen| chosen.cost)
    }
}

struct Search<'g> {
    graph: &'g LayoutGraph,
    tensors: HashMap<Id, &'g Alias>,
    /// The classes that each kernel writes.
    written: Vec<Vec<Id>>,
    /// The candidate kernels of each query.
    kernels: Vec<Vec<usize>>,
    /// Lower bounds of the cost of the first `k` queries, for each `k`.
    least: Vec<f64>,
    tried: usize,
    best: Option<Chosen>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g LayoutGraph, kernels: Vec<Vec<usize>>) -> Search<'g> {
        let mut least = vec![0.0];
        for own in &kernels {
            let cheapest = own.first().map_or(f64::INFINITY, |k| graph.kernels[*k].cost);
            least.push(least[least.len() - 1] + cheapest);
        }
        let written = (0..graph.kernels.len()).map(|kernel| graph.written(kernel)).collect();
        Search { graph, tensors: graph.tensors(), written, kernels, least, tried: 0, best: None }
    }

    fn run(mut self) -> Option<Chosen> {
        self.choose(self.kernels.len(), &BTreeSet::new(), 0.0, &mut Vec::new());
        self.best
    }

    /// Chooses kernels for the first `open` queries, whose outputs are needed in the layouts
    /// `needed`.
    fn choose(&mut self, open: usize, needed: &BTreeSet<Id>, spent: f64, chosen: &mut Vec<usize>) {
        let bound = spent + self.least[open];
        if !bound.is_finite() || self.best.as_ref().is_some_and(|best| bound >= best.cost) {
            return;
        }
        let Some(query) = open.checked_sub(1) else {
            self.best = Some(Chosen { kernels: chosen.iter().rev().copied().collect(), cost: spent });
            return;
        };
        for kernel in self.kernels[query].clone() {
            self.tried += 1;
            if self.tried > MOST_TRIED {
                return;
            }
            if let Some((needed, cost)) = self.take(kernel, needed) {
                chosen.push(kernel);
                self.choose(query, &needed, spent + cost, chosen);
                chosen.pop();
            }
        }
    }

    /// Returns the layouts still needed after choosing a kernel and the kernel's cost, including
    /// conversions of its outputs and of given inputs.
    fn take(&self, kernel: usize, needed: &BTreeSet<Id>) -> Option<(BTreeSet<Id>, f64)> {
        let graph = self.graph;
        let written = &self.written[kernel];
        let tensors: Vec<&Alias> = written.iter().map(|class| self.tensors[class]).collect();
        let mut cost = graph.kernels[kernel].cost;
        let mut open = BTreeSet::new();
        for class in needed {
            if !tensors.contains(&self.tensors[class]) {
                open.insert(*class);
            } else if !written.contains(class) {
                if !graph.is_converted(*class, |from| written.contains(&from)) {
                    return None;
                }
                cost += graph.conversions[self.tensors[class]];
            }
        }
        for class in graph.read(kernel) {
            let converted = || graph.is_converted(class, |from| graph.is_given(from));
            if open.insert(class) && !graph.is_given(class) && converted() {
                cost += graph.conversions[self.tensors[&class]];
            }
        }
        Some((open, cost))
    }
}
