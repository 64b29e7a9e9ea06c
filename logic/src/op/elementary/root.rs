//! The cube root.

use super::bits::{FRACTION, SHIFT, biased_exponent, power_of_two};
use super::real::{Real, Word};

/// Coefficients of a polynomial for the cube root of numbers between 1 and 2, accurate to 25 bits.
const CBRT: [f64; 8] = [
    0.425_931_653_001_073_44,
    1.055_764_765_567_794_2,
    -0.889_514_503_002_415_5,
    0.644_978_491_960_698_3,
    -0.323_738_435_222_959_75,
    0.104_446_711_444_441_74,
    -0.019_459_351_068_447_105,
    0.001_590_692_494_416_972_3,
];

pub(super) fn cbrt<R: Real>(x: R) -> R {
    let a = x.abs();
    let subnormal = a.is_below(f64::MIN_POSITIVE);
    let bits = R::select(subnormal, a * (1u64 << 54) as f64, a).bits();
    // a = 2^(e - 1023) m, and e = 3 third + rest, where the rest is 0, 1 or 2.
    let e = biased_exponent(bits);
    let m = ((bits & FRACTION) | 1.0_f64.to_bits()).float();
    let shifted = (e - 1.0) * (1.0 / 3.0) + SHIFT;
    let third = shifted - SHIFT;
    let rest = e - third * 3.0;
    let pick = |values: [f64; 3]| {
        let [zero, one, two] = values.map(|value| x.number(value));
        R::select(rest.is_below(0.5), zero, R::select(rest.is_below(1.5), one, two))
    };
    let estimate = m.polynomial(&CBRT) * pick([1.0, 1.259_921_049_894_873_2, 1.587_401_051_968_199_5]);
    // t has 26 bits, so its square is exact. A step of Halley's method triples the number of bits
    // that are right.
    let t = (estimate.bits() & (u64::MAX << 27)).float();
    let quotient = m * pick([1.0, 2.0, 4.0]) / (t * t);
    let y = t + t * ((quotient - t) / (t + t + quotient));
    let offset = R::select(subnormal, x.number(341.0 + 18.0), x.number(341.0));
    let power = (third - offset + SHIFT).bits() - SHIFT.to_bits();
    let y = y * power_of_two(power);
    let y = R::select(a.is_below(f64::INFINITY), y, a);
    R::select(x.number(0.0).is_less(a), y, a).copysign(x)
}
