//! Matrices with elements whose squares would overflow or underflow, scaled by powers of two.

use super::batches::zeros;
use super::stack::Stack;
use crate::Error;
use crate::real::Real;
use crate::scaling::{exponent, times_power};
use faer::MatRef;
use std::borrow::Cow;

/// Returns a range of numbers: a matrix is not scaled if its largest absolute value is in this
/// range. The bounds are those of LAPACK: `sqrt(s) / e` for the smallest normal number `s` and the
/// machine epsilon `e`, and the inverse of this number.
fn range<T: Real>() -> std::ops::RangeInclusive<f64> {
    let smallest = T::MIN_POSITIVE.sqrt() / T::EPSILON;
    smallest..=1.0 / smallest
}

/// The elements of a matrix that a function reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All elements.
    Whole,
    /// The elements on and below the diagonal.
    Lower,
}

/// A matrix of finite numbers, multiplied by a power of two if its elements are very large or very
/// small.
pub(super) struct ScaledMatrix<'a, T: Real> {
    stack: &'a Stack<T>,
    k: usize,
    numbers: Cow<'a, [T]>,
    /// The exponent of the power of two by which the scaled matrix must be multiplied.
    pub(super) power: i32,
}

impl<'a, T: Real> ScaledMatrix<'a, T> {
    /// Returns matrix `k` of a stack. The other elements than those of the part may have any
    /// values.
    ///
    /// # Errors
    /// When the matrix has infinities or NaN, or memory is exhausted.
    pub(super) fn of(
        function: &'static str,
        stack: &'a Stack<T>,
        k: usize,
        part: Part,
    ) -> Result<ScaledMatrix<'a, T>, Error> {
        stack.check_finite(function, k)?;
        let (numbers, columns) = (stack.numbers(k), stack.columns);
        let is_read = |place: usize| part == Part::Whole || place % columns <= place / columns;
        let read = || numbers.iter().enumerate().filter(|(place, _)| is_read(*place));
        let largest = read().fold(0.0, |largest: f64, (_, number)| largest.max(number.widened().abs()));
        if largest == 0.0 || range::<T>().contains(&largest) {
            return Ok(ScaledMatrix { stack, k, numbers: Cow::Borrowed(numbers), power: 0 });
        }
        let power = exponent(T::rounded(largest)).unwrap_or(0);
        let mut scaled = zeros::<T>(function, numbers.len())?;
        read().for_each(|(place, number)| scaled[place] = times_power(*number, -power));
        Ok(ScaledMatrix { stack, k, numbers: Cow::Owned(scaled), power })
    }

    /// Returns the scaled matrix.
    pub(super) fn matrix(&self) -> MatRef<'_, T> {
        MatRef::from_row_major_slice(&self.numbers, self.stack.rows, self.stack.columns)
    }

    /// Returns the index of the matrix in the stack.
    pub(super) fn index(&self) -> Vec<u64> {
        self.stack.index(self.k)
    }

    /// Turns singular values or eigenvalues of the scaled matrix into those of the matrix itself.
    pub(super) fn unscale(&self, values: &mut [T]) {
        multiply(values, self.power);
    }
}

/// Multiplies numbers by two to a power.
pub(super) fn multiply<T: Real>(values: &mut [T], power: i32) {
    if power != 0 {
        values.iter_mut().for_each(|value| *value = times_power(*value, power));
    }
}
