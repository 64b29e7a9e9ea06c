//! Tests of tensors in all formats: their construction, their elements and sums, and conversions
//! between formats.

use super::*;
use crate::testing::formats_of_rank;
use crate::{Array, convert};
use redpoll_logic::op::Builtin;
use redpoll_logic::{LevelFormat, LevelKind, Op, StorageMode};

/// Compares the elements of a tensor, their count and their sum with the model.
fn check(tensor: &Tensor, sample: &TensorSample) {
    let (ty, model) = (tensor.ty(), sample.model());
    let at = |coordinates: &Vec<u64>| model.get(coordinates).unwrap_or(&sample.fill).clone();
    let all_coordinates = all_coordinates(&sample.shape);
    let expected: Vec<Scalar> = all_coordinates.iter().map(at).collect();
    for (coordinates, value) in all_coordinates.iter().zip(&expected) {
        assert_eq!(tensor.get(coordinates).unwrap(), *value, "{coordinates:?} of {ty:?}");
    }
    let triples = tensor.to_triples().unwrap();
    assert_eq!(model_of(&triples, &sample.fill), model, "triples of {ty:?}");
    assert_eq!(tensor.to_dense_scalars().unwrap(), expected, "dense scalars of {ty:?}");
    assert_eq!(tensor.count_differing_from_fill().unwrap(), model.len() as u64, "count of {ty:?}");
    let sum = sample.dtype.prim().map(|_| expected.iter().map(|v| v.to_f64().unwrap()).sum::<f64>());
    let close = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-12 * (a.abs() + b.abs());
    match (tensor.sum().unwrap(), sum) {
        (Some(found), Some(expected)) => assert!(close(found, expected), "sum {found} of {ty:?}, expected {expected}"),
        (found, expected) => assert_eq!(found, expected),
    }
}

/// Returns the number of entries of the sample that have the fill value.
fn explicit_fills(sample: &TensorSample) -> usize {
    sample.entries.len() - sample.model().len()
}

fn all_formats(rank: usize) -> Vec<Format> {
    let mut formats = formats_of_rank(rank);
    let unordered: Vec<Format> = formats
        .iter()
        .filter(|f| f.levels.iter().any(|l| l.kind == LevelKind::SparseList))
        .map(|f| {
            let free = |l: &LevelFormat| LevelFormat { ordered: l.kind != LevelKind::SparseList, ..*l };
            Format { levels: f.levels.iter().map(free).collect(), ..f.clone() }
        })
        .collect();
    formats.extend(unordered.into_iter().step_by(5));
    formats
}

/// The formats of differential tests are distinct and valid, and have any two general kinds at any
/// two depths.
#[test]
fn listed_formats_are_valid_and_distinct() {
    for rank in 0..=4 {
        let formats = formats_of_rank(rank);
        let distinct: std::collections::HashSet<&Format> = formats.iter().collect();
        assert_eq!(distinct.len(), formats.len());
        let depths = (0..rank).flat_map(|b| (0..b).map(move |a| (a, b)));
        for ((a, b), x, y) in
            depths.flat_map(|d| LevelKind::general().flat_map(move |x| LevelKind::general().map(move |y| (d, x, y))))
        {
            let has_pair = |f: &Format| f.levels.len() == rank && f.levels[a].kind == x && f.levels[b].kind == y;
            assert!(formats.iter().any(has_pair), "{x:?} at {a} and {y:?} at {b} of {rank}");
        }
        for format in &formats {
            format.validate().unwrap();
            assert_eq!(format.rank(), rank);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_format_stores_any_tensor(
        sample in (0usize..4).prop_flat_map(any_sample),
        picks in proptest::collection::vec(any::<proptest::sample::Index>(), 4),
    ) {
        let formats = all_formats(sample.shape.len());
        for pick in picks {
            let tensor = sample.tensor(pick.get(&formats));
            check(&tensor, &sample);
            // Stored fill values survive if the last level lists its coordinates.
            let stored = tensor.to_triples().unwrap().len();
            let expected = sample.model().len() + if tensor.is_listed() { explicit_fills(&sample) } else { 0 };
            prop_assert_eq!(stored, expected);
        }
    }

    /// Reading within ranges returns the first elements inside the ranges, in storage order, in
    /// every format.
    #[test]
    fn windows_contain_the_elements_within(
        sample in (0usize..4).prop_flat_map(any_sample),
        pick in any::<proptest::sample::Index>(),
        bounds in proptest::collection::vec((0u64..9, 0u64..9), 3),
        limit in prop_oneof![Just(usize::MAX), 0usize..6],
    ) {
        let tensor = sample.tensor(pick.get(&all_formats(sample.shape.len())));
        let ranges: Vec<_> = bounds[..sample.shape.len()].iter().map(|(low, high)| *low..*high).collect();
        let all = tensor.to_triples().unwrap();
        let inside = |k: &usize| all.coordinates_of(*k).iter().zip(&ranges).all(|(i, range)| range.contains(i));
        let expected: Vec<usize> = (0..all.len()).filter(inside).take(limit).collect();
        let found = tensor.to_triples_within(&ranges, limit).unwrap();
        let entries = |t: &Triples, k: usize| (t.coordinates_of(k), format!("{:?}", t.values.get(k)));
        let found: Vec<_> = (0..found.len()).map(|k| entries(&found, k)).collect();
        prop_assert_eq!(found, expected.into_iter().map(|k| entries(&all, k)).collect::<Vec<_>>());
    }

    #[test]
    fn any_two_formats_convert(
        sample in (0usize..4).prop_flat_map(any_sample),
        from in any::<proptest::sample::Index>(),
        to in any::<proptest::sample::Index>(),
    ) {
        let formats = all_formats(sample.shape.len());
        let converted = convert(&sample.tensor(from.get(&formats)), to.get(&formats)).unwrap();
        converted.validate().unwrap();
        check(&converted, &sample);
    }

    #[test]
    fn patterns_are_booleans(
        mut sample in (0usize..4).prop_flat_map(any_sample),
        from in any::<proptest::sample::Index>(),
        to in any::<proptest::sample::Index>(),
    ) {
        sample.dtype = DType::BOOL;
        sample.fill = Scalar::Bool(false);
        sample.entries.iter_mut().enumerate().for_each(|(k, (_, v))| *v = Scalar::Bool(k % 3 != 0));
        let formats: Vec<Format> = all_formats(sample.shape.len())
            .into_iter()
            .filter(|f| f.levels.last().is_some_and(|l| l.kind.traits().explicit))
            .collect();
        prop_assume!(!formats.is_empty());
        let (from, to) = (from.get(&formats), to.get(&formats));
        let tensor = sample.tensor(&pattern(from));
        check(&tensor, &sample);
        check(&convert(&tensor, from).unwrap(), &sample);
        check(&convert(&tensor, to).unwrap(), &sample);
        check(&convert(&tensor, &pattern(to)).unwrap(), &sample);
        check(&convert(&sample.tensor(from), &pattern(from)).unwrap(), &sample);
        check(&convert(&sample.tensor(from), &pattern(to)).unwrap(), &sample);
    }

    #[test]
    fn duplicates_fold_in_order(
        all_coordinates in proptest::collection::vec((0u64..3, 0u64..3), 0..30),
        pick in any::<proptest::sample::Index>(),
    ) {
        let entries: Vec<_> = all_coordinates.iter().zip(1i64..).map(|(&(i, j), v)| (vec![i, j], Scalar::I64(v))).collect();
        let mut sample = TensorSample { shape: vec![3, 3], dtype: DType::I64, fill: Scalar::I64(0), entries };
        let integer = |v: &Scalar| v.to_i128().unwrap() as i64;
        let sub = Op::from(Builtin::Sub);
        type FoldFn<'a> = &'a dyn Fn(i64, i64) -> i64;
        let folds: [(Duplicates<'_>, FoldFn<'_>); 4] = [
            (Duplicates::First, &|a, _| a),
            (Duplicates::Last, &|_, b| b),
            (Duplicates::Add, &|a, b| a + b),
            (Duplicates::Combine(&sub), &|a, b| a - b),
        ];
        let triples = sample.triples();
        let repeated = sample.entries.clone();
        let formats = all_formats(2);
        for (duplicates, fold) in folds {
            let mut model = BTreeMap::<Vec<u64>, i64>::new();
            for (coordinates, value) in &repeated {
                let value = integer(value);
                model.entry(coordinates.clone()).and_modify(|old| *old = fold(*old, value)).or_insert(value);
            }
            let (tensor, count) = Tensor::from_triples(sample.ty(pick.get(&formats)), &triples, duplicates).unwrap();
            prop_assert_eq!(count, repeated.len() - model.len());
            sample.entries = model.into_iter().map(|(p, v)| (p, Scalar::I64(v))).collect();
            check(&tensor, &sample);
        }
    }

    #[test]
    fn dense_values_in_any_format(
        sample in (0usize..4).prop_flat_map(any_sample),
        pick in any::<proptest::sample::Index>(),
    ) {
        let formats = all_formats(sample.shape.len());
        let dense = sample.tensor(&Format::dense(sample.shape.len())).to_dense_scalars().unwrap();
        let values = Values::from_scalars(sample.dtype.clone(), &dense).unwrap();
        check(&Tensor::from_dense(sample.ty(pick.get(&formats)), &values).unwrap(), &sample);
    }
}

/// Converts every format once, independent of random choices.
#[test]
fn every_format_converts_to_the_next() {
    for rank in 0..4 {
        let shape = [5, 4, 3][..rank].to_vec();
        let entries = all_coordinates(&shape).into_iter().enumerate().filter(|(k, _)| k % 3 == 1 || rank == 0);
        let sample = TensorSample {
            dtype: DType::I64,
            fill: Scalar::I64(7),
            entries: entries.map(|(k, p)| (p, Scalar::I64(k as i64))).collect(),
            shape,
        };
        let formats = all_formats(rank);
        for (k, format) in formats.iter().enumerate() {
            let tensor = sample.tensor(format);
            check(&tensor, &sample);
            check(&convert(&tensor, &formats[(k + 1) % formats.len()]).unwrap(), &sample);
        }
    }
}

/// Levels of a kind that stores at most one entry or run in each fiber convert to and from other
/// formats, both below and above a level of any general kind.
#[test]
fn single_entries_convert_from_and_to_every_format() {
    let runs = |i: u64| if i % 3 == 1 { 0..0 } else { i % 2..i % 2 + 1 + i % 4 };
    let rows = |width: &dyn Fn(u64) -> std::ops::Range<u64>| {
        let all_coordinates = (0..6).flat_map(|i| width(i).map(move |j| (vec![i, j], Scalar::I64(i as i64 + 1))));
        all_coordinates.collect::<Vec<_>>()
    };
    let points = rows(&|i| runs(i).take(1).fold(0..0, |_, j| j..j + 1));
    for (single, entries) in [(LevelKind::Pinpoint, points), (LevelKind::Interval, rows(&runs))] {
        let sample = TensorSample { shape: vec![6, 6], dtype: DType::I64, fill: Scalar::I64(7), entries };
        for other in LevelKind::general() {
            let below = Format::of_kinds(&[other, single], LeafKind::Element);
            // If the outer level has the single kind, it can store only one row.
            let first = TensorSample {
                entries: sample.entries.iter().filter(|(p, _)| p[0] == 3).cloned().collect(),
                ..sample.clone()
            };
            let above = Format::of_kinds(&[single, other], LeafKind::Element);
            for (sample, format) in [(&sample, below), (&first, above)] {
                let tensor = sample.tensor(&format);
                check(&tensor, sample);
                for next in LevelKind::general() {
                    let next = Format::of_kinds(&[LevelKind::Dense, next], LeafKind::Element);
                    let converted = convert(&tensor, &next).unwrap();
                    check(&converted, sample);
                    check(&convert(&converted, &format).unwrap(), sample);
                }
            }
        }
        let two = [(vec![0, 1], 1), (vec![0, 3], 2)].map(|(coordinates, v)| (coordinates, Scalar::I64(v))).to_vec();
        let sample = TensorSample { entries: two, ..sample };
        let format = Format::of_kinds(&[LevelKind::Dense, single], LeafKind::Element);
        let error = Tensor::from_triples(sample.ty(&format), &sample.triples(), Duplicates::Error).unwrap_err();
        assert!(error.to_string().contains("[0, 3]"), "{error}");
    }
}

/// A conversion that keeps arrays shares their buffers.
#[test]
fn conversions_share_arrays() {
    let entries = [(0, 1), (0, 3), (2, 0)].map(|(i, j)| (vec![i, j], Scalar::F64(1.5)));
    let sample = TensorSample { shape: vec![3, 4], dtype: DType::F64, fill: 0.0.into(), entries: entries.to_vec() };
    let csr = sample.tensor(&Format::csr());
    let same = |a: &Tensor, b: &Tensor| a.leaf()[0].buffer().as_ptr() == b.leaf()[0].buffer().as_ptr();
    assert!(same(&csr, &convert(&csr, &Format::csr()).unwrap()));
    assert!(same(&csr, &convert(&csr, &Format::coo(2)).unwrap()));
    assert!(same(&csr, &convert(&csr, &Format::csf(2)).unwrap()));
    assert!(!same(&csr, &convert(&csr, &Format::csc()).unwrap()));
    let free = Format { levels: vec![LevelFormat::new(LevelKind::Dense), unordered()], ..Format::csr() };
    let shared = convert(&csr, &free).unwrap();
    assert_eq!(csr.levels()[1][1].buffer().as_ptr(), shared.levels()[1][1].buffer().as_ptr());
}

fn unordered() -> LevelFormat {
    LevelFormat { ordered: false, ..LevelFormat::new(LevelKind::SparseList) }
}

/// Unordered input can be stored as it is, read by coordinates, and sorted by conversion.
#[test]
fn unordered_input_is_sorted() {
    use crate::Array;
    let ty = TensorType {
        shape: vec![4, 4],
        dtype: DType::F64,
        fill: 0.0.into(),
        format: Format {
            levels: vec![unordered().non_unique(), LevelFormat::new(LevelKind::Singleton)],
            ..Format::coo(2)
        },
    };
    let idx = |v: &[u32]| Array::from_vec(v.to_vec());
    let leaf = vec![Array::from_vec(vec![1.0, 2.0, 3.0, 4.0])];
    let ptr = Array::from_vec(vec![0i32, 4]);
    let rows = idx(&[3, 0, 3, 1]);
    let levels = |columns| vec![vec![ptr.clone(), rows.clone()], vec![columns]];
    let tensor = Tensor::try_new(ty.clone(), levels(idx(&[1, 2, 0, 1])), leaf.clone()).unwrap();
    assert_eq!(tensor.get(&[3, 0]).unwrap(), Scalar::F64(3.0));
    let sorted = convert(&tensor, &Format::csr()).unwrap();
    assert_eq!(sorted.levels()[1][1].as_slice::<u32>(), Some(&[2, 1, 0, 1][..]));
    assert_eq!(sorted.leaf()[0].as_slice::<f64>(), Some(&[2.0, 4.0, 3.0, 1.0][..]));
    let error = Tensor::try_new(ty, levels(idx(&[1, 2, 1, 1])), leaf).unwrap_err().to_string();
    assert_eq!(error, "invalid tensor: coordinates [3, 1] are stored more than once");
}

/// Slices of Arrow arrays are read: `ptr[0]` exceeds 0, and arrays have more elements than there
/// are positions.
#[test]
fn sliced_lists_are_read() {
    use crate::Array;
    let ty = |format| TensorType { shape: vec![2, 9], dtype: DType::I64, fill: Scalar::I64(0), format };
    let ptr = Array::from_vec(vec![0i64, 2, 3, 5]).slice(1, 3);
    let idx = Array::from_vec(vec![7u64, 8, 4, 0, 6, 1]);
    let leaf = vec![Array::from_vec(vec![10i64, 11, 12, 13, 14, 15])];
    let tensor = Tensor::try_new(ty(Format::csr()), vec![vec![], vec![ptr, idx]], leaf.clone()).unwrap();
    let sample = TensorSample {
        shape: vec![2, 9],
        dtype: DType::I64,
        fill: Scalar::I64(0),
        entries: [((0, 4), 12i64), ((1, 0), 13), ((1, 6), 14)].map(|((i, j), v)| (vec![i, j], v.into())).to_vec(),
    };
    check(&tensor, &sample);
    check(&convert(&tensor, &Format::coo(2)).unwrap(), &sample);
    let ptr = Array::from_vec(vec![2i32, 5]);
    let (rows, columns) = (Array::from_vec(vec![0u32, 0, 0, 1, 1]), Array::from_vec(vec![9u32, 9, 4, 0, 6]));
    let tensor = Tensor::try_new(ty(Format::coo(2)), vec![vec![ptr, rows], vec![columns]], leaf).unwrap();
    check(&tensor, &sample);
}

#[test]
fn duplicates_are_combined() {
    let triples = Triples {
        shape: vec![3, 3],
        coordinates: vec![vec![2, 0, 2, 2, 1], vec![1, 0, 1, 1, 1]],
        values: vec![1.0, 2.0, 3.0, 5.0, 7.0].into(),
    };
    let ty = TensorType { shape: vec![3, 3], dtype: DType::F64, fill: 0.0.into(), format: Format::csc() };
    let sub = Op::from(Builtin::Sub);
    let cases =
        [(Duplicates::First, 1.0), (Duplicates::Last, 5.0), (Duplicates::Add, 9.0), (Duplicates::Combine(&sub), -7.0)];
    for (duplicates, expected) in cases {
        let (tensor, count) = Tensor::from_triples(ty.clone(), &triples, duplicates).unwrap();
        assert_eq!(count, 2);
        assert_eq!(tensor.get(&[2, 1]).unwrap(), Scalar::F64(expected));
        assert_eq!(tensor.get(&[1, 1]).unwrap(), Scalar::F64(7.0));
        assert_eq!(tensor.count_stored().unwrap(), 3);
    }
    let error = Tensor::from_triples(ty, &triples, Duplicates::Combine(&Op::from(Builtin::Lt))).unwrap_err();
    assert_eq!(error.to_string(), "value 0: expected dtype f64, found bool");
}

/// An infinite fill value that no element has does not turn the sum into NaN.
#[test]
fn sums_count_fill_values() {
    let ty = |shape: &[u64], fill: f64| TensorType {
        shape: shape.to_vec(),
        dtype: DType::F64,
        fill: fill.into(),
        format: Format::csf(shape.len()),
    };
    let triples = |shape: &[u64]| Triples {
        shape: shape.to_vec(),
        coordinates: vec![vec![0]; shape.len()],
        values: vec![2.0].into(),
    };
    let sum = |shape: &[u64], fill| {
        Tensor::from_triples(ty(shape, fill), &triples(shape), Duplicates::Error).unwrap().0.sum().unwrap().unwrap()
    };
    assert_eq!(sum(&[1, 1], f64::INFINITY), 2.0);
    assert_eq!(sum(&[2, 1], f64::INFINITY), f64::INFINITY);
    assert_eq!(sum(&[1 << 30, 1 << 30], 0.0), 2.0);
    assert_eq!(sum(&[3, 5], 5.0), 72.0);
}

#[test]
fn fill_values_change_only_if_all_elements_are_stored() {
    let entries = all_coordinates(&[2, 3]).into_iter().map(|p| (p, Scalar::F64(1.0))).collect();
    let mut sample = TensorSample { shape: vec![2, 3], dtype: DType::F64, fill: 0.0.into(), entries };
    for format in formats_of_rank(2) {
        let tensor = sample.tensor(&format).with_fill(&Scalar::F64(f64::NAN)).unwrap();
        tensor.validate().unwrap();
        sample.fill = f64::NAN.into();
        check(&tensor, &sample);
        sample.fill = 0.0.into();
    }
    sample.entries.pop();
    sample.tensor(&Format::dense(2)).with_fill(&Scalar::F64(1.0)).unwrap();
    let error = sample.tensor(&Format::csr()).with_fill(&Scalar::F64(1.0)).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot change the fill value: 1 element is not stored and has the value 0.0; convert to a dense format first"
    );
}

#[test]
fn blocks_are_padded() {
    let sample = TensorSample {
        shape: vec![3, 5],
        dtype: DType::F64,
        fill: Scalar::F64(9.0),
        entries: vec![(vec![2, 4], Scalar::F64(1.0)), (vec![0, 1], Scalar::F64(2.0))],
    };
    let tensor = sample.tensor(&Format::bcsr(2, 3));
    let expected = [9.0, 2.0, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 9.0, 9.0, 9.0, 9.0];
    assert_eq!(tensor.leaf()[0].as_slice::<f64>(), Some(&expected[..]));
    assert_eq!(tensor.count_stored().unwrap(), 6 + 2);
    assert!(matches!(tensor.ty().format.modes[0], StorageMode::Outer { block: 2, .. }));
    check(&tensor, &sample);
}

/// No loop iterates over the coordinates of a long mode beside an empty one.
#[test]
fn empty_tensors_take_no_time() {
    let sample = TensorSample { shape: vec![1 << 60, 0], dtype: DType::F64, fill: 0.0.into(), entries: vec![] };
    let tensor = sample.tensor(&Format::dense(2));
    assert_eq!(
        (tensor.count_stored().unwrap(), tensor.sum().unwrap(), tensor.to_triples().unwrap().len()),
        (0, Some(0.0), 0)
    );
    let blocked = sample.tensor(&Format { modes: Format::bcsr(3, 3).modes, ..Format::dense(4) });
    assert_eq!(blocked.count_differing_from_fill().unwrap(), 0);
}

#[test]
fn scalars_are_tensors_of_rank_0() {
    let tensor = Tensor::scalar(&Scalar::I64(3)).unwrap();
    tensor.validate().unwrap();
    assert_eq!(tensor.get(&[]).unwrap(), Scalar::I64(3));
    assert_eq!(tensor.sum().unwrap(), Some(3.0));
    assert_eq!(tensor.to_dense_scalars().unwrap(), [Scalar::I64(3)]);
}

/// Hash tables convert correctly even if their entries were not inserted in the order of the
/// coordinates. Values are stored in the order of insertion.
#[test]
fn tables_convert_whatever_the_order_of_arrival() {
    let format = |kind| Format::of_kinds(&[kind], LeafKind::Element);
    let ty = |kind| TensorType {
        shape: vec![9],
        dtype: DType::Prim(Prim::F64),
        fill: Scalar::F64(0.0),
        format: format(kind),
    };
    let triples = Triples { shape: vec![9], coordinates: vec![vec![2, 5]], values: vec![20.0, 50.0].into() };
    let (sorted, _) = Tensor::from_triples(ty(LevelKind::Hash), &triples, Duplicates::Error).unwrap();
    let [ptr, idx, pos, table, parent, coordinate] = &sorted.levels[0][..] else {
        panic!("expected the arrays of a hash level")
    };
    let list = |array: &Array| (0..array.len()).map(|k| array.indices().get(k as u64)).collect::<Vec<u64>>();
    let reversed = |array: &Array| Array::from_indices(array.prim(), list(array).into_iter().rev());
    let other = list(table).into_iter().map(|e| if e == 0 { 0 } else { 3 - e });
    let table = Array::from_indices(table.prim(), other);
    let level = vec![ptr.clone(), idx.clone(), reversed(pos), table, reversed(parent), reversed(coordinate)];
    let table = Tensor::try_new(ty(LevelKind::Hash), vec![level], vec![Array::from_vec(vec![50.0, 20.0])]).unwrap();
    let expected = [0.0, 0.0, 20.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0].map(Scalar::F64);
    assert_eq!(table.to_dense_scalars().unwrap(), expected);
    for kind in [LevelKind::SparseList, LevelKind::Dense, LevelKind::ByteMap] {
        assert_eq!(convert(&table, &format(kind)).unwrap().to_dense_scalars().unwrap(), expected, "{kind:?}");
    }
}
