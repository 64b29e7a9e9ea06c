//! What well-formed files mean.

use crate::{listing, load, npy, npy_i64, npy_text, npz};
use expect_test::{Expect, expect};
use redpoll_datasets::{Layout, ReadOptions, Symmetry, Values, read_bytes};
use redpoll_logic::Prim;

fn check(name: &str, bytes: &[u8], expect: &Expect) {
    let loaded = load(name, bytes).unwrap_or_else(|e| panic!("{e}"));
    let info = &loaded.info;
    let header = format!("{:?} {} {} {} stored {}\n", info.shape, info.dtype, info.layout, info.symmetry, info.stored);
    expect.assert_eq(&(header + &listing(&loaded)));
}

#[test]
fn matrix_market_coordinate() {
    check(
        "a.mtx",
        b"%%matrixmarket MATRIX Coordinate Real General\r\n% note\r\n\r\n 3\t4 3\r\n1 2 1.0D+3\r\n\r\n% more\n3 4 -inf\n2 2 .5",
        &expect![[r#"
            [3, 4] f64 coordinate general stored 3
            (0, 1): 1000.0
            (1, 1): 0.5
            (2, 3): -inf"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n2 1 5\n3 3 -7\n1 3 2\n",
        &expect![[r#"
            [3, 3] i64 coordinate symmetric stored 3
            (0, 1): 5
            (0, 2): 2
            (1, 0): 5
            (2, 0): 2
            (2, 2): -7"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1.5\n",
        &expect![[r#"
            [2, 2] f64 coordinate skew-symmetric stored 1
            (0, 1): -1.5
            (1, 0): 1.5"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate pattern general\n2 2 3\n2 1\n1 1\n2 1\n",
        &expect![[r#"
            [2, 2] bool coordinate general stored 3
            (0, 0): true
            (1, 0): true + true"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n",
        &expect![[r#"
            [1, 1] u64 coordinate general stored 1
            (0, 0): 18446744073709551615"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate real general\n0 5 0\n",
        &expect![[r#"
        [0, 5] f64 coordinate general stored 0
    "#]],
    );
    // Only entries take memory: sizes that no pointer array could have are legal.
    check(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate pattern general\n9000000000000000000 9000000000000000000 1\n9000000000000000000 1\n",
        &expect![[r#"
            [9000000000000000000, 9000000000000000000] bool coordinate general stored 1
            (8999999999999999999, 0): true"#]],
    );
}

#[test]
fn matrix_market_array() {
    check(
        "a.mtx",
        b"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3 4\n5\n6\n",
        &expect![[r#"
            [2, 3] f64 array general stored 6
            (0, 0): 1.0
            (0, 1): 3.0
            (0, 2): 5.0
            (1, 0): 2.0
            (1, 1): 4.0
            (1, 2): 6.0"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
        &expect![[r#"
            [3, 3] i64 array symmetric stored 6
            (0, 0): 1
            (0, 1): 2
            (0, 2): 3
            (1, 0): 2
            (1, 1): 4
            (1, 2): 5
            (2, 0): 3
            (2, 1): 5
            (2, 2): 6"#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
        &expect![[r#"
            [3, 3] i64 array skew-symmetric stored 3
            (0, 1): -1
            (0, 2): -2
            (1, 0): 1
            (1, 2): -3
            (2, 0): 2
            (2, 1): 3"#]],
    );
    // Without places there is nothing to walk, however many columns there are.
    check(
        "a.mtx",
        b"%%MatrixMarket matrix array real general\n0 9000000000000000000\n",
        &expect![[r#"
        [0, 9000000000000000000] f64 array general stored 0
    "#]],
    );
    check(
        "a.mtx",
        b"%%MatrixMarket matrix array real skew-symmetric\n1 1\n",
        &expect![[r#"
        [1, 1] f64 array skew-symmetric stored 0
    "#]],
    );
}

#[test]
fn frostt() {
    check(
        "a.tns",
        b"# a comment\n\n1 2 3 1.5\r\n 2\t1 1 -2\n# another\n1 2 3 4",
        &expect![[r#"
            [2, 2, 3] f64 coordinate general stored 3
            (0, 1, 2): 1.5 + 4.0
            (1, 0, 0): -2.0"#]],
    );
    check(
        "a.tns",
        b"# extended FROSTT format\n# by hand\n2 2\n5 7\n1 1 1\n2 2 2\n",
        &expect![[r#"
            [5, 7] f64 coordinate general stored 2
            (0, 0): 1.0
            (1, 1): 2.0"#]],
    );
    check(
        "a.tns",
        b"# name\n# dims 3 4\n# dims of nothing\n1 2 5\n",
        &expect![[r#"
        [3, 4] f64 coordinate general stored 1
        (0, 1): 5.0"#]],
    );
    check(
        "a.tns",
        b"# dims 3 4\n",
        &expect![[r#"
        [3, 4] f64 coordinate general stored 0
    "#]],
    );
    check(
        "a.tns",
        b"# extended FROSTT format\n3 0\n0 1 2\n",
        &expect![[r#"
        [0, 1, 2] f64 coordinate general stored 0
    "#]],
    );
    check(
        "a.tns",
        b"7 3\n",
        &expect![[r#"
        [7] f64 coordinate general stored 1
        (6): 3.0"#]],
    );
}

#[test]
fn numpy_orders_and_types() {
    let elements: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|x| x.to_be_bytes()).collect();
    check(
        "a.npy",
        &npy("{'descr': '>i2', 'fortran_order': True, 'shape': (3, 2)}", &elements),
        &expect![[r#"
            [3, 2] i16 array general stored 6
            (0, 0): 1
            (0, 1): 4
            (1, 0): 2
            (1, 1): 5
            (2, 0): 3
            (2, 1): 6"#]],
    );
    check(
        "a.npy",
        &npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", &1.5f32.to_le_bytes()),
        &expect![[r#"
            [] f32 array general stored 1
            (): 1.5"#]],
    );
    check(
        "a.npy",
        &npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", &[0, 1, 2]),
        &expect![[r#"
            [3] bool array general stored 3
            (1): true
            (2): true"#]],
    );
    check(
        "a.npy",
        &npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9000000000000000000)}", &[]),
        &expect![[r#"
        [0, 9000000000000000000] f64 array general stored 0
    "#]],
    );
    // Three modes in Fortran order: place (i, j, k) is element i + 2 (j + 3 k).
    let elements: Vec<u8> = (0..24).collect();
    let loaded = load("a.npy", &npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", &elements)).unwrap();
    let Values::U8(values) = loaded.data.values() else { panic!("u1 is u8") };
    for (place, &value) in values.iter().enumerate() {
        let (i, j, k) = (place / 12, place / 4 % 3, place % 4);
        assert_eq!(usize::from(value), i + 2 * (j + 3 * k));
    }
}

#[test]
fn scipy_layouts() {
    let shape = || ("shape", npy_i64(&[2], &[2, 4]));
    let vector = |x: &[i64]| npy_i64(&[x.len() as u64], x);
    check(
        "a.npz",
        &npz(&[
            ("format", npy_text("coo")),
            shape(),
            ("row", vector(&[1, 0, 1])),
            ("col", vector(&[3, 0, 3])),
            ("data", vector(&[5, 6, 7])),
        ]),
        &expect![[r#"
            [2, 4] i64 coordinate general stored 3
            (0, 0): 6
            (1, 3): 5 + 7"#]],
    );
    check(
        "a.npz",
        &npz(&[
            ("format", npy_text("coo")),
            ("shape", vector(&[2, 2, 9])),
            ("coords", npy_i64(&[3, 2], &[0, 1, 1, 1, 8, 0])),
            ("data", vector(&[5, 6])),
        ]),
        &expect![[r#"
            [2, 2, 9] i64 coordinate general stored 2
            (0, 1, 8): 5
            (1, 1, 0): 6"#]],
    );
    // Unsorted within a row, and room left behind the last entry.
    check(
        "a.npz",
        &npz(&[
            ("format", npy_text("csr")),
            shape(),
            ("indptr", vector(&[0, 2, 3])),
            ("indices", vector(&[3, 1, 0, 77])),
            ("data", vector(&[5, 6, 7, 8])),
        ]),
        &expect![[r#"
            [2, 4] i64 csr general stored 4
            (0, 1): 6
            (0, 3): 5
            (1, 0): 7"#]],
    );
    check(
        "a.npz",
        &npz(&[
            ("format", npy_text("csc")),
            shape(),
            ("indptr", vector(&[0, 1, 1, 1, 2])),
            ("indices", vector(&[1, 0])),
            ("data", vector(&[5, 6])),
        ]),
        &expect![[r#"
            [2, 4] i64 csc general stored 2
            (0, 3): 6
            (1, 0): 5"#]],
    );
    check(
        "a.npz",
        &npz(&[
            ("format", npy_text("bsr")),
            shape(),
            ("indptr", vector(&[0, 1])),
            ("indices", vector(&[1])),
            ("data", npy_i64(&[1, 2, 2], &[1, 2, 3, 4])),
        ]),
        &expect![[r#"
            [2, 4] i64 bsr 2x2 general stored 4
            (0, 2): 1
            (0, 3): 2
            (1, 2): 3
            (1, 3): 4"#]],
    );
    check(
        "a.npz",
        &npz(&[
            ("format", npy_text("dia")),
            shape(),
            ("offsets", vector(&[1, -1])),
            ("data", npy_i64(&[2, 4], &[9, 1, 2, 9, 3, 9, 9, 9])),
        ]),
        &expect![[r#"
            [2, 4] i64 dia general stored 8
            (0, 1): 1
            (1, 0): 3
            (1, 2): 2"#]],
    );
    check(
        "a.npz",
        &npz(&[("x", npy_i64(&[1, 2], &[0, 4]))]),
        &expect![[r#"
        [1, 2] i64 array general stored 2
        (0, 1): 4"#]],
    );
}

#[test]
fn a_dtype_can_be_asked_for() {
    let text = b"%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 7\n1 2 300\n";
    let read = |dtype| read_bytes("a.mtx", text, &ReadOptions { dtype: Some(dtype), ..ReadOptions::default() });
    let loaded = read(Prim::F32).unwrap();
    assert_eq!((loaded.info.dtype, loaded.data.values()), (Prim::F32, &Values::F32(vec![7.0, 300.0])));
    let error = read(Prim::U8).unwrap_err().to_string();
    expect!["a.mtx, array `values`, entry 1: value 300 does not fit u8; read the file as a wider dtype"]
        .assert_eq(&error);
}

#[test]
fn headers_alone() {
    let folder = tempfile::tempdir().unwrap();
    // The entries are wrong, so these headers would not be read from whole files.
    let comment = format!("%{}\n", "x".repeat(70_000));
    let text = format!("%%MatrixMarket matrix coordinate real symmetric\n{comment}30 30 40\nnot an entry\n");
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, text).unwrap();
    let info = redpoll_datasets::info(&path).unwrap();
    assert_eq!((info.shape, info.dtype, info.stored), (vec![30, 30], Prim::F64, 40));
    assert_eq!((info.layout, info.symmetry), (Layout::Coordinate, Symmetry::Symmetric));

    let path = folder.path().join("a.npy");
    std::fs::write(&path, npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1000000, 1000000)}", &[])).unwrap();
    let info = redpoll_datasets::info(&path).unwrap();
    assert_eq!((info.dtype, info.stored), (Prim::I32, 1_000_000_000_000));
}
