//! Functions that factorize `P A = L U` with partial pivoting: systems of equations, inverses and
//! determinants.

use super::batches::{Batch, buffer, for_each_matrix, zeros};
use super::stack::{Broadcast, Stack, copy_rows, tensor_of};
use crate::real::{Real, common_prim, with_real};
use crate::scaling::{Scales, exponent, scale_rows, times_power, unscale_rows, wide_times_power};
use crate::{Context, Error};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::lu::partial_pivoting::{factor, inverse, solve as triangles};
use faer::perm::PermRef;
use faer::{MatMut, MatRef, Par};
use redpoll_storage::Tensor;

/// Largest size of a matrix whose inverse is computed by the solution of a system. For larger ones,
/// the product of the inverses of the factors takes less time.
const SMALL: usize = 32;

/// The sign and the logarithm of the absolute value of the determinant of each matrix.
#[derive(Clone, Debug)]
pub struct SlogDet {
    /// -1, 0 or 1; NaN if infinities or NaN of the matrix make a pivot NaN.
    pub sign: Tensor,
    /// The natural logarithm of the absolute value; negative infinity for a singular matrix.
    pub log_abs_det: Tensor,
}

/// Solves `a x = b` for each matrix of `a`. If `b` has one mode, it is a vector; otherwise `b` is a
/// stack of matrices, whose columns are right sides. The stacks are broadcast.
///
/// # Errors
/// When a matrix is singular, shapes do not fit, or memory is exhausted.
pub fn solve(context: &Context, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let prim = common_prim("solve", &[a, b])?;
    with_real!(prim, T => solve_of::<T>(context, a, b))
}

fn solve_of<T: Real>(context: &Context, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    const FUNCTION: &str = "solve";
    let left = Stack::<T>::square(context, FUNCTION, a)?;
    let RightSides { stack: right, pairs, is_vector } = right_sides(context, FUNCTION, (&left, a), b)?;
    let (n, columns) = (left.rows, right.columns);
    let operations = (n as f64).powi(2) * (n as f64 + 2.0 * columns as f64);
    let size = n * columns;
    let batch =
        Batch { function: FUNCTION, count: pairs.count(), outputs: [size], workspace: n * n + size, operations };
    let [x] = for_each_matrix(
        context,
        &batch,
        |par| Ok((Lu::new(FUNCTION, n, columns, par)?, zeros::<T>(FUNCTION, size)?)),
        |(lu, workspace), k, [out]| {
            let (matrix, sides) = pairs.pair(k);
            lu.factorize(left.matrix(matrix));
            if !lu.has_pivots(FUNCTION, &left, matrix)? {
                out.fill(T::rounded(f64::NAN));
                return Ok(());
            }
            let mut x = MatMut::from_column_major_slice_mut(workspace, n, columns);
            x.copy_from(right.matrix(sides));
            lu.solve(x.as_mut());
            copy_rows(x.as_ref(), out);
            Ok(())
        },
    )?;
    let shape = [n, columns];
    tensor_of(context, &pairs.batch, if is_vector { &shape[..1] } else { &shape }, x)
}

/// The right sides of systems of equations.
pub(super) struct RightSides<T> {
    pub(super) stack: Stack<T>,
    /// The pairs of matrices and right sides.
    pub(super) pairs: Broadcast,
    /// Whether the right side is a vector.
    pub(super) is_vector: bool,
}

/// Returns the right sides `b` for the matrices `left` of tensor `a`.
pub(super) fn right_sides<T: Real>(
    context: &Context,
    function: &'static str,
    (left, a): (&Stack<T>, &Tensor),
    b: &Tensor,
) -> Result<RightSides<T>, Error> {
    let mismatch = |expected| {
        let (left, right) = (a.ty().shape.clone(), b.ty().shape.clone());
        Error::Mismatch { function, left, right, expected }
    };
    let is_vector = b.ty().shape.len() == 1;
    let stack = match is_vector {
        true => Stack::<T>::column(context, function, b)?,
        false => Stack::<T>::of(context, function, b)?,
    };
    if stack.rows != left.rows {
        return Err(mismatch("one row for each row of the matrices"));
    }
    let pairs = Broadcast::of(&left.batch, &stack.batch);
    let pairs = pairs.ok_or_else(|| mismatch("modes before the matrices that can be broadcast"))?;
    Ok(RightSides { stack, pairs, is_vector })
}

/// Inverts each matrix.
///
/// # Errors
/// When a matrix is singular or not square, or memory is exhausted.
pub fn inv(context: &Context, a: &Tensor) -> Result<Tensor, Error> {
    let prim = common_prim("inv", &[a])?;
    with_real!(prim, T => inv_of::<T>(context, a))
}

fn inv_of<T: Real>(context: &Context, a: &Tensor) -> Result<Tensor, Error> {
    const FUNCTION: &str = "inv";
    let stack = Stack::<T>::square(context, FUNCTION, a)?;
    let n = stack.rows;
    let operations = 2.0 * (n as f64).powi(3);
    let batch = Batch { function: FUNCTION, count: stack.count(), outputs: [n * n], workspace: 3 * n * n, operations };
    let [inverses] = for_each_matrix(
        context,
        &batch,
        |par| Ok((Lu::new(FUNCTION, n, n, par)?, zeros::<T>(FUNCTION, n * n)?)),
        |(lu, workspace), k, [out]| {
            lu.factorize(stack.matrix(k));
            if !lu.has_pivots(FUNCTION, &stack, k)? {
                out.fill(T::rounded(f64::NAN));
                return Ok(());
            }
            let mut inverse = MatMut::from_column_major_slice_mut(workspace, n, n);
            lu.invert(inverse.as_mut());
            copy_rows(inverse.as_ref(), out);
            Ok(())
        },
    )?;
    tensor_of(context, &stack.batch, &[n, n], inverses)
}

/// Computes the determinant of each matrix. The determinant of a matrix without elements is 1.
///
/// # Errors
/// When the matrices are not square, or memory is exhausted.
pub fn det(context: &Context, a: &Tensor) -> Result<Tensor, Error> {
    let prim = common_prim("det", &[a])?;
    with_real!(prim, T => {
        let product = |pivots: Pivots<'_, T>, out: [&mut [T]; 1]| {
            // The product may leave the range of floats on the way, so its exponent is counted
            // apart.
            let product = |values: &mut dyn Iterator<Item = T>| {
                let (mut mantissa, mut power) = (pivots.sign, pivots.power);
                for pivot in values {
                    let of_pivot = exponent(pivot).unwrap_or(0);
                    mantissa *= wide_times_power(pivot.widened(), -i64::from(of_pivot));
                    let of_product = exponent(mantissa).unwrap_or(0);
                    mantissa = wide_times_power(mantissa, -i64::from(of_product));
                    power += i64::from(of_pivot) + i64::from(of_product);
                }
                T::rounded(wide_times_power(mantissa, power))
            };
            out[0][0] = pivots.values().map_or(T::rounded(0.0), |mut values| product(&mut values));
        };
        let (batch, [det]) = of_pivots::<T, 1>(context, "det", a, product)?;
        tensor_of(context, &batch, &[], det)
    })
}

/// Computes the sign and the logarithm of the absolute value of the determinant of each matrix.
///
/// # Errors
/// When the matrices are not square, or memory is exhausted.
pub fn slogdet(context: &Context, a: &Tensor) -> Result<SlogDet, Error> {
    let prim = common_prim("slogdet", &[a])?;
    with_real!(prim, T => {
        let logarithm = |pivots: Pivots<'_, T>, [sign, log]: [&mut [T]; 2]| {
            let Some(values) = pivots.values() else {
                (sign[0], log[0]) = (T::rounded(0.0), T::rounded(f64::NEG_INFINITY));
                return;
            };
            let (mut s, mut l) = (pivots.sign, pivots.power as f64 * std::f64::consts::LN_2);
            for value in values.map(Real::widened) {
                s *= if value.is_nan() { f64::NAN } else { value.signum() };
                l += value.abs().ln();
            }
            (sign[0], log[0]) = (T::rounded(s), T::rounded(l));
        };
        let (batch, [sign, log_abs_det]) = of_pivots::<T, 2>(context, "slogdet", a, logarithm)?;
        let tensor = |values| tensor_of(context, &batch, &[], values);
        Ok(SlogDet { sign: tensor(sign)?, log_abs_det: tensor(log_abs_det)? })
    })
}

/// The pivots of a factorized matrix.
struct Pivots<'a, T> {
    lu: MatRef<'a, T>,
    /// The sign of the permutation of the rows.
    sign: f64,
    /// The determinant is the product of the pivots, the sign, and two to this power.
    power: i64,
    is_singular: bool,
}

impl<T: Real> Pivots<'_, T> {
    /// Returns the pivots; `None` for a singular matrix.
    fn values(&self) -> Option<impl Iterator<Item = T>> {
        let lu = self.lu;
        (!self.is_singular).then(|| (0..lu.nrows()).map(move |i| lu[(i, i)]))
    }
}

/// Computes `N` values from the pivots of each matrix, one for each output. Also returns the shape
/// of the stack.
fn of_pivots<T: Real, const N: usize>(
    context: &Context,
    function: &'static str,
    a: &Tensor,
    write: impl Fn(Pivots<'_, T>, [&mut [T]; N]) + Sync,
) -> Result<(Vec<u64>, [Vec<T>; N]), Error> {
    let stack = Stack::<T>::square(context, function, a)?;
    let n = stack.rows;
    let operations = (n as f64).powi(3);
    let batch = Batch { function, count: stack.count(), outputs: [1; N], workspace: n * n, operations };
    let outputs = for_each_matrix(
        context,
        &batch,
        |par| Lu::new(function, n, 0, par),
        |lu, k, out| {
            let transpositions = lu.factorize(stack.matrix(k));
            let sign = if transpositions.is_multiple_of(2) { 1.0 } else { -1.0 };
            let is_singular = lu.has_zero_pivot() && !has_nan(stack.numbers(k));
            let power = lu.scales.as_ref().map_or(0, |scales| -scales.sum());
            write(Pivots { lu: lu.factors(), sign, power, is_singular }, out);
            Ok(())
        },
    )?;
    Ok((stack.batch, outputs))
}

/// Returns whether one of the numbers is NaN. The search for pivots skips NaN, so a pivot may be
/// zero in a column with NaN. Such a matrix is not singular; all results are NaN.
fn has_nan<T: Real>(numbers: &[T]) -> bool {
    numbers.iter().any(|number| number.widened().is_nan())
}

/// The factors of a matrix, and the memory in which they are computed.
struct Lu<T> {
    n: usize,
    par: Par,
    /// The scales of a badly scaled matrix; the factors are those of the scaled matrix.
    scales: Option<Scales>,
    /// The factors in one matrix, column by column; the diagonal of `L` is 1 and not stored.
    factors: Vec<T>,
    permutation: Vec<usize>,
    inverse_permutation: Vec<usize>,
    buffer: MemBuffer,
}

impl<T: Real> Lu<T> {
    /// Makes memory for matrices of size `n` and this many right sides.
    fn new(function: &'static str, n: usize, right_sides: usize, par: Par) -> Result<Lu<T>, Error> {
        let scratch = StackReq::any_of(&[
            factor::lu_in_place_scratch::<usize, T>(n, n, par, Default::default()),
            triangles::solve_in_place_scratch::<usize, T>(n, right_sides, par),
            if right_sides == n { inverse::inverse_scratch::<usize, T>(n, par) } else { StackReq::EMPTY },
        ]);
        let buffer = buffer(function, scratch)?;
        let factors = zeros(function, n * n)?;
        Ok(Lu { n, par, scales: None, factors, permutation: vec![0; n], inverse_permutation: vec![0; n], buffer })
    }

    /// Factorizes a matrix, and returns the number of exchanges of two rows.
    fn factorize(&mut self, a: MatRef<'_, T>) -> usize {
        let n = self.n;
        let mut factors = MatMut::from_column_major_slice_mut(&mut self.factors, n, n);
        factors.copy_from(a);
        self.scales = Scales::of((n, n), &|visit| {
            (0..n).for_each(|i| (0..n).for_each(|j| visit(i, j, a[(i, j)])));
        });
        if let Some(Scales { rows, columns }) = &self.scales {
            for (j, column) in columns.iter().enumerate() {
                for (i, row) in rows.iter().enumerate() {
                    factors[(i, j)] = times_power(factors[(i, j)], row + column);
                }
            }
        }
        let (info, _) = factor::lu_in_place(
            factors,
            &mut self.permutation,
            &mut self.inverse_permutation,
            self.par,
            MemStack::new(&mut self.buffer),
            Default::default(),
        );
        info.transposition_count
    }

    fn factors(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.factors, self.n, self.n)
    }

    /// Returns whether a pivot is zero. The pivots after a zero pivot have no meaning, because the
    /// factorization divides by each pivot. A NaN before the first zero pivot comes from infinities
    /// or NaN of the matrix.
    fn has_zero_pivot(&self) -> bool {
        let factors = self.factors();
        let mut pivots = (0..self.n).map(|i| factors[(i, i)].widened());
        pivots.find(|pivot| *pivot == 0.0 || pivot.is_nan()) == Some(0.0)
    }

    /// Fails if matrix `k` of the stack, which is factorized, is singular. Returns whether all
    /// pivots are known; NaN may hide them.
    fn has_pivots(&self, function: &'static str, stack: &Stack<T>, k: usize) -> Result<bool, Error> {
        match self.has_zero_pivot() {
            false => Ok(true),
            true if has_nan(stack.numbers(k)) => Ok(false),
            true => Err(Error::Singular { function, batch: stack.index(k) }),
        }
    }

    /// Replaces right sides by solutions. There are at most as many right sides as the memory was
    /// made for.
    fn solve(&mut self, mut x: MatMut<'_, T>) {
        let shifts = self.scales.as_ref().map(|scales| scale_rows(x.as_mut(), &scales.rows));
        self.solve_scaled(x.as_mut());
        if let (Some(scales), Some(shifts)) = (&self.scales, shifts) {
            unscale_rows(x, &scales.columns, &shifts);
        }
    }

    /// Replaces right sides by solutions for the scaled matrix.
    fn solve_scaled(&mut self, x: MatMut<'_, T>) {
        let lu = MatRef::from_column_major_slice(&self.factors, self.n, self.n);
        let order = PermRef::new_checked(&self.permutation, &self.inverse_permutation, self.n);
        triangles::solve_in_place(lu, lu, order, x, self.par, MemStack::new(&mut self.buffer));
    }

    /// Writes the inverse.
    fn invert(&mut self, mut out: MatMut<'_, T>) {
        if self.n <= SMALL {
            out.fill(T::rounded(0.0));
            (0..self.n).for_each(|i| out[(i, i)] = T::rounded(1.0));
            self.solve_scaled(out.as_mut());
        } else {
            let lu = MatRef::from_column_major_slice(&self.factors, self.n, self.n);
            let order = PermRef::new_checked(&self.permutation, &self.inverse_permutation, self.n);
            inverse::inverse(out.as_mut(), lu, lu, order, self.par, MemStack::new(&mut self.buffer));
        }
        if let Some(Scales { rows, columns }) = &self.scales {
            for (j, row) in rows.iter().enumerate() {
                for (i, column) in columns.iter().enumerate() {
                    out[(i, j)] = times_power(out[(i, j)], row + column);
                }
            }
        }
    }
}
