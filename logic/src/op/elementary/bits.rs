//! Integers and exponents in the bits of floats.

use super::real::Word;

/// 1.5 * 2^52. Its sum with a float below 2^51 in magnitude is rounded to an integer. The lowest
/// bits of the sum hold that integer.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The bits of the fraction.
pub(super) const FRACTION: u64 = (1 << 52) - 1;

const TWO_TO_52: f64 = 4_503_599_627_370_496.0;

/// Returns `2^k` for an integer `k` from -1022 to 1023, in two's complement.
pub(super) fn power_of_two<W: Word>(k: W) -> W::Float {
    ((k + 1023) << 52).float()
}

/// Returns the biased exponent of a float without sign, from its bits.
pub(super) fn biased_exponent<W: Word>(bits: W) -> W::Float {
    ((bits >> 52) | TWO_TO_52.to_bits()).float() - TWO_TO_52
}
