//! The plans of the GPU benchmarks, and generated inputs of a given size.

use crate::data::{dense, generate_content, to_undirected};
use anyhow::Result;
use redpoll::Bindings;
use redpoll::datasets::Content;
use redpoll::datasets::generate::{Amount, Blocks, Rmat, Uniform};
use redpoll_logic::Format;
use redpoll_storage::Tensor;

/// The distribution of the entries of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryDistribution {
    /// Uniform over all coordinates.
    Uniform,
    /// Skewed like the adjacency matrix of a graph in which few vertices have most edges.
    PowerLaw,
    /// Full blocks of 16 by 16.
    Blocked,
}

/// All distributions of entries, with their names.
pub const STRUCTURES: [(EntryDistribution, &str); 3] = [
    (EntryDistribution::Uniform, "uniform"),
    (EntryDistribution::PowerLaw, "power-law"),
    (EntryDistribution::Blocked, "blocked"),
];

/// The names of the kernels, with their plans.
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

/// Number of columns of the dense factors of `sddmm` and `mttkrp`.
const RANK: u64 = 32;
/// Average number of entries per row of a matrix.
const DEGREE: u64 = 16;

/// A plan with its inputs.
pub struct KernelProblem {
    /// The plan.
    pub plan: &'static str,
    /// The inputs of the plan.
    pub inputs: Vec<KernelInput>,
}

/// An input of a kernel.
pub struct KernelInput {
    /// The name of the input in the plan.
    pub name: &'static str,
    /// The name of the data. Several kernels may share the data.
    pub data: String,
    /// The data of the input.
    pub tensor: Tensor,
}

/// A generator of inputs with a given distribution of entries. The large matrix is generated once,
/// for all kernels that read it.
pub struct GpuData {
    structure: EntryDistribution,
    entries: u64,
    seed: u64,
    matrix: Option<Tensor>,
}

impl KernelProblem {
    /// Returns the inputs by name.
    pub fn bindings(&self) -> Bindings {
        self.inputs.iter().map(|input| (input.name, input.tensor.clone())).collect()
    }

    /// Returns the number of bytes of the inputs.
    pub fn bytes(&self) -> u64 {
        self.inputs.iter().map(|input| input.tensor.bytes()).sum()
    }
}

impl GpuData {
    /// Creates a generator of matrices and tensors with about `entries` entries; the matrices of
    /// `spgemm` and `triangles` have fewer. The seed determines the entries.
    pub fn new(structure: EntryDistribution, entries: u64, seed: u64) -> GpuData {
        GpuData { structure, entries, seed, matrix: None }
    }

    /// Returns the problem of a kernel. Returns `None` if no kernel has this name, or if the kernel
    /// is `mttkrp` and the distribution is not uniform: only uniform tensors of rank 3 are
    /// generated.
    ///
    /// # Errors
    /// If an input cannot be generated or stored in its format.
    pub fn problem(&mut self, kernel: &str) -> Result<Option<KernelProblem>> {
        let Some((_, plan)) = KERNELS.iter().find(|(name, _)| *name == kernel) else { return Ok(None) };
        let inputs = match kernel {
            "mttkrp" if self.structure != EntryDistribution::Uniform => return Ok(None),
            "mttkrp" => {
                let (n, tensor) = self.tensor()?;
                vec![tensor, self.factor("B", n, RANK)?, self.factor("C", n, RANK)?]
            }
            "spmv" => {
                let (n, a) = self.matrix()?;
                vec![a, self.dense_input("x", &[n])?]
            }
            "spmm-32" | "spmm-128" => {
                let (n, a) = self.matrix()?;
                vec![a, self.factor("B", n, if kernel == "spmm-32" { 32 } else { 128 })?]
            }
            "sddmm" => {
                let (n, a) = self.matrix()?;
                vec![a, self.factor("B", n, RANK)?, self.factor("D", n, RANK)?]
            }
            "spgemm" => {
                // The square of a matrix has many more entries than the matrix, above all if few
                // rows have most entries. The kernel therefore gets a smaller matrix.
                let share = if self.structure == EntryDistribution::PowerLaw { 100 } else { 10 };
                vec![KernelInput {
                    name: "A",
                    data: "root".into(),
                    tensor: csr(self.generate_matrix(self.entries / share)?)?,
                }]
            }
            _ => {
                let graph = to_undirected(&self.generate_matrix(self.entries / 10)?)?;
                vec![KernelInput { name: "E", data: "graph".into(), tensor: csr(graph)? }]
            }
        };
        Ok(Some(KernelProblem { plan, inputs }))
    }

    /// Returns the number of rows of the matrix that most kernels share, and the matrix.
    fn matrix(&mut self) -> Result<(u64, KernelInput)> {
        let tensor = match self.matrix.take() {
            Some(tensor) => tensor,
            None => csr(self.generate_matrix(self.entries)?)?,
        };
        self.matrix = Some(tensor.clone());
        Ok((tensor.ty().shape[0], KernelInput { name: "A", data: "matrix".into(), tensor }))
    }

    /// Returns a square matrix with about `entries` entries, all small integers.
    fn generate_matrix(&self, entries: u64) -> Result<Content> {
        let n = (entries / DEGREE).max(16);
        match self.structure {
            EntryDistribution::Uniform => {
                generate_content(&Uniform { shape: vec![n, n], entries: Amount::Count(entries.min(n * n)) }, self.seed)
            }
            EntryDistribution::PowerLaw => generate_content(&Rmat::new(n.ilog2(), entries), self.seed),
            EntryDistribution::Blocked => {
                let n = n.next_multiple_of(16);
                let blocks = Amount::Count((entries / 256).clamp(1, (n / 16) * (n / 16)));
                generate_content(&Blocks { rows: n, columns: n, block_rows: 16, block_columns: 16, blocks }, self.seed)
            }
        }
    }

    /// Returns the size of each dimension, and a tensor with three dimensions of this size. About 1
    /// of 50 coordinates has an entry.
    fn tensor(&self) -> Result<(u64, KernelInput)> {
        let n = ((self.entries * 50) as f64).cbrt().ceil().max(2.0) as u64;
        let uniform = Uniform { shape: vec![n; 3], entries: Amount::Count(self.entries.min(n * n * n)) };
        let tensor = generate_content(&uniform, self.seed)?.into_tensor(Some(Format::csf(3)))?;
        Ok((n, KernelInput { name: "T", data: "cube".into(), tensor }))
    }

    fn factor(&self, name: &'static str, rows: u64, columns: u64) -> Result<KernelInput> {
        self.dense_input(name, &[rows, columns])
    }

    /// Returns a dense input of small integers. The name and the seed determine the integers.
    fn dense_input(&self, name: &'static str, shape: &[u64]) -> Result<KernelInput> {
        let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
        let number = name.bytes().map(u64::from).sum::<u64>();
        let tensor = dense(shape, self.seed + number).into_tensor(None)?;
        Ok(KernelInput { name, data: format!("{name}-{}", sizes.join("x")), tensor })
    }
}

fn csr(content: Content) -> Result<Tensor> {
    Ok(content.into_tensor(Some(Format::csr()))?)
}
