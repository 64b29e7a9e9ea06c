//! The QR factorization of sparse matrices with at least as many rows as columns.

use super::compressed::{Compressed, Compression, Pattern};
use super::right_sides::RightSides;
use super::typed::{Typed, each, either, typed};
use crate::context::Reservation;
use crate::real::{Real, common_prim};
use crate::scaling::{Scales, scale_rows, unscale_rows};
use crate::{Context, Error};
use faer::linalg::solvers::SolveLstsqCore;
use faer::sparse::linalg::qr::factorize_symbolic_qr;
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
    /// The scales of the columns of a badly scaled matrix; the factors are those of the scaled
    /// matrix.
    scales: Option<Scales>,
    _charge: Reservation,
}

/// The pattern of a matrix and its ordering.
struct Analysis {
    pattern: Pattern,
    symbolic: SymbolicQr<u64>,
    /// The number of bytes of the factors.
    factor_bytes: usize,
    /// The number of bytes of the workspace of the factorization.
    workspace_bytes: usize,
}

impl Analysis {
    /// Orders the columns of a matrix with numbers of type `T`.
    ///
    /// # Errors
    /// When memory is exhausted.
    fn of<T: Real>(function: &'static str, pattern: &Pattern) -> Result<Analysis, Error> {
        let too_large = |_| Error::TooLarge { function };
        let symbolic = SymbolicQr::try_new(pattern.columns()).map_err(too_large)?;
        // `SymbolicQr` does not give its sizes, so the same analysis of the low-level interface
        // measures them.
        let sizes = factorize_symbolic_qr(pattern.columns(), Default::default()).map_err(too_large)?;
        let (values, indices) = (sizes.len_val(), sizes.len_idx());
        let factor_bytes = (values * size_of::<T>()).saturating_add(indices * size_of::<u64>());
        let workspace_bytes = Context::run_on_one_thread(|| {
            let par = faer::get_global_parallelism();
            sizes.factorize_numeric_qr_scratch::<T>(par, Default::default()).size_bytes()
        });
        Ok(Analysis { pattern: pattern.clone(), symbolic, factor_bytes, workspace_bytes })
    }
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
            let analysis = Arc::new(Analysis::of::<T>(FUNCTION, &matrix.pattern)?);
            Arc::new(Qr::<T>::factorize(context, FUNCTION, analysis, &matrix)?)
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
            Arc::new(Qr::factorize(context, FUNCTION, qr.analysis.clone(), &matrix)?)
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
    fn factorize(
        context: &Context,
        function: &'static str,
        analysis: Arc<Analysis>,
        matrix: &Compressed<T>,
    ) -> Result<Qr<T>, Error> {
        let Pattern { minor: rows, major: columns, .. } = matrix.pattern;
        // The factorization is accurate for any scales of the columns, but its squares may
        // overflow.
        let scales = Scales::of_columns::<T>((rows, columns), &|visit| matrix.each_entry(visit));
        let scaled = scales.as_ref().map(|scales| matrix.scaled(context, function, scales)).transpose()?;
        let matrix = scaled.as_ref().unwrap_or(matrix);
        let charge = context.reserve::<u8>(analysis.factor_bytes)?;
        let workspace = context.reserve::<u8>(analysis.workspace_bytes)?;
        let symbolic = analysis.symbolic.clone();
        let factors = Context::run_on_one_thread(|| Factors::try_new_with_symbolic(symbolic, matrix.columns()));
        drop(workspace);
        let factors = factors.map_err(|_| Error::TooLarge { function })?;
        let qr = Qr { analysis, factors, scales, _charge: charge };
        super::check_pivots(function, (rows, columns), |x| {
            Context::run_on_one_thread(|| qr.apply_factors(x));
            Ok(())
        })?;
        Ok(qr)
    }

    fn solve(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        let Pattern { minor: rows, major: columns, .. } = self.analysis.pattern;
        let mut sides = RightSides::<T>::of(context, "solve", b, (rows, columns))?;
        // faer copies the right sides.
        let _workspace = context.reserve::<T>(rows.saturating_mul(sides.columns()))?;
        Context::run_on_one_thread(|| self.apply(sides.as_mut()));
        sides.into_tensor(context, columns)
    }

    /// Replaces the first rows of right sides by solutions.
    fn apply(&self, mut x: MatMut<'_, T>) {
        let Some(scales) = &self.scales else { return self.apply_factors(x) };
        let shifts = scale_rows(x.as_mut(), &scales.rows);
        self.apply_factors(x.as_mut());
        unscale_rows(x, &scales.columns, &shifts);
    }

    /// Replaces the first rows of right sides by solutions for the factorized matrix.
    fn apply_factors(&self, x: MatMut<'_, T>) {
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
