//! The Cholesky and the LDLT factorization of sparse symmetric matrices.

use super::compressed::{Compressed, Compression, Pattern};
use super::right_sides::RightSides;
use super::typed::{Typed, each, either, typed};
use crate::context::Reservation;
use crate::dense::{charged_buffer, zeros};
use crate::real::{Real, common_prim};
use crate::{Context, Error};
use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::cholesky::{ldlt::factor::LdltError, llt::factor::LltError as PivotError};
use faer::perm::{permute_rows_in_place, permute_rows_in_place_scratch};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering, factorize_symbolic_cholesky,
    simplicial, supernodal,
};
use faer::{Conj, MatMut, Par, Side};
use redpoll_storage::Tensor;
use std::sync::Arc;

/// The kind of a factorization of a symmetric matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymmetricKind {
    /// `L L^T`, for positive definite matrices.
    Cholesky,
    /// `L D L^T` with a diagonal `D` and without pivoting: for matrices all of whose principal
    /// submatrices are regular, such as quasi-definite matrices.
    Ldlt,
}

/// The factors of a sparse symmetric matrix, whose rows and columns are ordered by AMD. Clones
/// share the factors.
#[derive(Clone, Debug)]
pub struct SparseCholesky(Typed<Arc<Factors<f32>>, Arc<Factors<f64>>>);

/// The sign and the logarithm of the absolute value of a determinant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogDeterminant {
    /// -1 or 1.
    pub sign: f64,
    /// The natural logarithm of the absolute value.
    pub log_abs: f64,
}

/// The factors with numbers of type `T`.
struct Factors<T> {
    analysis: Arc<Analysis>,
    values: Vec<T>,
    _charge: Reservation,
}

/// The pattern of a matrix, its ordering, and the pattern of its factors.
struct Analysis {
    kind: SymmetricKind,
    pattern: Pattern,
    symbolic: SymbolicCholesky<u64>,
}

impl SparseCholesky {
    /// Factorizes a symmetric matrix. Reads only the elements on and below the diagonal.
    ///
    /// # Errors
    /// When the tensor is no square matrix of finite numbers with fill value 0, the matrix is not
    /// positive definite, a pivot of `D` is zero, or memory is exhausted.
    pub fn new(context: &Context, a: &Tensor, kind: SymmetricKind) -> Result<SparseCholesky, Error> {
        let function = match kind {
            SymmetricKind::Cholesky => "sparse_cholesky",
            SymmetricKind::Ldlt => "sparse_ldlt",
        };
        let prim = common_prim(function, &[a])?;
        Ok(SparseCholesky(typed!(prim, T => {
            let matrix = super::square::<T>(context, function, a, None)?;
            let symbolic = factorize_symbolic_cholesky(
                matrix.pattern.columns(),
                lower_side(&matrix.pattern),
                SymmetricOrdering::Amd,
                CholeskySymbolicParams::default(),
            );
            let symbolic = symbolic.map_err(|_| Error::TooLarge { function })?;
            let analysis = Arc::new(Analysis { kind, pattern: matrix.pattern.clone(), symbolic });
            Arc::new(Factors::<T>::factorize(context, function, analysis, &matrix)?)
        })))
    }

    /// Factorizes another matrix that stores the same coordinates, with the same ordering. The
    /// numbers of the factors keep their type.
    ///
    /// # Errors
    /// When the matrix stores other coordinates; also the errors of [`SparseCholesky::new`].
    pub fn refactorize(&self, context: &Context, a: &Tensor) -> Result<SparseCholesky, Error> {
        const FUNCTION: &str = "refactorize";
        common_prim(FUNCTION, &[a])?;
        Ok(SparseCholesky(each!(&self.0, factors => {
            let matrix = super::same_pattern(context, FUNCTION, a, &factors.analysis.pattern)?;
            Arc::new(Factors::factorize(context, FUNCTION, factors.analysis.clone(), &matrix)?)
        })))
    }

    /// Solves `a x = b` for a vector, or for each column of a matrix.
    ///
    /// # Errors
    /// When the shape does not fit, or memory is exhausted.
    pub fn solve(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        either!(&self.0, factors => factors.solve(context, b))
    }

    /// Returns the sign and the logarithm of the determinant, the sum of the logarithms of the
    /// pivots.
    pub fn log_determinant(&self) -> LogDeterminant {
        either!(&self.0, factors => factors.log_determinant())
    }

    /// Returns the number of stored values of the factors. Large factors are stored in blocks,
    /// which may store zeros.
    pub fn factor_entries(&self) -> u64 {
        either!(&self.0, factors => factors.values.len() as u64)
    }
}

/// Returns the triangle of the matrix in compressed columns that has the elements below the
/// diagonal of the matrix itself.
fn lower_side(pattern: &Pattern) -> Side {
    match pattern.compression {
        Compression::Columns => Side::Lower,
        Compression::Rows => Side::Upper,
    }
}

impl<T: Real> Factors<T> {
    fn factorize(
        context: &Context,
        function: &'static str,
        analysis: Arc<Analysis>,
        matrix: &Compressed<T>,
    ) -> Result<Factors<T>, Error> {
        let symbolic = &analysis.symbolic;
        let charge = context.reserve::<T>(symbolic.len_val())?;
        let mut values = zeros::<T>(function, symbolic.len_val())?;
        let (kind, side) = (analysis.kind, lower_side(&analysis.pattern));
        context.run(100.0 * symbolic.len_val() as f64, |par| {
            let scratch = match kind {
                SymmetricKind::Cholesky => symbolic.factorize_numeric_llt_scratch::<T>(par, Default::default()),
                SymmetricKind::Ldlt => symbolic.factorize_numeric_ldlt_scratch::<T>(par, Default::default()),
            };
            let (_charge, mut buffer) = charged_buffer(context, function, scratch)?;
            let memory = MemStack::new(&mut buffer);
            let (columns, regular) = (matrix.columns(), Default::default());
            match kind {
                SymmetricKind::Cholesky => symbolic
                    .factorize_numeric_llt(&mut values, columns, side, regular, par, memory, Default::default())
                    .map(drop)
                    .map_err(|PivotError::NonPositivePivot { index }| Error::NotPositiveDefinite {
                        function,
                        batch: Vec::new(),
                        row: row_of_pivot(symbolic, index),
                    }),
                SymmetricKind::Ldlt => symbolic
                    .factorize_numeric_ldlt(
                        &mut values,
                        columns,
                        side,
                        Default::default(),
                        par,
                        memory,
                        Default::default(),
                    )
                    .map(drop)
                    .map_err(|LdltError::ZeroPivot { .. }| Error::Singular { function, batch: Vec::new() }),
            }
        })?;
        Ok(Factors { analysis, values, _charge: charge })
    }

    fn solve(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        const FUNCTION: &str = "solve";
        let n = self.analysis.pattern.major;
        let mut sides = RightSides::<T>::of(context, FUNCTION, b, (n, n))?;
        let operations = 4.0 * (self.values.len() as f64) * (sides.columns() as f64);
        context.run(operations, |par| self.apply(context, sides.as_mut(), par))?;
        sides.into_tensor(context, n)
    }

    /// Replaces right sides by solutions.
    fn apply(&self, context: &Context, x: MatMut<'_, T>, par: Par) -> Result<(), Error> {
        let (symbolic, values) = (&self.analysis.symbolic, &self.values[..]);
        let (n, columns) = (x.nrows(), x.ncols());
        if n == 0 || columns == 0 {
            return Ok(());
        }
        let scratch = StackReq::or(
            permute_rows_in_place_scratch::<u64, T>(n, columns),
            symbolic.solve_in_place_scratch::<T>(columns, par),
        );
        let (_charge, mut buffer) = charged_buffer(context, "solve", scratch)?;
        let mut x = x;
        if let Some(order) = symbolic.perm() {
            permute_rows_in_place(x.as_mut(), order, MemStack::new(&mut buffer));
        }
        let (memory, no) = (MemStack::new(&mut buffer), Conj::No);
        match (symbolic.raw(), self.analysis.kind) {
            (SymbolicCholeskyRaw::Simplicial(symbolic), SymmetricKind::Cholesky) => {
                let factors = simplicial::SimplicialLltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(no, x.as_mut(), par, memory);
            }
            (SymbolicCholeskyRaw::Simplicial(symbolic), SymmetricKind::Ldlt) => {
                let factors = simplicial::SimplicialLdltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(no, x.as_mut(), par, memory);
            }
            (SymbolicCholeskyRaw::Supernodal(symbolic), SymmetricKind::Cholesky) => {
                let factors = supernodal::SupernodalLltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(no, x.as_mut(), par, memory);
            }
            (SymbolicCholeskyRaw::Supernodal(symbolic), SymmetricKind::Ldlt) => {
                let factors = supernodal::SupernodalLdltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(no, x.as_mut(), par, memory);
            }
        }
        if let Some(order) = symbolic.perm() {
            permute_rows_in_place(x, order.inverse(), MemStack::new(&mut buffer));
        }
        Ok(())
    }

    fn log_determinant(&self) -> LogDeterminant {
        let (mut sign, mut log_abs) = (1.0, 0.0);
        // The determinant is the product of the pivots, or of their squares.
        let mut multiply = |pivot: T| {
            let pivot = pivot.widened();
            match self.analysis.kind {
                SymmetricKind::Cholesky => log_abs += 2.0 * pivot.ln(),
                SymmetricKind::Ldlt => {
                    sign *= pivot.signum();
                    log_abs += pivot.abs().ln();
                }
            }
        };
        match self.analysis.symbolic.raw() {
            // The diagonal is the first element of each column.
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                let starts = &symbolic.col_ptr()[..symbolic.ncols()];
                starts.iter().for_each(|start| multiply(self.values[*start as usize]));
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let factors = supernodal::SupernodalLltRef::new(symbolic, &self.values[..]);
                for s in 0..symbolic.n_supernodes() {
                    let block = factors.supernode(s).val();
                    (0..block.ncols()).for_each(|i| multiply(block[(i, i)]));
                }
            }
        }
        LogDeterminant { sign, log_abs }
    }
}

/// Returns the row of the matrix that a pivot belongs to.
fn row_of_pivot(symbolic: &SymbolicCholesky<u64>, index: usize) -> u64 {
    // The factorization without blocks counts pivots from 1.
    let pivot = match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(_) => index - 1,
        SymbolicCholeskyRaw::Supernodal(_) => index,
    };
    symbolic.perm().map_or(pivot as u64, |order| order.arrays().0[pivot])
}

impl<T> std::fmt::Debug for Factors<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Analysis { kind, pattern, .. } = &*self.analysis;
        f.debug_struct("Factors").field("kind", kind).field("size", &pattern.major).finish_non_exhaustive()
    }
}
