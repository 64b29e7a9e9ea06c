//! Tests of the detection of format and compression.

use expect_test::expect;
use redpoll_datasets::file_formats::{FILE_FORMATS, FileFormat};
use redpoll_datasets::{
    Compression, Content, Data, Info, Layout, ReadOptions, Values, WriteOptions, info, read, sample, write_bytes,
};
use redpoll_logic::Scalar;

fn matrix() -> Content {
    Content {
        shape: vec![2, 3],
        fill: Scalar::F64(0.0),
        layout: Layout::Coordinate,
        data: Data::Triples { coordinates: vec![vec![0, 1], vec![0, 2]], values: Values::F64(vec![1.0, 1.0]) },
    }
}

#[test]
fn formats_are_detected_by_extension_and_by_content() {
    let folder = tempfile::tempdir().unwrap();
    for &format in FILE_FORMATS {
        for (suffix, compression) in [("", Compression::None), (".gz", Compression::Gzip), (".zst", Compression::Zstd)]
        {
            let name = format!("a.{}{suffix}", format.extension.to_uppercase());
            let bytes = write_bytes(&name, &matrix(), &WriteOptions::default()).unwrap();
            for name in [&name, "without-extension"] {
                let path = folder.path().join(name);
                std::fs::write(&path, &bytes).unwrap();
                let loaded = read(&path, &ReadOptions::default()).unwrap();
                // Without the extension, the reader of NumPy archives reads an archive of
                // Binsparse.
                let is_inner = name == "without-extension" && format.extension == "bsp.npz";
                let format = if is_inner { FileFormat::of_extension("npz").unwrap() } else { format };
                assert_eq!((loaded.info.file_format, loaded.info.compression), (format, compression), "{name}");
                let header: Info = info(&path).unwrap();
                assert_eq!(header, loaded.info, "{name}");
            }
        }
    }
}

#[test]
fn concatenated_streams_are_one_file() {
    let karate = sample("karate").unwrap().bytes;
    let (a, b) = karate.split_at(500);
    let gzip = |part: &[u8]| {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |part: &[u8]| zstd::encode_all(part, 1).unwrap();
    for (name, bytes) in [("k.mtx.gz", [gzip(a), gzip(b)].concat()), ("k.mtx.zst", [zstd(a), zstd(b)].concat())] {
        assert_eq!(crate::load(name, &bytes).unwrap().data.values().len(), 156, "{name}");
    }
}

/// Asserts that a file with an unknown extension is an edge list if its lines are pairs of
/// integers, as in the collection SNAP. Lines of three numbers are entries with a value.
#[test]
fn pairs_of_integers_are_edges() {
    for text in ["0 1\n1 2\n3 0\n", "# Nodes: 4\n0\t1\n1\t2\n3\t0\n"] {
        let graph = crate::load("graph.txt", text.as_bytes()).unwrap().info;
        assert_eq!((graph.shape, graph.fill), (vec![4, 4], Scalar::Bool(false)), "{text}");
    }
    let tensor = crate::load("tensor.txt", b"1 1 2\n2 3 4\n").unwrap().info;
    assert_eq!((tensor.shape, tensor.fill), (vec![2, 3], Scalar::F64(0.0)));
}

#[test]
fn unknown_formats_are_rejected() {
    let message = |name: &str, bytes: &[u8]| crate::load(name, bytes).unwrap_err().to_string();
    expect![
        "a.txt: unknown file format; known extensions are .mtx, .npy, .npz, .bsp.npz, .rpt, .pbm, .pgm, .idx, .csv, .tsv, .tns, each optionally followed by .gz or .zst"
    ]
    .assert_eq(&message("a.txt", b"two, words\n"));
    expect!["a.mtx.gz: expected a gzip stream, as the file name indicates, found other content; correct the extension"]
        .assert_eq(&message("a.mtx.gz", sample("karate").unwrap().bytes));
    expect![
        "a.npy: expected the format NumPy array, as the file name indicates, found Matrix Market; give the file the extension .mtx"
    ]
    .assert_eq(&message("a.npy", sample("karate").unwrap().bytes));
    // The banner of Matrix Market would be a comment of an edge list.
    expect![
        "a.csv: expected the format CSV edge list, as the file name indicates, found Matrix Market; give the file the extension .mtx"
    ]
    .assert_eq(&message("a.csv", sample("karate").unwrap().bytes));
    expect![
        "a.mtx: expected the format Matrix Market, as the file name indicates, found CSV edge list; give the file the extension .csv"
    ]
    .assert_eq(&message("a.mtx", b"row,column\n0,1\n"));
    let error = read("no/such/file.mtx", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("no/such/file.mtx: "), "{error}");
}
