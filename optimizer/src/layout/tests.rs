//! Tests that the chosen layout is the cheapest of all choices, on graphs with random costs.

use super::choose::{cheapest, random};
use super::graph::{CandidateKernel, LayoutGraph};
use crate::term::{ModeCoordinate, Read};
use redpoll_logic::{Alias, DType, Field, Format, Scalar, TensorType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Pseudo-random numbers that are the same in every run.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn formats() -> [Format; 3] {
    [Format::csr(), Format::csc(), Format::dense(2)]
}

fn read(tensor: &str) -> Read {
    let coordinates = ["i", "j"].map(|f| ModeCoordinate::field(&Field::from(f))).to_vec();
    let (shape, dtype) = (vec![4, 4], DType::F64);
    let ty = Arc::new(TensorType { shape, dtype, fill: Scalar::F64(0.0), format: Format::csr() });
    Read { tensor: Alias::from(tensor), ty, coordinates, outside: None }
}

/// Returns a graph of queries that read inputs and earlier outputs. Each query has a few kernels
/// with random formats and costs.
fn random_graph(numbers: &mut RandomNumbers) -> LayoutGraph {
    let mut graph = LayoutGraph::default();
    let mut tensors = vec!["A".to_owned(), "B".to_owned()];
    for tensor in &tensors {
        graph.add_input(&Alias::from(tensor.as_str()), &formats()[numbers.below(3) as usize]);
    }
    for query in 0..1 + numbers.below(4) as usize {
        let reads: Vec<String> = tensors.iter().filter(|_| numbers.below(2) == 0).cloned().collect();
        let output = format!("T{query}");
        for _ in 0..1 + numbers.below(4) {
            let format = |numbers: &mut RandomNumbers| formats()[numbers.below(3) as usize].clone();
            let kernel = CandidateKernel {
                query,
                order: Vec::new(),
                requested: vec![None],
                formats: vec![format(numbers)],
                reads: reads.iter().map(|tensor| (read(tensor), format(numbers))).collect(),
                cost: numbers.below(100) as f64,
                is_previous: false,
            };
            graph.add_kernel(kernel, &[Alias::from(output.as_str())]);
        }
        tensors.push(output);
    }
    for tensor in &tensors {
        graph.conversions.insert(Alias::from(tensor.as_str()), numbers.below(60) as f64);
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

/// Returns the lowest cost of all choices.
fn lowest_cost(graph: &LayoutGraph) -> f64 {
    let all = graph.kernels_by_query().into_iter().fold(vec![Vec::new()], |choices: Vec<Vec<usize>>, kernels| {
        choices.iter().flat_map(|choice| kernels.iter().map(move |k| [&choice[..], &[*k]].concat())).collect()
    });
    all.iter().map(|choice| cost(graph, choice)).fold(f64::INFINITY, f64::min)
}

/// The search misses no cheaper choice, and counts each conversion once.
#[test]
fn the_choice_is_the_cheapest_of_all() {
    let mut numbers = RandomNumbers(1);
    for seed in 0..500 {
        let graph = random_graph(&mut numbers);
        let chosen = cheapest(&graph).unwrap();
        assert_eq!(chosen.cost, lowest_cost(&graph));
        assert_eq!(chosen.cost, cost(&graph, &chosen.kernels));
        let any = random(&graph, seed).unwrap();
        assert_eq!(any.cost, cost(&graph, &any.kernels));
    }
}
