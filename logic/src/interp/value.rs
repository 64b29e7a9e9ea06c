//! Values of the reference interpreter.

use super::approx::Approx;
use crate::dtype::{DType, Prim, StructType};
use crate::mode::FloatMode;
use crate::scalar::Scalar;
use std::sync::Arc;

/// A value with an error bound, or one that the plan does not determine.
#[derive(Clone, PartialEq, Debug)]
pub struct Value(pub(super) Datum);

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Datum {
    /// A value that every engine has: an integer or `bool`, or any primitive of the strict mode.
    Exact(Scalar),
    /// A float of the relaxed mode.
    Float(Box<Approx>),
    /// A struct.
    Struct(Arc<StructType>, Vec<Value>),
    /// A value that an engine may have otherwise, and why. Some value that the interpreter found.
    DontCare(Scalar, Cause),
}

/// Why a value is not determined, as far as what it meets must know: engines take care of infinities and NaN where an
/// operand or a pole may bring them in, not where finite numbers overflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cause {
    /// It is NaN in every engine.
    Nan,
    /// It comes of a pole, an infinity or NaN, and may be any of them.
    Pole,
    /// Anything else: an overflow, a rounding error that decides.
    Other,
}

impl Value {
    /// A value that is given. In the relaxed mode NaN is not determined.
    pub(super) fn given(scalar: &Scalar, mode: FloatMode) -> Value {
        match scalar {
            Scalar::Struct(ty, members) => {
                let members = members.iter().map(|m| Value::given(m, mode)).collect();
                Value(Datum::Struct(ty.clone(), members))
            }
            _ if mode == FloatMode::StrictIeee => Value(Datum::Exact(scalar.clone())),
            _ if scalar.is_nan() => Value(Datum::DontCare(scalar.clone(), Cause::Nan)),
            Scalar::F32(v) => Value::float(Approx::exact(Prim::F32, f64::from(*v))),
            Scalar::F64(v) => Value::float(Approx::exact(Prim::F64, *v)),
            _ => Value(Datum::Exact(scalar.clone())),
        }
    }

    pub(super) fn float(approx: Approx) -> Value {
        Value(Datum::Float(Box::new(approx)))
    }

    /// What is left of a value that an engine may have otherwise; members of a struct alike.
    pub(super) fn dont_care_about(scalar: Scalar, cause: Cause) -> Value {
        match scalar {
            Scalar::Struct(ty, members) => {
                let members = members.iter().cloned().map(|m| Value::dont_care_about(m, cause)).collect();
                Value(Datum::Struct(ty, members))
            }
            _ => Value(Datum::DontCare(scalar, cause)),
        }
    }

    /// Why it is not determined, if it is not; of a struct, the gravest cause of its members.
    pub(super) fn cause(&self) -> Option<Cause> {
        match &self.0 {
            Datum::DontCare(_, cause) => Some(*cause),
            Datum::Exact(_) | Datum::Float(_) => None,
            Datum::Struct(_, members) => members.iter().filter_map(Value::cause).max(),
        }
    }

    /// The value, rounded to its dtype.
    pub fn scalar(&self) -> Scalar {
        match &self.0 {
            Datum::Exact(scalar) | Datum::DontCare(scalar, _) => scalar.clone(),
            Datum::Float(approx) => approx.scalar(),
            Datum::Struct(ty, members) => Scalar::Struct(ty.clone(), members.iter().map(Value::scalar).collect()),
        }
    }

    /// How far a legal engine may be from the value before it is rounded; of a struct, the most of any member.
    pub fn error(&self) -> f64 {
        match &self.0 {
            Datum::Exact(_) => 0.0,
            Datum::DontCare(..) => f64::INFINITY,
            Datum::Float(approx) => approx.bound(),
            Datum::Struct(_, members) => members.iter().map(Value::error).fold(0.0, f64::max),
        }
    }

    /// Whether an engine may have any value here; of a struct, in some member.
    pub fn dont_care(&self) -> bool {
        match &self.0 {
            Datum::DontCare(..) => true,
            Datum::Exact(_) | Datum::Float(_) => false,
            Datum::Struct(_, members) => members.iter().any(Value::dont_care),
        }
    }

    /// The dtype of the value.
    pub fn dtype(&self) -> DType {
        match &self.0 {
            Datum::Struct(ty, _) => DType::Struct(ty.clone()),
            Datum::Float(approx) => DType::Prim(approx.prim()),
            Datum::Exact(scalar) | Datum::DontCare(scalar, _) => scalar.dtype(),
        }
    }

    /// The primitives that it is made of, depth first.
    pub(super) fn leaves<'a>(&'a self, out: &mut Vec<&'a Value>) {
        match &self.0 {
            Datum::Struct(_, members) => members.iter().for_each(|m| m.leaves(out)),
            _ => out.push(self),
        }
    }

    pub(super) fn approx(&self) -> Option<&Approx> {
        match &self.0 {
            Datum::Float(approx) => Some(approx),
            _ => None,
        }
    }
}
