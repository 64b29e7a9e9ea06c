//! Queries over tables, written in SQL: patterns in graphs, co-occurrences of items and sparse
//! products.

use super::matrices::{describe, require, square};
use crate::data::{dense, read_real, to_undirected, to_upper_triangle, with_weights};
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::Result;
use redpoll::datasets::Content;
use redpoll::datasets::generate::random::Random;
use redpoll_logic::Prim;

const PATTERN: &str = "(dense (sparse-list (pattern)))";

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Sql,
        name: "triangles",
        equation: TRIANGLES,
        data: &["rmat", "facebook", "ca-AstroPh"],
        make: |data, size| count_pattern(data, size, 1 << 17, TRIANGLES, to_upper_triangle),
    },
    Workload {
        suite: Suite::Sql,
        name: "four_cycles",
        equation: FOUR_CYCLES,
        data: &["rmat", "email-Eu-core"],
        make: |data, size| count_pattern(data, size, 1 << 13, FOUR_CYCLES, to_undirected),
    },
    Workload {
        suite: Suite::Sql,
        name: "four_cliques",
        equation: FOUR_CLIQUES,
        data: &["rmat", "facebook"],
        make: |data, size| count_pattern(data, size, 1 << 15, FOUR_CLIQUES, to_upper_triangle),
    },
    Workload {
        suite: Suite::Sql,
        name: "two_hops",
        equation: TWO_HOPS,
        data: &["rmat", "facebook"],
        make: |data, size| count_by_vertex(data, size, TWO_HOPS),
    },
    Workload {
        suite: Suite::Sql,
        name: "two_hops_distinct",
        equation: TWO_HOPS_DISTINCT,
        data: &["rmat", "facebook"],
        make: |data, size| count_by_vertex(data, size, TWO_HOPS_DISTINCT),
    },
    Workload {
        suite: Suite::Sql,
        name: "co_occurrence",
        equation: CO_OCCURRENCE,
        data: &["ratings", "amazon-book"],
        make: co_occurrence,
    },
    Workload {
        suite: Suite::Sql,
        name: "spgemm",
        equation: SPGEMM,
        data: &["rmat", "uniform", "email-Eu-core"],
        make: spgemm,
    },
    Workload { suite: Suite::Sql, name: "sddmm", equation: SDDMM, data: &["rmat", "facebook"], make: sddmm },
];

const TRIANGLES: &str = "SELECT count(*) AS v FROM m_e a JOIN m_e b ON a.j = b.i JOIN m_e c ON a.i = c.i AND b.j = c.j";
const FOUR_CYCLES: &str = "SELECT count(*) AS v FROM m_e a JOIN m_e b ON a.j = b.i JOIN m_e c ON b.j = c.i \
                           JOIN m_e d ON c.j = d.i AND a.i = d.j";
const FOUR_CLIQUES: &str = "SELECT count(*) AS v FROM m_e a JOIN m_e b ON a.j = b.i JOIN m_e c ON a.i = c.i AND b.j = c.j \
                            JOIN m_e d ON b.j = d.i JOIN m_e e ON e.i = a.i AND e.j = d.j \
                            JOIN m_e f ON f.i = b.i AND f.j = d.j";
const TWO_HOPS: &str = "SELECT a.i, count(*) AS v FROM m_e a JOIN m_e b ON a.j = b.i GROUP BY a.i";
const TWO_HOPS_DISTINCT: &str = "SELECT a.i, count(DISTINCT b.j) AS v FROM m_e a JOIN m_e b ON a.j = b.i GROUP BY a.i";
const CO_OCCURRENCE: &str =
    "SELECT a.j AS i, b.j, count(*) AS v FROM m_r a JOIN m_r b ON a.i = b.i WHERE a.j < b.j GROUP BY a.j, b.j";
const SPGEMM: &str = "SELECT a.i, b.j, sum(a.v * b.v) AS v FROM m_a a JOIN m_b b ON a.j = b.i GROUP BY a.i, b.j";
const SDDMM: &str = "SELECT s.i, s.j, sum(s.v * a.v * b.v) AS v FROM m_s s JOIN m_a a ON a.i = s.i \
                     JOIN m_b b ON b.i = s.j AND b.j = a.j GROUP BY s.i, s.j";

/// Returns the graph of the given name; at the tiny size, a random graph replaces real ones.
fn graph(data: &str, size: DataSize, edges: u64) -> Result<Result<Content, MakeOutcome>> {
    match (data, size) {
        ("rmat", _) | (_, DataSize::Tiny) => square("rmat", size.pick(edges, edges / 8, 60), 70),
        _ => square(data, edges, 70),
    }
}

/// Returns the problem that counts the occurrences of a pattern in a graph.
fn count_pattern(
    data: &str,
    size: DataSize,
    edges: u64,
    sql: &str,
    convert: fn(&Content) -> Result<Content>,
) -> Result<MakeOutcome> {
    let edges = convert(&require!(graph(data, size, edges)))?;
    WorkloadProblem::query(describe(data, &edges), vec![WorkloadInput::new("E", edges, PATTERN)?], sql, Vec::new())
        .into_outcome()
}

fn count_by_vertex(data: &str, size: DataSize, sql: &str) -> Result<MakeOutcome> {
    let edges = to_undirected(&require!(graph(data, size, 1 << 16)))?;
    let n = edges.shape[0];
    WorkloadProblem::query(describe(data, &edges), vec![WorkloadInput::new("E", edges, PATTERN)?], sql, vec![n])
        .into_outcome()
}

/// Returns a matrix of ratings, users by items. The numbers of ratings of users and of items are
/// skewed.
fn load_ratings(data: &str, size: DataSize) -> Result<Result<Content, MakeOutcome>> {
    match (data, size) {
        ("amazon-book", DataSize::Full | DataSize::Quick) => read_real("matrices/amazon-book-test.mtx.zst"),
        _ => square("rmat", size.pick(1 << 15, 1 << 12, 60), 71),
    }
}

fn co_occurrence(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let mut ratings = require!(load_ratings(data, size));
    if (data, size) == ("amazon-book", DataSize::Quick) {
        ratings = first_entries(&ratings, 1 << 14)?;
    }
    let items = ratings.shape[1];
    WorkloadProblem::query(
        describe(data, &ratings),
        vec![WorkloadInput::new("R", ratings, "csr")?],
        CO_OCCURRENCE,
        vec![items, items],
    )
    .into_outcome()
}

/// Returns the first `count` entries of a matrix, with random values from 1 to 5.
fn first_entries(content: &Content, count: usize) -> Result<Content> {
    let (coordinates, values) = crate::data::entries(content)?;
    let count = count.min(values.len());
    let mut random = Random::new(72, 1);
    let values = (0..count).map(|_| 1.0 + random.below(5) as f64).collect();
    let coordinates = coordinates.iter().map(|list| list[..count].to_vec()).collect();
    Ok(crate::data::sparse_of(&content.shape, coordinates, redpoll::datasets::Values::F64(values)))
}

fn spgemm(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = require!(square(data, size.pick(1 << 16, 1 << 13, 100), 73));
    let a = if a.data.values().prim() == Prim::F64 { a } else { with_weights(&a, 74)? };
    let shape = vec![a.shape[0], a.shape[1]];
    let inputs = vec![WorkloadInput::new("A", a.clone(), "csr")?, WorkloadInput::new("B", a, "csr")?];
    WorkloadProblem::query(describe(data, &inputs[0].content), inputs, SPGEMM, shape).into_outcome()
}

fn sddmm(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let edges = with_weights(&to_undirected(&require!(graph(data, size, 1 << 15)))?, 75)?;
    let (n, columns) = (edges.shape[0], size.pick(25, 25, 3));
    let description = describe(data, &edges);
    let inputs = vec![
        WorkloadInput::new("S", edges, "csr")?,
        WorkloadInput::new("A", dense(&[n, columns], 76), "dense")?,
        WorkloadInput::new("B", dense(&[n, columns], 77), "dense")?,
    ];
    WorkloadProblem::query(description, inputs, SDDMM, vec![n, n]).into_outcome()
}
