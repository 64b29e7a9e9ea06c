//! Values in order, and dispatch by their primitive type.

use crate::array::Value;
use std::cmp::Ordering;

/// A value with a total order, in which NaN is last and equal to itself.
pub(super) trait OrderedValue: Value {
    /// Compares two values; zeros of both signs are equal.
    fn compare(self, other: Self) -> Ordering;

    /// Returns whether the value is NaN.
    fn is_nan(self) -> bool;

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

            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
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
