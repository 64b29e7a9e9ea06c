//! Comparison of values, and dispatch by their primitive type.

use super::sort::SortOrder;
use crate::array::Value;
use std::cmp::Ordering;

/// A value with a total order, in which NaN is last and equal to itself.
pub(super) trait OrderedValue: Value + PartialEq {
    /// Compares two values; zeros of both signs are equal.
    fn compare(self, other: Self) -> Ordering;

    /// Returns whether two values compare as equal, without a branch.
    fn equals(self, other: Self) -> bool {
        self == other
    }

    /// Returns whether the value is NaN.
    fn is_nan(self) -> bool;

    /// Returns a number for the value, such that the numbers of two values compare as the values
    /// do. Equal values have the same number.
    fn key(self) -> u64;

    /// Sorts values that are not NaN. The order of equal values is unspecified.
    fn sort_numbers(values: &mut [Self], order: SortOrder);

    /// Returns the value as a float, rounded if necessary.
    fn to_f64(self) -> f64;
}

macro_rules! impl_ordered {
    ($($t:ty)*) => {$(
        impl OrderedValue for $t {
            fn compare(self, other: $t) -> Ordering {
                self.cmp(&other)
            }

            fn is_nan(self) -> bool {
                false
            }

            fn key(self) -> u64 {
                // The difference from the least value.
                (self as i128 - <$t>::MIN as i128) as u64
            }

            fn sort_numbers(values: &mut [$t], order: SortOrder) {
                match order {
                    SortOrder::Ascending => values.sort_unstable(),
                    SortOrder::Descending => values.sort_unstable_by(|a, b| b.cmp(a)),
                }
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}
impl_ordered!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! impl_ordered_float {
    ($($t:ty)*) => {$(
        impl OrderedValue for $t {
            fn compare(self, other: $t) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| <$t>::is_nan(self).cmp(&<$t>::is_nan(other)))
            }

            fn equals(self, other: $t) -> bool {
                (self == other) | (<$t>::is_nan(self) & <$t>::is_nan(other))
            }

            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }

            fn key(self) -> u64 {
                if <$t>::is_nan(self) {
                    return u64::MAX;
                }
                // The addition turns -0.0 into 0.0. Apart from the sign bit, the bits of a float
                // ascend with its magnitude.
                let bits = (f64::from(self) + 0.0).to_bits();
                if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
            }

            fn sort_numbers(values: &mut [$t], order: SortOrder) {
                match order {
                    SortOrder::Ascending => values.sort_unstable_by(<$t>::total_cmp),
                    SortOrder::Descending => values.sort_unstable_by(|a, b| b.total_cmp(a)),
                }
            }

            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )*};
}
impl_ordered_float!(f32 f64);

impl OrderedValue for bool {
    fn compare(self, other: bool) -> Ordering {
        self.cmp(&other)
    }

    fn is_nan(self) -> bool {
        false
    }

    fn key(self) -> u64 {
        self.into()
    }

    fn sort_numbers(values: &mut [bool], order: SortOrder) {
        match order {
            SortOrder::Ascending => values.sort_unstable(),
            SortOrder::Descending => values.sort_unstable_by(|a, b| b.cmp(a)),
        }
    }

    fn to_f64(self) -> f64 {
        self.into()
    }
}

/// Runs `$body` with `$t` as the Rust type of a primitive.
macro_rules! match_prim {
    ($prim:expr, $t:ident => $body:expr) => {
        match_prim!(@arms $prim, $t => $body;
            Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    (@arms $prim:expr, $t:ident => $body:expr; $($variant:ident $rust:ty),*) => {
        match $prim {$(
            redpoll_logic::Prim::$variant => {
                type $t = $rust;
                $body
            }
        )*}
    };
}
pub(super) use match_prim;
