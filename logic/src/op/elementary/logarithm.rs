//! Logarithms, and inverse hyperbolic functions.

use super::bits::{FRACTION, biased_exponent};
use super::exponential::{LN2_HIGH, LN2_LOW};
use super::real::{Real, Word};

/// Coefficients of a polynomial in `z = s^2` for `(log((1 + s) / (1 - s)) - 2 s) / (s z)`, where
/// `s` is up to 3 - sqrt(8) in magnitude.
const LOG: [f64; 8] = [
    0.666_666_666_666_666_6,
    0.400_000_000_000_062_3,
    0.285_714_285_690_899_4,
    0.222_222_226_463_857_8,
    0.181_817_756_865_654_18,
    0.153_870_902_362_354_98,
    0.132_501_226_715_970_84,
    0.132_513_416_716_905_98,
];

/// The numbers 1 / ln 2, 1 / ln 10 and log10(2), each in two parts: the leading bits and the
/// remaining bits.
const LOG2_E_HIGH: f64 = f64::from_bits(0x3ff7_1547_6520_0000);
const LOG2_E_LOW: f64 = 1.675_171_316_488_651_2e-10;
const LOG10_E_HIGH: f64 = f64::from_bits(0x3fdb_cb7b_1520_0000);
const LOG10_E_LOW: f64 = 2.508_294_671_164_527_5e-11;
const LOG10_2_HIGH: f64 = f64::from_bits(0x3fd3_4413_509f_6000);
const LOG10_2_LOW: f64 = 3.694_239_077_158_931e-13;

const ONE: u64 = 1.0_f64.to_bits();
/// The bits of a float slightly below sqrt(1/2).
const ROOT_OF_HALF: u64 = 0x3fe6_a09e_0000_0000;
/// Magnitude above which `1 + x^2` rounds to `x^2`.
const HUGE: f64 = (1u64 << 28) as f64;

/// A positive normal float `2^k (1 + f)`, with `1 + f` between about `sqrt(1/2)` and `sqrt(2)`.
struct Reduced<R> {
    k: R,
    f: R,
    /// `f^2 / 2`.
    half_square: R,
    /// `log(1 + f) - f + f^2 / 2`.
    tail: R,
}

impl<R: Real> Reduced<R> {
    fn new(x: R) -> Reduced<R> {
        let shifted = x.bits() + (ONE - ROOT_OF_HALF);
        let k = biased_exponent(shifted) - 1023.0;
        let f = ((shifted & FRACTION) + ROOT_OF_HALF).float() - 1.0;
        let half_square = f * 0.5 * f;
        let s = f / (f + 2.0);
        let z = s * s;
        Reduced { k, f, half_square, tail: s * (half_square + z * z.polynomial(&LOG)) }
    }

    /// Reduces any positive finite float.
    fn of_positive(x: R) -> Reduced<R> {
        let subnormal = x.is_below(f64::MIN_POSITIVE);
        let reduced = Reduced::new(R::select(subnormal, x * (1u64 << 54) as f64, x));
        Reduced { k: reduced.k - R::select(subnormal, x.number(54.0), x.number(0.0)), ..reduced }
    }

    /// Returns the natural logarithm plus `correction`, which is small.
    fn log_plus(&self, correction: R) -> R {
        ((self.tail + (self.k * LN2_LOW + correction)) - self.half_square + self.f) + self.k * LN2_HIGH
    }

    /// Returns `k * unit + log(1 + f) * factor`. `unit` and `factor` are sums of two floats.
    fn log_times(&self, factor: (f64, f64), unit: (f64, f64)) -> R {
        let leading = ((self.f - self.half_square).bits() & (u64::MAX << 32)).float();
        let rest = (self.f - leading) - self.half_square + self.tail;
        let high = leading * factor.0;
        let low = (rest + leading) * factor.1 + rest * factor.0;
        let whole = self.k * unit.0;
        let sum = whole + high;
        ((self.k * unit.1 + low) + ((whole - sum) + high)) + sum
    }
}

/// Returns `y` if `x` is positive and finite, otherwise the value of a logarithm at `x`: a limit at
/// 0 and infinity, else NaN.
fn within_domain<R: Real>(x: R, y: R) -> R {
    let positive = R::select(x.is_below(f64::INFINITY), y, x);
    let others = R::select(x.is_below(0.0), x.number(f64::NAN), x.number(-1.0) / (x * x));
    R::select(x.number(0.0).is_less(x), positive, others)
}

pub(super) fn log<R: Real>(x: R) -> R {
    within_domain(x, Reduced::of_positive(x).log_plus(x.number(0.0)))
}

pub(super) fn log2<R: Real>(x: R) -> R {
    within_domain(x, Reduced::of_positive(x).log_times((LOG2_E_HIGH, LOG2_E_LOW), (1.0, 0.0)))
}

pub(super) fn log10<R: Real>(x: R) -> R {
    let factors = ((LOG10_E_HIGH, LOG10_E_LOW), (LOG10_2_HIGH, LOG10_2_LOW));
    within_domain(x, Reduced::of_positive(x).log_times(factors.0, factors.1))
}

pub(super) fn log1p<R: Real>(x: R) -> R {
    // The rounding error of 1 + x can be computed. It corrects the logarithm of the sum.
    let u = x + 1.0;
    let error = R::select(u.is_below(2.0), x - (u - 1.0), x.number(1.0) - (u - x));
    let y = within_domain(u, Reduced::new(u).log_plus(error / u));
    R::select(x.abs().is_below(f64::EPSILON / 4.0), x, y)
}

/// Returns `log1p(y) + ln 2` if the test is true, otherwise `log1p(y)`.
fn log1p_doubled<R: Real>(double: R::Test, y: R) -> R {
    let one = log1p(y);
    one + R::select(double, y.number(std::f64::consts::LN_2), y.number(0.0))
}

pub(super) fn asinh<R: Real>(x: R) -> R {
    let a = x.abs();
    let huge = x.number(HUGE).is_less(a);
    let square = a * a;
    let y = a + square / ((square + 1.0).sqrt() + 1.0);
    log1p_doubled(huge, R::select(huge, a - 1.0, y)).copysign(x)
}

pub(super) fn acosh<R: Real>(x: R) -> R {
    let huge = x.number(HUGE).is_less(x);
    let t = x - 1.0;
    // The root is NaN between -1 and 1, but not below -1; the last line returns NaN there, too.
    let y = t + (t * 2.0 + t * t).sqrt();
    let y = log1p_doubled(huge, R::select(huge, t, y));
    R::select(x.is_below(1.0), x.number(f64::NAN), y)
}

pub(super) fn atanh<R: Real>(x: R) -> R {
    // atanh(x) = log1p(2x / (1 - x)) / 2
    let a = x.abs();
    let double = a + a;
    let y = log1p(double + double * a / (x.number(1.0) - a)) * 0.5;
    R::select(x.number(1.0).is_less(a), x.number(f64::NAN), y).copysign(x)
}
