//! The cases of the table of ratios. Each case has a kernel and a hand-written loop, and checks
//! that their results are equal. Both read the same arrays, except in the case `masked`.

use crate::arrays::{Csf3, Csr, dense};
use crate::bound_kernel::{BoundKernel, f64_values};
use crate::data::{generate_content, small_integers};
use crate::files::dataset;
use crate::workload::RequiredWork;
use crate::{hand, machine};
use anyhow::{Context, Result, ensure};
use redpoll::datasets::generate::{Amount, Rmat, Uniform};
use redpoll_storage::Tensor;
use std::hint::black_box;
use std::time::Duration;

/// One row of the table.
pub struct KernelCase {
    /// The name of the kernel.
    pub name: String,
    /// A description of the data.
    pub data: String,
    /// The work of the algorithm.
    pub work: RequiredWork,
    /// The kernel.
    pub kernel: BoundKernel,
    /// The hand-written loop.
    pub by_hand: Box<dyn Fn()>,
    /// The best time of a loop that only gathers elements at the same indices, for kernels that
    /// gather.
    pub gather: Option<Duration>,
}

/// The size of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseSize {
    /// The data of the table; each case takes seconds.
    Full,
    /// Small data, for criterion, tests, printed code and `by_hand --small`. Real data keep their
    /// size.
    Small,
}

impl CaseSize {
    fn of(self, full: usize) -> usize {
        if self == CaseSize::Full { full } else { full / 64 }
    }

    fn scale(self, full: u32) -> u32 {
        if self == CaseSize::Full { full } else { full - 6 }
    }
}

/// A function that creates a case. It returns `None` if the data set is missing.
pub type CaseMaker = fn(CaseSize) -> Result<Option<KernelCase>>;

/// All cases with their names. Cases over real data return `None` if the data sets are missing.
pub const CASES: [(&str, CaseMaker); 16] = [
    ("spmv", |s| spmv("spmv", "uniform, x in cache", uniform(s.of(1 << 19), 2048, 16, 1)?, hand::spmv)),
    ("spmv", |s| spmv("spmv", "uniform, long rows, x in cache", uniform(s.of(1 << 14), 1 << 14, 512, 2)?, hand::spmv)),
    ("spmv", |s| spmv("spmv", "uniform, x gathered", uniform(s.of(1 << 19), s.of(1 << 22), 16, 3)?, hand::spmv)),
    ("spmv", |s| spmv("spmv", "uniform, rows of 10", uniform(s.of(1 << 20), s.of(1 << 20), 10, 22)?, hand::spmv)),
    ("spmv", |s| spmv("spmv", "R-MAT", rmat(s.scale(19), s.of(1 << 23), 4)?, hand::spmv)),
    ("spmv4", |s| {
        spmv("spmv, 4 sums by hand", "uniform, x in cache", uniform(s.of(1 << 19), 2048, 16, 1)?, hand::spmv_four_sums)
    }),
    ("spgemm", |s| {
        spgemm("uniform", uniform(s.of(1 << 17), s.of(1 << 17), 8, 5)?, uniform(s.of(1 << 17), s.of(1 << 17), 8, 6)?)
    }),
    ("spgemm", |s| spgemm("R-MAT", rmat(s.scale(14), s.of(1 << 17), 7)?, rmat(s.scale(14), s.of(1 << 17), 8)?)),
    ("triangles", |s| triangles("R-MAT", &rmat(s.scale(15), s.of(1 << 19), 9)?)),
    ("triangles", |_| real_graph("graphs/ca-AstroPh-cc1.mtx.zst", triangles)),
    ("triangles", |_| real_graph("graphs/facebook_combined.mtx.zst", triangles)),
    ("masked", |s| masked_triangles("R-MAT", &rmat(s.scale(14), s.of(1 << 17), 10)?)),
    ("mttkrp", |s| mttkrp("uniform", tensor(s)?, 16)),
    ("mttkrp", |s| mttkrp("uniform", tensor(s)?, 32)),
    ("factored", |s| mttkrp_factored("uniform", tensor(s)?, 16)),
    ("factored", |s| mttkrp_factored("uniform", tensor(s)?, 32)),
];

/// Returns a matrix with `per_row` entries per row on average, at uniformly distributed
/// coordinates.
fn uniform(rows: usize, columns: usize, per_row: usize, seed: u64) -> Result<Csr> {
    let shape = vec![rows as u64, columns as u64];
    let content = generate_content(&Uniform { shape, entries: Amount::Count((rows * per_row) as u64) }, seed)?;
    Csr::from_tensor(&content.into_tensor(None)?)
}

/// Returns an R-MAT matrix, whose entries are skewed over rows and columns.
fn rmat(scale: u32, edges: usize, seed: u64) -> Result<Csr> {
    Csr::from_tensor(&generate_content(&Rmat::new(scale, edges as u64), seed)?.into_tensor(None)?)
}

fn tensor(size: CaseSize) -> Result<Csf3> {
    let entries = Amount::Count(size.of(1 << 21) as u64);
    let shape = vec![size.of(1 << 14) as u64, 1 << 10, 1 << 10];
    Csf3::from_content(&generate_content(&Uniform { shape, entries }, 11)?)
}

fn spmv(name: &str, data: &str, a: Csr, by_hand: fn(&Csr, &[f64]) -> Vec<f64>) -> Result<Option<KernelCase>> {
    let x = small_integers(a.cols, 12);
    let text = format!(
        "(program (input A (type (shape {0} {1}) f64 0.0 csr)) (input x (type (shape {1}) f64 0.0 dense))
           (output y (type (shape {0}) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        a.rows, a.cols
    );
    let kernel = BoundKernel::new(&text, vec![a.to_tensor()?, dense(&[a.cols], &x)?])?;
    let outputs = kernel.run()?;
    ensure!(f64_values(&outputs[0])? == by_hand(&a, &x), "{name} over {data}: the results differ");
    let stored = a.idx.len() as f64;
    let work = RequiredWork {
        bytes: 12.0 * stored + (4 + 8) as f64 * a.rows as f64 + 8.0 * a.cols as f64,
        operations: 2.0 * stored,
    };
    let gather = machine::best_time(5, || {
        black_box(hand::gather(&a.idx, &x));
    });
    Ok(Some(KernelCase {
        name: name.into(),
        data: format!("{data}: {} x {}, {} entries", a.rows, a.cols, a.idx.len()),
        work,
        kernel,
        by_hand: Box::new(move || drop(black_box(by_hand(&a, &x)))),
        gather: Some(gather),
    }))
}

fn spgemm(data: &str, a: Csr, b: Csr) -> Result<Option<KernelCase>> {
    let text = format!(
        "(program (input A (type (shape {0} {1}) f64 0.0 csr)) (input B (type (shape {1} {2}) f64 0.0 csr))
           (output C (type (shape {0} {2}) f64 0.0 csr)) (local w (type (shape {2}) f64 0.0 (byte-map (element))))
           (for i (where (for j (init (C i j) (w j)))
                         (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        a.rows, a.cols, b.cols
    );
    let kernel = BoundKernel::new(&text, vec![a.to_tensor()?, b.to_tensor()?])?;
    let outputs = kernel.run()?;
    let expected = hand::spgemm(&a, &b);
    ensure!(same_matrix(&outputs[0], &expected), "spgemm over {data}: the results differ");
    let products: usize = a.idx.iter().map(|k| (b.ptr[*k as usize + 1] - b.ptr[*k as usize]) as usize).sum();
    let bytes = 12.0 * (a.idx.len() + products + expected.idx.len()) as f64 + 8.0 * (a.idx.len() + a.rows) as f64;
    Ok(Some(KernelCase {
        name: "spgemm".into(),
        data: format!("{data}: {} x {}, {products} products, {} entries out", a.rows, b.cols, expected.idx.len()),
        work: RequiredWork { bytes, operations: 2.0 * products as f64 },
        kernel,
        by_hand: Box::new(move || drop(black_box(hand::spgemm(&a, &b)))),
        gather: None,
    }))
}

/// Returns whether a result has the same arrays as the matrix.
fn same_matrix(found: &Tensor, expected: &Csr) -> bool {
    let [ptr, idx] = &found.levels()[1][..] else { return false };
    ptr.as_slice() == Some(&expected.ptr[..])
        && idx.as_slice() == Some(&expected.idx[..])
        && found.leaf()[0].as_slice() == Some(&expected.val[..])
}

fn real_graph(name: &str, make: fn(&str, &Csr) -> Result<Option<KernelCase>>) -> Result<Option<KernelCase>> {
    let Some(path) = dataset(name) else { return Ok(None) };
    let (tensor, _) = redpoll_datasets::read(&path, &Default::default())?.into_tensor(None)?;
    let graph = Csr::from_tensor(&tensor)?;
    let file = path.file_name().context("the path has no file name")?.to_string_lossy();
    make(file.split('.').next().unwrap_or_default(), &graph)
}

fn triangles(data: &str, graph: &Csr) -> Result<Option<KernelCase>> {
    let edges = graph.to_upper_triangle();
    let text = format!(
        "(program (input E (type (shape {0} {0}) bool false (dense (sparse-list (pattern)))))
           (output n (type (shape) i64 0 dense))
           (for i (for j (for k (+= (n) (cast-i64 (and (E i j) (and (E j k) (E i k)))))))))",
        edges.rows
    );
    let kernel = BoundKernel::new(&text, vec![edges.to_pattern()?])?;
    let found = count(&kernel)?;
    ensure!(found == hand::triangles(&edges), "triangles over {data}: the results differ");
    triangle_case("triangles", data, edges, kernel, found)
}

/// Returns the case that counts triangles under a mask. The kernel reads the undirected graph, and
/// counts each triangle once by the mask `i < j < k`. The hand-written loop reads only the upper
/// triangle.
fn masked_triangles(data: &str, graph: &Csr) -> Result<Option<KernelCase>> {
    let edges = graph.to_undirected();
    let text = format!(
        "(program (input E (type (shape {0} {0}) bool false (dense (sparse-list (pattern)))))
           (output n (type (shape) i64 0 dense))
           (for i (for j (for k (if (and (lt i j) (lt j k))
             (+= (n) (cast-i64 (and (E i j) (and (E j k) (E i k))))))))))",
        edges.rows
    );
    let kernel = BoundKernel::new(&text, vec![edges.to_pattern()?])?;
    let found = count(&kernel)?;
    ensure!(found == hand::triangles(&graph.to_upper_triangle()), "masked triangles over {data}: the results differ");
    triangle_case("triangles, masked i<j<k", data, graph.to_upper_triangle(), kernel, found)
}

fn count(kernel: &BoundKernel) -> Result<i64> {
    let outputs = kernel.run()?;
    Ok(outputs[0].leaf()[0].as_slice::<i64>().context("expected a result of i64")?[0])
}

fn triangle_case(name: &str, data: &str, edges: Csr, kernel: BoundKernel, found: i64) -> Result<Option<KernelCase>> {
    let degree = |i: u32| (edges.ptr[i as usize + 1] - edges.ptr[i as usize]) as f64;
    let steps: f64 = edges.coordinates().map(|(i, j)| degree(i) + degree(j)).sum();
    Ok(Some(KernelCase {
        name: name.into(),
        data: format!("{data}: {} vertices, {} edges, {found} triangles", edges.rows, edges.idx.len()),
        work: RequiredWork { bytes: 4.0 * steps, operations: steps },
        kernel,
        by_hand: Box::new(move || {
            black_box(hand::triangles(&edges));
        }),
        gather: None,
    }))
}

fn mttkrp(data: &str, x: Csf3, rank: usize) -> Result<Option<KernelCase>> {
    let nest = "(for i (for j (for k (for r (+= (M i r) (* (* (X i j k) (B j r)) (C k r)))))))";
    tensor_case(("mttkrp", nest, hand::mttkrp), data, x, rank)
}

fn mttkrp_factored(data: &str, x: Csf3, rank: usize) -> Result<Option<KernelCase>> {
    let nest = format!(
        "(local w (type (shape {rank}) f64 0.0 dense))
         (for i (for j (where (for r (+= (M i r) (* (w r) (B j r))))
                              (for k (for r (+= (w r) (* (X i j k) (C k r))))))))"
    );
    tensor_case(("mttkrp, factored", &nest, hand::mttkrp_factored), data, x, rank)
}

type ByHand = fn(&Csf3, &[f64], &[f64], usize) -> Vec<f64>;

fn tensor_case(
    (name, nest, by_hand): (&str, &str, ByHand),
    data: &str,
    x: Csf3,
    rank: usize,
) -> Result<Option<KernelCase>> {
    let [m, n, p] = x.shape;
    let (b, c) = (small_integers(n * rank, 13), small_integers(p * rank, 14));
    let text = format!(
        "(program (input X (type (shape {m} {n} {p}) f64 0.0 csf)) (input B (type (shape {n} {rank}) f64 0.0 dense))
           (input C (type (shape {p} {rank}) f64 0.0 dense)) (output M (type (shape {m} {rank}) f64 0.0 dense)) {nest})"
    );
    let kernel = BoundKernel::new(&text, vec![x.to_tensor()?, dense(&[n, rank], &b)?, dense(&[p, rank], &c)?])?;
    let outputs = kernel.run()?;
    ensure!(f64_values(&outputs[0])? == by_hand(&x, &b, &c, rank), "{name} over {data}: the results differ");
    let (entries, fibers) = (x.val.len() as f64, x.idx[1].len() as f64);
    let bytes = 12.0 * entries + 8.0 * fibers + 8.0 * (rank * (m + n + p)) as f64;
    Ok(Some(KernelCase {
        name: name.into(),
        data: format!("{data}: {m} x {n} x {p}, {entries} entries, rank {rank}"),
        work: RequiredWork { bytes, operations: entries * rank as f64 * if name == "mttkrp" { 3.0 } else { 2.0 } },
        kernel,
        by_hand: Box::new(move || drop(black_box(by_hand(&x, &b, &c, rank)))),
        gather: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_hand_written_loops_agree() {
        for (name, make) in CASES {
            make(CaseSize::Small).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
