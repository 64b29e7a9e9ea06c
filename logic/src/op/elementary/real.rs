//! Floats and their bits, or expressions that compute them.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Shl, Shr, Sub};

/// A double-precision float, or an expression that computes one. Operators round as IEEE 754
/// demands.
pub(super) trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// The bits of a float.
    type Bits: Word<Float = Self>;
    /// A truth value.
    type Test: Copy;

    /// Returns a constant of the same kind as `self`.
    fn number(self, value: f64) -> Self;

    /// Returns the magnitude.
    fn abs(self) -> Self;

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns the magnitude of `self` with the sign of another float.
    fn copysign(self, sign: Self) -> Self;

    /// Returns whether `self` is less than another float; false if either is NaN.
    fn is_less(self, other: Self) -> Self::Test;

    /// Returns `yes` if the test is true, otherwise `no`. Both are computed.
    fn select(test: Self::Test, yes: Self, no: Self) -> Self;

    /// Returns the bits of the float.
    fn bits(self) -> Self::Bits;

    /// Returns whether `self` is less than a constant.
    fn is_below(self, limit: f64) -> Self::Test {
        self.is_less(self.number(limit))
    }

    /// Returns `self`, but at least `limit`. NaN remains NaN.
    fn at_least(self, limit: f64) -> Self {
        Self::select(self.is_below(limit), self.number(limit), self)
    }

    /// Returns `self`, but at most `limit`. NaN remains NaN.
    fn at_most(self, limit: f64) -> Self {
        Self::select(self.number(limit).is_less(self), self.number(limit), self)
    }

    /// Returns the value of a polynomial at `self`. The coefficients begin with that of the
    /// constant term.
    fn polynomial(self, coefficients: &[f64]) -> Self {
        let (highest, others) = coefficients.split_last().expect("a polynomial has coefficients");
        others.iter().rev().fold(self.number(*highest), |sum, coefficient| sum * self + *coefficient)
    }
}

/// The 64 bits of a float, or an expression that computes them. Sums and differences wrap.
pub(super) trait Word:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Add<u64, Output = Self>
    + Sub<u64, Output = Self>
    + BitAnd<u64, Output = Self>
    + BitOr<u64, Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The float with these bits.
    type Float: Real<Bits = Self>;

    /// Returns the float with these bits.
    fn float(self) -> Self::Float;
}

impl Real for f64 {
    type Bits = F64Bits;
    type Test = bool;

    fn number(self, value: f64) -> f64 {
        value
    }

    fn abs(self) -> f64 {
        f64::abs(self)
    }

    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }

    fn copysign(self, sign: f64) -> f64 {
        f64::copysign(self, sign)
    }

    fn is_less(self, other: f64) -> bool {
        self < other
    }

    fn select(test: bool, yes: f64, no: f64) -> f64 {
        if test { yes } else { no }
    }

    fn bits(self) -> F64Bits {
        F64Bits(self.to_bits())
    }
}

/// The bits of a float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct F64Bits(u64);

impl Word for F64Bits {
    type Float = f64;

    fn float(self) -> f64 {
        f64::from_bits(self.0)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $wrapping:ident;)*) => {
        $(
            impl $trait for F64Bits {
                type Output = F64Bits;

                fn $method(self, other: F64Bits) -> F64Bits {
                    F64Bits(self.0.$wrapping(other.0))
                }
            }

            impl $trait<u64> for F64Bits {
                type Output = F64Bits;

                fn $method(self, other: u64) -> F64Bits {
                    F64Bits(self.0.$wrapping(other))
                }
            }
        )*
    };
}

operators! {
    Add add wrapping_add;
    Sub sub wrapping_sub;
}

impl BitAnd<u64> for F64Bits {
    type Output = F64Bits;

    fn bitand(self, mask: u64) -> F64Bits {
        F64Bits(self.0 & mask)
    }
}

impl BitOr<u64> for F64Bits {
    type Output = F64Bits;

    fn bitor(self, mask: u64) -> F64Bits {
        F64Bits(self.0 | mask)
    }
}

impl Shl<u32> for F64Bits {
    type Output = F64Bits;

    fn shl(self, count: u32) -> F64Bits {
        F64Bits(self.0 << count)
    }
}

impl Shr<u32> for F64Bits {
    type Output = F64Bits;

    fn shr(self, count: u32) -> F64Bits {
        F64Bits(self.0 >> count)
    }
}
