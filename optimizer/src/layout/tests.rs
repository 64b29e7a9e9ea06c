//! Compares the choice of layouts with all choices, on graphs with random costs.

use super::choose::{cheapest, drawn};
use super::explore::Kernel;
use super::graph::LayoutGraph;
use crate::term::{At, Read};
use redpoll_logic::Field;
use redpoll_logic::{Alias, DType, Format, Scalar, TensorType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Pseudo-random numbers that are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn formats() -> [Format; 3] {
    [Format::csr(), Format::csc(), Format::dense(2)]
}

fn read(tensor: &str) -> Read {
    let at = ["i", "j"].map(|f| At::field(&Field::from(f))).to_vec();
    let (shape, dtype) = (vec![4, 4], DType::F64);
    let ty = Arc::new(TensorType { shape, dtype, fill: Scalar::F64(0.0), format: Format::csr() });
    Read { tensor: Alias::from(tensor), ty, at, outside: None }
}

/// Returns queries that read inputs and earlier outputs, each with a few kernels with random
/// formats and costs.
fn random(draws: &mut Draws) -> LayoutGraph {
    let mut graph = LayoutGraph::default();
    let mut tensors = vec!["A".to_owned(), "B".to_owned()];
    for tensor in &tensors {
        graph.give(&Alias::from(tensor.as_str()), &formats()[draws.below(3) as usize]);
    }
    for query in 0..1 + draws.below(4) as usize {
        let reads: Vec<String> = tensors.iter().filter(|_| draws.below(2) == 0).cloned().collect();
        let output = format!("T{query}");
        for _ in 0..1 + draws.below(4) {
            let format = |draws: &mut Draws| formats()[draws.below(3) as usize].clone();
            let kernel = Kernel {
                query,
                order: Vec::new(),
                asked: vec![None],
                formats: vec![format(draws)],
                reads: reads.iter().map(|tensor| (read(tensor), format(draws))).collect(),
                cost: draws.below(100) as f64,
                as_planned: false,
            };
            graph.run(kernel, &[Alias::from(output.as_str())]);
        }
        tensors.push(output);
    }
    for tensor in &tensors {
        graph.conversions.insert(Alias::from(tensor.as_str()), draws.below(60) as f64);
    }
    graph.egraph.rebuild();
    graph
}

/// Returns the cost of a choice: its kernels, and each conversion once.
fn cost(graph: &LayoutGraph, chosen: &[usize]) -> f64 {
    let mut conversions: BTreeSet<(String, String)> = BTreeSet::new();
    let mut cost = 0.0;
    for &kernel in chosen {
        cost += graph.kernels[kernel].cost;
        for (read, format) in &graph.kernels[kernel].reads {
            let own = |k: &usize| Alias::from(format!("T{}", graph.kernels[*k].query).as_str()) == read.tensor;
            let written = match chosen.iter().find(|k| own(k)) {
                Some(writer) => graph.kernels[*writer].formats[0].clone(),
                None => graph.formats(&read.tensor)[0].clone(),
            };
            if written != *format && conversions.insert((read.tensor.to_string(), format!("{format:?}"))) {
                cost += graph.conversions[&read.tensor];
            }
        }
    }
    cost
}

/// Returns the least cost of all choices.
fn least(graph: &LayoutGraph) -> f64 {
    let all = graph.by_query().into_iter().fold(vec![Vec::new()], |choices: Vec<Vec<usize>>, kernels| {
        choices.iter().flat_map(|choice| kernels.iter().map(move |k| [&choice[..], &[*k]].concat())).collect()
    });
    all.iter().map(|choice| cost(graph, choice)).fold(f64::INFINITY, f64::min)
}

/// The search misses no cheaper choice, and counts each conversion once.
#[test]
fn the_choice_costs_what_the_cheapest_of_all_does() {
    let mut draws = Draws(1);
    for seed in 0..500 {
        let graph = random(&mut draws);
        let chosen = cheapest(&graph).unwrap();
        assert_eq!(chosen.cost, least(&graph));
        assert_eq!(chosen.cost, cost(&graph, &chosen.kernels));
        let any = drawn(&graph, seed).unwrap();
        assert_eq!(any.cost, cost(&graph, &any.kernels));
    }
}
