//! Small valid files of every format and layout.

use crate::content::{Content, Data, Layout, Symmetry};
use crate::file_format::WriteOptions;
use crate::values::Values;
use crate::write::{write_bytes, write_tensor_bytes};
use redpoll_logic::Scalar;
use std::io::{Cursor, Write};
use std::sync::LazyLock;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A file as a list of parts, each of which mutations can change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileSample {
    /// The name of the file.
    pub(super) name: &'static str,
    /// Either one part without a name, which is the whole file, or the arrays of an archive with
    /// their names.
    pub(super) parts: Vec<(String, Vec<u8>)>,
}

impl FileSample {
    fn new(name: &'static str, bytes: impl Into<Vec<u8>>) -> FileSample {
        FileSample { name, parts: vec![(String::new(), bytes.into())] }
    }

    fn archive(arrays: &[(&str, Vec<u8>)]) -> FileSample {
        FileSample {
            name: "a.npz",
            parts: arrays.iter().map(|(name, bytes)| (format!("{name}.npy"), bytes.clone())).collect(),
        }
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        if let [(name, bytes)] = &self.parts[..]
            && name.is_empty()
        {
            return bytes.clone();
        }
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in &self.parts {
            // A second array of the same name is left out.
            if zip.start_file(name, SimpleFileOptions::default()).is_ok() {
                zip.write_all(bytes).expect("writing to memory cannot fail");
            }
        }
        zip.finish().expect("writing to memory cannot fail").into_inner()
    }
}

/// Returns all samples.
pub(super) fn all() -> &'static [FileSample] {
    static ALL: LazyLock<Vec<FileSample>> = LazyLock::new(|| {
        let mut all = texts();
        all.extend(written_files());
        all.extend(archives());
        all.extend(stored_tensors());
        all
    });
    &ALL
}

fn texts() -> Vec<FileSample> {
    let mtx = |name, banner: &str, rest: &str| FileSample::new(name, format!("%%MatrixMarket matrix {banner}\n{rest}"));
    vec![
        mtx("a.mtx", "coordinate real general", "% a comment\n3 4 3\n1 1 1.5\n2 4 -2e3\n3 2 nan\n"),
        mtx("a.mtx", "coordinate integer skew-symmetric", "3 3 3\n1 1 0\n2 1 5\n3 2 -7.0 % note\n"),
        mtx("a.mtx", "coordinate pattern symmetric", "4 4 3\n1 1\n2 1 1\n4 3\n"),
        mtx("a.mtx", "coordinate unsigned-integer general", "1 2 1\n1 2 18446744073709551615\n"),
        mtx("a.mtx", "array real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n"),
        mtx("a.mtx", "array integer general", "2 3\n1\n2\n3\n4\n5\n6\n"),
        FileSample::new("a.tns", "# a comment\n1 2 3 1.5\n2 1 1 -2 # note\n2 2 3 4\n"),
        FileSample::new("a.tns", "# dims 5 5\n1 1 1\n5 4 2\n"),
        FileSample::new("a.tns", "# extended FROSTT format\n3 2\n4 5 6\n1 2 3 4\n2 2 2 2\n"),
        FileSample::new("a.csv", "row,column,value\n0,1,2.5\n3.0,2,-1\n2,2,7\n"),
        FileSample::new("a.csv", "# dims 9 9\n\"a,b\",c\n\"d\"\"\",e\nc,c\n"),
        FileSample::new("a.csv", "\u{feff}Source;Target;Label;Weight\r\n0;1;a,b;2\r\n1;2;c,d;3\r\n"),
        FileSample::new("a.csv", "i0,i1,i2,value\n0,1,2,3\n1,1,0,18446744073709551615\n"),
        FileSample::new("a.tsv", "# Directed graph\n0\t1\n0\t2\n3\t0\n"),
        FileSample::new("a.tsv", "% sym weighted\n1 2   5\n2  3 7\n"),
        FileSample::new("a.pbm", "P1 # note\n3 2\n0 1 0\n1 1 0\n"),
        FileSample::new("a.pbm", b"P4\n11 2\n\xa0\x20\x01\xc0"),
        FileSample::new("a.pgm", "P2\n2 2\n255\n0 10\n255 7\n"),
        FileSample::new("a.pgm", b"P5 2 2 300 \x01\x00\x00\x05\x00\x00\x00\x01"),
        FileSample::new("a.idx", b"\0\0\x08\x02\0\0\0\x02\0\0\0\x03abcdef"),
        FileSample::new("a.idx", b"\0\0\x0d\x01\0\0\0\x01\x3f\x80\0\0"),
    ]
}

/// Returns files created by the writers, some of them compressed.
fn written_files() -> Vec<FileSample> {
    let content = |layout| Content {
        shape: vec![4, 4],
        fill: Scalar::F64(0.0),
        layout,
        data: Data::Triples {
            coordinates: vec![vec![0, 1, 1, 3], vec![1, 0, 1, 3]],
            values: Values::F64(vec![2.5, 2.5, -1e30, 7.0]),
        },
    };
    let write = |(name, layout, symmetry)| {
        let options = WriteOptions { symmetry, ..WriteOptions::default() };
        FileSample::new(name, write_bytes(name, &content(layout), &options).expect("the format supports matrices"))
    };
    let files = [
        ("a.mtx.gz", Layout::Coordinate, Symmetry::Symmetric),
        ("a.mtx.zst", Layout::Array, Symmetry::Symmetric),
        ("a.tns.zst", Layout::Coordinate, Symmetry::General),
        ("a.npy", Layout::Array, Symmetry::General),
        ("a.npz", Layout::Csc, Symmetry::General),
        ("a.npz", Layout::Array, Symmetry::General),
        ("a.rpt.gz", Layout::Coordinate, Symmetry::General),
        ("a.bsp.npz", Layout::Csr, Symmetry::General),
        ("a.bsp.npz", Layout::Coordinate, Symmetry::General),
        ("a.bsp.npz", Layout::Array, Symmetry::General),
    ];
    files.into_iter().map(write).collect()
}

/// Returns files that contain the arrays of tensors, in formats that need different checks.
fn stored_tensors() -> Vec<FileSample> {
    let content = |values: Values, fill: Scalar| Content {
        shape: vec![3, 5],
        fill,
        layout: Layout::Coordinate,
        data: Data::Triples { coordinates: vec![vec![0, 0, 1, 2], vec![1, 2, 4, 0]], values },
    };
    let formats = [
        "csr",
        "coo",
        "csf",
        "(bcsr 2 2)",
        "dia",
        "(dense (run-length (element)))",
        "(sparse-run-length (run-length (element)))",
        "(dense (hash (element)))",
        "(dense (byte-map (element)))",
        "(dense (bit-map (element)))",
        "(sparse-list unordered (sparse-list (element)))",
        "(dense (block-list (element)))",
    ];
    let store = |format: &str, content: Content| {
        let format = redpoll_logic::text::parse_format(format, 2).expect("a format of matrices");
        let tensor = content.into_tensor(Some(format)).expect("the format stores any matrix");
        FileSample::new("a.rpt", write_tensor_bytes("a.rpt", &tensor, &WriteOptions::default()).expect("any tensor"))
    };
    let mut files: Vec<FileSample> =
        formats.map(|format| store(format, content(Values::F32(vec![1.5, 1.5, -2.0, 7.0]), Scalar::F32(0.5)))).into();
    let flags = || content(Values::Bool(vec![true; 4]), Scalar::Bool(false));
    files.push(store("(dense (sparse-list (pattern)))", flags()));
    files.push(store("(sparse-run-length (sparse-list (pattern)))", flags()));
    files.push(store("(dense (sparse-list (element)))", flags()));
    files
}

fn archives() -> Vec<FileSample> {
    let vector = |numbers: &[i64]| npy(&[numbers.len()], numbers);
    let shape = || ("shape", vector(&[2, 4]));
    let coords = || ("coords", npy(&[3, 2], &[0, 1, 1, 1, 8, 0]));
    let cube_shape = || ("shape", vector(&[2, 2, 9]));
    vec![
        FileSample::archive(&[
            ("format", text("csr")),
            shape(),
            ("indptr", vector(&[0, 2, 3])),
            ("indices", vector(&[3, 1, 0])),
            ("data", vector(&[5, 6, 7])),
        ]),
        FileSample::archive(&[
            ("format", text("bsr")),
            shape(),
            ("indptr", vector(&[0, 1])),
            ("indices", vector(&[1])),
            ("data", npy(&[1, 2, 2], &[1, 2, 3, 4])),
        ]),
        FileSample::archive(&[
            ("format", text("dia")),
            shape(),
            ("offsets", vector(&[1, -1])),
            ("data", npy(&[2, 4], &[9, 1, 2, 9, 3, 9, 9, 9])),
        ]),
        FileSample::archive(&[("format", text("coo")), cube_shape(), coords(), ("data", vector(&[5, 6]))]),
        FileSample::archive(&[
            ("format", text("coo")),
            cube_shape(),
            coords(),
            ("data", vector(&[5, 6])),
            ("fill_value", npy(&[], &[-1])),
        ]),
        FileSample::archive(&[
            ("format", text("coo")),
            ("shape", vector(&[])),
            ("coords", npy(&[0, 1], &[])),
            ("data", vector(&[5])),
            ("fill_value", npy(&[], &[3])),
        ]),
        FileSample::archive(&[
            ("format", text("gcxs")),
            ("shape", vector(&[2, 2, 3])),
            ("compressed_axes", vector(&[1, 2])),
            ("indptr", vector(&[0, 1, 1, 1, 1, 1, 3])),
            ("indices", vector(&[1, 0, 1])),
            ("data", vector(&[7, 8, 9])),
            ("fill_value", npy(&[], &[5])),
        ]),
        FileSample::archive(&[
            ("binsparse", text(CUSTOM_BINSPARSE)),
            ("pointers_to_1", vector(&[0, 2, 2, 3])),
            ("indices_1", vector(&[0, 3, 1])),
            ("values", npy(&[6], &[1, 2, 3, 4, 5, 6])),
            ("fill_value", npy(&[1], &[7])),
        ]),
        FileSample::archive(&[
            ("binsparse", text(ISO_BINSPARSE)),
            ("indices_0", vector(&[1, 1, 0])),
            ("indices_1", vector(&[0, 2, 3])),
            ("values", npy(&[1], &[5])),
        ]),
    ]
}

/// A descriptor of a tensor of 4 x 3 x 2 elements, whose outermost level stores the second mode.
const CUSTOM_BINSPARSE: &str = r#"{"binsparse": {"version": "0.1", "format": "custom", "shape": [4, 3, 2],
"number_of_stored_values": 6, "fill": true, "data_types": {"values": "int64", "fill_value": "int64"}, "custom":
{"transpose": [1, 0, 2], "level": {"level_desc": "dense", "rank": 1, "level": {"level_desc": "sparse", "rank": 1,
"level": {"level_desc": "dense", "rank": 1, "level": {"level_desc": "element"}}}}}}}"#;

/// A descriptor of a matrix with one value for all entries.
const ISO_BINSPARSE: &str = r#"{"binsparse": {"version": "0.1", "format": "COO", "shape": [2, 4],
"number_of_stored_values": 3, "data_types": {"values": "iso[int64]"}}}"#;

/// Returns a `.npy` file of numbers.
fn npy(shape: &[usize], numbers: &[i64]) -> Vec<u8> {
    let shape: String = shape.iter().map(|d| format!("{d},")).collect();
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({shape})}}");
    let numbers = numbers.iter().flat_map(|x| x.to_le_bytes());
    frame_npy(&header).into_iter().chain(numbers).collect()
}

/// Returns a `.npy` file of a text.
fn text(text: &str) -> Vec<u8> {
    let header = format!("{{'descr': '|S{}', 'fortran_order': False, 'shape': ()}}", text.len());
    [frame_npy(&header), text.into()].concat()
}

fn frame_npy(header: &str) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat()
}
