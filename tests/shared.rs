//! Plans over real graphs, matrices and tensors, compared with plain loops. The tests check nothing
//! if the collection of data sets is missing.
//!
//! The collection is the folder `shared/datasets` next to the checkout, or the folder in
//! `REDPOLL_DATASETS`.

use redpoll::datasets::{ReadOptions, read};
use redpoll::{Bindings, Session};
use redpoll_logic::{Format, Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values, convert};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Reads a file of the collection as a tensor; `None` if there is no collection.
fn load(file: &str, format: Option<Format>) -> Option<Tensor> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/datasets");
    let folder = std::env::var_os("REDPOLL_DATASETS").map_or_else(beside, PathBuf::from);
    if !folder.join("MANIFEST.tsv").is_file() {
        eprintln!("no data sets in {}: nothing to check", folder.display());
        return None;
    }
    let loaded = read(folder.join(file), &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    Some(loaded.into_tensor(format).expect("the tensor fits into memory").0)
}

/// Returns the entries of a tensor as coordinates and numbers.
fn entries(tensor: &Tensor) -> Vec<(Vec<u64>, f64)> {
    let triples = tensor.to_triples().expect("the tensor fits into memory");
    (0..triples.len()).map(|k| (triples.coordinates_of(k), triples.values.get(k).to_f64().expect("a number"))).collect()
}

fn run(text: &str, inputs: &[(&str, &Tensor)]) -> Tensor {
    let bindings: Bindings = inputs.iter().map(|(name, t)| (*name, (*t).clone())).collect();
    let run = Session::default().prepare(text, &bindings).unwrap_or_else(|e| panic!("{e}")).run();
    run.unwrap_or_else(|e| panic!("{e}")).outputs.remove(0).1
}

/// Returns a vector of small integers.
fn vector(size: u64) -> Tensor {
    let fill = Scalar::zero(Prim::F64);
    let ty = TensorType { shape: vec![size], dtype: fill.dtype(), fill, format: Format::dense(1) };
    let values: Vec<f64> = (0..size).map(small_integer).collect();
    let triples = Triples { shape: vec![size], coordinates: vec![(0..size).collect()], values: Values::from(values) };
    Tensor::from_triples(ty, &triples, Duplicates::Error).expect("a vector").0
}

fn small_integer(k: u64) -> f64 {
    (k * 7 % 11) as f64 - 5.0
}

/// Counts the triples (i, j, k) of vertices with edges from i to j, from j to k and from i to k.
fn count_closed_triples(edges: &[(Vec<u64>, f64)]) -> i64 {
    let set: HashSet<(u64, u64)> = edges.iter().map(|(p, _)| (p[0], p[1])).collect();
    let mut neighbours: HashMap<u64, Vec<u64>> = HashMap::new();
    set.iter().for_each(|(i, j)| neighbours.entry(*i).or_default().push(*j));
    let of = |i: &u64| neighbours.get(i).map_or(&[][..], |n| &n[..]);
    let closed = |i: u64, j: u64| of(&j).iter().filter(|k| set.contains(&(i, **k))).count();
    set.iter().map(|(i, j)| closed(*i, *j) as i64).sum()
}

#[test]
fn triangles() {
    let text = "(plan (query t (aggregate + 0 (mapjoin cast-i64
        (mapjoin and (table E i j) (table E j k) (table E i k))) i j k)) (produces t))";
    for (name, triangle_count) in [
        ("karate", Some(45)),
        ("dolphins", None),
        ("email-Eu-core", None),
        ("facebook_combined", Some(1_612_010)),
        ("inf-power", None),
        ("wiki-Vote", None),
        ("delaunay_n16", None),
    ] {
        let Some(graph) = load(&format!("graphs/{name}.mtx.zst"), Some(Format::csr())) else { return };
        let found = run(text, &[("E", &graph)]).to_dense_scalars().expect("a number").remove(0);
        assert_eq!(found, Scalar::I64(count_closed_triples(&entries(&graph))), "{name}");
        if let Some(triangles) = triangle_count {
            assert_eq!(found, Scalar::I64(6 * triangles), "{name}");
        }
    }
}

#[test]
fn products_with_vectors() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
    for name in ["494_bus", "bcsstk16", "orsirr_1", "well1850", "lp_afiro", "illc1033", "west0067", "utm300", "rajat19"]
    {
        for format in [Format::csr(), Format::csc(), Format::coo(2), Format::csf(2), Format::bcsr(3, 4)] {
            let Some(a) = load(&format!("matrices/{name}.mtx.zst"), Some(format.clone())) else { return };
            let (rows, columns) = (a.ty().shape[0], a.ty().shape[1]);
            let mut expected = vec![(0.0f64, 0.0f64, 0u64); rows as usize];
            for (coordinates, value) in entries(&a) {
                let row = &mut expected[coordinates[0] as usize];
                let product = value * small_integer(coordinates[1]);
                *row = (row.0 + product, row.1 + product.abs(), row.2 + 1);
            }
            let found = run(text, &[("A", &a), ("x", &vector(columns))]).to_dense_scalars().expect("a vector");
            for (i, (found, (sum, magnitude, terms))) in found.iter().zip(expected).enumerate() {
                // Both sums round each product and each addition (Higham, "Accuracy and Stability
                // of Numerical Algorithms", section 3.1).
                let bound = 2.0 * (terms + 1) as f64 * f64::EPSILON * magnitude;
                let found = found.to_f64().expect("a number");
                assert!((found - sum).abs() <= bound, "{name} {format:?} row {i}: {found}, expected {sum}");
            }
        }
    }
}

#[test]
fn products_of_matrices() {
    let text = "(plan (query C (reformat csr (aggregate + 0
        (mapjoin * (mapjoin cast-i64 (table A i k)) (mapjoin cast-i64 (table A k j))) k))) (produces C))";
    for file in ["graphs/email-Eu-core", "graphs/dwt_992", "graphs/nk_airfoil1", "graphs/cit-HepTh", "matrices/cage5"] {
        for format in [Format::csr(), Format::csf(2)] {
            let Some(a) = load(&format!("{file}.mtx.zst"), Some(format)) else { return };
            let mut by_row: BTreeMap<u64, Vec<(u64, i64)>> = BTreeMap::new();
            entries(&a).iter().for_each(|(p, v)| by_row.entry(p[0]).or_default().push((p[1], *v as i64)));
            let (mut stored, mut sum) = (0u64, 0i64);
            for row in by_row.values() {
                let mut result: HashMap<u64, i64> = HashMap::new();
                for (k, v) in row {
                    by_row.get(k).into_iter().flatten().for_each(|(j, w)| *result.entry(*j).or_default() += v * w);
                }
                stored += result.values().filter(|v| **v != 0).count() as u64;
                sum += result.values().sum::<i64>();
            }
            let found = run(text, &[("A", &a)]);
            assert_eq!(
                (found.count_differing_from_fill().unwrap(), found.sum().unwrap()),
                (stored, Some(sum as f64)),
                "{file}"
            );
        }
    }
}

#[test]
fn sums_with_the_transpose() {
    let text = "(plan (query S (mapjoin + (mapjoin cast-i64 (table A i j)) (mapjoin cast-i64 (table A j i))))
        (produces S))";
    for name in ["cit-HepPh", "wiki-Vote", "email-Eu-core"] {
        let Some(a) = load(&format!("graphs/{name}.mtx.zst"), Some(Format::csr())) else { return };
        let mut expected: HashMap<(u64, u64), i64> = HashMap::new();
        for (p, v) in entries(&a) {
            *expected.entry((p[0], p[1])).or_default() += v as i64;
            *expected.entry((p[1], p[0])).or_default() += v as i64;
        }
        let found = run(text, &[("A", &a)]);
        let stored = expected.values().filter(|v| **v != 0).count() as u64;
        let sum = expected.values().sum::<i64>() as f64;
        assert_eq!((found.count_differing_from_fill().unwrap(), found.sum().unwrap()), (stored, Some(sum)), "{name}");
    }
}

#[test]
fn tensors_times_factors() {
    let mttkrp = "(plan (query M (aggregate + 0 (mapjoin * (table A i j k) (table B j r) (table C k r)) j k))
        (produces M))";
    for name in ["kg_nations", "kg_umls", "kg_kinship", "aminoacid"] {
        let Some(a) = load(&format!("tensors/{name}.tns.zst"), Some(Format::csf(3))) else { return };
        let rank = 3;
        let factor = |n: u64| {
            let shape = vec![n, rank];
            let fill = Scalar::zero(Prim::F64);
            let ty = TensorType { shape: shape.clone(), dtype: fill.dtype(), fill, format: Format::dense(2) };
            let values = (0..n * rank).map(|k| Scalar::F64(small_integer(k))).collect::<Vec<_>>();
            Tensor::from_dense(ty, &Values::from_scalars(redpoll_logic::DType::F64, &values).expect("floats"))
                .expect("a factor")
        };
        let shape = a.ty().shape.clone();
        let (b, c) = (factor(shape[1]), factor(shape[2]));
        let mut expected = vec![(0.0f64, 0.0f64, 0u64); (shape[0] * rank) as usize];
        for (p, v) in entries(&a) {
            for r in 0..rank {
                let product = v * small_integer(p[1] * rank + r) * small_integer(p[2] * rank + r);
                let element = &mut expected[(p[0] * rank + r) as usize];
                *element = (element.0 + product, element.1 + product.abs(), element.2 + 1);
            }
        }
        for format in [Format::csf(3), Format::coo(3)] {
            let a = convert(&a, &format).expect("another format");
            let found = run(mttkrp, &[("A", &a), ("B", &b), ("C", &c)]).to_dense_scalars().expect("a matrix");
            for (k, (found, (sum, magnitude, terms))) in found.iter().zip(&expected).enumerate() {
                let bound = 2.0 * (terms + 2) as f64 * f64::EPSILON * magnitude;
                let found = found.to_f64().expect("a number");
                assert!((found - sum).abs() <= bound, "{name} at {k}: {found}, expected {sum}");
            }
        }
    }
}
