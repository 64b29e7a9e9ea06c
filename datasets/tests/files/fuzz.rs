//! Damaged files give an error or a value, and never a panic, a hang or an allocation beyond their size.

use crate::{npy_i64, npy_text, npz};
use proptest::prelude::*;
use redpoll_datasets::{Content, Data, Layout, Symmetry, Values, WriteOptions, sample, write_bytes};
use redpoll_logic::Scalar;
use std::sync::LazyLock;

/// Valid files of every format and layout.
static FILES: LazyLock<Vec<(&'static str, Vec<u8>)>> = LazyLock::new(|| {
    let matrix = |layout| Content {
        shape: vec![4, 4],
        fill: Scalar::F64(0.0),
        layout,
        data: Data::Triples {
            coordinates: vec![vec![0, 1, 1, 3], vec![1, 0, 1, 3]],
            values: Values::F64(vec![2.5, 2.5, -1e30, 7.0]),
        },
    };
    let write = |name, layout, symmetry| {
        let options = WriteOptions { symmetry, ..WriteOptions::default() };
        (name, write_bytes(name, &matrix(layout), &options).unwrap())
    };
    let vector = |x: &[i64]| npy_i64(&[x.len() as u64], x);
    let shape = || ("shape", vector(&[2, 4]));
    vec![
        write("a.mtx", Layout::Coordinate, Symmetry::General),
        write("a.mtx", Layout::Coordinate, Symmetry::Symmetric),
        write("a.mtx", Layout::Array, Symmetry::Symmetric),
        write("a.mtx.gz", Layout::Array, Symmetry::General),
        write("a.mtx.zst", Layout::Coordinate, Symmetry::General),
        write("a.tns", Layout::Coordinate, Symmetry::General),
        write("a.csv", Layout::Coordinate, Symmetry::General),
        ("a.csv", b"# dims 9 9\n\"a,b\",c\n\"d\"\"\",e\n".to_vec()),
        write("a.tsv", Layout::Coordinate, Symmetry::General),
        ("a.tns", b"# extended FROSTT format\n3 2\n4 5 6\n1 2 3 4\n2 2 2 2\n".to_vec()),
        ("a.tns", sample("berkeley").unwrap().bytes.to_vec()),
        write("a.npy", Layout::Array, Symmetry::General),
        write("a.idx", Layout::Array, Symmetry::General),
        ("a.pbm", b"P4\n# four rows\n11 2\n\xa0\x20\x01\xc0".to_vec()),
        ("a.pbm", b"P1 3 2 01 10 11".to_vec()),
        ("a.pgm", b"P5 2 2 300 \x01\x00\x00\x05\x00\x00\x00\x01".to_vec()),
        ("a.pgm", b"P2\n2 2\n255\n0 10\n255 7\n".to_vec()),
        write("a.npz", Layout::Array, Symmetry::General),
        write("a.npz", Layout::Csr, Symmetry::General),
        write("a.npz", Layout::Csc, Symmetry::General),
        write("a.npz", Layout::Coordinate, Symmetry::General),
        (
            "bsr.npz",
            npz(&[
                ("format", npy_text("bsr")),
                shape(),
                ("indptr", vector(&[0, 1])),
                ("indices", vector(&[1])),
                ("data", npy_i64(&[1, 2, 2], &[1, 2, 3, 4])),
            ]),
        ),
        (
            "dia.npz",
            npz(&[
                ("format", npy_text("dia")),
                shape(),
                ("offsets", vector(&[1, -1])),
                ("data", npy_i64(&[2, 4], &[9, 1, 2, 9, 3, 9, 9, 9])),
            ]),
        ),
        (
            "coo.npz",
            npz(&[
                ("format", npy_text("coo")),
                ("shape", vector(&[2, 2, 9])),
                ("coords", npy_i64(&[3, 2], &[0, 1, 1, 1, 8, 0])),
                ("data", vector(&[5, 6])),
            ]),
        ),
    ]
});

/// Reads the file under its own name and under none; storing what came of it must not fail badly either.
fn survive(name: &str, bytes: &[u8]) {
    for name in [name, "nameless"] {
        if let Ok(loaded) = crate::load(name, bytes) {
            let values = loaded.data.values().len() as u64;
            match &loaded.data {
                Data::Dense(_) => assert_eq!(loaded.info.shape.iter().product::<u64>(), values),
                Data::Triples { coordinates, .. } => {
                    assert_eq!(coordinates.len(), loaded.info.shape.len());
                    for (mode, &dimension) in coordinates.iter().zip(&loaded.info.shape) {
                        assert_eq!(mode.len() as u64, values);
                        assert!(mode.iter().all(|&i| i < dimension));
                    }
                }
            }
            if let Ok((tensor, _)) = loaded.into_tensor(None) {
                tensor.validate().unwrap();
            }
        }
    }
}

#[test]
fn every_truncation() {
    for (name, bytes) in FILES.iter() {
        for length in 0..bytes.len() {
            survive(name, &bytes[..length]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes(
        file in 0..FILES.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (name, bytes) = &FILES[file];
        let mut bytes = bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survive(name, &bytes);
    }

    /// Digits and separators in place of each other keep a text nearly well-formed, which gets further in.
    #[test]
    fn shuffled_text(
        file in 0..11usize,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0123456789 \n\t.-+eE%#,;\"x".to_vec())), 1..6),
    ) {
        let (name, bytes) = &FILES[file];
        let mut bytes = bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survive(name, &bytes);
    }
}
