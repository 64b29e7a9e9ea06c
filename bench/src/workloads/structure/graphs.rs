//! Graph algorithms in several variants. Breadth-first search runs by push, by pull, or switches
//! between push and pull. Bellman-Ford runs as a plan that the benchmark repeats, or as a program
//! with loops. Components and k-cores are computed over a graph with stored values, or over its
//! pattern.

use super::{describe, first_result, require, text};
use crate::data::{dense_of, to_undirected, with_fill, with_weights};
use crate::workload::{DataSize, MakeOutcome, Suite, Variant, Workload, WorkloadInput, WorkloadProblem};
use crate::workloads::{graphs, matrices::square};
use anyhow::{Result, bail};
use redpoll::datasets::{Content, Data, Values};
use redpoll_logic::Scalar;

/// Names of graphs. The vertices of `usroads` have small and similar degrees; the other graphs have
/// a few vertices with very many edges.
const DATA: &[&str] = &["usroads", "rmat", "ca-AstroPh"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Structure,
        name: "bfs",
        equation: "parents of a breadth-first search from vertex 0",
        data: DATA,
        make: bfs,
    },
    Workload {
        suite: Suite::Structure,
        name: "bellman_ford",
        equation: "distances from vertex 0, weights from 1 to 9",
        data: &["rmat", "ca-AstroPh"],
        make: bellman_ford,
    },
    Workload {
        suite: Suite::Structure,
        name: "components",
        equation: "the smallest vertex that each vertex is connected with",
        data: DATA,
        make: components,
    },
    Workload {
        suite: Suite::Structure,
        name: "k_core",
        equation: "the largest k whose core a vertex belongs to",
        data: DATA,
        make: k_core,
    },
];

fn graph(data: &str, size: DataSize) -> Result<Result<Content, MakeOutcome>> {
    let edges = size.pick(1 << 20, 1 << 16, 60);
    match square(if size == DataSize::Tiny { "rmat" } else { data }, edges, 120)? {
        Ok(content) => Ok(Ok(to_undirected(&content)?)),
        missing => Ok(missing),
    }
}

/// Returns the input with the number of the start vertex.
fn source() -> Result<WorkloadInput> {
    let mut number = dense_of(&[], Values::I64(vec![0]));
    number.shape = Vec::new();
    WorkloadInput::new("source", number, "dense")
}

const LIST: &str = "(dense (sparse-list (pattern)))";
const COLUMNS: &str = "(modes 1 0 (dense (sparse-list (pattern))))";

fn bfs(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = require!(graph(data, size));
    let rows = || WorkloadInput::new("A", a.clone(), LIST);
    let columns = || WorkloadInput::new("B", a.clone(), COLUMNS);
    let variants = vec![
        Variant::new("push", vec![rows()?, source()?], first_result(text!("programs/bfs_push.rp"))),
        Variant::new("pull", vec![columns()?, source()?], first_result(text!("programs/bfs_pull.rp"))),
        Variant::new("switching", vec![rows()?, columns()?, source()?], first_result(text!("programs/bfs.rp")))
            .paper("about even with GraphBLAS; switching gains on power-law graphs (Finch, fig. 19)"),
    ];
    WorkloadProblem::comparison(describe(data, &a), 1, variants).fill(-1.0).into_outcome()
}

fn bellman_ford(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = with_weights(&require!(graph(data, size)), 121)?;
    let a = Content { fill: Scalar::F64(0.0), ..a };
    let n = a.shape[0];
    // The plan reads the edges that end at a vertex, so it needs the transpose.
    let far = with_fill(transpose(&a)?, f64::INFINITY);
    let mut distance = vec![f64::INFINITY; n as usize];
    distance[0] = 0.0;
    let distance = with_fill(dense_of(&[n], Values::F64(distance)), f64::INFINITY);
    let plans = vec![WorkloadInput::new("A", far, "csr")?, WorkloadInput::new("distance0", distance, "dense")?];
    let text = text!("programs/bellman_ford.rp");
    let variants = vec![
        Variant::new("every edge each round", plans, graphs::relax_until_stable),
        Variant::new(
            "edges of changed vertices",
            vec![WorkloadInput::new("A", a.clone(), "csr")?, source()?],
            first_result(text),
        )
        .paper("3.53 over GraphBLAS, which relaxes every edge (Finch, fig. 19)"),
    ];
    WorkloadProblem::comparison(describe(data, &a), 1, variants).fill(f64::INFINITY).into_outcome()
}

/// Returns the graph with all edges reversed.
fn transpose(a: &Content) -> Result<Content> {
    let (Data::Triples { coordinates, values: Values::F64(values) }, [n, m]) = (&a.data, &a.shape[..]) else {
        bail!("expected a sparse graph with weights of f64")
    };
    let edges = coordinates[1].iter().zip(&coordinates[0]).zip(values);
    let mut edges: Vec<(u64, u64, f64)> = edges.map(|((j, i), v)| (*j, *i, *v)).collect();
    edges.sort_by_key(|(j, i, _)| (*j, *i));
    let coordinates = vec![edges.iter().map(|e| e.0).collect(), edges.iter().map(|e| e.1).collect()];
    Ok(crate::data::sparse_of(&[*m, *n], coordinates, Values::F64(edges.iter().map(|e| e.2).collect())))
}

/// Compares two variants that run the same program: the baseline reads the graph with stored
/// values, the other variant reads the pattern of the graph.
fn compare_leaves(data: &str, size: DataSize, fill: f64, text: &'static str) -> Result<MakeOutcome> {
    let a = require!(graph(data, size));
    let Data::Triples { coordinates, .. } = &a.data else { bail!("expected a sparse graph") };
    let ones = crate::data::sparse_of(&a.shape, coordinates.clone(), Values::F64(vec![1.0; coordinates[0].len()]));
    let variants = vec![
        Variant::new("csr", vec![WorkloadInput::new("A", ones, "csr")?], first_result(text)),
        Variant::new("pattern", vec![WorkloadInput::new("A", a.clone(), LIST)?], first_result(text)),
    ];
    WorkloadProblem::comparison(describe(data, &a), 1, variants).fill(fill).into_outcome()
}

fn components(data: &str, size: DataSize) -> Result<MakeOutcome> {
    compare_leaves(data, size, -1.0, text!("programs/components.rp"))
}

fn k_core(data: &str, size: DataSize) -> Result<MakeOutcome> {
    compare_leaves(data, size, -1.0, text!("programs/k_core.rp"))
}
