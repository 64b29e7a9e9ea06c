//! The semantics of Assembly's operators. Values are passed as `u64`: their bits, zero-extended, as
//! `Scalar::to_bits` returns them.
//!
//! [`unary_fn`], [`binary_fn`], [`compare_fn`] and [`cast_bits`] define the operators, comparisons
//! and casts, and interpreters compute with these functions. The verifier allows an operator on a
//! primitive exactly if [`unary_fn`] or [`binary_fn`] returns `Some`.

use super::{BinaryOp, CompareOp, UnaryOp};
use redpoll_logic::{Prim, Scalar};

/// An operator on one value.
pub type UnaryFn = fn(u64) -> u64;
/// An operator on two values.
pub type BinaryFn = fn(u64, u64) -> u64;
/// A comparison.
pub type CompareFn = fn(u64, u64) -> bool;

trait Bits: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! impl_bits {
    ($($t:ty: $unsigned:ty),*) => {$(
        impl Bits for $t {
            fn of(bits: u64) -> $t { bits as $t }
            fn bits(self) -> u64 { u64::from(self as $unsigned) }
        }
    )*};
}
impl_bits!(i8: u8, i16: u16, i32: u32, i64: u64, u8: u8, u16: u16, u32: u32, u64: u64);

impl Bits for bool {
    fn of(bits: u64) -> bool {
        bits & 1 != 0
    }
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Bits for f32 {
    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Bits for f64 {
    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

macro_rules! un {
    ($t:ty, $a:ident => $body:expr) => {
        Some(
            (|a: u64| {
                let $a = <$t as Bits>::of(a);
                Bits::bits($body)
            }) as UnaryFn,
        )
    };
}

macro_rules! bin {
    ($t:ty, $a:ident, $b:ident => $body:expr) => {
        Some(
            (|a: u64, b: u64| {
                let ($a, $b) = (<$t as Bits>::of(a), <$t as Bits>::of(b));
                Bits::bits($body)
            }) as BinaryFn,
        )
    };
}

/// Expands to `$int!(type, ..)` with the Rust type of an integer primitive, to `$float!(type, ..)`
/// for a float, to `$bool` for `bool`.
macro_rules! by_prim {
    ($prim:expr, $int:ident, $float:ident, $op:expr, $bool:expr) => {
        match $prim {
            Prim::Bool => $bool,
            Prim::I8 => $int!(i8, $op),
            Prim::I16 => $int!(i16, $op),
            Prim::I32 => $int!(i32, $op),
            Prim::I64 => $int!(i64, $op),
            Prim::U8 => $int!(u8, $op),
            Prim::U16 => $int!(u16, $op),
            Prim::U32 => $int!(u32, $op),
            Prim::U64 => $int!(u64, $op),
            Prim::F32 => $float!(f32, $op),
            Prim::F64 => $float!(f64, $op),
        }
    };
}

macro_rules! int_unary {
    ($t:ty, $op:expr) => {
        match $op {
            UnaryOp::Neg => un!($t, a => a.wrapping_neg()),
            // The comparison is always false for unsigned types, whose absolute value is the
            // identity.
            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
            UnaryOp::Abs => un!($t, a => if a < 0 { a.wrapping_neg() } else { a }),
            UnaryOp::Not => un!($t, a => !a),
            UnaryOp::TrailingZeros => un!($t, a => a.trailing_zeros() as $t),
            UnaryOp::LeadingZeros => un!($t, a => a.leading_zeros() as $t),
            _ => None,
        }
    };
}

macro_rules! float_unary {
    ($t:ty, $op:expr) => {
        match $op {
            UnaryOp::Neg => un!($t, a => -a),
            UnaryOp::Abs => un!($t, a => a.abs()),
            UnaryOp::Not | UnaryOp::TrailingZeros | UnaryOp::LeadingZeros => None,
            UnaryOp::Sqrt => un!($t, a => a.sqrt()),
            UnaryOp::Floor => un!($t, a => a.floor()),
            UnaryOp::Ceil => un!($t, a => a.ceil()),
            UnaryOp::Trunc => un!($t, a => a.trunc()),
            UnaryOp::Round => un!($t, a => a.round_ties_even()),
        }
    };
}

/// Returns the operator on values of `prim`; `None` if `prim` does not have the operator.
pub fn unary_fn(op: UnaryOp, prim: Prim) -> Option<UnaryFn> {
    by_prim!(
        prim,
        int_unary,
        float_unary,
        op,
        match op {
            UnaryOp::Not => un!(bool, a => !a),
            _ => None,
        }
    )
}

macro_rules! int_binary {
    ($t:ty, $op:expr) => {
        match $op {
            BinaryOp::Add => bin!($t, a, b => a.wrapping_add(b)),
            BinaryOp::Sub => bin!($t, a, b => a.wrapping_sub(b)),
            BinaryOp::Mul => bin!($t, a, b => a.wrapping_mul(b)),
            BinaryOp::Div => bin!($t, a, b => if b == 0 { 0 } else { a.wrapping_div(b) }),
            BinaryOp::Rem => bin!($t, a, b => if b == 0 { 0 } else { a.wrapping_rem(b) }),
            BinaryOp::Min => bin!($t, a, b => a.min(b)),
            BinaryOp::Max => bin!($t, a, b => a.max(b)),
            BinaryOp::And => bin!($t, a, b => a & b),
            BinaryOp::Or => bin!($t, a, b => a | b),
            BinaryOp::Xor => bin!($t, a, b => a ^ b),
            BinaryOp::Shl => bin!($t, a, b => if b.bits() < u64::from(<$t>::BITS) { a << b } else { 0 }),
            BinaryOp::Shr => bin!($t, a, b => {
                if b.bits() < u64::from(<$t>::BITS) {
                    a >> b
                } else {
                    // All bits are the sign bit: -1 for negative values, 0 for others and for
                    // unsigned types.
                    (a >> (<$t>::BITS - 1)) >> u32::from(<$t>::MIN == 0)
                }
            }),
        }
    };
}

macro_rules! float_binary {
    ($t:ty, $op:expr) => {
        match $op {
            BinaryOp::Add => bin!($t, a, b => a + b),
            BinaryOp::Sub => bin!($t, a, b => a - b),
            BinaryOp::Mul => bin!($t, a, b => a * b),
            BinaryOp::Div => bin!($t, a, b => a / b),
            BinaryOp::Min => bin!($t, a, b => {
                if a.is_nan() || b.is_nan() {
                    <$t>::NAN
                } else if a < b || (a == b && a.is_sign_negative()) {
                    a
                } else {
                    b
                }
            }),
            BinaryOp::Max => bin!($t, a, b => {
                if a.is_nan() || b.is_nan() {
                    <$t>::NAN
                } else if a > b || (a == b && a.is_sign_positive()) {
                    a
                } else {
                    b
                }
            }),
            _ => None,
        }
    };
}

/// Returns the operator on values of `prim`; `None` if `prim` does not have the operator.
pub fn binary_fn(op: BinaryOp, prim: Prim) -> Option<BinaryFn> {
    by_prim!(
        prim,
        int_binary,
        float_binary,
        op,
        match op {
            BinaryOp::Min | BinaryOp::And => bin!(bool, a, b => a & b),
            BinaryOp::Max | BinaryOp::Or => bin!(bool, a, b => a | b),
            BinaryOp::Xor => bin!(bool, a, b => a ^ b),
            _ => None,
        }
    )
}

macro_rules! any_compare {
    ($t:ty, $op:expr) => {
        match $op {
            CompareOp::Eq => |a, b| <$t as Bits>::of(a) == <$t as Bits>::of(b),
            CompareOp::Ne => |a, b| <$t as Bits>::of(a) != <$t as Bits>::of(b),
            CompareOp::Lt => |a, b| <$t as Bits>::of(a) < <$t as Bits>::of(b),
            CompareOp::Le => |a, b| <$t as Bits>::of(a) <= <$t as Bits>::of(b),
        }
    };
}

/// Returns the comparison on values of `prim`; every primitive has all comparisons.
pub fn compare_fn(op: CompareOp, prim: Prim) -> CompareFn {
    by_prim!(prim, any_compare, any_compare, op, any_compare!(bool, op))
}

/// Casts a value that is given by its bits, as `Scalar::cast` does. Every primitive casts to every
/// primitive.
pub fn cast_bits(from: Prim, to: Prim, bits: u64) -> u64 {
    let value = Scalar::from_bits(from, bits).cast(to).expect("primitives cast to primitives");
    value.to_bits().expect("a primitive has bits")
}
