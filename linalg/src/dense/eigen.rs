//! Eigenvalues and eigenvectors of symmetric matrices.

use super::batches::{Batch, buffer, for_each_matrix, zeros};
use super::scale::{Part, ScaledMatrix};
use super::stack::{Stack, copy_rows, tensor_of};
use crate::real::{Real, common_prim, with_real};
use crate::{Context, Error};
use faer::MatMut;
use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use redpoll_storage::Tensor;

/// The eigenvalues and eigenvectors of symmetric matrices.
#[derive(Clone, Debug)]
pub struct Eigh {
    /// The eigenvalues of each matrix in ascending order.
    pub values: Tensor,
    /// The eigenvectors: column `k` of a matrix belongs to eigenvalue `k`. The columns are
    /// orthonormal.
    pub vectors: Tensor,
}

/// Computes the eigenvalues and eigenvectors of symmetric matrices. The result depends only on the
/// elements on and below the diagonal, but the elements above it must be finite, too.
///
/// # Errors
/// When a matrix is not square, has infinities or NaN, the iteration does not converge, or memory
/// is exhausted.
pub fn eigh(context: &Context, a: &Tensor) -> Result<Eigh, Error> {
    let prim = common_prim("eigh", &[a])?;
    with_real!(prim, T => {
        let (values, vectors) = eigen::<T>(context, "eigh", a, ComputeEigenvectors::Yes)?;
        Ok(Eigh { values, vectors })
    })
}

/// Computes the eigenvalues of symmetric matrices in ascending order. They depend only on the
/// elements on and below the diagonal, but the elements above it must be finite, too.
///
/// # Errors
/// The errors of [`eigh`].
pub fn eigvalsh(context: &Context, a: &Tensor) -> Result<Tensor, Error> {
    let prim = common_prim("eigvalsh", &[a])?;
    with_real!(prim, T => Ok(eigen::<T>(context, "eigvalsh", a, ComputeEigenvectors::No)?.0))
}

fn eigen<T: Real>(
    context: &Context,
    function: &'static str,
    a: &Tensor,
    vectors: ComputeEigenvectors,
) -> Result<(Tensor, Tensor), Error> {
    let stack = Stack::<T>::square(context, function, a)?;
    let n = stack.rows;
    let has_vectors = matches!(vectors, ComputeEigenvectors::Yes);
    let len = if has_vectors { n * n } else { 0 };
    let operations = if has_vectors { 9.0 } else { 1.5 } * (n as f64).powi(3);
    let batch = Batch { function, count: stack.count(), outputs: [n, len], workspace: 3 * n * n + len, operations };
    let [values, vectors] = for_each_matrix(
        context,
        &batch,
        |par| {
            let scratch = self_adjoint_evd_scratch::<T>(n, vectors, par, Default::default());
            Ok((par, zeros::<T>(function, len)?, buffer(function, scratch)?))
        },
        |(par, workspace, buffer), k, [values, out]| {
            // An infinity or NaN above the diagonal does not change the result, but it is an error
            // of the data.
            let scaled = ScaledMatrix::of(function, &stack, k, Part::Lower)?;
            let mut vectors = has_vectors.then(|| MatMut::from_column_major_slice_mut(workspace, n, n));
            let stack_memory = MemStack::new(buffer);
            let diagonal = DiagMut::from_slice_mut(values);
            let u = vectors.as_mut().map(MatMut::as_mut);
            self_adjoint_evd(scaled.matrix(), diagonal, u, *par, stack_memory, Default::default())
                .map_err(|_| Error::NotConverged { function, batch: stack.index(k) })?;
            scaled.unscale(values);
            if let Some(vectors) = vectors {
                copy_rows(vectors.as_ref(), out);
            }
            Ok(())
        },
    )?;
    let size = if has_vectors { n } else { 0 };
    let values = tensor_of(context, &stack.batch, &[n], values)?;
    Ok((values, tensor_of(context, &stack.batch, &[size, size], vectors)?))
}
