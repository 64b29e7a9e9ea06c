//! Graph algorithms: sparse algebra over booleans, over (min, +) and over numbers; searches and
//! shortest paths as programs with loops; and counts of triangles.

use super::matrices::{describe, require, square};
use super::{first_result, text};
use crate::data::{dense, dense_of, read_real, to_undirected, to_upper_triangle, with_fill, with_weights};
use crate::runner::WorkloadRunner;
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::{Context, Result, ensure};
use redpoll::datasets::generate::random::Random;
use redpoll::datasets::{Content, Data, Values};
use redpoll_logic::Scalar;
use redpoll_storage::Tensor;

const PATTERN: &str = "(dense (sparse-list (pattern)))";
const COLUMNS: &str = "(modes 1 0 (dense (sparse-list (pattern))))";

pub(super) const PAPER: &[Workload] = &[
    Workload {
        suite: Suite::Paper,
        name: "triangles",
        equation: "t = sum_ijk E_ij E_jk E_ik, edges from the smaller to the larger vertex",
        data: &["rmat", "facebook", "ca-AstroPh"],
        make: triangles,
    },
    Workload {
        suite: Suite::Paper,
        name: "sddmm",
        equation: "C_ij = S_ij sum_k A_ik B_jk, 25 columns",
        data: &["rmat", "facebook", "ca-AstroPh"],
        make: sddmm,
    },
];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Graph,
        name: "mxv_bool",
        equation: "y_i = not v_i and or_j (A_ij and x_j); a tenth of the x_j and half of the v_i are true",
        data: &["rmat", "usroads"],
        make: mxv_bool,
    },
    Workload {
        suite: Suite::Graph,
        name: "mxv_tropical",
        equation: "y_i = min_j (A_ij + x_j) where v_i; a tenth of the x_j are finite, half of the v_i are true",
        data: &["rmat", "usroads"],
        make: mxv_tropical,
    },
    Workload {
        suite: Suite::Graph,
        name: "mxm_bool",
        equation: "C_ij = M_ij and or_k (A_ik and B_kj)",
        data: &["rmat", "ca-AstroPh"],
        make: mxm_bool,
    },
    Workload {
        suite: Suite::Graph,
        name: "mxm_tropical",
        equation: "C_ij = min_k (A_ik + B_kj) where M_ij",
        data: &["rmat", "ca-AstroPh"],
        make: mxm_tropical,
    },
    Workload {
        suite: Suite::Graph,
        name: "bfs",
        equation: "levels of a breadth-first search from vertex 0",
        data: &["rmat", "usroads"],
        make: bfs,
    },
    Workload {
        suite: Suite::Graph,
        name: "bellman_ford",
        equation: "distances from vertex 0, weights from 1 to 9",
        data: &["rmat", "facebook"],
        make: bellman_ford,
    },
    Workload {
        suite: Suite::Graph,
        name: "triangles",
        equation: "t = sum_ijk E_ij E_jk E_ik, edges from the smaller to the larger vertex",
        data: &["dblp", "usroads"],
        make: triangles,
    },
    Workload {
        suite: Suite::Graph,
        name: "pagerank",
        equation: "r_i = 0.85 sum_j W_ij r_j + 0.15 / n, 20 steps",
        data: &["rmat", "dblp"],
        make: pagerank,
    },
];

/// Returns the graph of the given name; at the tiny size, a random graph replaces real ones.
fn graph(data: &str, size: DataSize, edges: u64) -> Result<Result<Content, MakeOutcome>> {
    match (data, size) {
        ("rmat", _) | (_, DataSize::Tiny) => square("rmat", size.pick(edges, edges / 16, 60), 50),
        _ => square(data, edges, 50),
    }
}

fn triangles(data: &str, size: DataSize) -> Result<MakeOutcome> {
    triangles_problem(data, to_upper_triangle(&require!(graph(data, size, 1 << 19)))?)
}

/// Returns the problem that counts triangles in a graph that stores every edge once.
pub(super) fn triangles_problem(data: &str, edges: Content) -> Result<MakeOutcome> {
    WorkloadProblem::plan(
        describe(data, &edges),
        vec![WorkloadInput::new("E", edges, PATTERN)?],
        1,
        "(plan (query t (aggregate + 0 (mapjoin cast-i64 (mapjoin and (table E i j) (table E j k) (table E i k))) i j k))
           (produces t))",
    )
    .into_outcome()
}

fn sddmm(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let edges = with_weights(&to_undirected(&require!(graph(data, size, 1 << 20)))?, 51)?;
    let (n, columns) = (edges.shape[0], size.pick(25, 25, 3));
    let s = WorkloadInput::new("S", edges, "csr")?;
    let (description, stored) = (describe(data, &s.content), s.entries());
    let a = WorkloadInput::new("A", dense(&[n, columns], 52), "dense")?;
    let b = WorkloadInput::new("B", dense(&[n, columns], 53), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![s, a, b],
        1,
        "(plan (query C (reformat csr (mapjoin * (table S i j)
           (aggregate + 0 (mapjoin * (table A i k) (table B j k)) k)))) (produces C))",
    )
    .work(24.0 * stored + 16.0 * (n * columns) as f64, 2.0 * stored * columns as f64)
    .into_outcome()
}

/// Returns a vector of `n` values: `value(i)` with probability `1 / of`, otherwise `none`.
fn random_subset<T: Clone>(n: u64, of: u64, seed: u64, none: T, value: impl Fn(u64) -> T) -> Vec<T> {
    let mut random = Random::new(seed, 0);
    (0..n).map(|i| if random.below(of) == 0 { value(i) } else { none.clone() }).collect()
}

fn random_flags(name: &str, n: u64, of: u64, seed: u64) -> Result<WorkloadInput> {
    WorkloadInput::new(name, dense_of(&[n], Values::Bool(random_subset(n, of, seed, false, |_| true))), "dense")
}

fn mxv_bool(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = to_undirected(&require!(graph(data, size, 1 << 22)))?;
    let n = a.shape[0];
    WorkloadProblem::plan(
        describe(data, &a),
        vec![
            WorkloadInput::new("A", a, PATTERN)?,
            random_flags("x", n, size.pick(10, 10, 2), 54)?,
            random_flags("v", n, 2, 55)?,
        ],
        1,
        "(plan (query y (mapjoin and (mapjoin not (table v i))
           (aggregate or false (mapjoin and (table A i j) (table x j)) j))) (produces y))",
    )
    .into_outcome()
}

/// Returns the undirected graph with weights and fill value infinity.
fn with_distances(edges: &Content, seed: u64) -> Result<Content> {
    Ok(with_fill(with_weights(&to_undirected(edges)?, seed)?, f64::INFINITY))
}

fn mxv_tropical(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = with_distances(&require!(graph(data, size, 1 << 22)), 56)?;
    let n = a.shape[0];
    let x = Values::F64(random_subset(n, size.pick(10, 10, 2), 57, f64::INFINITY, |i| (i % 10) as f64));
    let x = WorkloadInput::new("x", with_fill(dense_of(&[n], x), f64::INFINITY), "dense")?;
    WorkloadProblem::plan(
        describe(data, &a),
        vec![WorkloadInput::new("A", a, "csr")?, x, random_flags("v", n, 2, 58)?],
        1,
        "(plan (query y (mapjoin ifelse (table v i)
           (aggregate min inf (mapjoin + (table A i j) (table x j)) j) inf)) (produces y))",
    )
    .fill(f64::INFINITY)
    .into_outcome()
}

fn mxm_bool(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = to_undirected(&require!(graph(data, size, 1 << 18)))?;
    let mask = to_undirected(&require!(square("rmat", size.pick(1 << 18, 1 << 14, 60), 59)))?;
    let mask = Content { shape: a.shape.clone(), ..restrict_to(&mask, a.shape[0])? };
    WorkloadProblem::plan(
        describe(data, &a),
        vec![
            WorkloadInput::new("A", a.clone(), PATTERN)?,
            WorkloadInput::new("B", a, PATTERN)?,
            WorkloadInput::new("M", mask, PATTERN)?,
        ],
        1,
        "(plan (query C (reformat csr (mapjoin and (table M i j)
           (aggregate or false (mapjoin and (table A i k) (table B k j)) k)))) (produces C))",
    )
    .into_outcome()
}

fn mxm_tropical(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = with_distances(&require!(graph(data, size, 1 << 18)), 60)?;
    let mask = to_undirected(&require!(square("rmat", size.pick(1 << 18, 1 << 14, 60), 61)))?;
    let mask = Content { shape: a.shape.clone(), ..restrict_to(&mask, a.shape[0])? };
    WorkloadProblem::plan(
        describe(data, &a),
        vec![
            WorkloadInput::new("A", a.clone(), "csr")?,
            WorkloadInput::new("B", a, "csr")?,
            WorkloadInput::new("M", mask, PATTERN)?,
        ],
        1,
        "(plan (query C (reformat csr (mapjoin ifelse (table M i j)
           (aggregate min inf (mapjoin + (table A i k) (table B k j)) k) inf))) (produces C))",
    )
    .fill(f64::INFINITY)
    .into_outcome()
}

/// Returns the pattern of the edges between the first `n` vertices of a graph.
fn restrict_to(content: &Content, n: u64) -> Result<Content> {
    let (coordinates, _) = crate::data::entries(content)?;
    let edges = coordinates[0].iter().copied().zip(coordinates[1].iter().copied());
    let (rows, columns): (Vec<u64>, Vec<u64>) = edges.filter(|(i, j)| *i < n && *j < n).unzip();
    let count = rows.len();
    ensure!(count > 0, "the mask is empty");
    Ok(crate::data::sparse_of(&[n, n], vec![rows, columns], Values::Bool(vec![true; count])))
}

fn bfs(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = to_undirected(&require!(graph(data, size, 1 << 20)))?;
    let description = describe(data, &a);
    // Edges are stored in both directions, so the columns equal the rows.
    let inputs = vec![WorkloadInput::new("A", a.clone(), PATTERN)?, WorkloadInput::new("B", a, COLUMNS)?];
    let levels = |runner: &mut WorkloadRunner| Ok(vec![runner.run_text(text!("programs/bfs.rp"))?.swap_remove(1)]);
    WorkloadProblem::program(description, inputs, 1, levels).fill(-1.0).parameter("source", 0).into_outcome()
}

/// One round of relaxation. `next` is, for each vertex, the minimum of its distance and of the
/// distances through all neighbours; `more` says whether any distance has changed.
const RELAX: &str = "(plan
  (query next (mapjoin min (table distance i) (aggregate min inf (mapjoin + (table A i j) (table distance j)) j)))
  (query more (aggregate or false (mapjoin ne (table next i) (table distance i)) i))
  (produces next more))";

fn bellman_ford(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = with_distances(&require!(graph(data, size, 1 << 20)), 62)?;
    let description = describe(data, &a);
    let program = first_result(text!("programs/bellman_ford.rp"));
    WorkloadProblem::program(description, vec![WorkloadInput::new("A", a, "csr")?], 1, program)
        .fill(f64::INFINITY)
        .parameter("source", 0)
        .into_outcome()
}

/// Computes the distances by rounds over all edges, until no distance changes.
pub(super) fn relax_until_stable(runner: &mut WorkloadRunner) -> Result<Vec<Tensor>> {
    let mut distance = runner.input("distance0")?.clone();
    loop {
        let results = runner.run_plan_with(RELAX, [("distance", &distance)])?;
        let [next, more] = <[Tensor; 2]>::try_from(results).ok().context("expected two results")?;
        distance = next;
        if !boolean_value(&more)? {
            break Ok(vec![distance]);
        }
    }
}

fn boolean_value(tensor: &Tensor) -> Result<bool> {
    Ok(tensor.get(&[])? == Scalar::Bool(true))
}

const STEP: &str = "(plan (query next (mapjoin + (mapjoin * 0.85
  (aggregate + 0 (mapjoin * (table W i j) (table r j)) j)) (table rest))) (produces next))";

fn pagerank(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let graph = match (data, size) {
        ("dblp", DataSize::Full | DataSize::Quick) => require!(read_real("graphs/dblp-2010.mtx.zst")),
        _ => require!(graph(data, size, 1 << 21)),
    };
    // W_ij is one over the degree of j. The graph is symmetric, so this degree is the number of
    // entries in column j.
    let mut walk = to_undirected(&graph)?;
    let n = walk.shape[0];
    if let Data::Triples { coordinates, values } = &mut walk.data {
        let mut degree = vec![0u32; n as usize];
        coordinates[1].iter().for_each(|j| degree[*j as usize] += 1);
        *values = Values::F64(coordinates[1].iter().map(|j| 1.0 / f64::from(degree[*j as usize])).collect());
    }
    let description = describe(data, &walk);
    let walk = Content { fill: Scalar::F64(0.0), ..walk };
    let start = dense_of(&[n], Values::F64(vec![1.0 / n as f64; n as usize]));
    let steps = size.pick(20, 20, 3);
    WorkloadProblem::program(
        description,
        vec![WorkloadInput::new("W", walk, "csr")?, WorkloadInput::new("r0", start, "dense")?],
        1,
        move |runner| {
            let mut rank = runner.input("r0")?.clone();
            let rest = Tensor::scalar(&Scalar::F64(0.15 / rank.ty().shape[0] as f64))?;
            for _ in 0..steps {
                rank = runner.run_plan_with(STEP, [("r", &rank), ("rest", &rest)])?.swap_remove(0);
            }
            Ok(vec![rank])
        },
    )
    .tolerance(crate::checks::ROUNDED)
    .parameter("steps", steps)
    .into_outcome()
}
