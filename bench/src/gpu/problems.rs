//! What is computed: plans, and data of a size that is asked for.

use crate::data::{dense, made, undirected};
use anyhow::Result;
use redpoll::Bindings;
use redpoll::datasets::Content;
use redpoll::datasets::generate::{Amount, Blocks, Rmat, Uniform};
use redpoll_logic::Format;
use redpoll_physical::storage::Tensor;

/// How the entries of a matrix lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// Anywhere.
    Uniform,
    /// As the edges of a graph with few vertices of many.
    PowerLaw,
    /// In full blocks of 16 by 16.
    Blocked,
}

/// All structures with their names.
pub const SHAPES: [(Structure, &str); 3] =
    [(Structure::Uniform, "uniform"), (Structure::PowerLaw, "power-law"), (Structure::Blocked, "blocked")];

/// The kernels with their plans.
pub const KERNELS: [(&str, &str); 7] = [
    ("spmv", "(plan (query y (aggregate + 0 (mapjoin * (table A i k) (table x k)) k)) (produces y))"),
    ("spmm-32", "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))"),
    ("spmm-128", "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))"),
    ("sddmm", "(plan (query C (aggregate + 0 (mapjoin * (table A i j) (table B i k) (table D j k)) k)) (produces C))"),
    (
        "mttkrp",
        "(plan (query M (aggregate + 0 (mapjoin * (table T i j k) (table B j r) (table C k r)) j k)) (produces M))",
    ),
    ("spgemm", "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table A k j)) k)) (produces C))"),
    ("triangles", include_str!("../../../plans/triangles.rp")),
];

/// The rank of factors.
const RANK: u64 = 32;
/// The entries of a row of a matrix, on average.
const DEGREE: u64 = 16;

/// A kernel over data.
pub struct Problem {
    /// The plan.
    pub plan: &'static str,
    /// Its inputs.
    pub inputs: Bindings,
}

impl Problem {
    /// The bytes of the inputs.
    pub fn bytes(&self) -> u64 {
        self.inputs.iter().map(|(_, tensor)| tensor.bytes()).sum()
    }
}

/// A kernel by its name over about so many entries; other seeds give other data. `None` for a combination that there is not:
/// only uniform tensors of rank 3 are made.
///
/// # Errors
/// When the data do not fit.
pub fn problem(kernel: &str, structure: Structure, entries: u64, seed: u64) -> Result<Option<Problem>> {
    let Some((_, plan)) = KERNELS.iter().find(|(name, _)| *name == kernel) else { return Ok(None) };
    let csr = |content: Content| content.into_tensor(Some(Format::csr()));
    let factor = |rows: u64, columns: u64, number: u64| dense(&[rows, columns], seed + number).into_tensor(None);
    let bound = |inputs: Vec<(&str, Tensor)>| Ok(Some(Problem { plan, inputs: inputs.into_iter().collect() }));
    if kernel == "mttkrp" {
        if structure != Structure::Uniform {
            return Ok(None);
        }
        let n = ((entries * 50) as f64).cbrt().ceil().max(2.0) as u64;
        let uniform = Uniform { shape: vec![n; 3], entries: Amount::Count(entries.min(n * n * n)) };
        let tensor = made(&uniform, seed)?.into_tensor(Some(Format::csf(3)))?;
        return bound(vec![("T", tensor), ("B", factor(n, RANK, 1)?), ("C", factor(n, RANK, 2)?)]);
    }
    let content = matrix(structure, entries, seed)?;
    let [rows, columns] = [content.shape[0], content.shape[1]];
    match kernel {
        "spmv" => bound(vec![("A", csr(content)?), ("x", dense(&[columns], seed + 1).into_tensor(None)?)]),
        "spmm-32" => bound(vec![("A", csr(content)?), ("B", factor(columns, 32, 1)?)]),
        "spmm-128" => bound(vec![("A", csr(content)?), ("B", factor(columns, 128, 1)?)]),
        "sddmm" => bound(vec![("A", csr(content)?), ("B", factor(rows, RANK, 1)?), ("D", factor(columns, RANK, 2)?)]),
        "spgemm" => bound(vec![("A", csr(content)?)]),
        _ => bound(vec![("E", csr(undirected(&content)?)?)]),
    }
}

/// A square matrix of about so many small integers.
fn matrix(structure: Structure, entries: u64, seed: u64) -> Result<Content> {
    let n = (entries / DEGREE).max(16);
    match structure {
        Structure::Uniform => made(&Uniform { shape: vec![n, n], entries: Amount::Count(entries.min(n * n)) }, seed),
        Structure::PowerLaw => made(&Rmat::new(n.ilog2(), entries), seed),
        Structure::Blocked => {
            let n = n.next_multiple_of(16);
            let blocks = Amount::Count((entries / 256).clamp(1, (n / 16) * (n / 16)));
            made(&Blocks { rows: n, columns: n, block_rows: 16, block_columns: 16, blocks }, seed)
        }
    }
}
