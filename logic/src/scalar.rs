//! Scalars: the values of literals, fill values and the interpreter.

use crate::dtype::{DType, Prim, StructType};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One value of some [`DType`].
///
/// Equality compares dtypes and bits, except that all NaNs of a dtype are equal: `NaN == NaN`, and
/// `0.0 != -0.0`. Scalars can therefore be hash keys, and equal fill values are interchangeable.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// A `bool`.
    Bool(bool),
    /// An `i8`.
    I8(i8),
    /// An `i16`.
    I16(i16),
    /// An `i32`.
    I32(i32),
    /// An `i64`.
    I64(i64),
    /// A `u8`.
    U8(u8),
    /// A `u16`.
    U16(u16),
    /// A `u32`.
    U32(u32),
    /// A `u64`.
    U64(u64),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
    /// A struct: its type and one value per member.
    Struct(Arc<StructType>, Arc<[Scalar]>),
}

/// Evaluates `$body` with `$v` bound to the Rust value inside a primitive scalar; evaluates
/// `$other` for a struct.
#[macro_export]
macro_rules! match_prim {
    ($scalar:expr, $v:ident => $body:expr, struct => $other:expr) => {
        match $scalar {
            $crate::Scalar::Bool($v) => $body,
            $crate::Scalar::I8($v) => $body,
            $crate::Scalar::I16($v) => $body,
            $crate::Scalar::I32($v) => $body,
            $crate::Scalar::I64($v) => $body,
            $crate::Scalar::U8($v) => $body,
            $crate::Scalar::U16($v) => $body,
            $crate::Scalar::U32($v) => $body,
            $crate::Scalar::U64($v) => $body,
            $crate::Scalar::F32($v) => $body,
            $crate::Scalar::F64($v) => $body,
            $crate::Scalar::Struct(..) => $other,
        }
    };
}

impl Scalar {
    /// Returns the dtype of the value.
    pub fn dtype(&self) -> DType {
        match self {
            Scalar::Struct(ty, _) => DType::Struct(ty.clone()),
            _ => DType::Prim(self.prim().expect("only a struct has no primitive")),
        }
    }

    /// Returns the primitive type of the value, or `None` for a struct.
    pub fn prim(&self) -> Option<Prim> {
        Some(match self {
            Scalar::Bool(_) => Prim::Bool,
            Scalar::I8(_) => Prim::I8,
            Scalar::I16(_) => Prim::I16,
            Scalar::I32(_) => Prim::I32,
            Scalar::I64(_) => Prim::I64,
            Scalar::U8(_) => Prim::U8,
            Scalar::U16(_) => Prim::U16,
            Scalar::U32(_) => Prim::U32,
            Scalar::U64(_) => Prim::U64,
            Scalar::F32(_) => Prim::F32,
            Scalar::F64(_) => Prim::F64,
            Scalar::Struct(..) => return None,
        })
    }

    /// Returns the zero of a primitive: `false`, `0` or `0.0`.
    pub fn zero(prim: Prim) -> Scalar {
        Scalar::from_bits(prim, 0)
    }

    /// Returns the one of a primitive: `true`, `1` or `1.0`.
    pub fn one(prim: Prim) -> Scalar {
        match prim {
            Prim::F32 => Scalar::F32(1.0),
            Prim::F64 => Scalar::F64(1.0),
            _ => Scalar::from_bits(prim, 1),
        }
    }

    /// Returns the value whose bits, zero-extended to 64, are `bits`; excess high bits are ignored.
    pub fn from_bits(prim: Prim, bits: u64) -> Scalar {
        match prim {
            Prim::Bool => Scalar::Bool(bits & 1 != 0),
            Prim::I8 => Scalar::I8(bits as i8),
            Prim::I16 => Scalar::I16(bits as i16),
            Prim::I32 => Scalar::I32(bits as i32),
            Prim::I64 => Scalar::I64(bits as i64),
            Prim::U8 => Scalar::U8(bits as u8),
            Prim::U16 => Scalar::U16(bits as u16),
            Prim::U32 => Scalar::U32(bits as u32),
            Prim::U64 => Scalar::U64(bits),
            Prim::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            Prim::F64 => Scalar::F64(f64::from_bits(bits)),
        }
    }

    /// Returns the bits of a primitive, zero-extended to 64; `None` for a struct.
    pub fn to_bits(&self) -> Option<u64> {
        Some(match self {
            Scalar::Bool(v) => u64::from(*v),
            Scalar::I8(v) => u64::from(*v as u8),
            Scalar::I16(v) => u64::from(*v as u16),
            Scalar::I32(v) => u64::from(*v as u32),
            Scalar::I64(v) => *v as u64,
            Scalar::U8(v) => u64::from(*v),
            Scalar::U16(v) => u64::from(*v),
            Scalar::U32(v) => u64::from(*v),
            Scalar::U64(v) => *v,
            Scalar::F32(v) => u64::from(v.to_bits()),
            Scalar::F64(v) => v.to_bits(),
            Scalar::Struct(..) => return None,
        })
    }

    /// Returns the value as `f64`, rounded; `None` for a struct.
    pub fn to_f64(&self) -> Option<f64> {
        Some(match self {
            Scalar::Bool(v) => f64::from(u8::from(*v)),
            Scalar::I8(v) => f64::from(*v),
            Scalar::I16(v) => f64::from(*v),
            Scalar::I32(v) => f64::from(*v),
            Scalar::I64(v) => *v as f64,
            Scalar::U8(v) => f64::from(*v),
            Scalar::U16(v) => f64::from(*v),
            Scalar::U32(v) => f64::from(*v),
            Scalar::U64(v) => *v as f64,
            Scalar::F32(v) => f64::from(*v),
            Scalar::F64(v) => *v,
            Scalar::Struct(..) => return None,
        })
    }

    /// Returns the value as a mathematical integer, with 1 for `true`; `None` for floats and
    /// structs.
    pub fn to_i128(&self) -> Option<i128> {
        Some(match self {
            Scalar::Bool(v) => i128::from(*v),
            Scalar::I8(v) => i128::from(*v),
            Scalar::I16(v) => i128::from(*v),
            Scalar::I32(v) => i128::from(*v),
            Scalar::I64(v) => i128::from(*v),
            Scalar::U8(v) => i128::from(*v),
            Scalar::U16(v) => i128::from(*v),
            Scalar::U32(v) => i128::from(*v),
            Scalar::U64(v) => i128::from(*v),
            Scalar::F32(_) | Scalar::F64(_) | Scalar::Struct(..) => return None,
        })
    }

    /// Converts a primitive to another type. The conversion is total, and all engines obey it:
    /// - integers to integers wrap to the width of the target;
    /// - floats to integers truncate, saturate at the ends of the range and map NaN to 0;
    /// - any primitive to `bool` is `x != 0`, by which NaN becomes `true`;
    /// - integers to floats and `f64` to `f32` round to the nearest float, ties to even; `f32` to
    ///   `f64` is exact.
    ///
    /// Returns `None` for a struct.
    pub fn cast(&self, to: Prim) -> Option<Scalar> {
        if to == Prim::Bool {
            return Some(Scalar::Bool(match self {
                Scalar::F32(v) => *v != 0.0,
                Scalar::F64(v) => *v != 0.0,
                _ => self.to_i128()? != 0,
            }));
        }
        macro_rules! convert {
            ($v:expr) => {
                match to {
                    Prim::Bool => unreachable!("handled above"),
                    Prim::I8 => Scalar::I8($v as i8),
                    Prim::I16 => Scalar::I16($v as i16),
                    Prim::I32 => Scalar::I32($v as i32),
                    Prim::I64 => Scalar::I64($v as i64),
                    Prim::U8 => Scalar::U8($v as u8),
                    Prim::U16 => Scalar::U16($v as u16),
                    Prim::U32 => Scalar::U32($v as u32),
                    Prim::U64 => Scalar::U64($v as u64),
                    Prim::F32 => Scalar::F32($v as f32),
                    Prim::F64 => Scalar::F64($v as f64),
                }
            };
        }
        Some(match self {
            Scalar::F32(v) => convert!(*v),
            Scalar::F64(v) => convert!(*v),
            _ => {
                let v = self.to_i128()?;
                convert!(v)
            }
        })
    }

    /// Returns the leaf values of the scalar, depth first, in the order of [`DType::prims`].
    pub fn flatten(&self) -> Vec<Scalar> {
        match self {
            Scalar::Struct(_, members) => members.iter().flat_map(Scalar::flatten).collect(),
            _ => vec![self.clone()],
        }
    }

    /// Builds a value of `dtype` from its leaf values, depth first; `None` if `parts` has too few
    /// values, or a value of another type.
    pub fn unflatten(dtype: &DType, parts: &mut dyn Iterator<Item = Scalar>) -> Option<Scalar> {
        match dtype {
            DType::Prim(p) => parts.next().filter(|s| s.prim() == Some(*p)),
            DType::Struct(ty) => {
                let members: Option<Vec<_>> = ty.members.iter().map(|(_, t)| Scalar::unflatten(t, parts)).collect();
                Some(Scalar::Struct(ty.clone(), members?.into()))
            }
        }
    }

    /// Returns whether the value is a NaN.
    pub fn is_nan(&self) -> bool {
        match self {
            Scalar::F32(v) => v.is_nan(),
            Scalar::F64(v) => v.is_nan(),
            _ => false,
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        match (self, other) {
            (Scalar::Struct(s, a), Scalar::Struct(t, b)) => s == t && a == b,
            _ => {
                self.prim() == other.prim() && (self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan()))
            }
        }
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Scalar::Struct(_, members) => members.hash(state),
            _ if self.is_nan() => self.prim().hash(state),
            _ => (self.prim(), self.to_bits()).hash(state),
        }
    }
}

impl fmt::Display for Scalar {
    /// Writes the bare value, without its type: `1`, `1.5`, `inf`, `nan`, `true`, `(1 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::F32(v) if v.is_nan() => f.write_str("nan"),
            Scalar::F64(v) if v.is_nan() => f.write_str("nan"),
            Scalar::F32(v) if v.is_finite() => write!(f, "{v:?}"),
            Scalar::F64(v) if v.is_finite() => write!(f, "{v:?}"),
            Scalar::Struct(_, members) => {
                f.write_str("(")?;
                for (k, m) in members.iter().enumerate() {
                    if k > 0 {
                        f.write_str(" ")?;
                    }
                    m.fmt(f)?;
                }
                f.write_str(")")
            }
            _ => match_prim!(self, v => write!(f, "{v}"), struct => unreachable!("handled above")),
        }
    }
}

macro_rules! from_rust {
    ($($t:ty => $variant:ident),*) => {$(
        impl From<$t> for Scalar {
            fn from(v: $t) -> Scalar { Scalar::$variant(v) }
        }
    )*};
}
from_rust!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);
