//! Tests of the conversion between files and stored tensors.

use crate::{load, npy_i64, npy_text, npz};
use expect_test::expect;
use redpoll_datasets::{Memory, ReadOptions, WriteOptions, read, read_bytes, sample, write};
use redpoll_logic::{Format, LeafKind, Scalar};
use redpoll_storage::{Tensor, convert};
use std::collections::BTreeMap;

fn tensor(name: &str, bytes: &[u8]) -> (Tensor, usize) {
    load(name, bytes).unwrap().into_tensor(None).unwrap()
}

/// Returns the elements that differ from the fill value.
fn elements(tensor: &Tensor) -> BTreeMap<Vec<u64>, Scalar> {
    let mut elements = BTreeMap::new();
    tensor.for_each_stored(|coordinates, position| {
        let value = tensor.value_at(position);
        if value != tensor.ty().fill {
            elements.insert(coordinates.to_vec(), value);
        }
    });
    elements
}

#[test]
fn default_formats() {
    let vector = |x: &[i64]| npy_i64(&[x.len() as u64], x);
    let scipy = |format: &str, arrays: &[(&str, Vec<u8>)]| {
        npz(&[&[("format", npy_text(format)), ("shape", vector(&[2, 2])), ("data", vector(&[5]))][..], arrays].concat())
    };
    let pointers = [("indptr", vector(&[0, 0, 1])), ("indices", vector(&[0]))];
    let block = [
        ("format", npy_text("bsr")),
        ("shape", vector(&[4, 6])),
        ("indptr", vector(&[0, 1, 1])),
        ("indices", vector(&[1])),
        ("data", npy_i64(&[1, 2, 3], &[1, 2, 3, 4, 5, 6])),
    ];
    for (name, bytes, format) in [
        ("a.mtx", sample("karate").unwrap().bytes.to_vec(), Format::csr()),
        ("a.mtx", b"%%MatrixMarket matrix array real general\n1 1\n2\n".to_vec(), Format::dense(2)),
        ("a.tns", b"1 1 5\n".to_vec(), Format::csf(2)),
        ("a.tns", sample("berkeley").unwrap().bytes.to_vec(), Format::csf(3)),
        ("a.npy", npy_i64(&[2, 1, 1], &[1, 2]), Format::dense(3)),
        ("a.npz", npz(&[("x", npy_i64(&[], &[1]))]), Format::dense(0)),
        ("a.npz", scipy("coo", &[("row", vector(&[0])), ("col", vector(&[0]))]), Format::csr()),
        ("a.npz", scipy("csr", &pointers), Format::csr()),
        ("a.npz", scipy("csc", &pointers), Format::csc()),
        ("a.npz", npz(&block), Format::bcsr(2, 3)),
        // Pointers to every row would exceed the memory.
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate pattern general\n9000000000000000000 9 1\n9000000000000000000 1\n"
                .to_vec(),
            Format::csf(2),
        ),
    ] {
        let (tensor, _) = tensor(name, &bytes);
        assert_eq!(tensor.ty().format, format, "{name}");
        tensor.validate().unwrap();
    }
}

#[test]
fn duplicates_are_added_up_and_counted() {
    for (field, values, sum) in [
        ("real", ["1.5", "2", "-4"], Scalar::F64(-0.5)),
        ("integer", ["1", "2", "9223372036854775807"], Scalar::I64(i64::MIN + 2)),
        ("pattern", ["", "", ""], Scalar::Bool(true)),
    ] {
        let [a, b, c] = values;
        let text =
            format!("%%MatrixMarket matrix coordinate {field} general\n2 2 4\n2 1 {a}\n1 1 {a}\n2 1 {b}\n2 1 {c}\n");
        let (tensor, duplicates) = tensor("a.mtx", text.as_bytes());
        assert_eq!((duplicates, tensor.count_stored().unwrap()), (2, 2), "{field}");
        assert_eq!(tensor.get(&[1, 0]).unwrap(), sum, "{field}");
    }
}

#[test]
fn unsuitable_formats_are_rejected() {
    let message = |name: &str, bytes: &[u8], format: Format| {
        load(name, bytes).unwrap().into_tensor(Some(format)).unwrap_err().to_string()
    };
    let berkeley = message("berkeley.tns", sample("berkeley").unwrap().bytes, Format::csr());
    expect!["berkeley.tns: invalid format: the shape has 3 modes, but the format has 2"].assert_eq(&berkeley);
    let wide = b"%%MatrixMarket matrix coordinate pattern general\n9000000000000000000 9 1\n9000000000000000000 1\n";
    expect!["wide.mtx: 9000000000000000001 elements of 8 bytes do not fit into memory; use a sparser format or smaller dimensions"].assert_eq(&message("wide.mtx", wide, Format::csr()));
    expect!["wide.mtx: 9000000000000000000 fibers of dimension 9 exceed the 9223372036854775807 positions of a level; use a sparse-list level"].assert_eq(&message("wide.mtx", wide, Format::dense(2)));
}

/// The memory that a format needs for any entries has a purpose of its own.
#[test]
fn memory_of_formats_is_named() {
    let text = b"%%MatrixMarket matrix coordinate pattern general\n9000000 9 1\n9 1\n";
    let message = |format: Format| {
        let options = ReadOptions { memory: Memory::limited(1 << 20), ..ReadOptions::default() };
        read_bytes("a.mtx", text, &options).unwrap().into_tensor(Some(format)).unwrap_err().to_string()
    };
    for (format, purpose) in [
        (Format::csr(), "cannot allocate 72000000 bytes for a tensor that stores a pointer for each fiber: "),
        (Format::dense(2), "cannot allocate 81000000 bytes for a tensor that stores all elements: "),
    ] {
        let message = message(format);
        assert!(message.contains(purpose), "{message}");
    }
}

/// Asserts that a file without blocks may declare blocks of a huge size: the file gives an empty
/// tensor or an error.
#[test]
fn blocks_of_any_size_without_entries() {
    let huge = 1 << 62;
    let bytes = npz(&[
        ("format", npy_text("bsr")),
        ("shape", npy_i64(&[2], &[huge, 8])),
        ("indptr", npy_i64(&[2], &[0, 0])),
        ("indices", npy_i64(&[0], &[])),
        ("data", npy_i64(&[0, huge as u64, 8], &[])),
    ]);
    let loaded = load("a.npz", &bytes).unwrap();
    if let Ok((tensor, _)) = loaded.into_tensor(None) {
        tensor.validate().unwrap();
        assert_eq!(tensor.count_stored().unwrap(), 0);
    }
}

/// Asserts that tensors of several storage formats, written to files of several formats, are read
/// back equal.
#[test]
fn written_tensors_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = |format: Format| Format { leaf: LeafKind::Pattern, ..format };
    let (karate, _) = tensor("karate.mtx", sample("karate").unwrap().bytes);
    let (berkeley, _) = tensor("berkeley.tns", sample("berkeley").unwrap().bytes);
    let matrices = [
        Format::csr(),
        Format::csc(),
        Format::coo(2),
        Format::csf(2),
        Format::dense(2),
        Format::bcsr(3, 5),
        pattern(Format::csr()),
    ];
    let tensors = [Format::csf(3), Format::dense(3), Format::coo(3), Format::csf(3).permuted(&[2, 0, 1])];
    let matrices = matrices.iter().map(|f| (convert(&karate, f).unwrap(), &["mtx", "npy", "npz", "mtx.gz"][..]));
    let tensors = tensors.iter().map(|f| (convert(&berkeley, f).unwrap(), &["tns", "npy", "npz", "tns.zst"][..]));
    for (tensor, extensions) in matrices.chain(tensors) {
        for extension in extensions {
            let path = folder.path().join(format!("a.{extension}"));
            write(&path, &tensor, &WriteOptions::default()).unwrap();
            let read_options = ReadOptions { dtype: tensor.ty().dtype.prim(), ..ReadOptions::default() };
            let (back, duplicates) = read(&path, &read_options).unwrap().into_tensor(None).unwrap();
            assert_eq!(duplicates, 0);
            assert_eq!(back.ty().shape, tensor.ty().shape);
            assert_eq!(elements(&back), elements(&tensor), "{extension} {:?}", tensor.ty().format);
        }
    }
}
