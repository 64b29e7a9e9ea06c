//! Arrays from files, which are read immediately or by the first plan that needs the values. Also
//! random arrays, the memory limit, the text of arrays, and single elements.

use redpoll::datasets::file_formats::edge_list::EdgeListOptions;
use redpoll::prelude::*;
use std::fs;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Files of several formats, plain and compressed, return the array that was written to them.
#[test]
fn arrays_are_read_back() {
    let (folder, session) = (folder(), Session::default());
    let a = session.triples([3, 4], Format::csr(), [([0, 1], 2.5), ([2, 3], -1.0)]);
    for name in ["a.mtx", "a.npz", "a.npy", "a.tns", "a.csv.gz", "a.mtx.zst", "a.rpt", "a.rpt.gz"] {
        let path = folder.path().join(name);
        a.write(&path).unwrap();
        for read in [session.read(&path).unwrap(), session.scan(&path).array().unwrap()] {
            assert_eq!(read.astype(Prim::F64).entries::<f64>().unwrap(), a.entries::<f64>().unwrap(), "{name}");
        }
    }
    let error = a.write(folder.path().join("a.unknown")).unwrap_err().to_string();
    assert!(error.contains("a.unknown"), "{error}");
    let error = session.read(folder.path().join("missing.mtx")).unwrap_err().to_string();
    assert!(error.contains("missing.mtx"), "{error}");
}

/// A file in redpoll's own format keeps the storage format and the fill value.
#[test]
fn tensors_are_read_back_as_they_are_stored() {
    let (folder, session) = (folder(), Session::default());
    let path = folder.path().join("a.rpt");
    let a = session.triples([3, 4], Format::csc(), [([0, 1], 2.5), ([2, 3], -1.0)]);
    let b = &a + 1.5;
    b.write(&path).unwrap();
    for read in [session.read(&path).unwrap(), session.scan(&path).array().unwrap()] {
        let (found, expected) = (read.collect().unwrap(), b.collect().unwrap());
        assert_eq!(found.ty(), expected.ty());
        assert_eq!(read.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
    }
    let rows = session.scan(&path).format(Format::csr()).dtype(Prim::F32).array().unwrap();
    assert_eq!(rows.collect().unwrap().ty().format, Format::csr());
    assert_eq!(rows.sum(..).item::<f32>().unwrap(), 19.5);
}

/// The values of a scanned file with a header are read by the first plan that needs them, and kept
/// for later plans. If the read fails, the next plan reads the file again. A header that has
/// changed since the scan is an error.
#[test]
fn scans_read_when_values_are_needed() {
    let (folder, session) = (folder(), Session::default());
    let path = folder.path().join("a.mtx");
    session.triples([3, 4], Format::csr(), [([0, 1], 2.0), ([2, 3], 5.0)]).write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let scan = session.scan(&path).dtype(Prim::F32).format(Format::csc());
    let array = scan.array().unwrap();
    fs::write(&path, text.replace("5", "six")).unwrap();
    assert_eq!((array.shape().unwrap(), array.dtype().unwrap()), (vec![3, 4], Prim::F32.into()));
    let double = &array * 2;
    let error = double.collect().unwrap_err().to_string();
    assert!(error.contains("six"), "{error}");
    fs::write(&path, &text).unwrap();
    assert_eq!(double.sum(..).item::<f32>().unwrap(), 14.0);
    fs::remove_file(&path).unwrap();
    assert_eq!(array.get::<f32>([2, 3]).unwrap(), 5.0, "the tensor is kept");
    assert_eq!(array.collect().unwrap().ty().format, Format::csc());

    // The header has changed since the scan.
    fs::write(&path, &text).unwrap();
    let array = scan.array().unwrap();
    session.zeros([5, 4], Prim::F64).to_csr().write(&path).unwrap();
    let error = array.sum(..).item::<f32>().unwrap_err().to_string();
    assert!(error.contains("has changed after it was scanned"), "{error}");
}

/// A scan of an edge list has options for the columns, the dtype and the first vertex, and can
/// return the names of the vertices.
#[test]
fn edge_lists_have_options() {
    let (folder, session) = (folder(), Session::default());
    let path = folder.path().join("ratings.csv");
    fs::write(&path, "user,day,film,stars\nann,1,Solaris,5\nbob,2,Alien,4\nann,3,Alien,2\n").unwrap();
    let scan = session.scan(&path).columns(["user", "film"]).values("stars").vertices_per_mode();
    let (ratings, names) = scan.read_with_names().unwrap();
    assert_eq!(ratings.to_vec::<i64>().unwrap(), [5, 2, 0, 4]);
    let names: Vec<Vec<&str>> = names.iter().map(|names| names.as_ref().unwrap().names().collect()).collect();
    assert_eq!(names, [["ann", "bob"], ["Solaris", "Alien"]]);
    assert_eq!(scan.dtype(Prim::F64).array().unwrap().max(..).item::<f64>().unwrap(), 5.0);
    let error = session.scan(&path).columns(["user", "genre"]).read().unwrap_err().to_string();
    assert!(error.contains("genre"), "{error}");
    let numbers = folder.path().join("numbers.csv");
    fs::write(&numbers, "1,2,0.5\n2,1,1.5\n").unwrap();
    let from_one = EdgeListOptions { first: 1, ..EdgeListOptions::default() };
    assert_eq!(session.scan(&numbers).edge_list(from_one).read().unwrap().shape().unwrap(), [2, 2]);
}

/// Files and random arrays count against the memory limit of their session.
#[test]
fn files_count_against_the_memory_limit() {
    let (folder, session) = (folder(), Session::default());
    let path = folder.path().join("a.npy");
    session.random([100, 100]).array().unwrap().write(&path).unwrap();
    let small = Session::new(Config { memory_limit: Some(50_000), ..Config::default() });
    for error in [small.read(&path).unwrap_err(), small.random([100, 100]).array().unwrap_err()] {
        assert!(error.to_string().contains("limit"), "{error}");
    }
    assert!(small.scan(&path).array().unwrap().sum(..).item::<f64>().is_err());
    let large = Session::new(Config { memory_limit: Some(2_000_000), ..Config::default() });
    let array = large.read(&path).unwrap();
    assert!(large.limits().memory.used() >= 80_000);
    drop(array);
    assert_eq!(large.limits().memory.used(), 0);
}

/// Random arrays have the requested shape, dtype and distribution. Equal descriptions with equal
/// seeds give equal arrays, and impossible descriptions are errors.
#[test]
fn random_arrays_follow_their_description() {
    let session = Session::default();
    let uniform = session.random([50, 40]);
    assert_eq!(uniform.array().unwrap().collect().unwrap().ty().format, Format::dense(2));
    let values = |array: Array| array.to_vec::<f64>().unwrap();
    let drawn = values(uniform.array().unwrap());
    assert!(drawn.iter().all(|v| (0.0..1.0).contains(v)) && drawn.iter().any(|v| *v > 0.9));
    assert_eq!(values(session.random([50, 40]).array().unwrap()), drawn);
    assert_ne!(values(session.random([50, 40]).seed(1).array().unwrap()), drawn);
    let sparse = session.random([200, 300]).density(0.05).integers(2, 4).array().unwrap();
    assert_eq!((sparse.dtype().unwrap(), sparse.fill().unwrap()), (DType::I64, 0i64.into()));
    let stored = sparse.entries::<i64>().unwrap();
    assert!((2500..3500).contains(&stored.len()) && stored.iter().all(|(_, v)| (2..=4).contains(v)));
    let normal = session.random([10_000]).normal(3.0, 0.5).dtype(Prim::F32).array().unwrap();
    assert!((normal.mean(0).item::<f32>().unwrap() - 3.0).abs() < 0.05);
    assert!((normal.std(0, 1.0).item::<f32>().unwrap() - 0.5).abs() < 0.05);
    let wrong = [
        session.random([2]).density(1.5),
        session.random([2]).normal(0.0, -1.0),
        session.random([1 << 40]),
        session.random([1 << 40, 1 << 40]).density(0.5),
    ];
    for description in wrong {
        assert!(description.array().is_err(), "{description:?}");
    }
    assert_eq!(session.random([0, 3]).array().unwrap().shape().unwrap(), [0, 3]);
}

/// The text of an array is the text of its tensor, or of its error.
#[test]
fn arrays_print() {
    let session = Session::default();
    assert_eq!(session.vector([1.0, 2.5]).to_string(), "2 f64, fill 0.0, (dense)\n[1.0, 2.5]");
    assert_eq!(format!("{:.1}", session.vector([1.0, 2.25]).sum(..)), "3.2");
    let wrong = session.vector([1, 2]) + session.vector([1, 2, 3]);
    assert!(wrong.to_string().starts_with("error: "), "{wrong}");
    // A run may stand for more elements than fit any list.
    let long = session.vector([1.0, 2.0]).repeat(1 << 40, 0).reformat(runs());
    assert!(long.to_string().ends_with("[1.0, 1.0, 1.0, .., 2.0, 2.0, 2.0]"), "{long}");
    let lines = session.vector((0..40).collect::<Vec<i64>>()).to_string();
    let lines: Vec<&str> = lines.lines().skip(1).collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.len() <= 75), "{lines:?}");
    assert!(lines[0].ends_with("16, 17,") && lines[1].starts_with(" 18, 19"), "{lines:?}");
}

fn runs() -> Format {
    Format::dense_above(redpoll::logic::LevelKind::RunLength, 1)
}

/// A single element is returned whatever the number of modes; several elements are an error.
#[test]
fn items_are_single_elements() {
    let session = Session::default();
    assert_eq!(session.dense([1, 1, 1], [7u8]).item::<u8>().unwrap(), 7);
    assert!(session.full([], true).item::<bool>().unwrap());
    let error = session.vector([1, 2]).item::<i32>().unwrap_err().to_string();
    assert!(error.contains("expected one element, found an array of shape [2]"), "{error}");
    let error = session.vector([1]).item::<f64>().unwrap_err().to_string();
    assert!(error.ends_with("cast the array first: `astype(Prim::F64)`"), "{error}");
}
