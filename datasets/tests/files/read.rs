//! Tests of the shapes, dtypes and entries that the readers find in well-formed files, of values in
//! a requested dtype, and of headers that are read alone.

use crate::{listing, load, npy, npy_i64, npy_text, npz};
use expect_test::{Expect, expect};
use redpoll_datasets::{Layout, ReadOptions, Symmetry, Values, read, read_bytes};
use redpoll_logic::{Prim, Scalar};

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
    // The reader allocates memory for entries only, so it reads matrices with large dimensions.
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
    // A matrix without rows has no elements: the reader must not loop over its columns.
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
    // Fortran order of three modes: the element at (i, j, k) has the number i + 2 (j + 3 k).
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
    // The indices of the first row are not sorted, and the arrays have unused space at the end.
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

/// Returns a `.npy` file of `f64` elements. The shape is a Python tuple.
fn npy_f64(shape: &str, elements: &[f64]) -> Vec<u8> {
    let elements: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"), &elements)
}

/// Returns an archive as `sparse.save_npz` writes it, with the given format, fill value and arrays.
fn pydata(format: &str, fill: f64, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let common = [("format", npy_text(format)), ("fill_value", npy_f64("()", &[fill]))];
    npz(&[&common[..], arrays].concat())
}

/// Checks that fill values of PyData/Sparse, NaN included, are read, and converted to a requested
/// dtype.
#[test]
fn fill_values_of_pydata_are_read() {
    let vector = |x: &[i64]| npy_i64(&[x.len() as u64], x);
    let coo = |fill: f64| {
        let coords = ("coords", npy_i64(&[2, 2], &[0, 1, 2, 1]));
        pydata("coo", fill, &[("shape", vector(&[2, 3])), coords, ("data", npy_f64("(2,)", &[1.0, 2.0]))])
    };
    let loaded = load("a.npz", &coo(5.0)).unwrap();
    assert_eq!((&loaded.info.fill, loaded.info.layout), (&Scalar::F64(5.0), Layout::Coordinate));
    let (tensor, _) = loaded.clone().into_tensor(None).unwrap();
    assert_eq!(tensor.to_dense_scalars().unwrap(), [5.0, 5.0, 1.0, 5.0, 2.0, 5.0].map(Scalar::F64));
    assert_eq!(loaded.into_content().unwrap().0.fill, Scalar::F64(5.0));
    let nan = load("a.npz", &coo(f64::NAN)).unwrap().into_tensor(None).unwrap().0;
    assert!(matches!(nan.ty().fill, Scalar::F64(fill) if fill.is_nan()));

    let read =
        |bytes: &[u8], dtype| read_bytes("a.npz", bytes, &ReadOptions { dtype: Some(dtype), ..ReadOptions::default() });
    assert_eq!(read(&coo(5.0), Prim::U8).unwrap().info.fill, Scalar::U8(5));
    expect!["a.npz, array `fill_value`: value nan does not fit u8; read the file as f32 or f64"]
        .assert_eq(&read(&coo(f64::NAN), Prim::U8).unwrap_err().to_string());
    let many = [("shape", vector(&[1])), ("data", vector(&[])), ("coords", npy_i64(&[1, 0], &[]))];
    let many = npz(&[&[("format", npy_text("coo")), ("fill_value", vector(&[1, 2]))][..], &many].concat());
    expect!["a.npz, array `fill_value`: expected one value, found 2"]
        .assert_eq(&load("a.npz", &many).unwrap_err().to_string());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    std::fs::write(&path, coo(5.0)).unwrap();
    assert_eq!(redpoll_datasets::info(&path).unwrap().fill, Scalar::F64(5.0));
}

/// Checks layouts of PyData/Sparse that SciPy lacks: `gcxs`, and arrays without modes.
#[test]
fn pydata_layouts() {
    let vector = |x: &[i64]| npy_i64(&[x.len() as u64], x);
    let gcxs = |shape: &[i64], axes: Vec<u8>, indptr: &[i64], indices: &[i64], data: &[i64]| {
        let arrays = [
            ("shape", vector(shape)),
            ("compressed_axes", axes),
            ("indptr", vector(indptr)),
            ("indices", vector(indices)),
            ("data", vector(data)),
        ];
        npz(&[&[("format", npy_text("gcxs")), ("fill_value", npy_i64(&[], &[5]))][..], &arrays].concat())
    };
    let files = [
        gcxs(&[2, 3], vector(&[0]), &[0, 1, 2], &[2, 1], &[1, 2]),
        gcxs(&[2, 3], vector(&[1]), &[0, 0, 1, 2], &[1, 0], &[2, 1]),
        // The only fiber of a vector.
        gcxs(&[4], npy_f64("(0,)", &[]), &[0, 2], &[1, 3], &[3, 1]),
        // Three modes: fibers along the first mode, then along the last two modes together.
        gcxs(&[2, 2, 3], vector(&[1, 2]), &[0, 1, 1, 1, 1, 1, 3], &[1, 0, 1], &[7, 8, 9]),
        gcxs(&[2, 2, 3], vector(&[0]), &[0, 1, 3], &[5, 0, 5], &[8, 7, 9]),
        gcxs(&[2, 0, 3], vector(&[1]), &[0], &[], &[]),
        // Arrays without modes: the only element has the fill value, or is stored.
        pydata(
            "coo",
            7.0,
            &[("shape", npy_f64("(0,)", &[])), ("coords", npy_i64(&[0, 0], &[])), ("data", npy_f64("(0,)", &[]))],
        ),
        pydata(
            "coo",
            7.0,
            &[("shape", npy_f64("(0,)", &[])), ("coords", npy_i64(&[0, 1], &[])), ("data", npy_f64("(1,)", &[3.0]))],
        ),
        // Invalid archives.
        pydata(
            "coo",
            7.0,
            &[
                ("shape", npy_f64("(0,)", &[])),
                ("coords", npy_i64(&[0, 2], &[])),
                ("data", npy_f64("(2,)", &[3.0, 4.0])),
            ],
        ),
        gcxs(&[2, 3], vector(&[0, 1]), &[0, 1, 2], &[2, 1], &[1, 2]),
        gcxs(&[2, 3], vector(&[2]), &[0, 1, 2], &[2, 1], &[1, 2]),
        gcxs(&[2, 3], vector(&[0]), &[0, 1, 2], &[2, 3], &[1, 2]),
        gcxs(&[2, 3], vector(&[0]), &[0, 1], &[2], &[1]),
        gcxs(&[2, 3], vector(&[0]), &[0, 1, 1], &[2, 1], &[1, 2]),
        gcxs(&[1 << 62, 1 << 62, 2], vector(&[0, 1]), &[0], &[], &[]),
    ];
    let describe = |bytes: &Vec<u8>| match load("a.npz", bytes) {
        Ok(loaded) => {
            let info = &loaded.info;
            let header = format!("{:?} {} {} fill {}: ", info.shape, info.dtype, info.layout, info.fill);
            header + &listing(&loaded).replace('\n', ", ") + "\n"
        }
        Err(e) => format!("{e}\n"),
    };
    expect![[r#"
        [2, 3] i64 csr fill 5: (0, 2): 1, (1, 1): 2
        [2, 3] i64 csc fill 5: (0, 2): 1, (1, 1): 2
        [4] i64 coordinate fill 5: (1): 3, (3): 1
        [2, 2, 3] i64 coordinate fill 5: (0, 1, 2): 8, (1, 0, 0): 7, (1, 1, 2): 9
        [2, 2, 3] i64 coordinate fill 5: (0, 1, 2): 8, (1, 0, 0): 7, (1, 1, 2): 9
        [2, 0, 3] i64 coordinate fill 5: 
        [] f64 array fill 7.0: (): 7.0
        [] f64 array fill 7.0: (): 3.0
        a.npz, array `data`: expected at most one value of an array without modes, found 2
        a.npz, array `compressed_axes`: expected distinct modes, at least one and fewer than the rank 2, or none if the rank is below 2, found [0, 1]
        a.npz, array `compressed_axes`: expected distinct modes, at least one and fewer than the rank 2, or none if the rank is below 2, found [2]
        a.npz, array `indices`, entry 1: expected a position in a fiber, below 3, found 3
        a.npz, array `indptr`: expected 3 entries, found 2
        a.npz, array `indptr`: expected 2 entries, found 1
        a.npz, array `shape`: the number of elements is too large: at least 2^64; the maximum is 9223372036854775807
    "#]]
    .assert_eq(&files.iter().map(describe).collect::<String>());
}

/// Checks that text files of other programs are read: values in patterns, integers written as
/// reals, comments after entries, zeros on the diagonal of a skew-symmetric matrix, and a byte
/// order mark.
#[test]
fn text_written_by_other_programs() {
    let files: [(&str, &str); 9] = [
        ("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 3\n1 1 0\n2 1 3 % note\n2 2 -0.0\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 3.0\n2 1 -1e3\n2 2 7\n"),
        ("a.mtx", "%%MatrixMarket matrix array integer general\n1 2\n3. % note\n4\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1 3.5\n2 1 0\n"),
        ("a.mtx", "\u{feff}%%MatrixMarket matrix coordinate pattern general % note\r\n1 1 1 % note\r\n1 1\r\n"),
        ("a.tns", "\u{feff}# dims 3 3\n1 1 2 # note\n3 3 4 #\n"),
        ("a.tns", "1 1 2 # the first entry has the rank\n3 3 4\n"),
        ("a.tns", "# extended FROSTT format\n2 1 # rank and entries\n3 3 # dimensions\n3 3 4\n"),
        ("a.pbm", "P1 # note\n2 2\n1 0 # note\n0 1\n"),
    ];
    let describe = |(name, text): &(&str, &str)| match load(name, text.as_bytes()) {
        Ok(loaded) => {
            let stored = loaded.data.values().len();
            format!(
                "{:?} {} {stored}: {}\n",
                loaded.info.shape,
                loaded.info.dtype,
                listing(&loaded).replace('\n', ", ")
            )
        }
        Err(e) => format!("{e}\n"),
    };
    expect![[r#"
        [2, 2] f64 4: (0, 1): -3.0, (1, 0): 3.0, (1, 1): -0.0
        [2, 2] i64 3: (0, 0): 3, (1, 0): -1000, (1, 1): 7
        [1, 2] i64 2: (0, 0): 3, (0, 1): 4
        [2, 2] bool 3: (0, 0): true, (0, 1): true, (1, 0): true
        [1, 1] bool 1: (0, 0): true
        [3, 3] f64 2: (0, 0): 2.0, (2, 2): 4.0
        [3, 3] f64 2: (0, 0): 2.0, (2, 2): 4.0
        [3, 3] f64 1: (2, 2): 4.0
        [2, 2] bool 4: (0, 0): true, (1, 1): true
    "#]]
    .assert_eq(&files.iter().map(describe).collect::<String>());
}

#[test]
fn values_are_read_in_the_requested_dtype() {
    let text = b"%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 7\n1 2 300\n";
    let read = |dtype| read_bytes("a.mtx", text, &ReadOptions { dtype: Some(dtype), ..ReadOptions::default() });
    let loaded = read(Prim::F32).unwrap();
    assert_eq!((loaded.info.dtype, loaded.data.values()), (Prim::F32.into(), &Values::F32(vec![7.0, 300.0])));
    let error = read(Prim::U8).unwrap_err().to_string();
    expect!["a.mtx:4: value 300 does not fit u8; read the file as a wider dtype"].assert_eq(&error);
}

/// Checks that a value that does not fit the requested dtype is reported with its line and a next
/// step.
#[test]
fn values_that_do_not_fit_are_reported() {
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 3\n1 1 1\n2 1 0\n\n3 2 VALUE\n";
    let cases = [
        ("a.mtx", symmetric, "2.5", Prim::Bool),
        ("a.mtx", symmetric, "-1", Prim::U8),
        ("a.mtx", symmetric, "2.5", Prim::I32),
        ("a.mtx", symmetric, "1e300", Prim::F32),
        ("a.tns", "# c\n1 1 1\n2 2 VALUE\n", "300", Prim::I8),
        ("a.csv", "a,b,weight\n0,1,1\n1,2,VALUE\n", "2", Prim::Bool),
        ("a.csv", "0,1,1\n1,2,VALUE\n", "inf", Prim::I64),
    ];
    let all = cases.map(|(name, text, value, dtype)| {
        let text = text.replace("VALUE", value);
        let options = ReadOptions { dtype: Some(dtype), ..ReadOptions::default() };
        format!("{}\n", read_bytes(name, text.as_bytes(), &options).unwrap_err())
    });
    expect![[r#"
        a.mtx:7: value 2.5 does not fit bool; only 0 and 1 fit; for the pattern, read the file without a dtype and compute `A(i,j) != 0`
        a.mtx:7: value -1.0 does not fit u8; read the file as a signed dtype
        a.mtx:7: value 2.5 does not fit i32; read the file as f32 or f64
        a.mtx:7: value 1e300 does not fit f32; read the file as f64
        a.tns:3: value 300.0 does not fit i8; read the file as a wider dtype
        a.csv:3: value 2 does not fit bool; only 0 and 1 fit; for the pattern, read the file without a dtype and compute `A(i,j) != 0`
        a.csv:2: value inf does not fit i64; read the file as f32 or f64
    "#]]
    .assert_eq(&all.concat());
    let options = ReadOptions { dtype: Some(Prim::U8), ..ReadOptions::default() };
    let array =
        |symmetry: &str, rest: &str| format!("%%MatrixMarket matrix array integer {symmetry}\n{rest}").into_bytes();
    // The values of an array file are column-major; the values of other files are named by their
    // coordinates.
    let elements = npy_i64(&[2, 3], &[1, 2, 3, 4, 500, 6]);
    let coordinates = |x: &[i64]| npy_i64(&[2], x);
    let sparse = npz(&[
        ("format", npy_text("coo")),
        ("shape", coordinates(&[3, 4])),
        ("row", coordinates(&[0, 2])),
        ("col", coordinates(&[1, 3])),
        ("data", coordinates(&[7, 500])),
    ]);
    let cases = [
        ("a.mtx", array("general", "2 3\n1 2\n% c\n3\n500 4\n5\n")),
        ("a.mtx", array("symmetric", "3 3\n1\n2\n3\n4\n500\n6\n")),
        ("a.mtx", array("skew-symmetric", "3 3\n0\n0\n500\n")),
        ("a.npy", elements.clone()),
        ("a.npz", npz(&[("x", elements)])),
        ("a.npz", sparse),
    ];
    let all = cases.map(|(name, bytes)| format!("{}\n", read_bytes(name, &bytes, &options).unwrap_err()));
    expect![[r#"
        a.mtx:6: value 500 does not fit u8; read the file as a wider dtype
        a.mtx:7: value 500 does not fit u8; read the file as a wider dtype
        a.mtx:5: value -500 does not fit u8; read the file as a signed dtype
        a.npy, element [1, 1]: value 500 does not fit u8; read the file as a wider dtype
        a.npz, element [1, 1]: value 500 does not fit u8; read the file as a wider dtype
        a.npz, element [2, 3]: value 500 does not fit u8; read the file as a wider dtype
    "#]]
    .assert_eq(&all.concat());
    let options = ReadOptions { dtype: Some(Prim::Bool), ..ReadOptions::default() };
    let pattern = read_bytes("a.csv", b"0,1\n1,2\n", &options).unwrap();
    assert_eq!(pattern.data.values(), &Values::Bool(vec![true, true]));
    let binary = read_bytes("a.csv", b"0,1,1\n1,2,0\n", &options).unwrap();
    assert_eq!(binary.data.values(), &Values::Bool(vec![true, false]));
    let folder = tempfile::tempdir().unwrap();
    let error = read(folder.path(), &options).unwrap_err().to_string();
    assert!(error.ends_with(": is a folder; name a file in the folder"), "{error}");
}

#[test]
fn headers_are_read_without_the_entries() {
    let folder = tempfile::tempdir().unwrap();
    // The files have no valid entries, so a reader of the whole file would fail.
    let comment = format!("%{}\n", "x".repeat(70_000));
    let text = format!("%%MatrixMarket matrix coordinate real symmetric\n{comment}30 30 40\nnot an entry\n");
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, text).unwrap();
    let info = redpoll_datasets::info(&path).unwrap();
    assert_eq!((info.shape, info.dtype, info.stored), (vec![30, 30], Prim::F64.into(), 40));
    assert_eq!((info.layout, info.symmetry), (Layout::Coordinate, Symmetry::Symmetric));

    let path = folder.path().join("a.npy");
    std::fs::write(&path, npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1000000, 1000000)}", &[])).unwrap();
    let info = redpoll_datasets::info(&path).unwrap();
    assert_eq!((info.dtype, info.stored), (Prim::I32.into(), 1_000_000_000_000));
}
