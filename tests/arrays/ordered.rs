//! Sorts, order statistics, reductions that leave out NaN, distinct values, searches and
//! selections. Their results are compared with plain Rust on the dense values, in several formats
//! and along every axis. Other tests check that wrong arguments are errors.

use redpoll::logic::LevelKind;
use redpoll::prelude::*;
use std::cmp::Ordering;

/// Compares floats with NaN last; zeros of both signs are equal.
fn compare(a: &f64, b: &f64) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn assert_equal(found: &[f64], expected: &[f64], what: &str) {
    let equal = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-12 * a.abs();
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(equal),
        "{what}: found {found:?}, expected {expected:?}"
    );
}

/// Returns arrays of several shapes and formats, with repeated values and two fill values. Arrays
/// of rank below 3 may also have infinities and NaN.
fn arrays(session: &Session) -> Vec<Array> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 2.0];
    let mut arrays = Vec::new();
    for shape in [vec![], vec![0], vec![1], vec![9], vec![0, 3], vec![4, 7], vec![7, 4], vec![3, 2, 5]] {
        let rank = shape.len();
        let mut formats = vec![Format::dense(rank)];
        if rank > 0 {
            formats.extend([Format::csf(rank), Format::coo(rank), Format::dense_above(LevelKind::RunLength, rank)]);
        }
        if rank == 2 {
            formats.extend([Format::csr(), Format::csc(), Format::dense_above(LevelKind::Hash, 2)]);
        }
        for (seed, format) in formats.into_iter().enumerate() {
            let count = shape.iter().product::<u64>() as usize;
            let random = session.random([count as u64 + 2, 2]).seed(seed as u64).integers(-3, 3).array().unwrap();
            let numbers: Vec<i64> = random.to_vec().unwrap();
            let value = |k: usize| match numbers[2 * k + 1] {
                1 if rank < 3 => special[k % special.len()],
                -1 | -2 => numbers[2 * k] as f64,
                _ => 0.0,
            };
            let dense = session.dense(shape.iter().copied(), (0..count).map(value));
            arrays.push(dense.reformat(format.clone()));
            arrays.push(dense.refill(1.0).reformat(format));
        }
    }
    arrays
}

/// Returns the fibers of a row-major array along a mode.
fn fibers(values: &[f64], shape: &[u64], mode: usize) -> Vec<Vec<f64>> {
    let inner: u64 = shape[mode + 1..].iter().product();
    let outer: u64 = shape[..mode].iter().product();
    let fiber = |o: u64, i: u64| (0..shape[mode]).map(move |k| values[((o * shape[mode] + k) * inner + i) as usize]);
    (0..outer).flat_map(|o| (0..inner).map(move |i| fiber(o, i).collect())).collect()
}

/// Returns the row-major array of fibers along a mode, the inverse of [`fibers`].
fn from_fibers(fibers: &[Vec<f64>], shape: &[u64], mode: usize) -> Vec<f64> {
    let inner = shape[mode + 1..].iter().product::<u64>() as usize;
    let size = shape[mode] as usize;
    let count = fibers.len() * size;
    let value = |at: usize| fibers[at / (size * inner) * inner + at % inner][at / inner % size];
    (0..count).map(value).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(compare);
    let count = sorted.len();
    match count {
        0 => f64::NAN,
        _ if sorted[count - 1].is_nan() => f64::NAN,
        _ if count % 2 == 1 => sorted[count / 2],
        _ if sorted[count / 2 - 1] == sorted[count / 2] => sorted[count / 2],
        _ => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// Sorts agree with a stable sort of each dense fiber, in both orders, and the coordinates that
/// `argsort` returns agree too.
#[test]
fn sorts_are_those_of_dense_fibers() {
    let session = Session::default();
    for array in arrays(&session) {
        let (shape, values) = (array.shape().unwrap(), array.to_vec::<f64>().unwrap());
        for mode in 0..shape.len() {
            for order in [SortOrder::Ascending, SortOrder::Descending] {
                let numbered: Vec<Vec<(f64, f64)>> = fibers(&values, &shape, mode)
                    .into_iter()
                    .map(|fiber| {
                        let mut numbered: Vec<(f64, f64)> = fiber.into_iter().zip((0u32..).map(f64::from)).collect();
                        numbered.sort_by(|(a, _), (b, _)| match order {
                            SortOrder::Descending if !a.is_nan() && !b.is_nan() => compare(b, a),
                            _ => compare(a, b),
                        });
                        numbered
                    })
                    .collect();
                let part = |pick: fn(&(f64, f64)) -> f64| {
                    let parts: Vec<Vec<f64>> = numbered.iter().map(|f| f.iter().map(pick).collect()).collect();
                    from_fibers(&parts, &shape, mode)
                };
                let axis = mode as i64;
                let sorted = array.sort(axis, order).unwrap();
                assert_eq!(sorted.fill().unwrap(), array.fill().unwrap());
                assert_equal(&sorted.to_vec().unwrap(), &part(|p| p.0), &format!("sort {mode} {order:?} of {array}"));
                let coordinates = array.argsort(axis, order).unwrap().astype(Prim::F64);
                let what = format!("argsort {mode} {order:?} of {array}");
                assert_equal(&coordinates.to_vec().unwrap(), &part(|p| p.1), &what);
            }
        }
    }
}

/// Medians, medians that leave out NaN, and the quantile 1 agree with those of dense fibers. Other
/// quantiles interpolate.
#[test]
fn quantiles_are_those_of_dense_fibers() {
    let session = Session::default();
    for array in arrays(&session) {
        let (shape, values) = (array.shape().unwrap(), array.to_vec::<f64>().unwrap());
        let numbers = |fiber: &Vec<f64>| fiber.iter().copied().filter(|v| !v.is_nan()).collect::<Vec<f64>>();
        assert_equal(&[array.median(..).unwrap().item().unwrap()], &[median(&values)], &format!("median of {array}"));
        for mode in 0..shape.len() {
            let axis = mode as i64;
            let fibers = fibers(&values, &shape, mode);
            let expected: Vec<f64> = fibers.iter().map(|f| median(f)).collect();
            assert_equal(&array.median(axis).unwrap().to_vec().unwrap(), &expected, &format!("median of {array}"));
            let kept = array.median(Axes::from(axis).keep()).unwrap();
            assert_equal(&kept.to_vec().unwrap(), &expected, "median, modes kept");
            assert_eq!(kept.rank().unwrap(), shape.len());
            let expected: Vec<f64> = fibers.iter().map(|f| median(&numbers(f))).collect();
            assert_equal(&array.nan_median(axis).unwrap().to_vec().unwrap(), &expected, "nan_median");
            let largest = |f: &Vec<f64>| f.iter().copied().max_by(compare).unwrap_or(f64::NAN);
            let expected: Vec<f64> = fibers.iter().map(largest).collect();
            assert_equal(&array.quantile(1.0, axis).unwrap().to_vec().unwrap(), &expected, "quantile 1");
            let largest = |f: &Vec<f64>| numbers(f).into_iter().max_by(compare).unwrap_or(f64::NAN);
            let expected: Vec<f64> = fibers.iter().map(largest).collect();
            assert_equal(&array.nan_quantile(1.0, axis).unwrap().to_vec().unwrap(), &expected, "nan_quantile 1");
        }
    }
    let quantile =
        |fraction| session.vector([1.0, 2.0, 4.0, 8.0]).quantile(fraction, 0).unwrap().item::<f64>().unwrap();
    assert_equal(&[quantile(0.0), quantile(0.25), quantile(0.9)], &[1.0, 1.75, 6.8], "interpolation");
}

/// Reductions that leave out NaN agree with reductions over the other elements of each dense fiber.
#[test]
fn nan_reductions_leave_out_nan() {
    let session = Session::default();
    for array in arrays(&session) {
        let (shape, values) = (array.shape().unwrap(), array.to_vec::<f64>().unwrap());
        // In the relaxed mode, folds over infinities of both signs are unspecified.
        let array = array.isinf().where_(7.0, &array);
        let values: Vec<f64> = values.iter().map(|v| if v.is_infinite() { 7.0 } else { *v }).collect();
        for mode in 0..shape.len() {
            let axis = mode as i64;
            let numbers = |f: &Vec<f64>| f.iter().copied().filter(|v| !v.is_nan()).collect::<Vec<f64>>();
            let fibers: Vec<Vec<f64>> = fibers(&values, &shape, mode).iter().map(numbers).collect();
            let check = |found: &Array, expected: &dyn Fn(&[f64]) -> f64, what: &str| {
                let expected: Vec<f64> = fibers.iter().map(|f| expected(f)).collect();
                assert_equal(&found.to_vec().unwrap(), &expected, &format!("{what} of {array}"));
            };
            let mean = |f: &[f64]| f.iter().sum::<f64>() / f.len() as f64;
            let variance = |f: &[f64], correction: f64| match f.len() as f64 - correction {
                freedom if freedom <= 0.0 => f64::NAN,
                freedom => f.iter().map(|v| (v - mean(f)) * (v - mean(f))).sum::<f64>() / freedom,
            };
            check(&array.nan_sum(axis), &|f| f.iter().sum::<f64>() + 0.0, "nan_sum");
            check(&array.nan_prod(axis), &|f| f.iter().product(), "nan_prod");
            check(&array.nan_min(axis), &|f| f.iter().copied().reduce(f64::min).unwrap_or(f64::NAN), "nan_min");
            check(&array.nan_max(axis), &|f| f.iter().copied().reduce(f64::max).unwrap_or(f64::NAN), "nan_max");
            check(&array.nan_mean(axis), &|f| mean(f), "nan_mean");
            check(&array.nan_var(axis, 1.0), &|f| variance(f, 1.0), "nan_var");
            check(&array.nan_std(axis, 0.0), &|f| variance(f, 0.0).sqrt(), "nan_std");
        }
    }
}

/// Distinct values, their first elements, counts and inverse agree with those of the dense values.
#[test]
fn distinct_values_are_those_of_dense_arrays() {
    let session = Session::default();
    for array in arrays(&session) {
        let values = array.to_vec::<f64>().unwrap();
        let mut expected = values.clone();
        expected.sort_by(compare);
        expected.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        let unique = array.unique().unwrap();
        assert_equal(&unique.values.to_vec().unwrap(), &expected, &format!("unique of {array}"));
        let of = |value: &f64| values.iter().filter(|v| compare(v, value) == Ordering::Equal).count() as i64;
        assert_eq!(unique.counts.to_vec::<i64>().unwrap(), expected.iter().map(of).collect::<Vec<_>>());
        let first = |value: &f64| values.iter().position(|v| compare(v, value) == Ordering::Equal).unwrap() as i64;
        assert_eq!(unique.indices.to_vec::<i64>().unwrap(), expected.iter().map(first).collect::<Vec<_>>());
        let inverse: Vec<f64> =
            unique.inverse.to_vec::<i64>().unwrap().into_iter().map(|k| expected[k as usize]).collect();
        assert_equal(&inverse, &values, "inverse");
        assert_eq!(unique.inverse.shape().unwrap(), array.shape().unwrap());
        let (values, counts) = array.unique_counts().unwrap();
        assert_equal(&values.to_vec().unwrap(), &expected, &format!("unique counts of {array}"));
        assert_eq!(counts.to_vec::<i64>().unwrap(), unique.counts.to_vec::<i64>().unwrap());
    }
}

/// Searches agree with linear searches in the dense values.
#[test]
fn searches_are_those_of_dense_arrays() {
    let session = Session::default();
    let all = arrays(&session);
    let wanted = session.vector([-2.0, 0.0, 1.0, 2.0, f64::NAN, 5.0]).refill(2.0).to_csf();
    let wanted_values = wanted.to_vec::<f64>().unwrap();
    for array in &all {
        let values = array.to_vec::<f64>().unwrap();
        let contains = |list: &[f64], value: &f64| list.iter().any(|v| compare(v, value) == Ordering::Equal);
        let expected: Vec<bool> = values.iter().map(|v| contains(&wanted_values, v)).collect();
        assert_eq!(array.isin(&wanted).unwrap().to_vec::<bool>().unwrap(), expected, "isin of {array}");
        let expected: Vec<bool> = wanted_values.iter().map(|v| contains(&values, v)).collect();
        assert_eq!(wanted.isin(array).unwrap().to_vec::<bool>().unwrap(), expected, "isin {array}");
        if array.rank().unwrap() == 1 {
            let sorted = array.sort(0, SortOrder::Ascending).unwrap();
            for (side, other) in [(Side::Left, None), (Side::Right, Some(Ordering::Equal))] {
                let is_before = |v: &f64, w: &f64| compare(v, w).is_lt() || Some(compare(v, w)) == other;
                let rank = |w: &f64| values.iter().filter(|v| is_before(v, w)).count() as i64;
                let found = sorted.searchsorted(&wanted, side).unwrap().to_vec::<i64>().unwrap();
                assert_eq!(found, wanted_values.iter().map(rank).collect::<Vec<_>>(), "{side:?} in {sorted}");
            }
        }
    }
}

/// Selections by masks agree with those of the dense values.
#[test]
fn selections_are_those_of_dense_arrays() {
    let session = Session::default();
    for array in arrays(&session).iter().filter(|a| a.rank().unwrap() > 0) {
        let (shape, values) = (array.shape().unwrap(), array.to_vec::<f64>().unwrap());
        let mask = array.greater(0.5);
        let expected: Vec<f64> = values.iter().copied().filter(|v| *v > 0.5).collect();
        assert_equal(&array.select(&mask).unwrap().to_vec().unwrap(), &expected, &format!("select of {array}"));
        assert_eq!(mask.argwhere().unwrap().shape().unwrap(), [expected.len() as u64, shape.len() as u64]);
        let condition = session.arange(0, shape[0] as i64, 1).equal(1);
        let expected = array.slice(index![1..2]).to_vec::<f64>().unwrap();
        assert_equal(&array.compress(&condition, 0).unwrap().to_vec().unwrap(), &expected, "compress");
        assert_equal(&array.select(&condition).unwrap().to_vec().unwrap(), &expected, "select of the first mode");
    }
}

/// Sorts, order statistics, distinct values and searches succeed on an array that is far larger
/// than memory, because they take space in proportion to its stored values.
#[test]
fn elements_that_are_not_stored_cost_nothing() {
    let session = Session::default();
    let far = session.triples([1 << 20, 1 << 40], Format::csf(2), [([3, 8], 2.0), ([3, 9], -1.0), ([7, 1], 5.0)]);
    let ascending = SortOrder::Ascending;
    let last = (1u64 << 40) - 1;
    let sorted = far.sort(1, ascending).unwrap();
    let expected = [(vec![3, 0], -1.0), (vec![3, last], 2.0), (vec![7, last], 5.0)];
    assert_eq!(sorted.entries::<f64>().unwrap(), expected);
    let coordinates = far.argsort(1, ascending).unwrap();
    assert_eq!(coordinates.get::<i64>([3, 0]).unwrap(), 9);
    assert_eq!(coordinates.get::<i64>([3, 1]).unwrap(), 0);
    assert_eq!(coordinates.get::<i64>([3, 9]).unwrap(), 10);
    assert_eq!(coordinates.get::<i64>([7, 1]).unwrap(), 2);
    assert_eq!(coordinates.get::<i64>([7, -1]).unwrap(), 1);
    assert_eq!(coordinates.get::<i64>([8, 12345]).unwrap(), 12345);
    let (values, places) = far.top_k(2, 1).unwrap();
    assert_eq!(values.slice(index![3]).to_vec::<f64>().unwrap(), [2.0, 0.0]);
    assert_eq!(places.slice(index![3]).to_vec::<i64>().unwrap(), [8, 0]);
    let unique = far.unique().unwrap();
    assert_eq!(unique.values.to_vec::<f64>().unwrap(), [-1.0, 0.0, 2.0, 5.0]);
    assert_eq!(unique.counts.to_vec::<i64>().unwrap(), [1, (1 << 60) - 3, 1, 1]);
    assert_eq!(far.median(..).unwrap().item::<f64>().unwrap(), 0.0);
    assert_eq!(far.isin(session.vector([5.0])).unwrap().entries::<bool>().unwrap(), [(vec![7, 1], true)]);
}

/// Wrong arguments are errors that name the source location of the call. The error for an unknown
/// sample lists the samples instead.
#[test]
fn wrong_arguments_are_errors() {
    let session = Session::default();
    let a = session.dense([2, 2], [1.0, 2.0, 3.0, 4.0]);
    let message = |result: Result<Array, Error>| result.unwrap_err().to_string();
    let errors = [
        message(a.sort(2, SortOrder::Ascending)),
        message(a.sort(.., SortOrder::Ascending)),
        message(a.top_k(3, 0).map(|(values, _)| values)),
        message(a.quantile(1.5, 0)),
        message(a.select(&session.vector([true]))),
        message(a.compress(&session.vector([true]), 0)),
        message(a.searchsorted(2.0, Side::Left)),
        message(a.unstack(5).map(|mut parts| parts.remove(0))),
        message(a.repeat_each([1], 0).check()),
        message(session.meshgrid([&a]).map(|mut grids| grids.remove(0))),
    ];
    for error in &errors {
        assert!(error.contains("tests/arrays/ordered.rs"), "{error}");
    }
    let large = session.zeros([1 << 32, 1 << 31], Prim::F64);
    for (error, operation) in [
        (message(large.unique().map(|unique| unique.values)), "`unique` at"),
        (message(large.unique_values()), "`unique_values` at"),
        (message(large.unique_counts().map(|(values, _)| values)), "`unique_counts` at"),
    ] {
        assert!(error.starts_with(operation), "{error}");
    }
    let unknown = message(session.sample("none"));
    assert!(unknown.contains("the samples are karate.mtx"), "{unknown}");
}

/// The `k` largest values and their coordinates are the first `k` of the descending sort, for every
/// `k`.
#[test]
fn the_largest_values_begin_the_sorts() {
    let session = Session::default();
    for array in arrays(&session) {
        let shape = array.shape().unwrap();
        for (mode, size) in shape.iter().enumerate() {
            let axis = mode as i64;
            let (sorted, places) =
                (array.sort(axis, SortOrder::Descending).unwrap(), array.argsort(axis, SortOrder::Descending).unwrap());
            for k in 0..=*size {
                let first = |a: &Array| {
                    let all = (0..mode).map(|_| Index::from(..));
                    a.slice(all.chain([Index::from(..k as i64)]).collect::<Vec<Index>>())
                };
                let what = format!("the {k} largest values of {array} along {mode}");
                let (values, coordinates) = array.top_k(k, axis).unwrap();
                assert_equal(&values.to_vec().unwrap(), &first(&sorted).to_vec().unwrap(), &what);
                let expected = first(&places).to_vec::<i64>().unwrap();
                assert_eq!(coordinates.to_vec::<i64>().unwrap(), expected, "{what}");
            }
        }
    }
}

/// Numbers that the dtype of an array cannot represent are compared with its values exactly.
#[test]
fn numbers_of_other_dtypes_are_not_rounded() {
    let session = Session::default();
    let a = session.vector([1, 2]);
    assert_eq!(a.isin(1.5).unwrap().to_vec::<bool>().unwrap(), [false, false]);
    assert_eq!(a.isin(2.0).unwrap().to_vec::<bool>().unwrap(), [false, true]);
    assert_eq!(a.searchsorted(1.5, Side::Left).unwrap().item::<i64>().unwrap(), 1);
    let bytes = session.vector([44i8, 2]);
    assert_eq!(bytes.isin(300).unwrap().to_vec::<bool>().unwrap(), [false, false]);
    assert_eq!(bytes.isin(44).unwrap().to_vec::<bool>().unwrap(), [true, false]);
}

/// The median of two values is their mean, also if a value is infinite or their difference
/// overflows.
#[test]
fn quantiles_between_distant_values_are_means() {
    let session = Session::default();
    let median = |values: [f64; 2]| session.vector(values).median(..).unwrap().item::<f64>().unwrap();
    assert_eq!(median([f64::NEG_INFINITY, 1.0]), f64::NEG_INFINITY);
    assert_eq!(median([1.0, f64::INFINITY]), f64::INFINITY);
    assert_eq!(median([-1e308, 1e308]), 0.0);
    assert!(median([f64::NEG_INFINITY, f64::INFINITY]).is_nan());
}

/// Lists of axes of different lengths, and a range that is too wide to divide, are errors.
#[test]
fn arguments_that_do_not_match_are_errors() {
    let session = Session::default();
    let a = session.dense([2, 2], [1.0, 2.0, 3.0, 4.0]);
    let error = |array: Array| array.check().unwrap_err().to_string();
    assert!(
        error(a.tensordot(&a, redpoll::Contraction::Pairs(vec![0, 1], vec![0])))
            .contains("cannot contract 2 axes of an array with 1")
    );
    assert!(error(a.histogram(4, -1e308..1e308)).contains("cannot divide the range"));
}
