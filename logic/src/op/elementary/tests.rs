//! Elementary functions, compared with those of `libm` also at the edges of their domains, and with
//! their recorded steps.

use super::recorded::{Expansion, Operation};
use super::*;
use proptest::prelude::*;

/// A function, its counterpart in `libm`, and the greatest difference in units in the last place.
type Row = (&'static str, fn(f64) -> f64, fn(f64) -> f64, u64);

const FUNCTIONS: [Row; 17] = [
    ("exp", exp, libm::exp, 2),
    ("exp2", exp2, libm::exp2, 2),
    ("expm1", expm1, libm::expm1, 2),
    ("sinh", sinh, libm::sinh, 3),
    ("cosh", cosh, libm::cosh, 2),
    ("tanh", tanh, libm::tanh, 3),
    ("log", log, libm::log, 2),
    ("log2", log2, libm::log2, 2),
    ("log10", log10, libm::log10, 2),
    ("log1p", log1p, libm::log1p, 2),
    ("asinh", asinh, libm::asinh, 3),
    ("acosh", acosh, acosh_of_libm, 3),
    ("atanh", atanh, libm::atanh, 4),
    ("asin", asin, libm::asin, 2),
    ("acos", acos, libm::acos, 2),
    ("atan", atan, libm::atan, 2),
    ("cbrt", cbrt, libm::cbrt, 1),
];

/// Returns NaN below 1, where `libm` may return numbers, and elsewhere the result of `libm`.
fn acosh_of_libm(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// Returns the distance of two floats in units in the last place; 0 for two NaN.
fn distance(a: f64, b: f64) -> u64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u64::MAX };
    }
    if a == 0.0 && b == 0.0 {
        return u64::from(a.is_sign_negative() != b.is_sign_negative());
    }
    let ordered =
        |x: f64| if x.is_sign_negative() { -((x.to_bits() & (u64::MAX >> 1)) as i64) } else { x.to_bits() as i64 };
    ordered(a).abs_diff(ordered(b))
}

fn check(x: f64) {
    for (name, ours, reference, limit) in FUNCTIONS {
        let (y, expected) = (ours(x), reference(x));
        assert!(distance(y, expected) <= limit, "{name}({x:e}) = {y:e}, libm: {expected:e}");
    }
}

/// Returns the result of an expansion for an argument.
fn interpret(expansion: &Expansion, x: f64) -> f64 {
    let mut values: Vec<u64> = Vec::new();
    for step in &expansion.steps {
        let bits = |k: usize| values[step.operands[k]];
        let float = |k: usize| f64::from_bits(bits(k));
        let value = match step.operation {
            Operation::Argument => x.to_bits(),
            Operation::Number(value) | Operation::Integer(value) => value,
            Operation::Abs => float(0).abs().to_bits(),
            Operation::Sqrt => float(0).sqrt().to_bits(),
            Operation::Copysign => float(0).copysign(float(1)).to_bits(),
            Operation::Add => (float(0) + float(1)).to_bits(),
            Operation::Sub => (float(0) - float(1)).to_bits(),
            Operation::Mul => (float(0) * float(1)).to_bits(),
            Operation::Div => (float(0) / float(1)).to_bits(),
            Operation::Less => u64::from(float(0) < float(1)),
            Operation::Select => bits(if bits(0) == 1 { 1 } else { 2 }),
            Operation::Bits | Operation::Float => bits(0),
            Operation::AddBits => bits(0).wrapping_add(bits(1)),
            Operation::SubBits => bits(0).wrapping_sub(bits(1)),
            Operation::And => bits(0) & bits(1),
            Operation::Or => bits(0) | bits(1),
            Operation::Shl(count) => bits(0) << count,
            Operation::Shr(count) => bits(0) >> count,
        };
        values.push(value);
    }
    f64::from_bits(*values.last().expect("an expansion has steps"))
}

#[test]
fn edges() {
    let mut points = vec![0.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX, f64::EPSILON];
    points.extend([0.25, 0.4375, 0.5, 0.55, 0.6875, 0.75, 1.0, 1.1875, 1.5, 2.0, 2.4375, 3.0, 10.0, 20.0, 22.0, 56.0]);
    points.extend([
        708.4,
        709.782_712_893_384,
        709.8,
        710.475_860_073_943_9,
        710.48,
        745.133,
        745.2,
        1022.0,
        1074.0,
        1075.0,
    ]);
    points.extend((-1074..1024).map(|k| libm::ldexp(1.0, k)));
    points.extend((0..300).map(f64::from));
    for x in points {
        for x in [x, x.next_up(), x.next_down()] {
            check(x);
            check(-x);
        }
    }
}

#[test]
fn exact_results() {
    for k in -1074..1024 {
        let power = libm::ldexp(1.0, k);
        assert_eq!((log2(power), exp2(f64::from(k))), (f64::from(k), power));
    }
    for k in 0..=22 {
        assert_eq!(log10(10.0_f64.powi(k)), f64::from(k), "log10(1e{k})");
    }
    for k in -60..=60_i32 {
        assert_eq!(cbrt(f64::from(k).powi(3)), f64::from(k));
    }
    assert_eq!((exp(0.0), cosh(0.0), acos(1.0), atan(1.0)), (1.0, 1.0, 0.0, std::f64::consts::FRAC_PI_4));
}

#[test]
fn dense_ranges() {
    // The step is no short binary fraction, so mantissas vary.
    for k in 0..200_000 {
        let x = f64::from(k) * 0.000_052_360_679_774_997_9;
        check(x);
        check(-x);
        check(x * x * x);
    }
}

#[test]
fn names() {
    assert!(FUNCTIONS.iter().all(|(name, ..)| expansion(name).is_some()));
    assert_eq!(expansion("sin"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 20_000 } else { 200_000 }))]

    #[test]
    fn any_bits(bits: u64) {
        check(f64::from_bits(bits));
    }

    #[test]
    fn steps_compute_the_same_bits(bits: u64, small in -50.0..50.0) {
        for (name, function, ..) in FUNCTIONS {
            let expansion = expansion(name).expect("every function has an expansion");
            for x in [f64::from_bits(bits), small] {
                let (direct, stepwise) = (function(x), interpret(&expansion, x));
                prop_assert!(direct.to_bits() == stepwise.to_bits() || direct.is_nan() && stepwise.is_nan(), "{name}({x:e})");
            }
        }
    }
}
