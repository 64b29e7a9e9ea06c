//! Sets of special values that a float may have: infinity, minus infinity and NaN.
//!
//! Tensors report the set of special values among their values. With these sets, lowering finds the
//! operators of a program that need a guard against special values.

use crate::Scalar;

/// A set of special values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Special(u8);

impl Special {
    /// No special value.
    pub const NONE: Special = Special(0);
    /// Infinity.
    pub const INFINITY: Special = Special(1);
    /// Minus infinity.
    pub const NEG_INFINITY: Special = Special(2);
    /// Both infinities.
    pub const INFINITE: Special = Special(3);
    /// NaN.
    pub const NAN: Special = Special(4);
    /// All special values.
    pub const ALL: Special = Special(7);

    /// Returns the set with the value if the value is special; for a struct, the set of its
    /// members' special values.
    pub fn of_scalar(value: &Scalar) -> Special {
        value.flatten().iter().fold(Special::NONE, |set, part| {
            set.union(match part {
                Scalar::F32(v) => Special::of_f64(f64::from(*v)),
                Scalar::F64(v) => Special::of_f64(*v),
                _ => Special::NONE,
            })
        })
    }

    /// Returns the special values among the given floats.
    pub fn of_values<T: Copy + Into<f64>>(values: &[T]) -> Special {
        // Branch-free, so that the compiler vectorizes the loop.
        let block = |values: &[T]| {
            values.iter().fold(Special::NONE, |set, v| {
                let v: f64 = (*v).into();
                let bit = |holds: bool, of: Special| u8::from(holds) * of.0;
                let own =
                    bit(v == f64::INFINITY, Special::INFINITY) | bit(v == f64::NEG_INFINITY, Special::NEG_INFINITY);
                Special(set.0 | own | bit(v.is_nan(), Special::NAN))
            })
        };
        // One comparison per value shows that a block is finite, as most blocks are.
        values.chunks(BLOCK).fold(Special::NONE, |set, values| {
            let finite = |v: T| -> bool { Into::<f64>::into(v).is_finite() };
            let regular = values.iter().fold(true, |all, v| all & finite(*v));
            if regular { set } else { set.union(block(values)) }
        })
    }

    fn of_f64(v: f64) -> Special {
        match v {
            _ if v.is_nan() => Special::NAN,
            f64::INFINITY => Special::INFINITY,
            f64::NEG_INFINITY => Special::NEG_INFINITY,
            _ => Special::NONE,
        }
    }

    /// Returns the union of both sets.
    pub fn union(self, other: Special) -> Special {
        Special(self.0 | other.0)
    }

    /// Returns whether the sets intersect.
    pub fn intersects(self, values: Special) -> bool {
        self.0 & values.0 != 0
    }

    /// Returns whether this set is a subset of the other one.
    pub fn is_subset(self, other: Special) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the intersection of both sets.
    pub fn intersection(self, values: Special) -> Special {
        Special(self.0 & values.0)
    }

    /// Exchanges infinity and minus infinity, as negation does.
    pub fn negated(self) -> Special {
        Special(self.0 & 4 | self.0 >> 1 & 1 | self.0 << 1 & 2)
    }

    /// Returns the set, with both infinities added if the set has an infinity.
    pub fn with_both_infinities(self) -> Special {
        if self.intersects(Special::INFINITE) { self.union(Special::INFINITE) } else { self }
    }

    /// Returns the special values that a sum may have, if one addend may have the special values of
    /// this set and the other addend may have the special values of `other`. Overflow of finite
    /// addends is not counted.
    pub fn of_sum(self, other: Special) -> Special {
        let opposite = |a: Special, b: Special| a.intersects(Special::INFINITY) && b.intersects(Special::NEG_INFINITY);
        let nan = opposite(self, other) || opposite(other, self);
        self.union(other).union(if nan { Special::NAN } else { Special::NONE })
    }
}

/// Number of values that [`Special::of_values`] checks together.
const BLOCK: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_are_found_at_any_position() {
        assert_eq!(Special::of_values(&vec![1.5f64; 1000]), Special::NONE);
        for (value, expected) in [
            (f64::INFINITY, Special::INFINITY),
            (f64::NEG_INFINITY, Special::NEG_INFINITY),
            (f64::NAN, Special::NAN),
            (f64::MAX, Special::NONE),
        ] {
            for at in [0, 255, 256, 999] {
                let mut values = vec![-2.0; 1000];
                values[at] = value;
                assert_eq!(Special::of_values(&values), expected, "{value} at {at}");
            }
        }
        let both = Special::of_values(&[f32::INFINITY, 1.0, f32::NEG_INFINITY]);
        assert_eq!(both, Special::INFINITE);
    }
}
