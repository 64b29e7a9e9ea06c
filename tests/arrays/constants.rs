//! Arrays that differ only in numbers. They share a compiled plan if their numbers are of one
//! class: every operator has the same fill value for these numbers, unless its other arguments
//! store all their values. Each result has the values of its own number. Also windows that differ
//! only in their start, which share a plan as well, and the check of the values of parameters.

use redpoll::logic::text::parse_format;
use redpoll::logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll::storage::{Duplicates, Tensor, Triples, Values};
use redpoll::{Array, Bindings, Config, Error, Session, index};

/// Numbers in all classes: between, at and outside of the fill values, and special values.
const NUMBERS: [f64; 14] =
    [2.5, 3.25, -2.5, -0.125, 0.0, 1.0, -1.0, 2.0, 5.0, 7.5, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// An operation on an array and a number: its name, and its functions on arrays and on one element.
type Application = (&'static str, fn(&Array, f64) -> Array, fn(f64, f64) -> f64);

fn number(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// Returns the minimum of two numbers if `is_less`, otherwise the maximum; NaN if a number is NaN.
fn extreme(x: f64, t: f64, is_less: bool) -> f64 {
    if x.is_nan() || t.is_nan() { f64::NAN } else { if (x < t) == is_less { x } else { t } }
}

const APPLICATIONS: [Application; 13] = [
    ("greater", |a, t| a.greater(t).astype(Prim::F64), |x, t| number(x > t)),
    ("less or equal", |a, t| a.less_equal(t).astype(Prim::F64), |x, t| number(x <= t)),
    ("equal", |a, t| a.equal(t).astype(Prim::F64), |x, t| number(x == t)),
    ("not equal", |a, t| a.not_equal(t).astype(Prim::F64), |x, t| number(x != t)),
    ("times", |a, t| a * t, |x, t| if x == 0.0 || t == 0.0 { 0.0 } else { x * t }),
    ("over", |a, t| a / t, |x, t| if x == 0.0 { 0.0 } else { x / t }),
    ("plus", |a, t| a + t, |x, t| x + t),
    ("from", |a, t| t - a, |x, t| t - x),
    ("minimum", |a, t| a.minimum(t), |x, t| extreme(x, t, true)),
    ("maximum", |a, t| a.maximum(t), |x, t| extreme(x, t, false)),
    ("choice", |a, t| a.greater(0.25).where_(t, 7.0), |x, t| if x > 0.25 { t } else { 7.0 }),
    ("other choice", |a, t| a.greater(0.25).where_(a, t), |x, t| if x > 0.25 { x } else { t }),
    ("power", |a, t| a.abs().pow(t), |x, t| x.abs().powf(t)),
];

/// Returns a vector with a fill value in a format.
fn vector(session: &Session, fill: f64, format: &Format) -> Array {
    let ty = TensorType { shape: vec![9], dtype: Prim::F64.into(), fill: Scalar::F64(fill), format: format.clone() };
    let values = Values::from(vec![2.5, -3.0, 4.0, 0.5]);
    let triples = Triples { shape: vec![9], coordinates: vec![vec![1, 2, 5, 8]], values };
    session.array(Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0)
}

/// Returns vectors of sessions in both float modes: sparse vectors with two fill values, and a
/// dense vector.
fn vectors() -> Vec<(FloatMode, Array)> {
    let of_mode = |mode: FloatMode| {
        let mut config = Config::default();
        config.optimizer.float_mode = mode;
        let session = Session::new(config);
        let types = [(0.0, Format::csf(1)), (5.0, Format::csf(1)), (0.0, Format::dense(1))];
        types.map(|(fill, format)| (mode, vector(&session, fill, &format)))
    };
    [FloatMode::Relaxed, FloatMode::StrictIeee].into_iter().flat_map(of_mode).collect()
}

fn is_equal(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-14 * a.abs()
}

/// Each result has the values of its own number, whichever numbers came before.
#[test]
fn numbers_of_all_classes_give_their_values() {
    for (mode, a) in vectors() {
        let elements = a.to_vec::<f64>().unwrap();
        for (name, apply, meaning) in APPLICATIONS {
            for t in NUMBERS.into_iter().chain(NUMBERS) {
                let found = apply(&a, t).to_vec::<f64>().unwrap();
                let strict = |x: f64| match name {
                    "times" => x * t,
                    "over" => x / t,
                    _ => meaning(x, t),
                };
                let expected = elements.iter().map(|x| match mode {
                    FloatMode::Relaxed => meaning(*x, t),
                    FloatMode::StrictIeee => strict(*x),
                });
                let equal = found.iter().zip(expected.clone()).all(|(a, b)| is_equal(*a, b));
                assert!(equal, "{name} {t}, {a:.1}, {mode:?}: {found:?}, {:?}", expected.collect::<Vec<_>>());
            }
        }
    }
}

/// Arrays with other numbers of the same class are not planned again.
#[test]
fn numbers_of_one_class_share_a_plan() {
    let session = Session::default();
    let a = vector(&session, 0.0, &Format::csf(1));
    let is_planned = |array: Array| array.prepare().unwrap().timings().iter().next().is_some();
    let greater = |t: f64| a.greater(t).sum(..);
    assert_eq!(
        [2.5, 3.5, 1e9, -2.5, -3.5, 4.5, -4.5].map(|t| is_planned(greater(t))),
        [true, false, false, true, false, false, false]
    );
    let scaled = |t: f64| (t * &a + &a / 0.75).sum(..);
    assert_eq!([2.5, 3.5, 7.25].map(|t| is_planned(scaled(t))), [true, false, false]);
    // The sign of zero in the fill value of the product is the sign of the number.
    assert_eq!([-2.5, -3.5].map(|t| is_planned(scaled(t))), [true, false]);
}

/// Comparisons, and extremes of products and quotients, visit only the stored entries if their fill
/// value is 0 or false.
#[test]
fn lifted_numbers_keep_results_sparse() {
    let session = Session::default();
    let n = 1u64 << 40;
    let a = session.triples([n], Format::csf(1), [([5], 3.5), ([1 << 39], -4.0)]);
    for t in [2.5, 3.75, 2.25] {
        assert_eq!(a.greater(t).sum(..).to_vec::<i64>().unwrap(), [i64::from(t < 3.5)]);
        assert_eq!(a.less(-t).sum(..).to_vec::<i64>().unwrap(), [1]);
        assert_eq!((&a * t).minimum(t).sum(..).to_vec::<f64>().unwrap(), [t + -4.0 * t]);
        assert_eq!((&a / t).maximum(-t).sum(..).to_vec::<f64>().unwrap(), [3.5 / t + (-4.0 / t).max(-t)]);
    }
}

/// Explanations list the values of the numbers.
#[test]
fn explanations_list_numbers() {
    let session = Session::default();
    let a = vector(&session, 0.0, &Format::csf(1));
    for t in [2.5, 3.5] {
        let sections = a.greater(t).explain().unwrap();
        let text = sections.iter().find(|section| section.title == "constants").unwrap();
        assert_eq!(text.text, format!("`constant1` is {t}\n"));
    }
}

/// Dense arrays with numbers of one class share a plan even if their fill values depend on the
/// numbers. Each result has its own fill value.
#[test]
fn dense_arrays_share_a_plan() {
    let session = Session::default();
    let a = vector(&session, 0.0, &Format::dense(1));
    let fill = |array: &Array| array.collect().unwrap().ty().fill.to_f64().unwrap();
    let plus = |t: f64| (&a + t) * 2.0;
    assert_eq!(planned([2.5, 3.5, -2.5, -7.5, 1.0, 4.5].map(plus)), [true, false, true, false, true, false]);
    for t in [2.5, 3.5, -2.5, 1.0, 0.0] {
        assert_eq!(fill(&plus(t)), 2.0 * t);
        assert_eq!(fill(&(&a + t).minimum(0.75)), t.min(0.75));
        assert_eq!((&a + t).sum(..).to_vec::<f64>().unwrap(), [4.0 + 9.0 * t]);
        assert_eq!(fill(&(&a + t).sum(..)), 9.0 * t);
    }
    let clipped = |t: f64| a.clip(-t, t).sum(..);
    assert_eq!(planned([1.5, 2.5, 3.5].map(clipped)), [true, false, false]);
    let chosen = |t: f64| a.greater(0.0).where_(t, -t).sum(..);
    assert_eq!(planned([1.5, 2.5, 3.5].map(chosen)), [true, false, false]);
    assert_eq!([1.5, 2.5].map(|t| chosen(t).to_vec::<f64>().unwrap()), [[-4.5], [-7.5]]);
    let power = |k: f64| a.maximum(0.25).pow(k).sum(..);
    assert_eq!(planned([1.25, 2.25, 3.0, 4.0, 0.5].map(power)), [true, false, true, true, true]);
}

/// Returns whether each of the arrays is planned, in order.
fn planned(arrays: impl IntoIterator<Item = Array>) -> Vec<bool> {
    arrays.into_iter().map(|array| array.prepare().unwrap().timings().iter().next().is_some()).collect()
}

/// Windows of one length share a plan, except windows that begin at coordinate 0. Rows share a
/// plan, and columns share a plan.
#[test]
fn windows_of_one_length_share_a_plan() {
    let session = Session::default();
    for format in [Format::csf(1), Format::dense(1)] {
        let a = vector(&session, 0.0, &format);
        let window = |j: i64| a.slice(index![j..j + 3]) * 2.0;
        assert_eq!(planned((0..6).map(window)), [true, true, false, false, false, false]);
        let pair = |j: i64| a.slice(index![j + 1..j + 3]) - a.slice(index![j..j + 2]);
        assert_eq!(planned((0..6).map(pair)), [true, true, false, false, false, false]);
        let backward = |j: i64| a.slice(index![(j + 2..j, -1)]).sum(..);
        assert_eq!(planned((1..6).map(backward)), [true, false, false, false, false]);
        let rotated = |k: i64| a.roll(k, 0);
        assert_eq!(planned((-3..4).map(rotated)), [true, false, false, true, false, false, false]);
    }
    let matrix = session.triples([4, 5], Format::csr(), [([1, 2], 1.5), ([3, 0], 2.5), ([3, 4], -1.0)]);
    let row = |j: i64| matrix.slice(index![j]).sum(..);
    assert_eq!(planned((0..4).map(row)), [true, false, false, false]);
    let column = |j: i64| matrix.slice(index![.., j]).sum(..);
    assert_eq!(planned((0..4).map(column)), [true, false, false, false]);
}

/// Windows have the values at their coordinates, in several formats and in both directions.
#[test]
fn windows_have_the_values_at_their_places() {
    for (mode, a) in vectors() {
        let x = a.to_vec::<f64>().unwrap();
        for j in 0..7 {
            let found = a.slice(index![j as i64..j as i64 + 2]).to_vec::<f64>().unwrap();
            assert_eq!(found, x[j..j + 2], "{j}");
            let strided = a.slice(index![(j as i64..j as i64 + 3, 2)]).to_vec::<f64>().unwrap();
            assert_eq!(strided, x[j..(j + 3).min(9)].iter().copied().step_by(2).collect::<Vec<_>>(), "{j}");
            let (end, begin) = (j as i64 + 2, j as i64);
            let mut reversed = x[j + 1..j + 3].to_vec();
            reversed.reverse();
            assert_eq!(a.slice(index![(end..begin, -1)]).to_vec::<f64>().unwrap(), reversed, "{j}");
            let shifted = a.roll(j as i64, 0).to_vec::<f64>().unwrap();
            let expected: Vec<f64> = (0..9).map(|i| x[(i + 9 - j) % 9]).collect();
            assert_eq!(shifted, expected, "{j}");
            let sum = a.slice(index![j as i64..j as i64 + 2]) + a.slice(index![6 - j as i64..8 - j as i64]);
            let expected: Vec<f64> = (0..2).map(|i| x[j + i] + x[6 - j + i]).collect();
            assert_eq!(sum.to_vec::<f64>().unwrap(), expected, "{mode:?} {j}");
        }
    }
    let session = Session::default();
    let cells = [([1, 2], 1.5), ([3, 0], 2.5), ([3, 4], -1.0), ([2, 2], 7.0)];
    for format in ["csr", "csc", "coo", "dense", "csf", "vbl", "dia", "(bcsr 2 2)"] {
        let format = parse_format(format, 2).unwrap();
        let a = session.triples([4, 5], format, cells);
        let all = a.to_vec::<f64>().unwrap();
        for (i, j) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
            let part = a.slice(index![i..i + 2, j..j + 2]).to_vec::<f64>().unwrap();
            let at = |i: i64, j: i64| all[(i * 5 + j) as usize];
            assert_eq!(part, [at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)], "{i} {j}");
            let row = a.slice(index![i]).to_vec::<f64>().unwrap();
            assert_eq!(row, all[(i * 5) as usize..(i * 5 + 5) as usize], "{i}");
            let column = a.slice(index![.., j]).to_vec::<f64>().unwrap();
            assert_eq!(column, [0, 1, 2, 3].map(|i| at(i, j)), "{j}");
        }
    }
}

/// A parameter of a plan is checked before a run, because kernels rely on its bounds.
#[test]
fn values_of_parameters_are_checked() {
    let session = Session::default();
    let text = "(plan (query R (index (map ((j (+ j (parameter c 4)))) ((j 3))) (table x j))) (produces R))";
    let x = session.dense([6], [0, 1, 2, 3, 4, 5]).collect().unwrap();
    let part = |c: i64| {
        let c = session.dense([], [c]).collect().unwrap();
        let run = session.prepare(text, &Bindings::new().with("x", x.clone()).with("c", c))?.run()?;
        session.array(run.outputs[0].1.clone()).to_vec::<i32>()
    };
    assert_eq!(part(3).unwrap(), [3, 4, 5]);
    assert_eq!(part(0).unwrap(), [0, 1, 2]);
    for c in [-1, 4, i64::MAX] {
        assert!(matches!(part(c), Err(Error::Binding { .. })), "{c}");
    }
}
