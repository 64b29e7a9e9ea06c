//! Inverse trigonometric functions.

use super::real::{Real, Word};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// Coefficients of a polynomial in `z = x^2` for `(x - atan(x)) / (x z)`, where `x` is up to 7/16
/// in magnitude.
const ATAN: [f64; 12] = [
    0.333_333_333_333_333_15,
    -0.199_999_999_999_931,
    0.142_857_142_848_468_6,
    -0.111_111_110_563_253_65,
    0.090_909_070_589_708_04,
    -0.076_922_595_640_020_09,
    0.066_659_029_106_630_21,
    -0.058_740_212_834_195_546,
    0.052_001_141_537_813_31,
    -0.044_330_599_627_199_24,
    0.031_917_599_267_357_23,
    -0.013_693_665_562_845_988,
];

/// Coefficients of a polynomial in `z = x^2` for `(asin(x) - x) / (x z)`, where `x` is up to 1/2 in
/// magnitude.
const ASIN: [f64; 13] = [
    0.166_666_666_666_667_63,
    0.074_999_999_999_699_54,
    0.044_642_857_175_394_38,
    0.030_381_942_671_131_257,
    0.022_372_216_001_961_064,
    0.017_351_594_047_290_85,
    0.013_981_033_461_046_587,
    0.011_397_187_065_230_657,
    0.010_789_841_323_566_895,
    0.003_670_453_618_105_061,
    0.021_794_375_907_833_605,
    -0.021_121_403_100_345_618,
    0.032_704_766_177_964_015,
];

/// `pi / 2 - FRAC_PI_2`.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;

pub(super) fn atan<R: Real>(x: R) -> R {
    // atan(a) = atan(c) + atan((a - c) / (1 + a c)), where c is 0, 1/2, 1, 3/2 or infinity.
    let a = x.abs();
    let pick = |values: [R; 5]| {
        let limits = [7.0 / 16.0, 11.0 / 16.0, 19.0 / 16.0, 39.0 / 16.0];
        let mut chosen = values[4];
        for (limit, value) in limits.into_iter().zip(values).rev() {
            chosen = R::select(a.is_below(limit), value, chosen);
        }
        chosen
    };
    let constant = |value| x.number(value);
    let numerator = pick([a, a * 2.0 - 1.0, a - 1.0, a - 1.5, constant(-1.0)]);
    let denominator = pick([constant(1.0), a + 2.0, a + 1.0, a * 1.5 + 1.0, a]);
    let high = pick([0.0, 0.463_647_609_000_806_1, FRAC_PI_4, 0.982_793_723_247_329, FRAC_PI_2].map(constant));
    let low = pick(
        [0.0, 2.269_877_745_296_168_7e-17, FRAC_PI_2_LOW / 2.0, 1.390_331_103_123_099_8e-17, FRAC_PI_2_LOW]
            .map(constant),
    );
    let t = numerator / denominator;
    let z = t * t;
    let tail = t * (z * z.polynomial(&ATAN));
    (high - ((tail - low) - t)).copysign(x)
}

/// The square root `leading + rest` of `z`, and `tail = asin(root) - root`.
struct Root<R> {
    leading: R,
    rest: R,
    tail: R,
}

impl<R: Real> Root<R> {
    fn new(z: R) -> Root<R> {
        let root = z.sqrt();
        let leading = (root.bits() & (u64::MAX << 32)).float();
        // MIN_POSITIVE avoids 0 / 0. It vanishes in the sum unless the root is 0.
        let rest = (z - leading * leading) / (root + leading + f64::MIN_POSITIVE);
        Root { leading, rest, tail: root * (z * z.polynomial(&ASIN)) }
    }
}

/// Returns `asin(x) - x` for `x` up to 1/2 in magnitude.
fn asin_tail<R: Real>(x: R) -> R {
    let z = x * x;
    x * (z * z.polynomial(&ASIN))
}

pub(super) fn asin<R: Real>(x: R) -> R {
    // asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2))
    let a = x.abs();
    let root = Root::new((x.number(1.0) - a) * 0.5);
    let low = root.tail * 2.0 - (x.number(FRAC_PI_2_LOW) - root.rest * 2.0);
    let large = x.number(FRAC_PI_4) - (low - (x.number(FRAC_PI_4) - root.leading * 2.0));
    R::select(a.is_below(0.5), a + asin_tail(a), large).copysign(x)
}

pub(super) fn acos<R: Real>(x: R) -> R {
    let a = x.abs();
    let small = x.number(FRAC_PI_2) - (x - (x.number(FRAC_PI_2_LOW) - asin_tail(x)));
    let root = Root::new((x.number(1.0) - a) * 0.5);
    let positive = (root.leading + (root.tail + root.rest)) * 2.0;
    let negative = (x.number(FRAC_PI_2) - (root.leading + (root.tail + root.rest - FRAC_PI_2_LOW))) * 2.0;
    R::select(a.is_below(0.5), small, R::select(x.is_below(0.0), negative, positive))
}
