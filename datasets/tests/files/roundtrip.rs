//! Round-trip tests of every file format, with the layouts and primitive types that the format can
//! store, for several ranks.

use crate::{PRIMS, nonzeros};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use redpoll_datasets::{Content, Data, Layout, ReadOptions, Symmetry, Values, WriteOptions, read_bytes, write_bytes};
use redpoll_logic::{Prim, Scalar};
use std::collections::BTreeMap;

/// Generates a small value, or a value with arbitrary bits. With `exact_in_f64`, integers have at
/// most 50 bits.
fn scalar(prim: Prim, exact_in_f64: bool) -> impl Strategy<Value = Scalar> {
    prop_oneof![
        (-3i64..4).prop_map(move |v| {
            let v = if prim.is_signed() { v } else { v.abs() };
            Scalar::I64(v).cast(prim).unwrap()
        }),
        any::<u64>().prop_map(move |bits| {
            let bits = if exact_in_f64 && prim.is_int() { bits & ((1 << 50) - 1) } else { bits };
            Scalar::from_bits(prim, bits)
        }),
    ]
}

fn values(prim: Prim, scalars: &[Scalar]) -> Values {
    macro_rules! collect {
        ($($variant:ident),*) => {
            match prim {
                $(Prim::$variant => Values::$variant(
                    scalars.iter().map(|s| match s { Scalar::$variant(v) => *v, other => panic!("{other}") }).collect(),
                ),)*
            }
        };
    }
    collect!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64)
}

/// Generates a tensor of one of the given ranks, with entries in ascending or descending order.
fn content(
    prim: Prim,
    ranks: std::ops::RangeInclusive<usize>,
    layout: Layout,
    exact_in_f64: bool,
) -> impl Strategy<Value = Content> {
    let dense = layout == Layout::Array;
    let shapes = ranks.prop_flat_map(|rank| proptest::collection::vec(0u64..6, rank));
    let value = move || scalar(prim, exact_in_f64);
    let entries = shapes.prop_flat_map(move |shape| {
        let count = if shape.contains(&0) { 0 } else { 12 };
        let coordinates = shape.iter().map(|&d| 0..d.max(1)).collect::<Vec<_>>();
        (Just(shape), proptest::collection::btree_map(coordinates, value(), 0..=count), value(), any::<bool>())
    });
    entries.prop_map(move |(shape, entries, fill, reversed)| {
        let mut entries: Vec<(Vec<u64>, Scalar)> = entries.into_iter().collect();
        if reversed {
            entries.reverse();
        }
        let coordinates = (0..shape.len()).map(|m| entries.iter().map(|(p, _)| p[m]).collect()).collect();
        let scalars: Vec<Scalar> = entries.into_iter().map(|(_, v)| v).collect();
        let fill = if dense { fill } else { Scalar::zero(prim) };
        Content { shape, fill, layout, data: Data::Triples { coordinates, values: values(prim, &scalars) } }
    })
}

/// Returns the value of every element.
fn all_elements(content: &Content) -> BTreeMap<Vec<u64>, Scalar> {
    let mut elements = BTreeMap::from([(vec![], content.fill.clone())]);
    for &dimension in &content.shape {
        let grow = |(coordinates, fill): (Vec<u64>, Scalar)| {
            (0..dimension).map(move |i| ([&coordinates[..], &[i]].concat(), fill.clone()))
        };
        elements = elements.into_iter().flat_map(grow).collect();
    }
    if let Data::Triples { coordinates, values } = &content.data {
        for k in 0..values.len() {
            elements.insert(coordinates.iter().map(|c| c[k]).collect(), values.get(k));
        }
    }
    elements
}

fn check(name: &str, layout: Layout, ranks: std::ops::RangeInclusive<usize>) {
    check_prims(&PRIMS, name, layout, ranks);
}

fn check_prims(prims: &[Prim], name: &str, layout: Layout, ranks: std::ops::RangeInclusive<usize>) {
    for &prim in prims {
        let options = WriteOptions { layout: Some(layout), ..WriteOptions::default() };
        let exact_in_f64 = name.contains("tns");
        let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
        let contents = content(prim, ranks.clone(), layout, exact_in_f64);
        let result = runner.run(&contents, |content| {
            let bytes = write_bytes(name, &content, &options).unwrap();
            let read = ReadOptions { dtype: Some(prim), ..ReadOptions::default() };
            let loaded = read_bytes(name, &bytes, &read).unwrap();
            prop_assert_eq!(&loaded.info.shape, &content.shape);
            let zero = Scalar::zero(prim);
            let expected: BTreeMap<_, _> =
                all_elements(&content).into_iter().filter(|(_, v)| *v != zero).map(|(p, v)| (p, vec![v])).collect();
            prop_assert_eq!(nonzeros(&content.shape, &loaded.data), expected);
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{name} {layout} {prim}: {e}"));
    }
}

#[test]
fn matrix_market() {
    check("a.mtx", Layout::Coordinate, 2..=2);
    check("a.mtx.gz", Layout::Array, 2..=2);
}

#[test]
fn frostt() {
    check("a.tns.zst", Layout::Coordinate, 1..=5);
}

#[test]
fn edge_lists() {
    check("a.csv", Layout::Coordinate, 1..=5);
    check("a.tsv.gz", Layout::Coordinate, 2..=2);
}

#[test]
fn images() {
    check_prims(&[Prim::Bool], "a.pbm", Layout::Array, 2..=2);
    check_prims(&[Prim::Bool, Prim::U8, Prim::U16], "a.pgm.gz", Layout::Array, 2..=2);
    let prims = [Prim::U8, Prim::I8, Prim::I16, Prim::I32, Prim::F32, Prim::F64];
    check_prims(&prims, "a.idx", Layout::Array, 1..=4);
}

#[test]
fn numpy() {
    check("a.npy", Layout::Array, 0..=5);
    check("a.npz", Layout::Array, 0..=3);
}

/// Asserts that every fill value and every element is read back unchanged.
fn check_fills(name: &str, layout: Layout, ranks: std::ops::RangeInclusive<usize>) {
    for prim in PRIMS {
        let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
        let contents = (content(prim, ranks.clone(), layout, false), scalar(prim, false));
        let result = runner.run(&contents, |(content, fill)| {
            let content = Content { fill, ..content };
            let options =
                WriteOptions { layout: (!name.ends_with("rpt")).then_some(layout), ..WriteOptions::default() };
            let bytes = write_bytes(name, &content, &options).unwrap();
            let loaded = read_bytes(name, &bytes, &ReadOptions::default()).unwrap();
            prop_assert_eq!((&loaded.info.shape, &loaded.info.dtype), (&content.shape, &prim.into()));
            let found = Content { shape: loaded.info.shape, fill: loaded.info.fill, layout, data: loaded.data };
            prop_assert_eq!(all_elements(&found), all_elements(&content));
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{name} {layout} {prim}: {e}"));
    }
}

#[test]
fn fill_values() {
    check_fills("a.npz", Layout::Coordinate, 1..=4);
    check_fills("a.npz.gz", Layout::Csr, 2..=2);
    check_fills("a.npz", Layout::Csc, 2..=2);
    check_fills("a.rpt", Layout::Coordinate, 1..=3);
    check_fills("a.bsp.npz", Layout::Coordinate, 1..=4);
    check_fills("a.bsp.npz", Layout::Csr, 2..=2);
    check_fills("a.bsp.npz", Layout::Csc, 2..=2);
}

#[test]
fn binsparse() {
    check("a.bsp.npz", Layout::Array, 0..=4);
    check("a.bsp.npz.zst", Layout::Coordinate, 1..=4);
    check("a.bsp.npz", Layout::Csr, 2..=2);
}

#[test]
fn scipy() {
    check("a.npz", Layout::Coordinate, 1..=4);
    check("a.npz.zst", Layout::Csr, 2..=2);
    check("a.npz", Layout::Csc, 2..=2);
}

/// Asserts that a (skew-)symmetric matrix is written with the entries of one triangle and read back
/// whole.
#[test]
fn symmetries() {
    for (symmetry, layout) in [
        (Symmetry::Symmetric, Layout::Coordinate),
        (Symmetry::Symmetric, Layout::Array),
        (Symmetry::SkewSymmetric, Layout::Coordinate),
        (Symmetry::SkewSymmetric, Layout::Array),
    ] {
        let skew = symmetry == Symmetry::SkewSymmetric;
        let sign = if skew { -1.0 } else { 1.0 };
        let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
        let triangle = proptest::collection::btree_map((0u64..6, 0u64..6), 1.0f64..9.0, 0..12);
        let run = runner.run(&triangle, |triangle| {
            let lower = triangle.iter().filter(|((i, j), _)| i > j || (i == j && !skew));
            let all: BTreeMap<(u64, u64), f64> =
                lower.flat_map(|(&(i, j), &x)| [((j, i), sign * x), ((i, j), x)]).collect();
            let coordinates = vec![all.keys().map(|p| p.0).collect(), all.keys().map(|p| p.1).collect()];
            let data = Data::Triples { coordinates, values: Values::F64(all.values().copied().collect()) };
            let content = Content { shape: vec![6, 6], fill: Scalar::F64(0.0), layout, data };
            let bytes = write_bytes("a.mtx", &content, &WriteOptions { symmetry, ..WriteOptions::default() }).unwrap();
            let loaded = crate::load("a.mtx", &bytes).unwrap();
            prop_assert_eq!(loaded.info.symmetry, symmetry);
            prop_assert_eq!(nonzeros(&[6, 6], &loaded.data), nonzeros(&[6, 6], &content.data));
            let diagonal = all.keys().filter(|(i, j)| i == j).count();
            if layout == Layout::Coordinate {
                prop_assert_eq!(loaded.info.stored as usize, (all.len() + diagonal) / 2);
            }
            Ok(())
        });
        run.unwrap_or_else(|e| panic!("{symmetry} {layout}: {e}"));
    }
}
