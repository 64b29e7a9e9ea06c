//! The types of the numbers that factorizations compute with.

use crate::Error;
use faer::traits::RealField;
use redpoll_logic::{DType, Prim, Scalar};
use redpoll_storage::{Array, Element, Tensor};

/// A type of the numbers of a factorization: `f32` or `f64`.
pub(crate) trait Real: RealField + Element + Copy + PartialOrd + Default + std::iter::Sum {
    /// The distance from 1 to the next number.
    const EPSILON: f64;

    /// The smallest positive normal number.
    const MIN_POSITIVE: f64;

    /// Rounds a number.
    fn rounded(value: f64) -> Self;

    /// Returns the number as an `f64`.
    fn widened(self) -> f64;

    /// Returns whether the number is neither infinite nor NaN.
    fn is_number(self) -> bool {
        self.widened().is_finite()
    }
}

impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    const MIN_POSITIVE: f64 = f32::MIN_POSITIVE as f64;

    fn rounded(value: f64) -> f32 {
        value as f32
    }

    fn widened(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const MIN_POSITIVE: f64 = f64::MIN_POSITIVE;

    fn rounded(value: f64) -> f64 {
        value
    }

    fn widened(self) -> f64 {
        self
    }
}

/// Runs `$body` with `$t` as the type of the numbers.
macro_rules! with_real {
    ($prim:expr, $t:ident => $body:expr) => {
        match $prim {
            redpoll_logic::Prim::F32 => {
                type $t = f32;
                $body
            }
            _ => {
                type $t = f64;
                $body
            }
        }
    };
}
pub(crate) use with_real;

/// Returns the type in which a function of these tensors computes: `f32` if all values are `f32`,
/// otherwise `f64`.
///
/// # Errors
/// When the values of a tensor are structs.
pub(crate) fn common_prim(function: &'static str, tensors: &[&Tensor]) -> Result<Prim, Error> {
    let mut common = Prim::F32;
    for tensor in tensors {
        let DType::Prim(prim) = &tensor.ty().dtype else {
            return Err(Error::DType { function, dtype: tensor.ty().dtype.clone() });
        };
        if *prim != Prim::F32 {
            common = Prim::F64;
        }
    }
    Ok(common)
}

/// Returns an array as numbers of type `T`. An array of that type is shared, not copied.
pub(crate) fn cast_array<T: Real>(array: &Array) -> Array {
    if array.prim() == T::PRIM {
        return array.clone();
    }
    let number = |value: Scalar| T::rounded(value.to_f64().unwrap_or(f64::NAN));
    Array::from_vec((0..array.len()).map(|k| number(array.scalar(k))).collect::<Vec<T>>())
}
