//! The QR factorization.

use super::batches::{Batch, buffer, for_each_matrix, zeros};
use super::stack::{Stack, copy_rows, tensor_of};
use crate::real::{Real, common_prim, with_real};
use crate::scaling::{Scales, times_power};
use crate::{Context, Error};
use faer::dyn_stack::MemStack;
use faer::linalg::householder;
use faer::linalg::qr::no_pivoting::factor;
use faer::{Conj, MatMut};
use redpoll_storage::Tensor;

/// The factors of matrices `A = Q R`.
#[derive(Clone, Debug)]
pub struct Qr {
    /// The matrices with orthonormal columns.
    pub q: Tensor,
    /// The upper triangular matrices.
    pub r: Tensor,
}

/// The shapes of the factors of `m x n` matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QrMode {
    /// `Q` is `m x min(m, n)` and `R` is `min(m, n) x n`.
    Reduced,
    /// `Q` is `m x m` and `R` is `m x n`.
    Complete,
}

/// Factorizes each matrix as `A = Q R`.
///
/// # Errors
/// When the tensor has fewer than two modes, or memory is exhausted.
pub fn qr(context: &Context, a: &Tensor, mode: QrMode) -> Result<Qr, Error> {
    let prim = common_prim("qr", &[a])?;
    with_real!(prim, T => qr_of::<T>(context, a, mode))
}

fn qr_of<T: Real>(context: &Context, a: &Tensor, mode: QrMode) -> Result<Qr, Error> {
    const FUNCTION: &str = "qr";
    let stack = Stack::<T>::of(context, FUNCTION, a)?;
    let (m, n) = (stack.rows, stack.columns);
    let size = m.min(n);
    let columns = if mode == QrMode::Reduced { size } else { m };
    let too_large = || Error::TooLarge { function: FUNCTION };
    let q_len = m.checked_mul(columns).ok_or_else(too_large)?;
    let r_len = columns.checked_mul(n).ok_or_else(too_large)?;
    let block = factor::recommended_block_size::<T>(m, n).max(1);
    let operations = 2.0 * (m as f64) * (n as f64 + columns as f64) * (size as f64);
    let workspace = (m * n).saturating_add(q_len).saturating_add(block * size);
    let batch = Batch { function: FUNCTION, count: stack.count(), outputs: [q_len, r_len], workspace, operations };
    let [q, r] = for_each_matrix(
        context,
        &batch,
        |par| {
            let of_factors = factor::qr_in_place_scratch::<T>(m, n, block, par, Default::default());
            let of_q =
                householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, block, columns);
            let coefficients = zeros::<T>(FUNCTION, block * size)?;
            let (factors, q) = (zeros::<T>(FUNCTION, m * n)?, zeros::<T>(FUNCTION, q_len)?);
            Ok((par, coefficients, factors, q, buffer(FUNCTION, of_factors.or(of_q))?))
        },
        |(par, coefficients, factors, q, buffer), k, [q_out, r_out]| {
            let mut factors = MatMut::from_column_major_slice_mut(factors, m, n);
            let mut coefficients = MatMut::from_column_major_slice_mut(coefficients, block, size);
            let mut q = MatMut::from_column_major_slice_mut(q, m, columns);
            factors.copy_from(stack.matrix(k));
            // The factorization is accurate for any scales of the columns, but its squares may
            // overflow.
            let matrix = stack.matrix(k);
            let scales = Scales::of_columns((m, n), &|visit| {
                (0..m).for_each(|i| (0..n).for_each(|j| visit(i, j, matrix[(i, j)])));
            });
            let power = |j: usize| scales.as_ref().map_or(0, |scales| scales.columns[j]);
            for j in (0..n).filter(|j| power(*j) != 0) {
                (0..m).for_each(|i| factors[(i, j)] = times_power(factors[(i, j)], power(j)));
            }
            q.fill(T::rounded(0.0));
            (0..columns).for_each(|i| q[(i, i)] = T::rounded(1.0));
            if size > 0 {
                let stack = MemStack::new(buffer);
                factor::qr_in_place(factors.as_mut(), coefficients.as_mut(), *par, stack, Default::default());
                householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
                    factors.as_ref().subcols(0, size),
                    coefficients.as_ref(),
                    Conj::No,
                    q.as_mut(),
                    *par,
                    MemStack::new(buffer),
                );
            }
            copy_rows(q.as_ref(), q_out);
            let mut r = MatMut::from_row_major_slice_mut(r_out, columns, n);
            for j in 0..n {
                (0..columns.min(j + 1)).for_each(|i| r[(i, j)] = times_power(factors[(i, j)], -power(j)));
            }
            Ok(())
        },
    )?;
    let r = tensor_of(context, &stack.batch, &[columns, n], r)?;
    Ok(Qr { q: tensor_of(context, &stack.batch, &[m, columns], q)?, r })
}
