//! Tests that real graphs, matrices, images and tensors agree with their manifest, if the
//! collection is available.
//!
//! The collection is in `shared/datasets` beside the checkout, or in the folder that the
//! environment variable `REDPOLL_DATASETS` names. The file `MANIFEST.tsv` of the collection has a
//! row per file. Columns include `kind`, `file`, `dims` (`34x34`), `nnz_or_rows` (entries with
//! symmetry expanded; for an image, its nonzero pixels), `stored_entries` (entries in the file),
//! `field` and `symmetry_or_order`.

use redpoll_datasets::{Error, Fault, Info, LoadedFile, ReadOptions, Symmetry, Values, info, read};
use redpoll_logic::Prim;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

type ManifestRow = HashMap<String, String>;

fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets");
    std::env::var_os("REDPOLL_DATASETS").map_or_else(beside, PathBuf::from)
}

/// Returns the rows of the manifest that have one of the given kinds, or no rows if the collection
/// is missing.
fn rows(folder: &Path, kinds: &[&str]) -> Vec<ManifestRow> {
    let Ok(manifest) = std::fs::read_to_string(folder.join("MANIFEST.tsv")) else {
        eprintln!("no data sets in {}: nothing to check", folder.display());
        return Vec::new();
    };
    let mut lines = manifest.lines().map(|line| line.split('\t'));
    let names: Vec<&str> = lines.next().expect("a manifest has a first line").collect();
    let rows = lines.map(|cells| names.iter().zip(cells).map(|(n, c)| (n.to_string(), c.to_owned())).collect());
    rows.filter(|row: &ManifestRow| kinds.contains(&row["kind"].as_str())).collect()
}

fn check_header(row: &ManifestRow, header: &Info) {
    let shape = header.shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    assert_eq!(shape, row["dims"]);
    assert_eq!(header.stored.to_string(), row["stored_entries"]);
    let (dtype, symmetry) = match (row["kind"].as_str(), row["field"].as_str()) {
        ("tensors", _) => (Prim::F64, "general"),
        (_, "real") => (Prim::F64, row["symmetry_or_order"].as_str()),
        (_, "integer") => (Prim::I64, row["symmetry_or_order"].as_str()),
        (_, "pattern") => (Prim::Bool, row["symmetry_or_order"].as_str()),
        (_, other) => panic!("a field {other} should have been rejected"),
    };
    assert_eq!((header.dtype.clone(), header.symmetry.to_string().as_str()), (dtype.into(), symmetry));
}

fn check_content(row: &ManifestRow, loaded: LoadedFile) {
    check_header(row, &loaded.info);
    let (shape, symmetric) = (loaded.info.shape.clone(), loaded.info.symmetry == Symmetry::Symmetric);
    let entries = loaded.data.values().len();
    assert_eq!(entries.to_string(), row["nnz_or_rows"]);
    let (tensor, duplicates) = loaded.into_tensor(None).expect("the tensor fits into memory");
    tensor.validate().expect("readers return valid tensors");
    assert_eq!(tensor.ty().shape, shape);
    assert_eq!(tensor.count_stored().unwrap() as usize, entries - duplicates);
    if symmetric {
        let sample = tensor.to_triples().expect("the tensor fits into memory");
        for k in (0..sample.len()).step_by(1 + sample.len() / 100) {
            let (i, j) = (sample.coordinates[0][k], sample.coordinates[1][k]);
            assert_eq!(tensor.get(&[j, i]).unwrap(), sample.values.get(k), "({j}, {i})");
        }
    }
}

fn check_kind(kinds: &[&str]) {
    let folder = folder();
    for row in rows(&folder, kinds) {
        let path = folder.join(&row["file"]);
        eprintln!("{}", path.display());
        let (header, content) = (info(&path), read(&path, &ReadOptions::default()));
        if row["field"] == "complex" {
            for error in [header.map(|_| ()), content.map(|_| ())] {
                let error = error.expect_err("complex values are rejected");
                assert!(matches!(error, Error::Invalid { fault: Fault::Unsupported { .. }, .. }), "{error}");
            }
            continue;
        }
        check_header(&row, &header.unwrap_or_else(|e| panic!("{e}")));
        check_content(&row, content.unwrap_or_else(|e| panic!("{e}")));
    }
}

#[test]
fn graphs() {
    check_kind(&["graphs"]);
}

#[test]
fn matrices() {
    check_kind(&["matrices"]);
}

/// Asserts that images have the shapes and the numbers of nonzero pixels of the manifest. Readers
/// of images return all pixels, so the test counts the nonzero ones.
#[test]
fn images() {
    let folder = folder();
    for row in rows(&folder, &["images"]) {
        let path = folder.join(&row["file"]);
        eprintln!("{}", path.display());
        let loaded = read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(loaded.info, info(&path).unwrap_or_else(|e| panic!("{e}")));
        let sizes: Vec<String> = loaded.info.shape.iter().map(u64::to_string).collect();
        assert_eq!(sizes.join("x"), row["dims"]);
        let nonzero = match loaded.data.values() {
            Values::Bool(pixels) => pixels.iter().filter(|pixel| **pixel).count(),
            Values::U8(pixels) => pixels.iter().filter(|pixel| **pixel != 0).count(),
            other => panic!("pixels of {}", other.prim()),
        };
        assert_eq!(nonzero.to_string(), row["nnz_or_rows"]);
    }
}

#[test]
fn tensors() {
    check_kind(&["tensors"]);
}
