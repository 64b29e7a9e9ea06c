//! The workloads of the experiment, their inputs, and the formats of these inputs.

use crate::data::{dense, generate_content, read_real};
use crate::files::dataset;
use anyhow::{Context, Result};
use redpoll::Bindings;
use redpoll::datasets::generate::{Amount, Grid, Rmat, Stencil, Uniform};
use redpoll::datasets::{Content, Data};
use redpoll_logic::text::parse_format;

/// A plan that computes the result of a workload.
pub struct PlanText {
    /// The plan.
    pub plan: &'static str,
    /// The queries whose loop order varies. Each has a name, the fields of the result, and the
    /// reduced fields.
    pub queries: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
}

/// A workload: plans, and formats for their inputs.
pub struct LayoutWorkload {
    /// The name.
    pub name: &'static str,
    /// Number of modes of the main input, the sparse matrix or tensor of the workload.
    pub rank: usize,
    /// Plans with the same result. The free choice is made for the first plan alone.
    pub plans: &'static [PlanText],
    /// The combinations of formats. Each has a name, and the formats of the inputs that are not
    /// dense.
    pub formats: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// The function that generates the inputs other than the main input, which it is given.
    other_inputs: fn(&Content) -> Vec<(&'static str, Content)>,
    /// Largest number of entries of the main input; larger inputs take too long.
    max_entries: u64,
}

/// A workload over inputs in given formats.
pub struct LayoutGroup {
    /// The workload.
    pub workload: &'static LayoutWorkload,
    /// The name of the main input.
    pub data: String,
    /// The name of the combination of formats.
    pub formats: &'static str,
    /// All inputs.
    pub bindings: Bindings,
}

const CSR_CSC: &[(&str, &[(&str, &str)])] = &[
    ("csr csr", &[("A", "csr"), ("B", "csr")]),
    ("csc csc", &[("A", "csc"), ("B", "csc")]),
    ("csr csc", &[("A", "csr"), ("B", "csc")]),
    ("csc csr", &[("A", "csc"), ("B", "csr")]),
];

/// Number of columns of the dense factors.
const COLUMNS: u64 = 16;

/// All workloads.
pub const WORKLOADS: &[LayoutWorkload] = &[
    LayoutWorkload {
        name: "spmv",
        rank: 2,
        plans: &[PlanText {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces R))",
            queries: &[("R", &["i"], &["j"])],
        }],
        formats: &[
            ("csr", &[("A", "csr")]),
            ("csc", &[("A", "csc")]),
            ("dcsr", &[("A", "dcsr")]),
            ("coo", &[("A", "coo")]),
        ],
        other_inputs: |a| vec![("x", dense(&a.shape[1..], 2))],
        max_entries: u64::MAX,
    },
    LayoutWorkload {
        name: "spgemm",
        rank: 2,
        plans: &[PlanText {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces R))",
            queries: &[("R", &["i", "j"], &["k"])],
        }],
        formats: CSR_CSC,
        other_inputs: |a| vec![("B", right_operand(a))],
        max_entries: 200_000,
    },
    LayoutWorkload {
        name: "sddmm",
        rank: 2,
        plans: &[
            PlanText {
                plan:
                    "(plan (query R (mapjoin * (table A i j) (aggregate + 0 (mapjoin * (table P i k) (table Q k j)) k)))
                         (produces R))",
                queries: &[("R", &["i", "j"], &[])],
            },
            PlanText {
                plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table P i k) (table Q k j)) k)) (produces R))",
                queries: &[("R", &["i", "j"], &["k"])],
            },
        ],
        formats: &[("csr", &[("A", "csr")]), ("csc", &[("A", "csc")]), ("coo", &[("A", "coo")])],
        other_inputs: |a| vec![("P", dense(&[a.shape[0], COLUMNS], 3)), ("Q", dense(&[COLUMNS, a.shape[1]], 4))],
        max_entries: u64::MAX,
    },
    LayoutWorkload {
        name: "mttkrp",
        rank: 3,
        plans: &[PlanText {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i k l) (table P k j) (table Q l j)) k l)) (produces R))",
            queries: &[("R", &["i", "j"], &["k", "l"])],
        }],
        formats: &[
            ("csf", &[("A", "csf")]),
            ("csf by l", &[("A", "(modes 2 0 1 (sparse-list (sparse-list (sparse-list (element)))))")]),
            ("coo", &[("A", "coo")]),
        ],
        other_inputs: |a| vec![("P", dense(&[a.shape[1], COLUMNS], 5)), ("Q", dense(&[a.shape[2], COLUMNS], 6))],
        max_entries: u64::MAX,
    },
    LayoutWorkload {
        name: "triangles",
        rank: 2,
        plans: &[PlanText {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table C i k)) i j k)) (produces R))",
            queries: &[("R", &[], &["i", "j", "k"])],
        }],
        formats: &[
            ("csr", &[("A", "csr"), ("B", "csr"), ("C", "csr")]),
            ("csc", &[("A", "csc"), ("B", "csc"), ("C", "csc")]),
            ("dcsr", &[("A", "dcsr"), ("B", "dcsr"), ("C", "dcsr")]),
        ],
        other_inputs: |a| vec![("B", right_operand(a)), ("C", a.clone())],
        max_entries: 400_000,
    },
    LayoutWorkload {
        name: "chain",
        rank: 2,
        plans: &[
            PlanText {
                plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table D k l)) j k)) (produces R))",
                queries: &[("R", &["i", "l"], &["j", "k"])],
            },
            PlanText {
                plan: "(plan (query T (aggregate + 0 (mapjoin * (table A i j) (table B j k)) j))
                         (query R (aggregate + 0 (mapjoin * (table T i k) (table D k l)) k)) (produces R))",
                queries: &[("R", &["i", "l"], &["k"])],
            },
            PlanText {
                plan: "(plan (query T (aggregate + 0 (mapjoin * (table B j k) (table D k l)) k))
                         (query R (aggregate + 0 (mapjoin * (table A i j) (table T j l)) j)) (produces R))",
                queries: &[("R", &["i", "l"], &["j"])],
            },
        ],
        formats: &[
            ("csr", &[("A", "csr"), ("B", "csr"), ("D", "csr")]),
            ("csc", &[("A", "csc"), ("B", "csc"), ("D", "csc")]),
        ],
        other_inputs: |a| vec![("B", right_operand(a)), ("D", a.clone())],
        max_entries: 14_000,
    },
];

/// Returns a matrix that `a` can be multiplied with: `a` itself if square, otherwise its transpose.
fn right_operand(a: &Content) -> Content {
    if a.shape[0] == a.shape[1] { a.clone() } else { transpose(a) }
}

fn transpose(a: &Content) -> Content {
    let Data::Triples { coordinates, values } = &a.data else { return a.clone() };
    let data =
        Data::Triples { coordinates: vec![coordinates[1].clone(), coordinates[0].clone()], values: values.clone() };
    Content { shape: vec![a.shape[1], a.shape[0]], data, ..a.clone() }
}

/// The default inputs. Inputs whose files are missing are skipped.
pub const DEFAULT_INPUTS: &[&str] = &[
    "uniform",
    "small uniform",
    "rmat",
    "small rmat",
    "grid",
    "graphs/wiki-Vote",
    "graphs/email-Eu-core",
    "graphs/ca-CondMat",
    "graphs/nk_power",
    "graphs/nk_celegans_metabolic",
    "matrices/bcsstk16",
    "matrices/lp_PILOT87",
    "matrices/well1850",
    "matrices/a9a",
    "uniform tensor",
    "tensors/kg_umls",
    "tensors/splatt_med",
    "tensors/kg_FB15K237",
];

/// Returns the names of all inputs: generated ones, and every graph, matrix and tensor of the
/// collection.
///
/// # Errors
/// If the list of the collection cannot be read.
pub fn all_inputs() -> Result<Vec<String>> {
    let generated = DEFAULT_INPUTS.iter().filter(|name| !name.contains('/')).map(|name| (*name).to_owned());
    let Some(list) = dataset("MANIFEST.tsv") else { return Ok(generated.collect()) };
    let text = std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let file = |line: &str| {
        let mut columns = line.split('\t');
        let (kind, name) = (columns.next()?, columns.next()?);
        matches!(kind, "graphs" | "matrices" | "tensors").then(|| format!("{kind}/{name}"))
    };
    Ok(generated.chain(text.lines().filter_map(file)).collect())
}

/// Returns the input of the given name; `None` if its file is missing.
///
/// # Errors
/// If the input cannot be read or generated.
pub fn load_input(name: &str) -> Result<Option<Content>> {
    Ok(Some(match name {
        "uniform" => generate_content(&Uniform { shape: vec![1 << 14, 1 << 14], entries: Amount::Count(1 << 17) }, 1)?,
        "rmat" => generate_content(&Rmat::new(12, 1 << 15), 2)?,
        "small uniform" => {
            generate_content(&Uniform { shape: vec![1 << 11, 1 << 11], entries: Amount::Count(1 << 13) }, 5)?
        }
        "small rmat" => generate_content(&Rmat::new(9, 1 << 12), 6)?,
        "grid" => generate_content(&Grid { extents: vec![160, 160], stencil: Stencil::Star }, 3)?,
        "uniform tensor" => {
            generate_content(&Uniform { shape: vec![1 << 11, 1 << 9, 1 << 8], entries: Amount::Count(1 << 17) }, 4)?
        }
        file => {
            let extension = if file.starts_with("tensors/") { "tns" } else { "mtx" };
            match read_real(&format!("{file}.{extension}.zst"))? {
                Ok(content) => content,
                Err(_) => return Ok(None),
            }
        }
    }))
}

impl LayoutWorkload {
    /// Returns whether an input has the rank, shape and size that the workload requires.
    pub fn accepts(&self, content: &Content) -> bool {
        let entries = matches!(&content.data, Data::Triples { values, .. } if values.len() as u64 <= self.max_entries);
        let square = self.name != "triangles" || content.shape.first() == content.shape.last();
        entries && square && content.shape.len() == self.rank
    }

    /// Returns the groups of an input; none if the workload does not accept the input.
    ///
    /// # Errors
    /// If an input cannot be stored.
    pub fn groups(&'static self, data: &str, content: &Content) -> Result<Vec<LayoutGroup>> {
        if !self.accepts(content) {
            return Ok(Vec::new());
        }
        let mut contents = (self.other_inputs)(content);
        contents.push(("A", content.clone()));
        let group = |(name, formats): &(&'static str, &'static [(&'static str, &'static str)])| {
            let mut bindings = Bindings::new();
            for (input, content) in &contents {
                let format = formats.iter().find(|(name, _)| name == input).map_or("dense", |(_, format)| format);
                let format = parse_format(format, content.shape.len())?;
                bindings.insert(*input, content.clone().into_tensor(Some(format))?);
            }
            Ok(LayoutGroup { workload: self, data: data.to_owned(), formats: name, bindings })
        };
        self.formats.iter().map(group).collect()
    }
}
