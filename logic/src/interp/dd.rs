//! Double-double arithmetic: a number is the unevaluated sum of two `f64`, with about 106 bits.
//!
//! Sources: Dekker 1971; Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic
//! building blocks of double-word arithmetic", 2017.

use std::ops::{Add, Div, Mul, Neg};

/// The sum `hi + lo` with `|lo|` at most half a unit in the last place of `hi`; `lo` is 0 if `hi`
/// is not finite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Dd {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

impl Dd {
    pub(super) const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };

    pub(super) fn abs(self) -> Dd {
        if self.hi < 0.0 { -self } else { self }
    }

    pub(super) fn is_finite(self) -> bool {
        self.hi.is_finite()
    }

    pub(super) fn less(self, other: Dd) -> bool {
        self.hi < other.hi || (self.hi == other.hi && self.lo < other.lo)
    }

    /// Returns `|self - other|`, rounded.
    pub(super) fn distance(self, other: f64) -> f64 {
        (self + Dd::from(-other)).hi.abs()
    }
}

impl From<f64> for Dd {
    fn from(hi: f64) -> Dd {
        Dd { hi, lo: 0.0 }
    }
}

/// Returns the sum and its rounding error.
fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    if !hi.is_finite() {
        return hi.into();
    }
    let b_part = hi - a;
    Dd { hi, lo: (a - (hi - b_part)) + (b - b_part) }
}

fn two_product(a: f64, b: f64) -> Dd {
    let hi = a * b;
    if !hi.is_finite() {
        return hi.into();
    }
    Dd { hi, lo: a.mul_add(b, -hi) }
}

impl Add for Dd {
    type Output = Dd;

    fn add(self, other: Dd) -> Dd {
        let (s, t) = (two_sum(self.hi, other.hi), two_sum(self.lo, other.lo));
        if !s.is_finite() {
            return s;
        }
        let v = two_sum(s.hi, s.lo + t.hi);
        two_sum(v.hi, t.lo + v.lo)
    }
}

impl Neg for Dd {
    type Output = Dd;

    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Mul for Dd {
    type Output = Dd;

    fn mul(self, other: Dd) -> Dd {
        let p = two_product(self.hi, other.hi);
        if !p.is_finite() {
            return p;
        }
        two_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Dd {
    type Output = Dd;

    fn div(self, other: Dd) -> Dd {
        let q = self.hi / other.hi;
        if !q.is_finite() || !other.is_finite() {
            return q.into();
        }
        let r = self + -(Dd::from(q) * other);
        let q2 = r.hi / other.hi;
        let r2 = r + -(Dd::from(q2) * other);
        two_sum(q, q2) + Dd::from(r2.hi / other.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_doubles_keep_the_rounding_error() {
        let sum = Dd::from(1e16) + Dd::from(1.0) + Dd::from(-1e16);
        assert_eq!(sum, Dd::ONE);
        let third = Dd::ONE / Dd::from(3.0);
        let back = third * Dd::from(3.0) + Dd::from(-1.0);
        assert!(back.hi.abs() < 1e-31, "{back:?}");
        let square = Dd::from(1.0 + f64::EPSILON) * Dd::from(1.0 + f64::EPSILON);
        assert_eq!(square, Dd { hi: 1.0 + 2.0 * f64::EPSILON, lo: f64::EPSILON * f64::EPSILON });
        assert_eq!(Dd::from(f64::INFINITY) + Dd::ONE, Dd::from(f64::INFINITY));
    }
}
