//! The singular value decomposition.

use super::batches::{Batch, buffer, for_each_matrix, zeros};
use super::scale::{Part, ScaledMatrix};
use super::stack::{Stack, copy_rows, tensor_of};
use crate::real::{Real, common_prim, with_real};
use crate::{Context, Error};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd as decompose, svd_scratch};
use faer::{MatMut, Par};
use redpoll_storage::Tensor;

/// The singular value decompositions `A = U diag(S) Vh` of matrices.
#[derive(Clone, Debug)]
pub struct Svd {
    /// The left singular vectors, as orthonormal columns.
    pub u: Tensor,
    /// The singular values of each matrix in descending order.
    pub s: Tensor,
    /// The right singular vectors, as orthonormal rows.
    pub vh: Tensor,
}

/// The shapes of the singular vectors of `m x n` matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SvdMode {
    /// `U` is `m x min(m, n)` and `Vh` is `min(m, n) x n`.
    Thin,
    /// `U` is `m x m` and `Vh` is `n x n`.
    Full,
}

/// Computes the singular value decomposition of each matrix.
///
/// # Errors
/// When a matrix has infinities or NaN, the iteration does not converge, or memory is exhausted.
pub fn svd(context: &Context, a: &Tensor, mode: SvdMode) -> Result<Svd, Error> {
    let prim = common_prim("svd", &[a])?;
    with_real!(prim, T => svd_of::<T>(context, a, mode))
}

fn svd_of<T: Real>(context: &Context, a: &Tensor, mode: SvdMode) -> Result<Svd, Error> {
    const FUNCTION: &str = "svd";
    let stack = Stack::<T>::of(context, FUNCTION, a)?;
    let (m, n) = (stack.rows, stack.columns);
    let size = m.min(n);
    let (left, right) = if mode == SvdMode::Thin { (size, size) } else { (m, n) };
    let too_large = || Error::TooLarge { function: FUNCTION };
    let u_len = m.checked_mul(left).ok_or_else(too_large)?;
    let vh_len = n.checked_mul(right).ok_or_else(too_large)?;
    let vectors = if mode == SvdMode::Thin { ComputeSvdVectors::Thin } else { ComputeSvdVectors::Full };
    let batch = Batch {
        function: FUNCTION,
        count: stack.count(),
        outputs: [u_len, size, vh_len],
        workspace: (3 * m * n).saturating_add(u_len),
        operations: 10.0 * (m as f64) * (n as f64) * (size as f64),
    };
    let [u, s, vh] = for_each_matrix(
        context,
        &batch,
        |par| Ok((SvdMemory::new::<T>(FUNCTION, (m, n), vectors, par)?, zeros::<T>(FUNCTION, u_len)?)),
        |(memory, workspace), k, [u_out, s, vh]| {
            let mut u = MatMut::from_column_major_slice_mut(workspace, m, left);
            // The rows of `Vh` are the columns of `V`.
            let v = MatMut::from_column_major_slice_mut(vh, n, right);
            let a = ScaledMatrix::of(FUNCTION, &stack, k, Part::Whole)?;
            memory.decompose(&a, s, Some((u.as_mut(), v)))?;
            a.unscale(s);
            copy_rows(u.as_ref(), u_out);
            Ok(())
        },
    )?;
    let tensor = |matrix: &[usize], values| tensor_of(context, &stack.batch, matrix, values);
    Ok(Svd { u: tensor(&[m, left], u)?, s: tensor(&[size], s)?, vh: tensor(&[right, n], vh)? })
}

/// Computes the singular values of each matrix in descending order.
///
/// # Errors
/// The errors of [`svd`].
pub fn svdvals(context: &Context, a: &Tensor) -> Result<Tensor, Error> {
    let prim = common_prim("svdvals", &[a])?;
    with_real!(prim, T => {
        let SingularValues { batch, size, values, .. } = singular_values::<T>(context, "svdvals", a, Unit::One)?;
        tensor_of(context, &batch, &[size], values)
    })
}

/// The singular values of a stack of matrices.
pub(super) struct SingularValues<T> {
    /// The shape of the stack.
    pub(super) batch: Vec<u64>,
    /// The number of singular values of a matrix.
    pub(super) size: usize,
    /// The larger one of the numbers of rows and columns.
    pub(super) larger: usize,
    pub(super) values: Vec<T>,
}

/// The number that singular values are multiples of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    One,
    /// A power of two for each matrix, so that singular values do not overflow.
    PowerOfTwo,
}

/// Computes the singular values of each matrix in descending order.
pub(super) fn singular_values<T: Real>(
    context: &Context,
    function: &'static str,
    a: &Tensor,
    unit: Unit,
) -> Result<SingularValues<T>, Error> {
    let stack = Stack::<T>::of(context, function, a)?;
    let (m, n) = (stack.rows, stack.columns);
    let size = m.min(n);
    let operations = 3.0 * (m as f64) * (n as f64) * (size as f64);
    let batch = Batch { function, count: stack.count(), outputs: [size], workspace: 2 * m * n, operations };
    let [values] = for_each_matrix(
        context,
        &batch,
        |par| SvdMemory::new::<T>(function, (m, n), ComputeSvdVectors::No, par),
        |memory, k, [s]| {
            let a = ScaledMatrix::of(function, &stack, k, Part::Whole)?;
            memory.decompose(&a, s, None)?;
            if unit == Unit::One {
                a.unscale(s);
            }
            Ok(())
        },
    )?;
    Ok(SingularValues { batch: stack.batch, size, larger: m.max(n), values })
}

/// The memory in which decompositions are computed.
pub(super) struct SvdMemory {
    function: &'static str,
    par: Par,
    buffer: MemBuffer,
}

impl SvdMemory {
    pub(super) fn new<T: Real>(
        function: &'static str,
        (m, n): (usize, usize),
        vectors: ComputeSvdVectors,
        par: Par,
    ) -> Result<SvdMemory, Error> {
        let scratch = svd_scratch::<T>(m, n, vectors, vectors, par, Default::default());
        Ok(SvdMemory { function, par, buffer: buffer(function, scratch)? })
    }

    /// Decomposes a scaled matrix. Writes its singular values, and `U` and `V` if they are given.
    pub(super) fn decompose<T: Real>(
        &mut self,
        a: &ScaledMatrix<'_, T>,
        s: &mut [T],
        vectors: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
    ) -> Result<(), Error> {
        let (mut u, mut v) = vectors.unzip();
        if s.is_empty() {
            // The singular vectors of matrices without elements are those of the identity.
            for vectors in [&mut u, &mut v].into_iter().flatten() {
                (0..vectors.ncols()).for_each(|i| vectors[(i, i)] = T::rounded(1.0));
            }
            return Ok(());
        }
        let memory = MemStack::new(&mut self.buffer);
        decompose(a.matrix(), DiagMut::from_slice_mut(s), u, v, self.par, memory, Default::default())
            .map_err(|_| Error::NotConverged { function: self.function, batch: a.index() })
    }
}
