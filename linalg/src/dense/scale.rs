//! Matrices with elements whose squares would overflow or underflow, scaled by powers of two.

use super::batches::zeros;
use super::stack::Stack;
use crate::Error;
use crate::real::Real;
use faer::MatRef;
use std::borrow::Cow;

/// Returns a range of numbers: a matrix is not scaled if its largest absolute value is in this
/// range. The bounds are those of LAPACK: `sqrt(s) / e` for the smallest normal number `s` and the
/// machine epsilon `e`, and the inverse of this number.
fn range<T: Real>() -> std::ops::RangeInclusive<f64> {
    let smallest = T::MIN_POSITIVE.sqrt() / T::EPSILON;
    smallest..=1.0 / smallest
}

/// A matrix of finite numbers, multiplied by a power of two if its elements are very large or very
/// small.
pub(super) struct ScaledMatrix<'a, T: Real> {
    numbers: Cow<'a, [T]>,
    rows: usize,
    columns: usize,
    /// The inverse of the factor, unless the factor is 1.
    inverse: Option<T>,
}

impl<'a, T: Real> ScaledMatrix<'a, T> {
    /// Returns matrix `k` of a stack.
    ///
    /// # Errors
    /// When the matrix has infinities or NaN, or memory is exhausted.
    pub(super) fn of(function: &'static str, stack: &'a Stack<T>, k: usize) -> Result<ScaledMatrix<'a, T>, Error> {
        stack.check_finite(function, k)?;
        let numbers = stack.numbers(k);
        let (rows, columns) = (stack.rows, stack.columns);
        let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.widened().abs()));
        if largest == 0.0 || range::<T>().contains(&largest) {
            return Ok(ScaledMatrix { numbers: Cow::Borrowed(numbers), rows, columns, inverse: None });
        }
        // The bound keeps the factor and its inverse normal numbers.
        let bound = -T::MIN_POSITIVE.log2() - 2.0;
        let exponent = largest.log2().floor().clamp(-bound, bound) as i32;
        let factor = 2f64.powi(-exponent);
        let mut scaled = zeros::<T>(function, numbers.len())?;
        for (scaled, number) in scaled.iter_mut().zip(numbers) {
            *scaled = T::rounded(number.widened() * factor);
        }
        let inverse = Some(T::rounded(2f64.powi(exponent)));
        Ok(ScaledMatrix { numbers: Cow::Owned(scaled), rows, columns, inverse })
    }

    /// Returns the scaled matrix.
    pub(super) fn matrix(&self) -> MatRef<'_, T> {
        MatRef::from_row_major_slice(&self.numbers, self.rows, self.columns)
    }

    /// Turns singular values or eigenvalues of the scaled matrix into those of the matrix itself.
    pub(super) fn unscale(&self, values: &mut [T]) {
        if let Some(inverse) = self.inverse {
            values.iter_mut().for_each(|value| *value *= inverse);
        }
    }
}
