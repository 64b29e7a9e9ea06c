//! Powers of e and 2, and hyperbolic functions.

use super::bits::{SHIFT, power_of_two};
use super::real::Real;
use std::f64::consts::LOG2_E;

/// The number ln 2 in two parts: the leading 32 bits, whose products with integers below 2^20 are
/// exact, and the remaining bits.
pub(super) const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
pub(super) const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Coefficients of a polynomial in `r` for `(exp(r) - 1 - r - r^2 / 2) / r^3`, where `r` is up to
/// ln 2 / 2 in magnitude.
const EXP: [f64; 11] = [
    0.166_666_666_666_666_66,
    0.041_666_666_666_666_685,
    0.008_333_333_333_333_34,
    0.001_388_888_888_887_356_7,
    0.000_198_412_698_412_417_12,
    2.480_158_734_858_920_4e-5,
    2.755_731_928_351_203_5e-6,
    2.755_725_237_616_518e-7,
    2.505_204_343_199_763e-8,
    2.092_158_935_186_131e-9,
    1.609_446_615_808_964e-10,
];

/// Coefficients of a polynomial in `f` for `(2^f - 1 - f ln 2) / f^2`, where `f` is up to 1/2 in
/// magnitude.
const EXP2: [f64; 11] = [
    0.240_226_506_959_100_72,
    0.055_504_108_664_821_64,
    0.009_618_129_107_628_49,
    0.001_333_355_814_640_186_3,
    0.000_154_035_303_933_470_88,
    1.525_273_384_698_614_8e-5,
    1.321_548_682_892_951_6e-6,
    1.017_805_460_268_795e-7,
    7.054_889_586_098_887e-9,
    4.456_211_111_193_92e-10,
    2.574_016_484_485_568e-11,
];

/// An argument `x = k ln 2 + r` of an exponential, with `|r| <= ln 2 / 2`.
struct Reduced<R: Real> {
    /// `k`, in two's complement.
    power: R::Bits,
    /// `x - k LN2_HIGH`, so `r` is `high` less the small number `k LN2_LOW`.
    high: R,
    /// `exp(r) - 1 - high`.
    tail: R,
}

impl<R: Real> Reduced<R> {
    fn new(x: R) -> Reduced<R> {
        let shifted = x * LOG2_E + SHIFT;
        let k = shifted - SHIFT;
        let (high, low) = (x - k * LN2_HIGH, k * LN2_LOW);
        let r = high - low;
        let tail = r * r * (r * r.polynomial(&EXP) + 0.5) - low;
        Reduced { power: shifted.bits() - SHIFT.to_bits(), high, tail }
    }
}

/// Returns `y * 2^k`, rounded once.
fn scale<R: Real>(y: R, k: R::Bits) -> R {
    let half = ((k + 2048) >> 1) - 1024;
    y * power_of_two(half) * power_of_two(k - half)
}

pub(super) fn exp<R: Real>(x: R) -> R {
    let Reduced { power, high, tail } = Reduced::new(x.at_least(-746.0).at_most(710.0));
    scale((high + tail) + 1.0, power)
}

pub(super) fn exp2<R: Real>(x: R) -> R {
    let x = x.at_least(-1076.0).at_most(1025.0);
    let shifted = x + SHIFT;
    let f = x - (shifted - SHIFT);
    let power = f * LN2_HIGH + (f * LN2_LOW + f * f * f.polynomial(&EXP2));
    scale(power + 1.0, shifted.bits() - SHIFT.to_bits())
}

/// Returns `(exp(x) - 1) / 4`, which does not overflow where the hyperbolic sine is finite.
fn quarter_of_expm1<R: Real>(x: R) -> R {
    let Reduced { power, high, tail } = Reduced::new(x.at_least(-40.0).at_most(710.8));
    let scale = power_of_two(power - 2);
    // (2^k - 1) / 4 and 2^k high / 4 may cancel, so the rounding error of their sum is computed and
    // added.
    let (a, b) = (scale - 0.25, scale * high);
    let sum = a + b;
    let added = sum - a;
    let error = (a - (sum - added)) + (b - added);
    sum + (error + scale * tail)
}

pub(super) fn expm1<R: Real>(x: R) -> R {
    R::select(x.abs().is_below(f64::EPSILON / 4.0), x, quarter_of_expm1(x) * 4.0)
}

/// Magnitude below which the hyperbolic sine and tangent round to their argument.
const TINY: f64 = 1.0 / (1u64 << 28) as f64;

pub(super) fn sinh<R: Real>(x: R) -> R {
    // With t = exp(x) - 1, sinh(x) = (t + t / (t + 1)) / 2.
    let a = x.abs();
    let quarter = quarter_of_expm1(a);
    let y = (quarter + quarter / (quarter * 4.0 + 1.0)) * 2.0;
    R::select(a.is_below(TINY), a, y).copysign(x)
}

pub(super) fn cosh<R: Real>(x: R) -> R {
    let Reduced { power, high, tail } = Reduced::new(x.abs().at_most(710.8));
    let quarter = ((high + tail) + 1.0) * power_of_two(power - 2);
    quarter * 2.0 + x.number(0.125) / quarter
}

pub(super) fn tanh<R: Real>(x: R) -> R {
    // With t = exp(2x) - 1, tanh(x) = t / (t + 2) = 1 - 2 / (t + 2).
    let a = x.abs();
    let t = quarter_of_expm1(a.at_most(22.0) * 2.0) * 4.0;
    let small = a.is_below(0.55);
    let quotient = R::select(small, t, x.number(2.0)) / (t + 2.0);
    let y = R::select(small, quotient, x.number(1.0) - quotient);
    R::select(a.is_below(TINY), a, y).copysign(x)
}
