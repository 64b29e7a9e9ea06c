//! Values of the reference interpreter.

use super::approx::Approx;
use crate::dtype::{DType, Prim, StructType};
use crate::mode::FloatMode;
use crate::scalar::Scalar;
use std::sync::Arc;

/// A value with an error bound, or a don't-care value.
#[derive(Clone, PartialEq, Debug)]
pub struct BoundedValue(pub(super) Datum);

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Datum {
    /// A value that is equal in every engine: an integer or `bool`, or any primitive of the strict
    /// mode.
    Exact(Scalar),
    /// A float of the relaxed mode.
    Float(Box<Approx>),
    /// A struct.
    Struct(Arc<StructType>, Vec<BoundedValue>),
    /// A don't-care value, as the interpreter computed it, and its cause.
    DontCare(Scalar, DontCareCause),
}

/// The cause of a don't-care value. The definitions of the relaxed mode apply to infinities and NaN
/// from an operand or a pole, but not to infinities and NaN from an overflow of finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum DontCareCause {
    /// The value is NaN in every engine.
    Nan,
    /// The value results from a pole, an infinity or a NaN.
    Pole,
    /// Any other cause, such as an overflow, or a rounding error that decides a comparison.
    Other,
}

impl BoundedValue {
    /// Creates a value that is equal in every engine; NaN is don't-care in the relaxed mode.
    pub(super) fn from_scalar(scalar: &Scalar, mode: FloatMode) -> BoundedValue {
        match scalar {
            Scalar::Struct(ty, members) => {
                let members = members.iter().map(|m| BoundedValue::from_scalar(m, mode)).collect();
                BoundedValue(Datum::Struct(ty.clone(), members))
            }
            _ if mode == FloatMode::StrictIeee => BoundedValue(Datum::Exact(scalar.clone())),
            _ if scalar.is_nan() => BoundedValue(Datum::DontCare(scalar.clone(), DontCareCause::Nan)),
            Scalar::F32(v) => BoundedValue::float(Approx::exact(Prim::F32, f64::from(*v))),
            Scalar::F64(v) => BoundedValue::float(Approx::exact(Prim::F64, *v)),
            _ => BoundedValue(Datum::Exact(scalar.clone())),
        }
    }

    pub(super) fn float(approx: Approx) -> BoundedValue {
        BoundedValue(Datum::Float(Box::new(approx)))
    }

    /// Marks a value as don't-care; for a struct, all its members.
    pub(super) fn mark_dont_care(scalar: Scalar, cause: DontCareCause) -> BoundedValue {
        match scalar {
            Scalar::Struct(ty, members) => {
                let members = members.iter().cloned().map(|m| BoundedValue::mark_dont_care(m, cause)).collect();
                BoundedValue(Datum::Struct(ty, members))
            }
            _ => BoundedValue(Datum::DontCare(scalar, cause)),
        }
    }

    /// Returns the cause of a don't-care value; for a struct, the greatest cause of its members.
    pub(super) fn cause(&self) -> Option<DontCareCause> {
        match &self.0 {
            Datum::DontCare(_, cause) => Some(*cause),
            Datum::Exact(_) | Datum::Float(_) => None,
            Datum::Struct(_, members) => members.iter().filter_map(BoundedValue::cause).max(),
        }
    }

    /// Returns the value, rounded to its dtype.
    pub fn scalar(&self) -> Scalar {
        match &self.0 {
            Datum::Exact(scalar) | Datum::DontCare(scalar, _) => scalar.clone(),
            Datum::Float(approx) => approx.scalar(),
            Datum::Struct(ty, members) => {
                Scalar::Struct(ty.clone(), members.iter().map(BoundedValue::scalar).collect())
            }
        }
    }

    /// Returns the maximal distance between the value of a legal engine and this value before
    /// rounding; infinity for a don't-care value. For a struct, returns the maximum over its
    /// members.
    pub fn error(&self) -> f64 {
        match &self.0 {
            Datum::Exact(_) => 0.0,
            Datum::DontCare(..) => f64::INFINITY,
            Datum::Float(approx) => approx.bound(),
            Datum::Struct(_, members) => members.iter().map(BoundedValue::error).fold(0.0, f64::max),
        }
    }

    /// Returns whether the value is don't-care, so that an engine may have any value; for a struct,
    /// returns whether some member is don't-care.
    pub fn is_dont_care(&self) -> bool {
        match &self.0 {
            Datum::DontCare(..) => true,
            Datum::Exact(_) | Datum::Float(_) => false,
            Datum::Struct(_, members) => members.iter().any(BoundedValue::is_dont_care),
        }
    }

    /// Returns the dtype of the value.
    pub fn dtype(&self) -> DType {
        match &self.0 {
            Datum::Struct(ty, _) => DType::Struct(ty.clone()),
            Datum::Float(approx) => DType::Prim(approx.prim()),
            Datum::Exact(scalar) | Datum::DontCare(scalar, _) => scalar.dtype(),
        }
    }

    /// Collects the leaf values, depth first.
    pub(super) fn leaves<'a>(&'a self, out: &mut Vec<&'a BoundedValue>) {
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
