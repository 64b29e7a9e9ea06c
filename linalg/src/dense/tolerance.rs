//! Tolerances of singular values.

use super::stack::Stack;
use crate::real::Real;
use crate::{Context, Error};
use redpoll_storage::Tensor;

/// The tolerance of singular values relative to the largest one of their matrix. Singular values of
/// at most the tolerance times the largest one count as zero.
#[derive(Clone, Copy, Debug, Default)]
pub enum Tolerance<'a> {
    /// The larger one of the numbers of rows and columns, times the machine epsilon.
    #[default]
    Precision,
    /// A number for all matrices.
    Number(f64),
    /// A number for each matrix: a tensor with the shape of the stack.
    Each(&'a Tensor),
}

impl From<Option<f64>> for Tolerance<'_> {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Tolerance::Precision, Tolerance::Number)
    }
}

/// The tolerances of the matrices of a stack.
pub(super) enum Tolerances {
    All(f64),
    Each(Stack<f64>),
}

impl Tolerances {
    /// Returns the tolerances for a stack of matrices. `batch` is the shape of the stack, and
    /// `larger` is the larger one of the numbers of rows and columns of a matrix.
    ///
    /// # Errors
    /// When the numbers for the matrices have another shape than the stack, their dtype is a
    /// struct, or the memory limit is reached.
    pub(super) fn of<T: Real>(
        context: &Context,
        function: &'static str,
        tolerance: Tolerance<'_>,
        (batch, larger): (&[u64], usize),
    ) -> Result<Tolerances, Error> {
        match tolerance {
            Tolerance::Precision => Ok(Tolerances::All(larger as f64 * T::EPSILON)),
            Tolerance::Number(number) => Ok(Tolerances::All(number)),
            Tolerance::Each(tensor) if tensor.ty().shape == batch => {
                Ok(Tolerances::Each(Stack::elements(context, function, tensor)?))
            }
            Tolerance::Each(tensor) => Err(Error::Mismatch {
                function,
                left: batch.to_vec(),
                right: tensor.ty().shape.clone(),
                expected: "a tolerance for each matrix of the stack",
            }),
        }
    }

    /// Returns the tolerance of matrix `k`.
    pub(super) fn at(&self, k: usize) -> f64 {
        match self {
            Tolerances::All(number) => *number,
            Tolerances::Each(numbers) => numbers.numbers(k)[0],
        }
    }
}
