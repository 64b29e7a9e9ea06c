//! Tests of the messages about malformed files: tables of malformed files and their messages.
//! `edge_lists.rs` and `stored.rs` have the tables of edge lists and of `.rpt` files.

use crate::{load, npy, npy_i64, npy_text, npz};
use expect_test::{Expect, expect};

fn check(name: &str, files: &[&[u8]], expect: &Expect) {
    let messages = files.iter().map(|bytes| match load(name, bytes) {
        Err(e) => format!("{e}\n"),
        Ok(loaded) => format!("accepted: {:?}\n", loaded.info),
    });
    expect.assert_eq(&messages.collect::<String>());
}

/// Returns a Matrix Market file with the given banner and the lines after it.
macro_rules! mtx {
    ($banner:literal, $rest:literal) => {
        concat!("%%MatrixMarket matrix ", $banner, "\n", $rest).as_bytes()
    };
}

#[test]
fn matrix_market_headers() {
    check(
        "a.mtx",
        &[
            b"",
            b"1 1 1\n",
            b"%%MatrixMarket",
            b"%%MatrixMarket vector coordinate real general\n",
            mtx!("coordinate", ""),
            mtx!("list real general", ""),
            mtx!("coordinate float general", ""),
            mtx!("coordinate complex general", "1 1 1\n1 1 1 0\n"),
            mtx!("coordinate complex hermitian", "1 1 1\n1 1 1 0\n"),
            mtx!("coordinate real hermitian", "1 1 1\n1 1 1\n"),
            mtx!("coordinate real lower", ""),
            mtx!("coordinate real general extra", ""),
            mtx!("array pattern general", "1 1\n"),
            mtx!("coordinate pattern skew-symmetric", "1 1 1\n"),
            mtx!("coordinate unsigned-integer skew-symmetric", "1 1 1\n"),
            mtx!("coordinate real general", ""),
            mtx!("coordinate real general", "% only comments\n"),
            mtx!("coordinate real general", "3 3\n"),
            mtx!("coordinate real general", "3 3 1 1\n"),
            mtx!("coordinate real general", "3 -3 1\n"),
            mtx!("coordinate real general", "3.0 3 1\n"),
            mtx!("coordinate real general", "99999999999999999999 3 1\n"),
            mtx!("coordinate real general", "9999999999999999999 3 1\n"),
            mtx!("coordinate real symmetric", "3 4 1\n1 1 1\n"),
            mtx!("array real general", "9000000000000000000 9000000000000000000\n"),
        ],
        &expect![[r#"
            a.mtx: expected a tensor, found an empty file
            a.mtx:1: expected the banner `%%MatrixMarket matrix ..`, found `1`
            a.mtx:1: expected an object (matrix), found the end of the file
            a.mtx:1: not supported: the object vector; write it as a matrix of one column
            a.mtx:1: expected a field (real, double, integer, unsigned-integer, pattern), found the end of the line
            a.mtx:1: expected a layout (coordinate, array), found `list`
            a.mtx:1: expected a field (real, double, integer, unsigned-integer, pattern), found `float`
            a.mtx:1: not supported: the field complex; write the real and the imaginary part as two real files
            a.mtx:1: not supported: the field complex; write the real and the imaginary part as two real files
            a.mtx:1: not supported: the symmetry hermitian; write the real and the imaginary part as two real files
            a.mtx:1: expected a symmetry (general, symmetric, skew-symmetric), found `lower`
            a.mtx:1: expected the end of the banner, found `extra`
            a.mtx:1: expected the layout coordinate, as a pattern has no values, found `array`
            a.mtx:1: expected the symmetry general or symmetric, as a pattern has no values to negate, found `skew-symmetric`
            a.mtx:1: expected the symmetry general or symmetric, as unsigned values have no negatives, found `skew-symmetric`
            a.mtx: expected the size line, after the banner and comments, found the end of the file
            a.mtx: expected the size line, after the banner and comments, found the end of the file
            a.mtx:2: expected the number of entries, found the end of the line
            a.mtx:2: expected the end of the size line, found `1`
            a.mtx:2: expected the number of columns, found `-3`
            a.mtx:2: expected the number of rows, found `3.0`
            a.mtx:2: expected the number of rows, an integer below 2^64, found `99999999999999999999`
            a.mtx:2: a matrix dimension is too large: 9999999999999999999; the maximum is 9223372036854775807
            a.mtx:2: expected a square matrix, as required by the symmetry symmetric, found the shape 3 x 4
            a.mtx:2: the number of elements is too large: at least 2^64; the maximum is 18446744073709551615
        "#]],
    );
}

#[test]
fn matrix_market_entries() {
    check(
        "a.mtx",
        &[
            mtx!("coordinate real general", "3 3 2\n1 1 1\n"),
            mtx!("coordinate real general", "3 3 1\n1 1 1\n2 2 2\n"),
            mtx!("coordinate real general", "3 3 18446744073709551615\n1 1 1\n"),
            mtx!("coordinate real general", "3 3 1\n% note\n\n4 1 1\n"),
            mtx!("coordinate real general", "3 3 1\n1 0 1\n"),
            mtx!("coordinate real general", "3 3 1\n1 -1 1\n"),
            mtx!("coordinate real general", "3 3 1\n1 1.5 1\n"),
            mtx!("coordinate real general", "3 3 1\n1 1\n"),
            mtx!("coordinate real general", "3 3 1\n1"),
            mtx!("coordinate real general", "3 3 1\n1 1 one\n"),
            mtx!("coordinate real general", "3 3 1\n1 1 1 1\n"),
            mtx!("coordinate real general", "3 3 1\n1 1 1e999\n"),
            mtx!("coordinate integer general", "3 3 1\n1 1 1.5\n"),
            mtx!("coordinate integer general", "3 3 1\n1 1 9223372036854775808\n"),
            mtx!("coordinate unsigned-integer general", "3 3 1\n1 1 -1\n"),
            mtx!("coordinate pattern general", "3 3 1\n1 1 x\n"),
            mtx!("coordinate pattern general", "3 3 1\n1 1 1 2\n"),
            mtx!("coordinate real skew-symmetric", "3 3 1\n2 2 5\n"),
            mtx!("coordinate integer skew-symmetric", "3 3 1\n2 1 -9223372036854775808\n"),
            mtx!("coordinate real general", "0 3 1\n1 1 1\n"),
            mtx!("array real general", "2 2\n1\n2\n3\n"),
            mtx!("array real general", "2 2\n1\n2\n3\n4\n5\n"),
            mtx!("array real general", "1000000 1000000\n1\n"),
            mtx!("array real symmetric", "2 2\n1\n2\n3\n4\n"),
            mtx!("array integer general", "1 1\nx\n"),
            mtx!("array integer skew-symmetric", "3 3\n1\n-9223372036854775808\n2\n"),
            mtx!("array real general", "1 1\n\n"),
        ],
        &expect![[r#"
            a.mtx:4: expected 2 entries as in the header, found 1; the file is truncated or its header is wrong
            a.mtx:4: expected the end of the file after the 1 entry that the header announces, found `2`
            a.mtx:4: expected 18446744073709551615 entries as in the header, found 1; the file is truncated or its header is wrong
            a.mtx:5: coordinate 4 of mode 0 is out of range: the dimension is 3, and coordinates start at 1
            a.mtx:3: coordinate 0 of mode 1 is out of range: the dimension is 3, and coordinates start at 1
            a.mtx:3: expected a coordinate, found `-1`
            a.mtx:3: expected a coordinate, found `1.5`
            a.mtx:3: expected a number, found the end of the line
            a.mtx:3: expected a coordinate, found the end of the file
            a.mtx:3: expected a number, found `one`
            a.mtx:3: expected the end of the entry's line, found `1`
            a.mtx:3: value `1e999` does not fit f64; the largest f64 is about 1.8e308, and infinity is written as inf
            a.mtx:3: expected an integer, found `1.5`
            a.mtx:3: value `9223372036854775808` does not fit i64; declare another field in the banner, such as real
            a.mtx:3: value `-1` does not fit u64; declare another field in the banner, such as real
            a.mtx:3: expected a number, found `x`
            a.mtx:3: expected the end of the entry's line, found `2`
            a.mtx:3: expected zeros on the diagonal of a skew-symmetric matrix, found a nonzero value at row and column 2
            a.mtx:3: value -(-2^63) does not fit i64; the mirrored entry has the negated value; write the matrix as general
            a.mtx:3: coordinate 1 of mode 0 is out of range: the dimension is 0, and coordinates start at 1
            a.mtx:6: expected 4 entries as in the header, found 3; the file is truncated or its header is wrong
            a.mtx:7: expected the end of the file after the 4 entries that the header announces, found `5`
            a.mtx:4: expected 1000000000000 entries as in the header, found 1; the file is truncated or its header is wrong
            a.mtx:6: expected the end of the file after the 3 entries that the header announces, found `4`
            a.mtx:3: expected an integer, found `x`
            a.mtx:4: value -(-2^63) does not fit i64; the mirrored entry has the negated value; write the matrix as general
            a.mtx:4: expected 1 entry as in the header, found 0; the file is truncated or its header is wrong
        "#]],
    );
}

#[test]
fn frostt() {
    check(
        "a.tns",
        &[
            b"",
            b"# only a comment\n",
            b"5\n",
            b"x y z\n",
            b"1 2 3\n1 2 3 4\n",
            b"1 2 3 4\n1 2 3\n",
            b"1 2 3 4\n1 2\n",
            b"0 1 1\n",
            b"1 1.5 1\n",
            b"1 1 x\n",
            b"1 1 1e999\n",
            b"9223372036854775808 1 1\n",
            b"99999999999999999999 1 1\n",
            b"1 1 1 note\n",
            b"# extended FROSTT format\n",
            b"# extended FROSTT format\n2 1\n",
            b"# extended FROSTT format\n2 1\n3\n1 1 1\n",
            b"# extended FROSTT format\n2 1\n3 3 3\n1 1 1\n",
            b"# extended FROSTT format\n2 1\n3 3\n4 1 1\n",
            b"# extended FROSTT format\n2 1\n3 3\n",
            b"# extended FROSTT format\n2 1\n3 3\n1 1 1\n2 2 2\n",
            b"# extended FROSTT format\n18446744073709551615 1\n3 3\n",
            b"# extended FROSTT format\n0 1\n\n1\n",
            b"# dims 3 4\n4 1 1\n",
            b"# dims 3 4\n1 1 1 1\n",
            b"# dims 3 4\n1 1\n",
            &[b"1 ".repeat(100), b"\n".to_vec()].concat(),
        ],
        &expect![[r#"
            a.tns: expected a tensor, found an empty file
            a.tns: expected an entry, or a comment `# dims ..` that gives the shape, found a file without entries, which has no shape
            a.tns:1: expected coordinates and a value, separated by spaces, found only `5`
            a.tns:1: expected a coordinate, found `x`
            a.tns:2: expected the end of the line after 2 coordinates and a value, found `4`
            a.tns:2: expected an entry of 3 coordinates and a value, found the end of the line
            a.tns:2: expected an entry of 3 coordinates and a value, found the end of the line
            a.tns:1: coordinate 0 of mode 0 is out of range: a dimension is at most 2^63 - 1, and coordinates start at 1
            a.tns:1: expected a coordinate, found `1.5`
            a.tns:1: expected a number, found `x`
            a.tns:1: value `1e999` does not fit f64; the largest f64 is about 1.8e308, and infinity is written as inf
            a.tns:1: coordinate 9223372036854775808 of mode 0 is out of range: a dimension is at most 2^63 - 1, and coordinates start at 1
            a.tns:1: expected a coordinate, an integer below 2^64, found `99999999999999999999`
            a.tns:1: expected a number, found `note`
            a.tns:2: expected the line of rank and number of entries, found the end of the file
            a.tns:3: expected the line of dimensions, found the end of the file
            a.tns:3: expected a dimension, found the end of the line
            a.tns:3: expected the end of the line of dimensions, found `3`
            a.tns:4: coordinate 4 of mode 0 is out of range: the dimension is 3, and coordinates start at 1
            a.tns:4: expected 1 entry as in the header, found 0; the file is truncated or its header is wrong
            a.tns:5: expected the end of the file after the 1 entry that the header announces, found `2`
            a.tns:2: the rank is too large: 18446744073709551615; the maximum is 64
            a.tns:2: expected a rank of at least 1, found 0
            a.tns:2: coordinate 4 of mode 0 is out of range: the dimension is 3, and coordinates start at 1
            a.tns:2: expected the end of the line after 2 coordinates and a value, found `1`
            a.tns:2: expected an entry of 2 coordinates and a value, found the end of the line
            a.tns:1: the rank is too large: 99; the maximum is 64
        "#]],
    );
}

#[test]
fn numpy() {
    let f8 = |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    check(
        "a.npy",
        &[
            b"",
            b"\x93NUMPY",
            b"\x93NUMPY\x01\x00\xff",
            b"\x93NUMPY\x01\x00\xff\xff{'descr'",
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'",
            b"\x93NUMPY\x09\x00\x00\x00",
            &npy(&f8("(2,)"), &[0; 15]),
            &npy(&f8("(2,)"), &[0; 17]),
            &npy(&f8("(4611686018427387904,)"), &[0; 16]),
            &npy(&f8("(4294967296, 4294967296, 4294967296)"), &[0; 16]),
            &npy(&f8(&format!("({})", "1,".repeat(65))), &[0; 8]),
            &npy("{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", &[0; 12]),
            &npy("{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", &[0; 16]),
            &npy("{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", &[0; 8]),
            &npy("{'descr': '<x8', 'fortran_order': False, 'shape': (1,)}", &[0; 8]),
            &npy("{'descr': 'f8', 'fortran_order': False, 'shape': (1,)}", &[0; 8]),
            &npy("{'descr': '', 'fortran_order': False, 'shape': (1,)}", &[0; 8]),
            &npy("{'other': 1}", &[0; 8]),
            &npy("{'descr", &[0; 8]),
        ],
        &expect![[r#"
            a.npy: expected a tensor, found an empty file
            a.npy: expected a version and the length of the header, found the end of the file
            a.npy: expected a version and the length of the header, found the end of the file
            a.npy: expected 65535 bytes of the header, found 8; the file is truncated or its header is wrong
            a.npy: expected 4294967295 bytes of the header, found 8; the file is truncated or its header is wrong
            a.npy: not supported: version 9 of the .npy format; save it as version 1 to 3
            a.npy: expected 16 bytes of elements, found 15; the file is truncated or its header is wrong
            a.npy: expected the end of the file after 16 bytes of elements, found 1 more byte
            a.npy: expected at least 2^64 bytes of elements, found 16; the file is truncated or its header is wrong
            a.npy: the number of elements is too large: at least 2^64; the maximum is 18446744073709551615
            a.npy: the rank is too large: 65; the maximum is 64
            a.npy: not supported: an array of text; store codes of an integer dtype
            a.npy: not supported: floats of this width (dtype `<f16`); convert it with astype('f8') and save it again
            a.npy: not supported: dates and times (dtype `<M8[ns]`); convert it with astype('i8') and save it again
            a.npy: expected a type such as `<f8` for `descr`, found `<x8`
            a.npy: expected a type such as `<f8` for `descr`, found `f8`
            a.npy: expected a type such as `<f8` for `descr`, found ``
            a.npy: expected a key `descr`, `fortran_order` or `shape` in the header, found `other`
            a.npy: expected a string with a closing quote in the header, found `'descr`
        "#]],
    );
}

#[test]
fn archives() {
    let vector = |x: &[i64]| npy_i64(&[x.len() as u64], x);
    let csr = |shape: &[i64], indptr: &[i64], indices: &[i64], data: &[i64]| {
        let arrays = [
            ("shape", vector(shape)),
            ("indptr", vector(indptr)),
            ("indices", vector(indices)),
            ("data", vector(data)),
        ];
        npz(&[&[("format", npy_text("csr"))][..], &arrays].concat())
    };
    let coo = |shape: &[i64], row: &[i64], col: &[i64], data: &[i64]| {
        let arrays = [("shape", vector(shape)), ("row", vector(row)), ("col", vector(col)), ("data", vector(data))];
        npz(&[&[("format", npy_text("coo"))][..], &arrays].concat())
    };
    let bsr = |shape: &[i64], block: &[u64]| {
        let data = npy_i64(block, &vec![1; block.iter().product::<u64>() as usize]);
        let arrays = [("shape", vector(shape)), ("indptr", vector(&[0, 1])), ("indices", vector(&[0])), ("data", data)];
        npz(&[&[("format", npy_text("bsr"))][..], &arrays].concat())
    };
    let valid = csr(&[2, 2], &[0, 1, 1], &[0], &[5]);
    // The directory follows the last array.
    let directory = (0..valid.len()).find(|&at| valid[at..].starts_with(b"PK\x01\x02")).unwrap();
    let mut damaged = valid.clone();
    damaged[directory - 1] ^= 0xff;
    check(
        "a.npz",
        &[
            b"",
            b"PK\x03\x04 and no more",
            &valid[..valid.len() - 30],
            &damaged,
            b"a text",
            &npz(&[]),
            &npz(&[("a", vector(&[1])), ("b", vector(&[1]))]),
            &npz(&[("a", npy("{'descr': '|O', 'fortran_order': False, 'shape': ()}", b"\x80\x04N."))]),
            &npz(&[("a", b"not an array".to_vec())]),
            &npz(&[("a", npy_text("text"))]),
            &npz(&[("format", npy_text("lil")), ("data", vector(&[]))]),
            &npz(&[("format", vector(&[1])), ("data", vector(&[]))]),
            &npz(&[("format", npy_text("csr")), ("data", vector(&[]))]),
            &csr(&[2, 2, 2], &[0, 1, 1], &[0], &[5]),
            &csr(&[2, -2], &[0, 1, 1], &[0], &[5]),
            &csr(&[2, 2], &[0, 1], &[0], &[5]),
            &csr(&[9_000_000_000_000_000_000, 2], &[0, 1], &[0], &[5]),
            &csr(&[2, 2], &[1, 1, 1], &[0], &[5]),
            &csr(&[2, 2], &[0, 1, 0], &[0], &[5]),
            &csr(&[2, 2], &[0, 1, 2], &[0], &[5]),
            &csr(&[2, 2], &[0, 1, 1], &[2], &[5]),
            &csr(&[2, 2], &[0, 1, 1], &[-1], &[5]),
            &coo(&[2, 2], &[0, 1], &[0], &[5]),
            &coo(&[2, 2], &[0], &[2], &[5]),
            &coo(&[2, 2, 2], &[0], &[1], &[5]),
            &bsr(&[4, 3], &[1, 2, 2]),
            &bsr(&[4, 4], &[1, 0, 2]),
            &bsr(&[4, 4], &[1, 2]),
        ],
        &expect![[r#"
            a.npz: expected a tensor, found an empty file
            a.npz: the archive is truncated or damaged; fetch or save the file again
            a.npz: the archive is truncated or damaged; fetch or save the file again
            a.npz, array `data`: the array is truncated or damaged; fetch or save the file again
            a.npz: expected an archive, which begins with `PK`, found `a text`
            a.npz: expected one dense array, or a sparse array of SciPy or PyData with its `format`, found no array
            a.npz: expected one dense array, or a sparse array of SciPy or PyData with its `format`, found 2 arrays: `a`, `b`
            a.npz, array `a`: not supported: an array of Python objects, stored as a pickle (dtype `|O`); convert it with astype and save it again
            a.npz, array `a`: expected the magic string `\x93NUMPY`, found `not an`
            a.npz, array `a`: not supported: an array of text; store codes of an integer dtype
            a.npz, array `format`: expected a sparse format (coo, csr, csc, bsr, dia, gcxs), found `lil`
            a.npz, array `format`: expected a text, found an array of numbers
            a.npz, array `shape`: expected this array, found none
            a.npz, array `shape`: expected 1 to 2 modes for csr, found 3
            a.npz, array `shape`, entry 1: expected an integer that is not negative, found -2
            a.npz, array `indptr`: expected 3 entries, found 2
            a.npz, array `indptr`: expected 9000000000000000001 entries, found 2
            a.npz, array `indptr`, entry 0: expected 0, found 1
            a.npz, array `indptr`, entry 2: expected at least 1, the previous entry, found 0
            a.npz, array `indptr`, entry 2: expected at most 1, the number of entries, found 2
            a.npz, array `indices`, entry 0: coordinate 2 of mode 1 is out of range: the dimension is 2, and coordinates start at 0
            a.npz, array `indices`, entry 0: expected an integer that is not negative, found -1
            a.npz, array `row`: expected 1 entry, found 2
            a.npz, array `col`, entry 0: coordinate 2 of mode 1 is out of range: the dimension is 2, and coordinates start at 0
            a.npz, array `coords`: expected this array, because the shape does not have two modes, found none
            a.npz, array `shape`: expected a multiple of the block size 2 in mode 1, found 3
            a.npz, array `data`: expected values of 3 modes for bsr, found the shape [1, 0, 2]
            a.npz, array `data`: expected values of 3 modes for bsr, found the shape [1, 2]
        "#]],
    );
}

#[test]
fn images() {
    check(
        "a.pbm",
        &[b"", b"P5 1 1 1 a", b"P4 3", b"P4 3 x", b"P4 9 2\nabc", b"P1 2 2 0 1 0", b"P1 2 1 0 2"],
        &expect![[r#"
            a.pbm: expected a tensor, found an empty file
            a.pbm: expected the format Netpbm bitmap, as the file name indicates, found Netpbm graymap; give the file the extension .pgm
            a.pbm: expected the height, found ``
            a.pbm: expected the height, found `x`
            a.pbm: expected 4 bytes of pixels, found 3; the file is truncated or its header is wrong
            a.pbm: expected a pixel, 0 or 1, found ``
            a.pbm: expected a pixel, 0 or 1, found `2`
        "#]],
    );
    check(
        "a.pgm",
        &[
            b"P4 1 1 a",
            b"P2 1 1 0 0",
            b"P2 1 1 70000 0",
            b"P2 2 1 7 3 8",
            b"P2 2 1 7 3",
            b"P5 2 2 255 abc",
            b"P5 9999999999999999999 9999999999999999999 255 a",
        ],
        &expect![[r#"
            a.pgm: expected the format Netpbm graymap, as the file name indicates, found Netpbm bitmap; give the file the extension .pbm
            a.pgm: expected a largest grey level from 1 to 65535, found 0
            a.pgm: expected a largest grey level from 1 to 65535, found 70000
            a.pgm: expected grey levels up to 7, found 8
            a.pgm: expected a grey level, found ``
            a.pgm: expected 4 bytes of pixels, found 3; the file is truncated or its header is wrong
            a.pgm: the number of pixels is too large: at least 2^64; the maximum is 9223372036854775807
        "#]],
    );
    check(
        "a.idx",
        &[b"", b"\0\0\x07\x01", b"\0\0\x08\x02\0\0\0\x01", b"\0\0\x08\x01\0\0\0\x02a", b"\0\0\x08\x41"],
        &expect![[r#"
        a.idx: expected a tensor, found an empty file
        a.idx: expected two zero bytes, the code of a dtype and a rank, found `\x00\x00\x07\x01`
        a.idx: expected 8 bytes of dimensions, found 4; the file is truncated or its header is wrong
        a.idx: expected 2 bytes of elements, found 1; the file is truncated or its header is wrong
        a.idx: the number of modes is too large: 65; the maximum is 64
    "#]],
    );
}

#[test]
fn compressed_streams() {
    let text = mtx!("coordinate real general", "3 3 2\n1 1 1\n3 3 3\n");
    let zstd = zstd::encode_all(text, 1).unwrap();
    let mut damaged = zstd.clone();
    damaged[8] ^= 0xff;
    check(
        "a.mtx.zst",
        &[&zstd[..zstd.len() - 3], &damaged, b""],
        &expect![[r#"
        a.mtx.zst: the zstd stream is truncated or damaged (incomplete frame); fetch or compress the file again
        a.mtx.zst: the zstd stream is truncated or damaged (Data corruption detected); fetch or compress the file again
        a.mtx.zst: expected a zstd stream, as the file name indicates, found an empty file
    "#]],
    );
    check(
        "a.mtx.gz",
        &[b"\x1f\x8b\x08\x00\x00", b"\x1f\x8b\x09\x00\x00\x00\x00\x00\x00\x03\x01\x02"],
        &expect![[r#"
        a.mtx.gz: the gzip stream is truncated or damaged (unexpected end of file); fetch or compress the file again
        a.mtx.gz: the gzip stream is truncated or damaged (invalid gzip header); fetch or compress the file again
    "#]],
    );
}
