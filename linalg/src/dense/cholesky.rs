//! The Cholesky factorization of symmetric positive definite matrices.

use super::batches::{Batch, buffer, for_each_matrix, zeros};
use super::stack::{Stack, tensor_of};
use crate::real::{Real, common_prim, with_real};
use crate::{Context, Error};
use faer::MatMut;
use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor;
use redpoll_storage::Tensor;

/// A triangle of a matrix, with the diagonal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Triangle {
    /// The elements on and below the diagonal.
    Lower,
    /// The elements on and above the diagonal.
    Upper,
}

/// Computes the Cholesky factor of each matrix: the lower triangular `L` with `A = L L^T`, or the
/// upper triangular `U` with `A = U^T U`. Reads only one triangle of each matrix: the lower one for
/// `L`, the upper one for `U`.
///
/// # Errors
/// When a matrix is not positive definite or not square, or memory is exhausted.
pub fn cholesky(context: &Context, a: &Tensor, triangle: Triangle) -> Result<Tensor, Error> {
    let prim = common_prim("cholesky", &[a])?;
    with_real!(prim, T => cholesky_of::<T>(context, a, triangle))
}

fn cholesky_of<T: Real>(context: &Context, a: &Tensor, triangle: Triangle) -> Result<Tensor, Error> {
    const FUNCTION: &str = "cholesky";
    let stack = Stack::<T>::square(context, FUNCTION, a)?;
    let n = stack.rows;
    let operations = (n as f64).powi(3) / 3.0;
    let batch = Batch { function: FUNCTION, count: stack.count(), outputs: [n * n], workspace: n * n, operations };
    let [factors] = for_each_matrix(
        context,
        &batch,
        |par| {
            let scratch = factor::cholesky_in_place_scratch::<T>(n, par, Default::default());
            Ok((par, zeros::<T>(FUNCTION, n * n)?, buffer(FUNCTION, scratch)?))
        },
        |(par, workspace, buffer), k, [out]| {
            let mut l = MatMut::from_column_major_slice_mut(workspace, n, n);
            let matrix = stack.matrix(k);
            l.copy_from_triangular_lower(if triangle == Triangle::Lower { matrix } else { matrix.transpose() });
            let done = factor::cholesky_in_place(
                l.as_mut(),
                Default::default(),
                *par,
                MemStack::new(buffer),
                Default::default(),
            );
            if let Err(factor::LltError::NonPositivePivot { index }) = done {
                return Err(Error::NotPositiveDefinite {
                    function: FUNCTION,
                    batch: stack.index(k),
                    row: index as u64,
                });
            }
            let out = MatMut::from_row_major_slice_mut(out, n, n);
            let mut out = if triangle == Triangle::Lower { out } else { out.transpose_mut() };
            out.copy_from_triangular_lower(l.as_ref());
            Ok(())
        },
    )?;
    tensor_of(context, &stack.batch, &[n, n], factors)
}
