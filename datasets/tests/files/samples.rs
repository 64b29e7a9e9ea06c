//! Tests that every sample can be read, and has the published sizes and counts.

use crate::{load, nonzeros};
use redpoll_datasets::{Data, SAMPLES, sample};
use redpoll_logic::Scalar;
use std::collections::BTreeSet;

fn edges(name: &str) -> (Vec<u64>, BTreeSet<(u64, u64)>) {
    let file = sample(name).unwrap();
    let loaded = load(file.file_name, file.bytes).unwrap();
    let Data::Triples { coordinates, .. } = &loaded.data else { panic!("a coordinate file") };
    let pairs: Vec<_> = coordinates[0].iter().copied().zip(coordinates[1].iter().copied()).collect();
    let set: BTreeSet<_> = pairs.iter().copied().collect();
    assert_eq!(set.len(), pairs.len(), "no entry is repeated");
    (loaded.info.shape, set)
}

#[test]
fn karate() {
    let (shape, edges) = edges("karate");
    assert_eq!((shape, edges.len()), (vec![34, 34], 2 * 78));
    let degree = |v: u64| edges.iter().filter(|e| e.0 == v).count();
    // The instructor, the president, and the only member with a single friend.
    assert_eq!((degree(0), degree(33), degree(11)), (16, 17, 1));
    let triangles = edges
        .iter()
        .filter(|(i, j)| i < j)
        .map(|&(i, j)| (j + 1..34).filter(|&k| edges.contains(&(i, k)) && edges.contains(&(j, k))).count());
    assert_eq!(triangles.sum::<usize>(), 45);
}

#[test]
fn davis() {
    let (shape, edges) = edges("davis");
    assert_eq!((shape, edges.len()), (vec![18, 14], 89));
    let attendance: Vec<usize> = (0..14).map(|event| edges.iter().filter(|e| e.1 == event).count()).collect();
    assert_eq!(attendance, [3, 3, 6, 4, 8, 8, 10, 14, 12, 5, 4, 6, 3, 3]);
}

#[test]
fn berkeley() {
    let file = sample("berkeley.tns").unwrap();
    let loaded = load(file.file_name, file.bytes).unwrap();
    assert_eq!(loaded.info.shape, [6, 2, 2]);
    let entries = nonzeros(&loaded.info.shape, &loaded.data);
    let total = |mode: usize, at: u64| -> f64 {
        entries.iter().filter(|(p, _)| p[mode] == at).flat_map(|(_, v)| v).filter_map(Scalar::to_f64).sum()
    };
    // Applicants by sex, and by outcome.
    assert_eq!((total(1, 0), total(1, 1)), (2691.0, 1835.0));
    assert_eq!((total(2, 0), total(2, 1)), (1755.0, 2771.0));
}

#[test]
fn every_sample_can_be_read() {
    for file in SAMPLES {
        assert!(load(file.file_name, file.bytes).is_ok(), "{}", file.file_name);
    }
    assert!(sample("nothing").is_none());
}
