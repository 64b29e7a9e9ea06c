//! Tolerances of singular values.

use super::LinalgError;
use super::call::call;
use crate::array::Array;
use crate::error::Error;
use redpoll_linalg::{Context, dense};
use redpoll_storage::Tensor;

/// The tolerance of singular values relative to the largest one of their matrix. Singular values of
/// at most the tolerance times the largest one count as zero.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let stack = session.dense([2, 2, 2], [1.0, 0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.1]);
/// let ranks = linalg::matrix_rank(&stack, &session.vector([0.5, 0.01]))?;
/// assert_eq!(ranks.to_vec::<i64>()?, [1, 2]);
/// # Ok::<(), redpoll::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub enum Tolerance {
    /// The larger one of the numbers of rows and columns, times the machine epsilon.
    #[default]
    Precision,
    /// A number for all matrices.
    Number(f64),
    /// A number for each matrix: an array that is broadcast to the shape of the stack.
    Each(Array),
}

impl From<Option<f64>> for Tolerance {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Tolerance::Precision, Tolerance::Number)
    }
}

impl From<f64> for Tolerance {
    fn from(number: f64) -> Self {
        Tolerance::Number(number)
    }
}

impl From<&Array> for Tolerance {
    fn from(numbers: &Array) -> Self {
        Tolerance::Each(numbers.clone())
    }
}

impl Tolerance {
    /// Calls a function with the tensors of arrays and with the tolerances of the matrices of the
    /// first array.
    pub(super) fn call<R, const N: usize>(
        &self,
        arrays: [&Array; N],
        function: impl FnOnce(&Context, [&Tensor; N], dense::Tolerance<'_>) -> Result<R, LinalgError>,
    ) -> Result<R, Error> {
        let tolerance = match self {
            Tolerance::Precision => dense::Tolerance::Precision,
            Tolerance::Number(number) => dense::Tolerance::Number(*number),
            Tolerance::Each(numbers) => {
                let mut stack = arrays[0].shape()?;
                stack.truncate(stack.len().saturating_sub(2));
                let numbers = numbers.broadcast_to(stack).collect()?;
                return call(arrays, |context, tensors| function(context, tensors, dense::Tolerance::Each(&numbers)));
            }
        };
        call(arrays, |context, tensors| function(context, tensors, tolerance))
    }
}
