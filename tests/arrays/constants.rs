//! Arrays that differ only in numbers: they share a compiled plan as long as the numbers are of one
//! class, and every number gives its own values.

use redpoll::logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll::storage::{Duplicates, Tensor, Triples, Values};
use redpoll::{Array, Config, Session};

/// Numbers in all classes: between, at and outside of the fill values, and special values.
const NUMBERS: [f64; 14] =
    [2.5, 3.25, -2.5, -0.125, 0.0, 1.0, -1.0, 2.0, 5.0, 7.5, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// An operation of an array with a number, and its meaning for one element.
type Application = (&'static str, fn(&Array, f64) -> Array, fn(f64, f64) -> f64);

fn number(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// The minimum or maximum of two numbers; NaN if one of them is.
fn extreme(x: f64, t: f64, is_less: bool) -> f64 {
    if x.is_nan() || t.is_nan() { f64::NAN } else { if (x < t) == is_less { x } else { t } }
}

const APPLICATIONS: [Application; 10] = [
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
];

/// Returns a vector with a fill value in a format.
fn vector(session: &Session, fill: f64, format: &Format) -> Array {
    let ty = TensorType { shape: vec![9], dtype: Prim::F64.into(), fill: Scalar::F64(fill), format: format.clone() };
    let values = Values::from(vec![2.5, -3.0, 4.0, 0.5]);
    let triples = Triples { shape: vec![9], coordinates: vec![vec![1, 2, 5, 8]], values };
    session.array(Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0)
}

fn is_equal(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// Every number gives its own values, whichever numbers came before.
#[test]
fn numbers_of_all_classes_give_their_values() {
    for mode in [FloatMode::Relaxed, FloatMode::StrictIeee] {
        let mut config = Config::default();
        config.optimizer.float_mode = mode;
        let session = Session::new(config);
        for (fill, format) in [(0.0, Format::csf(1)), (5.0, Format::csf(1)), (0.0, Format::dense(1))] {
            let a = vector(&session, fill, &format);
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
                    assert!(equal, "{name} {t}, fill {fill}, {mode:?}: {found:?}, {:?}", expected.collect::<Vec<_>>());
                }
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
        [2.5, 3.5, 1e9, -2.5, -3.5, 4.5].map(|t| is_planned(greater(t))),
        [true, false, false, true, false, false]
    );
    let scaled = |t: f64| (t * &a + &a / 0.75).sum(..);
    assert_eq!([2.5, 3.5, 7.25].map(|t| is_planned(scaled(t))), [true, false, false]);
    // The sign of zero in the fill value of the product is that of the number.
    assert_eq!([-2.5, -3.5].map(|t| is_planned(scaled(t))), [true, false]);
}

/// A comparison visits the stored entries only, whatever the number is.
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

/// The explanation has the values of the numbers.
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
