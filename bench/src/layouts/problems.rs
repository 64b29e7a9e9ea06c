//! The workloads of the experiment, their inputs, and the formats of these inputs.

use crate::data::{dense, made, real};
use crate::files::dataset;
use anyhow::{Context, Result};
use redpoll::Bindings;
use redpoll::datasets::generate::{Amount, Grid, Rmat, Stencil, Uniform};
use redpoll::datasets::{Content, Data};
use redpoll_logic::text::parse_format;

/// A plan that computes the result of a workload.
pub struct Text {
    /// The plan.
    pub plan: &'static str,
    /// The queries with a variable loop order: name, fields of the result, reduced fields.
    pub queries: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
}

/// A workload: plans, and formats for their inputs.
pub struct Workload {
    /// The name.
    pub name: &'static str,
    /// Number of modes of the input.
    pub rank: usize,
    /// Plans with the same result; the first one gets the free choice.
    pub texts: &'static [Text],
    /// The combinations of formats: name, and the format of each input.
    pub stored: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Makes the other inputs.
    others: fn(&Content) -> Vec<(&'static str, Content)>,
    /// Largest number of entries of an input; with more the workload takes too long.
    most: u64,
}

/// A workload over inputs in given formats.
pub struct Group {
    /// The workload.
    pub workload: &'static Workload,
    /// The name of the input.
    pub data: String,
    /// The name of the combination of formats.
    pub stored: &'static str,
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
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "spmv",
        rank: 2,
        texts: &[Text {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces R))",
            queries: &[("R", &["i"], &["j"])],
        }],
        stored: &[
            ("csr", &[("A", "csr")]),
            ("csc", &[("A", "csc")]),
            ("dcsr", &[("A", "dcsr")]),
            ("coo", &[("A", "coo")]),
        ],
        others: |a| vec![("x", dense(&a.shape[1..], 2))],
        most: u64::MAX,
    },
    Workload {
        name: "spgemm",
        rank: 2,
        texts: &[Text {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces R))",
            queries: &[("R", &["i", "j"], &["k"])],
        }],
        stored: CSR_CSC,
        others: |a| vec![("B", follower(a))],
        most: 200_000,
    },
    Workload {
        name: "sddmm",
        rank: 2,
        texts: &[
            Text {
                plan:
                    "(plan (query R (mapjoin * (table A i j) (aggregate + 0 (mapjoin * (table P i k) (table Q k j)) k)))
                         (produces R))",
                queries: &[("R", &["i", "j"], &[])],
            },
            Text {
                plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table P i k) (table Q k j)) k)) (produces R))",
                queries: &[("R", &["i", "j"], &["k"])],
            },
        ],
        stored: &[("csr", &[("A", "csr")]), ("csc", &[("A", "csc")]), ("coo", &[("A", "coo")])],
        others: |a| vec![("P", dense(&[a.shape[0], COLUMNS], 3)), ("Q", dense(&[COLUMNS, a.shape[1]], 4))],
        most: u64::MAX,
    },
    Workload {
        name: "mttkrp",
        rank: 3,
        texts: &[Text {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i k l) (table P k j) (table Q l j)) k l)) (produces R))",
            queries: &[("R", &["i", "j"], &["k", "l"])],
        }],
        stored: &[
            ("csf", &[("A", "csf")]),
            ("csf by l", &[("A", "(modes 2 0 1 (sparse-list (sparse-list (sparse-list (element)))))")]),
            ("coo", &[("A", "coo")]),
        ],
        others: |a| vec![("P", dense(&[a.shape[1], COLUMNS], 5)), ("Q", dense(&[a.shape[2], COLUMNS], 6))],
        most: u64::MAX,
    },
    Workload {
        name: "triangles",
        rank: 2,
        texts: &[Text {
            plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table C i k)) i j k)) (produces R))",
            queries: &[("R", &[], &["i", "j", "k"])],
        }],
        stored: &[
            ("csr", &[("A", "csr"), ("B", "csr"), ("C", "csr")]),
            ("csc", &[("A", "csc"), ("B", "csc"), ("C", "csc")]),
            ("dcsr", &[("A", "dcsr"), ("B", "dcsr"), ("C", "dcsr")]),
        ],
        others: |a| vec![("B", follower(a)), ("C", a.clone())],
        most: 400_000,
    },
    Workload {
        name: "chain",
        rank: 2,
        texts: &[
            Text {
                plan: "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B j k) (table D k l)) j k)) (produces R))",
                queries: &[("R", &["i", "l"], &["j", "k"])],
            },
            Text {
                plan: "(plan (query T (aggregate + 0 (mapjoin * (table A i j) (table B j k)) j))
                         (query R (aggregate + 0 (mapjoin * (table T i k) (table D k l)) k)) (produces R))",
                queries: &[("R", &["i", "l"], &["k"])],
            },
            Text {
                plan: "(plan (query T (aggregate + 0 (mapjoin * (table B j k) (table D k l)) k))
                         (query R (aggregate + 0 (mapjoin * (table A i j) (table T j l)) j)) (produces R))",
                queries: &[("R", &["i", "l"], &["j"])],
            },
        ],
        stored: &[
            ("csr", &[("A", "csr"), ("B", "csr"), ("D", "csr")]),
            ("csc", &[("A", "csc"), ("B", "csc"), ("D", "csc")]),
        ],
        others: |a| vec![("B", follower(a)), ("D", a.clone())],
        most: 14_000,
    },
];

/// Returns a matrix that `a` can be multiplied with: `a` itself if square, otherwise its transpose.
fn follower(a: &Content) -> Content {
    if a.shape[0] == a.shape[1] { a.clone() } else { transposed(a) }
}

fn transposed(a: &Content) -> Content {
    let Data::Triples { coordinates, values } = &a.data else { return a.clone() };
    let data =
        Data::Triples { coordinates: vec![coordinates[1].clone(), coordinates[0].clone()], values: values.clone() };
    Content { shape: vec![a.shape[1], a.shape[0]], data, ..a.clone() }
}

/// The default inputs. Inputs whose files are missing are skipped.
pub const CHOSEN: &[&str] = &[
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
pub fn every_input() -> Result<Vec<String>> {
    let made = CHOSEN.iter().filter(|name| !name.contains('/')).map(|name| (*name).to_owned());
    let Some(list) = dataset("MANIFEST.tsv") else { return Ok(made.collect()) };
    let text = std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let file = |line: &str| {
        let mut columns = line.split('\t');
        let (kind, name) = (columns.next()?, columns.next()?);
        matches!(kind, "graphs" | "matrices" | "tensors").then(|| format!("{kind}/{name}"))
    };
    Ok(made.chain(text.lines().filter_map(file)).collect())
}

/// Returns the input of the given name; `None` if its file is missing.
///
/// # Errors
/// If the input cannot be read or made.
pub fn input(name: &str) -> Result<Option<Content>> {
    Ok(Some(match name {
        "uniform" => made(&Uniform { shape: vec![1 << 14, 1 << 14], entries: Amount::Count(1 << 17) }, 1)?,
        "rmat" => made(&Rmat::new(12, 1 << 15), 2)?,
        "small uniform" => made(&Uniform { shape: vec![1 << 11, 1 << 11], entries: Amount::Count(1 << 13) }, 5)?,
        "small rmat" => made(&Rmat::new(9, 1 << 12), 6)?,
        "grid" => made(&Grid { extents: vec![160, 160], stencil: Stencil::Star }, 3)?,
        "uniform tensor" => {
            made(&Uniform { shape: vec![1 << 11, 1 << 9, 1 << 8], entries: Amount::Count(1 << 17) }, 4)?
        }
        file => {
            let extension = if file.starts_with("tensors/") { "tns" } else { "mtx" };
            match real(&format!("{file}.{extension}.zst"))? {
                Ok(content) => content,
                Err(_) => return Ok(None),
            }
        }
    }))
}

impl Workload {
    /// Returns whether an input has the rank, shape and size that the workload requires.
    pub fn takes(&self, content: &Content) -> bool {
        let entries = matches!(&content.data, Data::Triples { values, .. } if values.len() as u64 <= self.most);
        let square = self.name != "triangles" || content.shape.first() == content.shape.last();
        entries && square && content.shape.len() == self.rank
    }

    /// Returns the groups of an input; none if the workload does not take the input.
    ///
    /// # Errors
    /// If an input cannot be stored.
    pub fn groups(&'static self, data: &str, content: &Content) -> Result<Vec<Group>> {
        if !self.takes(content) {
            return Ok(Vec::new());
        }
        let mut contents = (self.others)(content);
        contents.push(("A", content.clone()));
        let group = |(stored, formats): &(&'static str, &'static [(&'static str, &'static str)])| {
            let mut bindings = Bindings::new();
            for (name, content) in &contents {
                let format = formats.iter().find(|(of, _)| of == name).map_or("dense", |(_, format)| format);
                let format = parse_format(format, content.shape.len())?;
                bindings.insert(*name, content.clone().into_tensor(Some(format))?);
            }
            Ok(Group { workload: self, data: data.to_owned(), stored, bindings })
        };
        self.stored.iter().map(group).collect()
    }
}
