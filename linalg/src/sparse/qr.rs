//! The QR factorization of sparse matrices with at least as many rows as columns.

use super::compressed::{Compressed, Compression, Pattern};
use super::right_sides::RightSides;
use super::typed::{Typed, each, either, typed};
use crate::real::{Real, common_prim};
use crate::{Context, Error};
use faer::linalg::solvers::SolveLstsqCore;
use faer::sparse::linalg::solvers::{Qr as Factors, SymbolicQr};
use faer::{Conj, MatMut};
use redpoll_storage::Tensor;
use std::sync::Arc;

/// The factors `A P = Q R` of a sparse matrix with at least as many rows as columns: `P` is an
/// ordering by COLAMD, `Q` has orthonormal columns. Clones share the factors. One thread does all
/// of the work.
#[derive(Clone, Debug)]
pub struct SparseQr(Typed<Arc<Qr<f32>>, Arc<Qr<f64>>>);

/// The factors with numbers of type `T`.
struct Qr<T> {
    analysis: Arc<Analysis>,
    factors: Factors<u64, T>,
}

/// The pattern of a matrix and its ordering.
struct Analysis {
    pattern: Pattern,
    symbolic: SymbolicQr<u64>,
}

impl SparseQr {
    /// Factorizes a matrix.
    ///
    /// # Errors
    /// When the tensor is no matrix of finite numbers with fill value 0, has more columns than
    /// rows, a pivot of `R` is zero, or memory is exhausted.
    pub fn new(context: &Context, a: &Tensor) -> Result<SparseQr, Error> {
        const FUNCTION: &str = "sparse_qr";
        let prim = common_prim(FUNCTION, &[a])?;
        Ok(SparseQr(typed!(prim, T => {
            let matrix = Compressed::<T>::of(context, FUNCTION, a, Some(Compression::Columns))?;
            if matrix.pattern.minor < matrix.pattern.major {
                let expected = "a matrix with at least as many rows as columns";
                return Err(Error::Shape { function: FUNCTION, expected, shape: a.ty().shape.clone() });
            }
            let symbolic = SymbolicQr::try_new(matrix.pattern.columns());
            let symbolic = symbolic.map_err(|_| Error::TooLarge { function: FUNCTION })?;
            let analysis = Arc::new(Analysis { pattern: matrix.pattern.clone(), symbolic });
            Arc::new(Qr::<T>::factorize(FUNCTION, analysis, &matrix)?)
        })))
    }

    /// Factorizes another matrix that stores the same coordinates, with the same ordering. The
    /// numbers of the factors keep their type.
    ///
    /// # Errors
    /// When the matrix stores other coordinates; also the errors of [`SparseQr::new`].
    pub fn refactorize(&self, context: &Context, a: &Tensor) -> Result<SparseQr, Error> {
        const FUNCTION: &str = "refactorize";
        common_prim(FUNCTION, &[a])?;
        Ok(SparseQr(each!(&self.0, qr => {
            let matrix = super::same_pattern(context, FUNCTION, a, &qr.analysis.pattern)?;
            Arc::new(Qr::factorize(FUNCTION, qr.analysis.clone(), &matrix)?)
        })))
    }

    /// Finds the `x` that minimizes the norm of `a x - b`, for a vector or for each column of a
    /// matrix. If the matrix is square, that is the solution of `a x = b`.
    ///
    /// # Errors
    /// When the shape does not fit, or memory is exhausted.
    pub fn solve(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        either!(&self.0, qr => qr.solve(context, b))
    }
}

impl<T: Real> Qr<T> {
    fn factorize(function: &'static str, analysis: Arc<Analysis>, matrix: &Compressed<T>) -> Result<Qr<T>, Error> {
        let symbolic = analysis.symbolic.clone();
        let factors = Context::run_on_one_thread(|| Factors::try_new_with_symbolic(symbolic, matrix.columns()));
        let qr = Qr { factors: factors.map_err(|_| Error::TooLarge { function })?, analysis };
        super::check_pivots(function, qr.analysis.pattern.minor, matrix, |x| {
            Context::run_on_one_thread(|| qr.apply(x));
            Ok(())
        })?;
        Ok(qr)
    }

    fn solve(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        let Pattern { minor: rows, major: columns, .. } = self.analysis.pattern;
        let mut sides = RightSides::<T>::of(context, "solve", b, (rows, columns))?;
        Context::run_on_one_thread(|| self.apply(sides.as_mut()));
        sides.into_tensor(context, columns)
    }

    /// Replaces the first rows of right sides by solutions.
    fn apply(&self, x: MatMut<'_, T>) {
        if self.analysis.pattern.major > 0 && x.ncols() > 0 {
            self.factors.solve_lstsq_in_place_with_conj(Conj::No, x);
        }
    }
}

impl<T> std::fmt::Debug for Qr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Pattern { minor, major, .. } = self.analysis.pattern;
        f.debug_struct("Qr").field("rows", &minor).field("columns", &major).finish_non_exhaustive()
    }
}
