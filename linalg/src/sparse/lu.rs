//! The LU factorization of sparse square matrices.

use super::compressed::{Compressed, Compression, Pattern};
use super::right_sides::RightSides;
use super::typed::{Typed, each, either, typed};
use crate::dense::charged_buffer;
use crate::real::{Real, common_prim};
use crate::scaling::{Scales, scale_rows, unscale_rows};
use crate::{Context, Error};
use faer::dyn_stack::MemStack;
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::{Conj, MatMut, Par};
use redpoll_storage::Tensor;
use std::sync::Arc;

/// The factors `P A Q = L U` of a sparse square matrix: `Q` is an ordering that keeps the factors
/// sparse, `P` the order of the pivots. Clones share the factors.
#[derive(Clone, Debug)]
pub struct SparseLu(Typed<Arc<Lu<f32>>, Arc<Lu<f64>>>);

/// The factors with numbers of type `T`. If the matrix was given in compressed rows, these are the
/// factors of its transpose.
struct Lu<T> {
    analysis: Arc<Analysis>,
    numeric: NumericLu<u64, T>,
    /// The scales of a badly scaled matrix; the factors are those of the scaled matrix.
    scales: Option<Scales>,
}

/// The pattern of a matrix and its ordering.
struct Analysis {
    pattern: Pattern,
    symbolic: SymbolicLu<u64>,
}

/// A matrix or its transpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Plain,
    Transposed,
}

impl SparseLu {
    /// Factorizes a matrix with partial pivoting, after an ordering of the columns by COLAMD. The
    /// rows and columns of badly scaled matrices are first multiplied by powers of two.
    ///
    /// # Errors
    /// When the tensor is no square matrix of finite numbers with fill value 0, the matrix is
    /// singular, or memory is exhausted.
    pub fn new(context: &Context, a: &Tensor) -> Result<SparseLu, Error> {
        const FUNCTION: &str = "sparse_lu";
        let prim = common_prim(FUNCTION, &[a])?;
        Ok(SparseLu(typed!(prim, T => {
            let matrix = super::square::<T>(context, FUNCTION, a, None)?;
            let symbolic = factorize_symbolic_lu(matrix.pattern.columns(), Default::default());
            let symbolic = symbolic.map_err(|_| Error::TooLarge { function: FUNCTION })?;
            let analysis = Arc::new(Analysis { pattern: matrix.pattern.clone(), symbolic });
            Arc::new(Lu::<T>::factorize(context, FUNCTION, analysis, &matrix)?)
        })))
    }

    /// Factorizes another matrix that stores the same coordinates, with the same ordering and new
    /// pivots. The numbers of the factors keep their type.
    ///
    /// # Errors
    /// When the matrix stores other coordinates; also the errors of [`SparseLu::new`].
    pub fn refactorize(&self, context: &Context, a: &Tensor) -> Result<SparseLu, Error> {
        const FUNCTION: &str = "refactorize";
        common_prim(FUNCTION, &[a])?;
        Ok(SparseLu(each!(&self.0, lu => Arc::new(lu.refactorize(context, FUNCTION, a)?))))
    }

    /// Solves `a x = b` for a vector, or for each column of a matrix.
    ///
    /// # Errors
    /// When the shape does not fit, or memory is exhausted.
    pub fn solve(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        either!(&self.0, lu => lu.solve(context, "solve", b, Side::Plain))
    }

    /// Solves `a^T x = b` for a vector, or for each column of a matrix.
    ///
    /// # Errors
    /// The errors of [`SparseLu::solve`].
    pub fn solve_transposed(&self, context: &Context, b: &Tensor) -> Result<Tensor, Error> {
        either!(&self.0, lu => lu.solve(context, "solve_transposed", b, Side::Transposed))
    }
}

impl<T: Real> Lu<T> {
    fn factorize(
        context: &Context,
        function: &'static str,
        analysis: Arc<Analysis>,
        matrix: &Compressed<T>,
    ) -> Result<Lu<T>, Error> {
        let symbolic = &analysis.symbolic;
        let mut numeric = NumericLu::new();
        let Pattern { minor: rows, major: columns, .. } = matrix.pattern;
        let scales = Scales::of::<T>((rows, columns), &|visit| matrix.each_entry(visit));
        let scaled = scales.as_ref().map(|scales| matrix.scaled(context, function, scales)).transpose()?;
        let matrix = scaled.as_ref().unwrap_or(matrix);
        // The number of operations is not known before the pivots are; this is a guess.
        let operations = 1e3 * matrix.pattern.entries() as f64;
        context.run(operations, |par| {
            let scratch = symbolic.factorize_numeric_lu_scratch::<T>(par, Default::default());
            let (_charge, mut buffer) = charged_buffer(context, function, scratch)?;
            let memory = MemStack::new(&mut buffer);
            let factors =
                symbolic.factorize_numeric_lu(&mut numeric, matrix.columns(), par, memory, Default::default());
            use faer::sparse::linalg::LuError;
            match factors {
                Ok(_) => Ok(()),
                Err(LuError::SymbolicSingular { .. }) => Err(Error::Singular { function, batch: Vec::new() }),
                Err(LuError::Generic(_)) => Err(Error::TooLarge { function }),
            }
        })?;
        let lu = Lu { analysis, numeric, scales };
        super::check_pivots(function, (rows, columns), |x| {
            lu.apply_factors(context, function, x, (Side::Plain, Par::Seq))
        })?;
        Ok(lu)
    }

    fn refactorize(&self, context: &Context, function: &'static str, a: &Tensor) -> Result<Lu<T>, Error> {
        let matrix = super::same_pattern::<T>(context, function, a, &self.analysis.pattern)?;
        Lu::factorize(context, function, self.analysis.clone(), &matrix)
    }

    fn solve(&self, context: &Context, function: &'static str, b: &Tensor, side: Side) -> Result<Tensor, Error> {
        let n = self.analysis.pattern.major;
        let mut sides = RightSides::<T>::of(context, function, b, (n, n))?;
        let side = match (self.analysis.pattern.compression, side) {
            (Compression::Columns, side) => side,
            (Compression::Rows, Side::Plain) => Side::Transposed,
            (Compression::Rows, Side::Transposed) => Side::Plain,
        };
        let operations = 100.0 * (n as f64) * (sides.columns() as f64);
        context.run(operations, |par| self.apply(context, function, sides.as_mut(), (side, par)))?;
        sides.into_tensor(context, n)
    }

    /// Replaces right sides by solutions for the matrix that `scales` belong to.
    fn apply(
        &self,
        context: &Context,
        function: &'static str,
        mut x: MatMut<'_, T>,
        (side, par): (Side, Par),
    ) -> Result<(), Error> {
        let Some(Scales { rows, columns }) = &self.scales else {
            return self.apply_factors(context, function, x, (side, par));
        };
        let (before, after) = if side == Side::Plain { (rows, columns) } else { (columns, rows) };
        let shifts = scale_rows(x.as_mut(), before);
        self.apply_factors(context, function, x.as_mut(), (side, par))?;
        unscale_rows(x, after, &shifts);
        Ok(())
    }

    /// Replaces right sides by the solutions for the factorized matrix.
    fn apply_factors(
        &self,
        context: &Context,
        function: &'static str,
        x: MatMut<'_, T>,
        (side, par): (Side, Par),
    ) -> Result<(), Error> {
        let symbolic = &self.analysis.symbolic;
        if x.nrows() == 0 || x.ncols() == 0 {
            return Ok(());
        }
        let lu = LuRef::new_unchecked(symbolic, &self.numeric);
        let scratch = symbolic.solve_in_place_scratch::<T>(x.ncols(), par);
        let (_charge, mut buffer) = charged_buffer(context, function, scratch)?;
        let memory = MemStack::new(&mut buffer);
        match side {
            Side::Plain => lu.solve_in_place_with_conj(Conj::No, x, par, memory),
            Side::Transposed => lu.solve_transpose_in_place_with_conj(Conj::No, x, par, memory),
        }
        Ok(())
    }
}

impl<T> std::fmt::Debug for Lu<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lu").field("size", &self.analysis.pattern.major).finish_non_exhaustive()
    }
}
