//! Functions of the singular value decomposition: pseudo-inverses, ranks, and least squares.

use super::batches::{Batch, for_each_matrix, zeros};
use super::lu::{RightSides, right_sides};
use super::scale::{Part, ScaledMatrix, multiply};
use super::stack::{Stack, array_tensor, copy_rows, tensor_of};
use super::svd::{SvdMemory, Unit, singular_values};
use super::tolerance::{Tolerance, Tolerances};
use crate::real::{Real, common_prim, with_real};
use crate::scaling::wide_times_power;
use crate::{Context, Error};
use faer::linalg::matmul::matmul;
use faer::linalg::svd::ComputeSvdVectors;
use faer::{Accum, MatMut, MatRef, Par};
use redpoll_storage::{Array, Tensor};

/// The solutions of least-squares problems.
#[derive(Clone, Debug)]
pub struct Lstsq {
    /// The solutions. If a problem has several, this is the one with the smallest norm.
    pub x: Tensor,
    /// The sum of the squares of `a x - b` for each column of `b`.
    pub residuals: Tensor,
    /// The rank of each matrix.
    pub rank: Tensor,
    /// The singular values of each matrix in descending order.
    pub singular_values: Tensor,
}

/// Computes the Moore-Penrose pseudo-inverse of each matrix. Singular values of at most `rtol`
/// times the largest singular value count as zero.
///
/// # Errors
/// When a matrix has infinities or NaN, the iteration does not converge, or memory is exhausted.
pub fn pinv<'a>(context: &Context, a: &Tensor, rtol: impl Into<Tolerance<'a>>) -> Result<Tensor, Error> {
    let rtol = rtol.into();
    let prim = common_prim("pinv", &[a])?;
    with_real!(prim, T => pinv_of::<T>(context, a, rtol))
}

fn pinv_of<T: Real>(context: &Context, a: &Tensor, rtol: Tolerance<'_>) -> Result<Tensor, Error> {
    const FUNCTION: &str = "pinv";
    let stack = Stack::<T>::of(context, FUNCTION, a)?;
    let (m, n) = (stack.rows, stack.columns);
    let tolerances = Tolerances::of::<T>(context, FUNCTION, rtol, (&stack.batch, m.max(n)))?;
    let batch = Batch {
        function: FUNCTION,
        count: stack.count(),
        outputs: [n * m],
        workspace: 6 * m * n,
        operations: 12.0 * (m as f64) * (n as f64) * (m.min(n) as f64),
    };
    let [inverses] = for_each_matrix(
        context,
        &batch,
        |par| ThinSvd::<T>::new(FUNCTION, (m, n), par),
        |svd, k, [out]| {
            let a = ScaledMatrix::of(FUNCTION, &stack, k, Part::Whole)?;
            svd.decompose(&a)?;
            let rank = above(&svd.s, tolerances.at(k));
            svd.divide_by_singular_values(rank);
            let inverse = MatMut::from_row_major_slice_mut(out, n, m);
            matmul(inverse, Accum::Replace, svd.v(rank), svd.u(rank).transpose(), T::rounded(1.0), svd.par);
            multiply(out, -a.power);
            Ok(())
        },
    )?;
    tensor_of(context, &stack.batch, &[n, m], inverses)
}

/// Computes the rank of each matrix: the number of singular values above `rtol` times the largest
/// one.
///
/// # Errors
/// The errors of [`pinv`].
pub fn matrix_rank<'a>(context: &Context, a: &Tensor, rtol: impl Into<Tolerance<'a>>) -> Result<Tensor, Error> {
    let rtol = rtol.into();
    let prim = common_prim("matrix_rank", &[a])?;
    with_real!(prim, T => {
        let s = singular_values::<T>(context, "matrix_rank", a, Unit::PowerOfTwo)?;
        let count = super::stack::count_of(&s.batch);
        let tolerances = Tolerances::of::<T>(context, "matrix_rank", rtol, (&s.batch, s.larger))?;
        let rank = |k: usize| above(&s.values[k * s.size..(k + 1) * s.size], tolerances.at(k)) as i64;
        // Tests the limit before the allocation; `array_tensor` charges the result.
        let charge = context.reserve::<i64>(count)?;
        let mut ranks = Vec::new();
        ranks.try_reserve_exact(count).map_err(|_| Error::TooLarge { function: "matrix_rank" })?;
        ranks.extend((0..count).map(rank));
        drop(charge);
        array_tensor(context, &s.batch, &[], Array::from_vec(ranks))
    })
}

/// Solves least-squares problems: finds the `x` that minimizes the norm of `a x - b`. The shapes
/// are those of [`solve`](super::solve), but matrices need not be square. Singular values of at
/// most `rtol` times the largest one count as zero.
///
/// # Errors
/// The errors of [`pinv`]; also when shapes do not fit.
pub fn lstsq<'a>(context: &Context, a: &Tensor, b: &Tensor, rtol: impl Into<Tolerance<'a>>) -> Result<Lstsq, Error> {
    let rtol = rtol.into();
    let prim = common_prim("lstsq", &[a, b])?;
    with_real!(prim, T => lstsq_of::<T>(context, a, b, rtol))
}

fn lstsq_of<T: Real>(context: &Context, a: &Tensor, b: &Tensor, rtol: Tolerance<'_>) -> Result<Lstsq, Error> {
    const FUNCTION: &str = "lstsq";
    let left = Stack::<T>::of(context, FUNCTION, a)?;
    let RightSides { stack: right, pairs, is_vector } = right_sides(context, FUNCTION, (&left, a), b)?;
    let (m, n, columns) = (left.rows, left.columns, right.columns);
    let size = m.min(n);
    let tolerances = Tolerances::of::<T>(context, FUNCTION, rtol, (&left.batch, m.max(n)))?;
    let too_large = || Error::TooLarge { function: FUNCTION };
    let x_len = n.checked_mul(columns).ok_or_else(too_large)?;
    let batch = Batch {
        function: FUNCTION,
        count: pairs.count(),
        outputs: [x_len, columns, 1, size],
        workspace: (5 * m * n).saturating_add((m + n + size).saturating_mul(columns)),
        operations: (10.0 * size as f64 + 2.0 * columns as f64) * (m as f64) * (n as f64),
    };
    let [x, residuals, rank, singular_values] = for_each_matrix(
        context,
        &batch,
        |par| {
            let workspace = [size * columns, x_len, m * columns].map(|len| zeros::<T>(FUNCTION, len));
            let [projections, x, differences] = workspace;
            Ok((ThinSvd::<T>::new(FUNCTION, (m, n), par)?, projections?, x?, differences?))
        },
        |(svd, projections, x, differences), k, [x_out, residuals, rank_out, s_out]| {
            let (matrix, sides) = pairs.pair(k);
            let b = ScaledMatrix::of(FUNCTION, &right, sides, Part::Whole)?;
            let a = ScaledMatrix::of(FUNCTION, &left, matrix, Part::Whole)?;
            svd.decompose(&a)?;
            s_out.copy_from_slice(&svd.s);
            a.unscale(s_out);
            let rank = above(&svd.s, tolerances.at(matrix));
            rank_out[0] = T::rounded(rank as f64);
            svd.divide_by_singular_values(rank);
            let one = T::rounded(1.0);
            let projections = &mut projections[..rank * columns];
            let mut projections = MatMut::from_column_major_slice_mut(projections, rank, columns);
            matmul(projections.as_mut(), Accum::Replace, svd.u(rank).transpose(), b.matrix(), one, svd.par);
            let mut x = MatMut::from_column_major_slice_mut(x, n, columns);
            matmul(x.as_mut(), Accum::Replace, svd.v(rank), projections.as_ref(), one, svd.par);
            let mut differences = MatMut::from_column_major_slice_mut(differences, m, columns);
            differences.copy_from(b.matrix());
            matmul(differences.as_mut(), Accum::Add, a.matrix(), x.as_ref(), T::rounded(-1.0), svd.par);
            for (j, residual) in residuals.iter_mut().enumerate() {
                let sum: f64 = (0..m).map(|i| differences[(i, j)].widened().powi(2)).sum();
                *residual = T::rounded(wide_times_power(sum, 2 * i64::from(b.power)));
            }
            copy_rows(x.as_ref(), x_out);
            multiply(x_out, b.power - a.power);
            Ok(())
        },
    )?;
    let tensor = |sizes: &[usize], values| tensor_of(context, &pairs.batch, sizes, values);
    let x = if is_vector { tensor(&[n], x)? } else { tensor(&[n, columns], x)? };
    let residuals = if is_vector { tensor(&[], residuals)? } else { tensor(&[columns], residuals)? };
    let ranks: Vec<i64> = rank.into_iter().map(|rank| rank.widened() as i64).collect();
    let rank = array_tensor(context, &pairs.batch, &[], Array::from_vec(ranks))?;
    Ok(Lstsq { x, residuals, rank, singular_values: tensor(&[size], singular_values)? })
}

/// Returns the number of singular values above `tolerance` times the largest one. The singular
/// values are in descending order.
fn above<T: Real>(s: &[T], tolerance: f64) -> usize {
    let bound = s.first().map_or(0.0, |largest| largest.widened() * tolerance);
    s.iter().filter(|value| value.widened() > bound).count()
}

/// The thin singular value decomposition of one matrix.
struct ThinSvd<T> {
    m: usize,
    n: usize,
    par: Par,
    memory: SvdMemory,
    s: Vec<T>,
    u: Vec<T>,
    v: Vec<T>,
}

impl<T: Real> ThinSvd<T> {
    fn new(function: &'static str, (m, n): (usize, usize), par: Par) -> Result<ThinSvd<T>, Error> {
        let size = m.min(n);
        let memory = SvdMemory::new::<T>(function, (m, n), ComputeSvdVectors::Thin, par)?;
        let (s, u) = (zeros(function, size)?, zeros(function, m * size)?);
        Ok(ThinSvd { m, n, par, memory, s, u, v: zeros(function, n * size)? })
    }

    fn decompose(&mut self, a: &ScaledMatrix<'_, T>) -> Result<(), Error> {
        let size = self.s.len();
        let u = MatMut::from_column_major_slice_mut(&mut self.u, self.m, size);
        let v = MatMut::from_column_major_slice_mut(&mut self.v, self.n, size);
        self.memory.decompose(a, &mut self.s, Some((u, v)))
    }

    /// Divides the first columns of `V` by their singular values.
    fn divide_by_singular_values(&mut self, rank: usize) {
        for (column, s) in self.v.chunks_mut(self.n.max(1)).zip(&self.s).take(rank) {
            column.iter_mut().for_each(|value| *value /= *s);
        }
    }

    /// Returns the first columns of `U`.
    fn u(&self, rank: usize) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.u[..self.m * rank], self.m, rank)
    }

    /// Returns the first columns of `V`.
    fn v(&self, rank: usize) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.v[..self.n * rank], self.n, rank)
    }
}
