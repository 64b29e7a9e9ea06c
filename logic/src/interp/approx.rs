//! Floats of the relaxed mode: a value in higher precision, and the quantities from which a bound
//! on the error of every legal engine is computed.
//!
//! An engine may regroup and distribute sums and products, and so may compute any form of a
//! polynomial. An [`Approx`] describes the properties that all these forms share:
//! - the *magnitude* is the polynomial with all signs positive, at the absolute values of the
//!   leaves;
//! - the *terms* are the number of terms of the expanded form;
//! - the *depth* is the largest number of multiplications in a term;
//! - the *grid* is an exponent such that every term is a multiple of `2^grid`.
//!
//! In every form, a term passes at most `terms - 1` additions and `depth` multiplications. With the
//! unit roundoff `u`, the rounding error is therefore at most `(terms - 1 + depth) u magnitude` to
//! first order (Higham, "Accuracy and stability of numerical algorithms", 2002, section 3.1). Twice
//! that bound covers the higher orders, and the products and powers by which engines replace the
//! fold of a run. Errors of the leaves propagate through the sums and products.
//!
//! A minimum or maximum takes the larger magnitude, terms and depth of its arguments. The absolute
//! value keeps the quantities of its argument. A quotient is the product with a reciprocal. A
//! reciprocal is a new leaf, and so is the result of any other operator that is no polynomial.
//!
//! The computation is exact in every form if the leaves are exact, and the dtype has every multiple
//! of `2^grid` up to the magnitude.

use super::dd::Dd;
use crate::dtype::Prim;
use crate::scalar::Scalar;

/// Classes of values, by sign and finiteness, that can occur in some form of the polynomial. An
/// engine that regroups may add any two of these values, so a sum is not determined if opposite
/// infinities can occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ValueClasses(u8);

impl ValueClasses {
    const NEGATIVE_INFINITY: u8 = 1;
    const NEGATIVE: u8 = 2;
    const ZERO: u8 = 4;
    const POSITIVE: u8 = 8;
    const POSITIVE_INFINITY: u8 = 16;
    const INFINITE: u8 = Self::NEGATIVE_INFINITY | Self::POSITIVE_INFINITY;
    const AROUND_ZERO: ValueClasses = ValueClasses(Self::NEGATIVE | Self::ZERO | Self::POSITIVE);

    fn of(x: f64) -> ValueClasses {
        ValueClasses(match x {
            f64::NEG_INFINITY => Self::NEGATIVE_INFINITY,
            f64::INFINITY => Self::POSITIVE_INFINITY,
            _ if x < 0.0 => Self::NEGATIVE,
            _ if x > 0.0 => Self::POSITIVE,
            _ => Self::ZERO,
        })
    }

    fn has(self, classes: u8) -> bool {
        self.0 & classes != 0
    }

    fn union(self, other: ValueClasses) -> ValueClasses {
        ValueClasses(self.0 | other.0)
    }

    fn negated(self) -> ValueClasses {
        ValueClasses(self.0.reverse_bits() >> 3)
    }

    fn product(self, other: ValueClasses) -> ValueClasses {
        const REPRESENTATIVES: [f64; 5] = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY];
        let members =
            |classes: ValueClasses| REPRESENTATIVES.into_iter().filter(move |x| classes.has(ValueClasses::of(*x).0));
        let mut product = ValueClasses(0);
        for x in members(self) {
            product = members(other).fold(product, |product, y| product.union(ValueClasses::of(x * y)));
        }
        product
    }
}

/// A float of the relaxed mode; the module documentation defines the magnitude, terms, depth and
/// grid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Approx {
    prim: Prim,
    x: Dd,
    /// Error caused by the errors of the leaves.
    error: f64,
    magnitude: f64,
    terms: f64,
    depth: f64,
    /// Exponent such that the value is a multiple of `2^grid` in every form.
    grid: i32,
    classes: ValueClasses,
    /// Exponents of a lower and an upper bound of all partial products and sums. For a term, `low`
    /// is the sum of the negative binary exponents of its factors, rounded down, and `high` is the
    /// sum of the positive exponents, rounded up. A sum takes the least `low` and the greatest
    /// `high` of its terms, and its `high` covers the magnitude.
    low: i32,
    high: i32,
}

/// Grid of infinities, and of zero, which is a multiple of every power of two. The negative of this
/// number is the grid of values that no `f64` represents.
const ZERO_GRID: i32 = 1 << 20;

struct Precision {
    /// Bits of the significand.
    bits: i32,
    /// Largest and smallest exponent of a normal number, and smallest exponent of a subnormal
    /// number.
    largest: i32,
    smallest: i32,
    subnormal: i32,
}

fn precision(prim: Prim) -> Precision {
    match prim {
        Prim::F32 => Precision { bits: 24, largest: 127, smallest: -126, subnormal: -149 },
        _ => Precision { bits: 53, largest: 1023, smallest: -1022, subnormal: -1074 },
    }
}

/// Returns the unit roundoff: half the distance from 1 to the next float.
pub(super) fn unit(prim: Prim) -> f64 {
    if prim == Prim::F32 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 }
}

impl Approx {
    /// Creates a value that is exact in every engine; `x` is not NaN.
    pub(super) fn exact(prim: Prim, x: f64) -> Approx {
        Approx::leaf(prim, x.into(), 0.0)
    }

    /// Creates a value from which the values of engines differ by at most `error`.
    pub(super) fn leaf(prim: Prim, x: Dd, error: f64) -> Approx {
        let (floor, ceil) = if x.hi == 0.0 || !x.is_finite() {
            (0, 0)
        } else {
            let exponent = exponent(x.hi);
            let is_power = x.lo == 0.0 && x.hi.abs() == libm::ldexp(1.0, exponent);
            (exponent, if is_power { exponent } else { exponent + 1 })
        };
        let classes =
            if error >= x.hi.abs() && error > 0.0 { ValueClasses::AROUND_ZERO } else { ValueClasses::of(x.hi) };
        Approx {
            prim,
            x,
            error,
            // An infinite value has no rounding error and propagates none.
            magnitude: if x.is_finite() { x.hi.abs() } else { 0.0 },
            terms: 1.0,
            depth: 0.0,
            grid: if x.lo == 0.0 { grid(x.hi) } else { -ZERO_GRID },
            classes,
            low: floor.min(0),
            high: ceil.max(0),
        }
    }

    pub(super) fn prim(&self) -> Prim {
        self.prim
    }

    pub(super) fn value(&self) -> Dd {
        self.x
    }

    /// Returns the value rounded to its dtype.
    pub(super) fn scalar(&self) -> Scalar {
        match self.prim {
            Prim::F32 => Scalar::F32(self.x.hi as f32),
            _ => Scalar::F64(self.x.hi),
        }
    }

    /// Returns a bound on the distance of a legal engine's value from [`Approx::value`]; 0 if all
    /// engines have that value exactly, or if the value is infinite.
    pub(super) fn bound(&self) -> f64 {
        if !self.x.is_finite() || self.is_exact() {
            return 0.0;
        }
        let roundings = self.terms - 1.0 + self.depth;
        self.error * 1.001 + 2.0 * roundings * unit(self.prim) * self.magnitude
    }

    fn is_exact(&self) -> bool {
        let p = precision(self.prim);
        let leaf = self.terms == 1.0 && self.depth == 0.0;
        let fits = || self.magnitude == 0.0 || exponent(self.magnitude) < p.bits + self.grid;
        self.error == 0.0 && (leaf || (self.grid >= p.subnormal && fits()))
    }

    /// Returns whether the value may be 0 in one engine and not in another.
    fn may_be_zero(&self) -> bool {
        self.bound() > 0.0 && self.x.hi.abs() <= self.bound()
    }

    /// Returns the sum; `None` if infinities of both signs may occur, or if an engine may overflow
    /// or underflow.
    pub(super) fn add(&self, other: &Approx) -> Option<Approx> {
        let opposite = |a: ValueClasses, b: ValueClasses| {
            a.has(ValueClasses::POSITIVE_INFINITY) && b.has(ValueClasses::NEGATIVE_INFINITY)
        };
        if opposite(self.classes, other.classes) || opposite(other.classes, self.classes) {
            return None;
        }
        let magnitude = self.magnitude + other.magnitude;
        let mut sum = Approx {
            x: self.x + other.x,
            error: self.error + other.error,
            magnitude,
            terms: self.terms + other.terms,
            depth: self.depth.max(other.depth),
            ..self.combined(other)
        };
        if magnitude > 0.0 {
            sum.high = sum.high.max(exponent(magnitude) + 1);
        }
        sum.checked()
    }

    pub(super) fn neg(&self) -> Approx {
        Approx { x: -self.x, classes: self.classes.negated(), ..*self }
    }

    pub(super) fn abs(&self) -> Approx {
        let classes =
            self.classes.union(self.classes.negated()).0 & !(ValueClasses::NEGATIVE | ValueClasses::NEGATIVE_INFINITY);
        Approx { x: self.x.abs(), classes: ValueClasses(classes), ..*self }
    }

    /// Returns whether the value is 0 in every form, and no form has nonzero terms that cancel.
    pub(super) fn is_zero(&self) -> bool {
        self.classes == ValueClasses(ValueClasses::ZERO) && self.bound() == 0.0
    }

    /// Returns whether the value is infinite in some form.
    pub(super) fn may_be_infinite(&self) -> bool {
        self.classes.has(ValueClasses::INFINITE)
    }

    /// Returns the product; `None` if it is not determined.
    pub(super) fn mul(&self, other: &Approx) -> Option<Approx> {
        if self.is_zero() && other.may_be_infinite() || other.is_zero() && self.may_be_infinite() {
            return Some(Approx::exact(self.prim, 0.0));
        }
        // A sum that is 0 may be distributed into terms that are not 0.
        let may_be_nan = |a: &Approx, b: &Approx| a.may_be_infinite() && (b.x.hi == 0.0 || b.may_be_zero());
        if may_be_nan(self, other) || may_be_nan(other, self) {
            return None;
        }
        let product = Approx {
            prim: self.prim,
            x: self.x * other.x,
            error: self.magnitude * other.error + other.magnitude * self.error + self.error * other.error,
            magnitude: self.magnitude * other.magnitude,
            terms: self.terms * other.terms,
            depth: self.depth + other.depth + 1.0,
            grid: (self.grid + other.grid).clamp(-ZERO_GRID, ZERO_GRID),
            classes: self.classes.product(other.classes),
            low: self.low + other.low,
            high: self.high + other.high,
        };
        // The distributed terms would be infinities of both signs.
        let split = product.classes.has(ValueClasses::POSITIVE_INFINITY)
            && product.classes.has(ValueClasses::NEGATIVE_INFINITY);
        if split && product.terms > 1.0 { None } else { product.checked() }
    }

    /// Returns the quotient; `None` if it is not determined.
    pub(super) fn div(&self, other: &Approx) -> Option<Approx> {
        if self.is_zero() { Some(Approx::exact(self.prim, 0.0)) } else { self.mul(&other.reciprocal()?) }
    }

    /// Returns `1 / x`; `None` if an engine may divide by zero, overflow or underflow, or if the
    /// bound on the error exceeds a thousandth of `|x|`.
    pub(super) fn reciprocal(&self) -> Option<Approx> {
        if !self.x.is_finite() {
            return Some(Approx::exact(self.prim, 0.0));
        }
        let (x, bound) = (self.x.hi.abs(), self.bound());
        if x == 0.0 || bound * 1000.0 > x {
            return None;
        }
        let error = bound / x / (x - bound) + 2.0 * unit(self.prim) / x;
        let leaf = Approx::leaf(self.prim, Dd::ONE / self.x, error);
        leaf.checked()
    }

    /// Returns the minimum or the maximum of two values.
    pub(super) fn extremum(&self, other: &Approx, extremum: ExtremumKind) -> Approx {
        let first = match extremum {
            ExtremumKind::Min => !other.x.less(self.x),
            ExtremumKind::Max => !self.x.less(other.x),
        };
        Approx {
            x: if first { self.x } else { other.x },
            error: self.error.max(other.error),
            magnitude: self.magnitude.max(other.magnitude),
            terms: self.terms.max(other.terms),
            depth: self.depth.max(other.depth),
            ..self.combined(other)
        }
    }

    /// Combines the fields that are computed alike for sums and extrema.
    fn combined(&self, other: &Approx) -> Approx {
        Approx {
            grid: self.grid.min(other.grid),
            classes: self.classes.union(other.classes),
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            ..*self
        }
    }

    /// Adds the class of the value to its classes; returns `None` if an engine may overflow or
    /// underflow while it computes the value.
    fn checked(mut self) -> Option<Approx> {
        let p = precision(self.prim);
        if self.high > p.largest
            || (self.low < p.smallest && self.classes != ValueClasses(ValueClasses::ZERO) && !self.is_exact())
        {
            return None;
        }
        if !self.bound().is_finite() || !self.magnitude.is_finite() {
            return None;
        }
        let infinite = self.classes.has(ValueClasses::INFINITE);
        if self.x.hi.is_nan() || (!self.x.is_finite() && !infinite) {
            return None;
        }
        let class = if self.may_be_zero() { ValueClasses::AROUND_ZERO } else { ValueClasses::of(self.x.hi) };
        self.classes = self.classes.union(class);
        Some(self)
    }
}

/// The kind of an extremum: the smaller or the larger of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExtremumKind {
    Min,
    Max,
}

/// Returns the binary exponent of a finite nonzero number.
fn exponent(x: f64) -> i32 {
    libm::ilogb(x)
}

/// Returns the largest g such that the number is a multiple of `2^g`; [`ZERO_GRID`] for zero and
/// infinities.
fn grid(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return ZERO_GRID;
    }
    let (bits, exponent) = (x.to_bits() & ((1 << 52) - 1), (x.to_bits() >> 52 & 0x7ff) as i32);
    let significand = if exponent == 0 { bits } else { bits | 1 << 52 };
    exponent.max(1) - 1075 + significand.trailing_zeros() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a product has no bound if an engine may overflow. The product of all factors is
    /// finite, but the product of the three large factors overflows.
    #[test]
    fn products_that_may_overflow_have_no_bound() {
        let product = |factors: [f64; 4]| {
            let factors = factors.map(|x| Some(Approx::exact(Prim::F64, x)));
            factors.into_iter().reduce(|a, b| a?.mul(&b?)).flatten()
        };
        let (large, small) = (1.99 * 2f64.powi(341), 2f64.powi(-200));
        assert!(product([large, large, large / 2.0, small]).is_none());
        assert!(product([large, large / 8.0, large / 8.0, small]).is_some());
        assert!(product([2f64.powi(1023), 1.0, 1.0, 0.5]).is_some());
    }
}
