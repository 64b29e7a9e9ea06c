//! Tests of writers: the text of small files, symmetries, the memory limit, and files that are
//! written atomically. Content that a format cannot represent is rejected.

use expect_test::{Expect, expect};
use redpoll_datasets::{
    Content, Data, Layout, Memory, Symmetry, Values, WriteOptions, write_bytes, write_content, write_tensor_bytes,
};
use redpoll_logic::Scalar;

fn content(shape: &[u64], fill: f64) -> Content {
    let coordinates = shape.iter().map(|_| vec![0, 1]).collect();
    let data = Data::Triples { coordinates, values: Values::F64(vec![1.0, 2.0]) };
    Content { shape: shape.to_vec(), fill: Scalar::F64(fill), layout: Layout::Coordinate, data }
}

#[test]
fn text_of_small_files() {
    let check = |name: &str, content: &Content, expect: &Expect| {
        let bytes = write_bytes(name, content, &WriteOptions::default()).unwrap();
        expect.assert_eq(std::str::from_utf8(&bytes).unwrap());
    };
    check(
        "a.mtx",
        &content(&[2, 3], 0.0),
        &expect![[r#"
        %%MatrixMarket matrix coordinate real general
        2 3 2
        1 1 1.0
        2 2 2.0
    "#]],
    );
    let array = Content { layout: Layout::Array, ..content(&[2, 2], f64::INFINITY) };
    check(
        "a.mtx",
        &array,
        &expect![[r#"
        %%MatrixMarket matrix array real general
        2 2
        1.0
        inf
        inf
        2.0
    "#]],
    );
    check(
        "a.tns",
        &content(&[2, 2, 2], 0.0),
        &expect![[r#"
        1 1 1 1.0
        2 2 2 2.0
    "#]],
    );
    check(
        "a.tns",
        &content(&[2, 3], 0.0),
        &expect![[r#"
            # dims 2 3
            1 1 1.0
            2 2 2.0
        "#]],
    );
}

#[test]
fn unsupported_content_is_rejected() {
    let check = |name: &str, content: &Content, options: &WriteOptions, expect: &Expect| {
        expect.assert_eq(&write_bytes(name, content, options).unwrap_err().to_string());
    };
    let plain = WriteOptions::default();
    check(
        "a.mtx",
        &content(&[2, 2, 2], 0.0),
        &plain,
        &expect![
            "a.mtx: cannot write this tensor: not supported: a tensor of rank 3 in a Matrix Market file, which stores matrices; write it as .tns or .npy"
        ],
    );
    check(
        "a.mtx",
        &content(&[2, 2], 5.0),
        &plain,
        &expect![
            "a.mtx: cannot write this tensor: not supported: the fill value 5.0 in a Matrix Market coordinate file, whose missing entries are 0; write it as .rpt or .npz, or write all elements, as in .npy"
        ],
    );
    check(
        "a.tns",
        &content(&[2, 2], 5.0),
        &plain,
        &expect![
            "a.tns: cannot write this tensor: not supported: the fill value 5.0 in a FROSTT file, whose missing entries are 0; write it as .rpt or .npz, or write all elements, as in .npy"
        ],
    );
    check(
        "a.txt",
        &content(&[2, 2], 0.0),
        &plain,
        &expect![
            "a.txt: unknown file format; known extensions are .mtx, .npy, .npz, .bsp.npz, .rpt, .pbm, .pgm, .idx, .csv, .tsv, .tns, each optionally followed by .gz or .zst"
        ],
    );
    check(
        "a.npy",
        &content(&[1 << 40, 1 << 40], 0.0),
        &plain,
        &expect![
            "a.npy: cannot write this tensor: the size of the file in bytes is too large: at least 2^64; the maximum is 9223372036854775807"
        ],
    );
    check(
        "a.npy",
        &content(&[1 << 31, 1 << 31], 0.0),
        &plain,
        &expect![
            "a.npy: cannot write this tensor: the size of the file in bytes is too large: at least 2^64; the maximum is 9223372036854775807"
        ],
    );
    let symmetric = WriteOptions { symmetry: Symmetry::SkewSymmetric, ..WriteOptions::default() };
    check(
        "a.mtx",
        &content(&[2, 2], 0.0),
        &symmetric,
        &expect![
            "a.mtx: cannot write this tensor: not supported: a skew-symmetric file of a matrix with the diagonal entry (0, 0); write it as general"
        ],
    );
    check(
        "a.mtx",
        &content(&[2, 3], 0.0),
        &symmetric,
        &expect![
            "a.mtx: cannot write this tensor: not supported: a skew-symmetric file of a matrix of shape 2 x 3; write it as general"
        ],
    );
    check(
        "a.npz",
        &content(&[2, 2], 0.0),
        &symmetric,
        &expect![
            "a.npz: cannot write this tensor: not supported: the symmetry skew-symmetric in a .npz file; write it as general, or as .mtx"
        ],
    );
    let csr = WriteOptions { layout: Some(Layout::Csr), ..WriteOptions::default() };
    check(
        "a.npz",
        &content(&[2, 2, 2], 0.0),
        &csr,
        &expect![
            "a.npz: cannot write this tensor: not supported: the layout csr for a tensor of rank 3 in a .npz file; choose array, coordinate, or for a matrix csr or csc"
        ],
    );
    check(
        "a.npz",
        &content(&[], 0.0),
        &csr,
        &expect![
            "a.npz: cannot write this tensor: not supported: the layout csr for a tensor of rank 0 in a .npz file; choose array"
        ],
    );
    check(
        "a.mtx",
        &content(&[2, 2], 0.0),
        &csr,
        &expect![
            "a.mtx: cannot write this tensor: not supported: the layout csr in a Matrix Market file; choose coordinate or array"
        ],
    );
    check(
        "a.rpt",
        &content(&[2, 2], 0.0),
        &csr,
        &expect![
            "a.rpt: cannot write this tensor: not supported: the layout csr in a .rpt file; choose a storage format"
        ],
    );
}

/// Asserts that stored zeros do not break a symmetry: their mirrors need not be stored, and zeros
/// may be on the diagonal of a skew-symmetric matrix.
#[test]
fn stored_zeros_are_symmetric() {
    for (symmetry, mirror) in [(Symmetry::Symmetric, 3), (Symmetry::SkewSymmetric, -3)] {
        let coordinates = vec![vec![0, 0, 1, 2, 2], vec![0, 1, 2, 0, 1]];
        let values = Values::I64(vec![0, 0, mirror, 0, 3]);
        let data = Data::Triples { coordinates, values };
        let matrix = Content { fill: Scalar::I64(0), data, ..content(&[3, 3], 0.0) };
        let options = WriteOptions { symmetry, ..WriteOptions::default() };
        let bytes = write_bytes("a.mtx", &matrix, &options).unwrap();
        let nonzeros = |data: &Data| crate::nonzeros(&[3, 3], data);
        assert_eq!(nonzeros(&crate::load("a.mtx", &bytes).unwrap().data), nonzeros(&matrix.data), "{symmetry}");
    }
}

/// Asserts that writing fails if the list of the entries of a tensor exceeds the memory limit.
#[test]
fn entries_are_listed_within_the_limit() {
    let tensor = content(&[2, 2], 0.0).into_tensor(None).unwrap();
    let options = WriteOptions { memory: Memory::limited(8), ..WriteOptions::default() };
    let error = write_tensor_bytes("a.mtx", &tensor, &options).unwrap_err().to_string();
    assert!(error.contains("bytes for the entries of the tensor"), "{error}");
}

#[test]
fn errors_leave_the_folder_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    write_content(&path, &content(&[2, 2], 0.0), &WriteOptions::default()).unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(write_content(&path, &content(&[2, 2], 5.0), &WriteOptions::default()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a.mtx"]);
    let missing = folder.path().join("no/a.mtx");
    let error = write_content(&missing, &content(&[2, 2], 0.0), &WriteOptions::default()).unwrap_err().to_string();
    let expected =
        format!("{}: cannot create a file in the folder {}: ", missing.display(), folder.path().join("no").display());
    // Messages do not name temporary files.
    assert!(error.starts_with(&expected) && !error.contains(".redpoll-"), "{error}");
}

/// Asserts that the file has the permissions of a regular new file, not those of a private
/// temporary file.
#[cfg(unix)]
#[test]
fn files_have_default_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    write_content(folder.path().join("a.mtx"), &content(&[2, 2], 0.0), &WriteOptions::default()).unwrap();
    std::fs::write(folder.path().join("b"), b"").unwrap();
    assert_eq!(mode("a.mtx"), mode("b"));
}
