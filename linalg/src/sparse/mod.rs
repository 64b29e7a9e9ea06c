//! Factorizations of sparse matrices. A factorization is a value that solves many systems.
//!
//! A matrix may have any format with fill value 0. faer reads the arrays of a matrix in compressed
//! columns. For faer, the arrays of a matrix in compressed rows are those of the transpose in
//! compressed columns. Arrays of other types than 64-bit indices and `f32` or `f64` values are
//! copied. Other formats are converted.
//!
//! A factorization has a symbolic part, the ordering and the structure of the factors, which
//! depends on the stored coordinates only. `refactorize` uses it again for other values.

mod cholesky;
mod compressed;
mod lu;
mod qr;
mod right_sides;
mod typed;

pub use cholesky::{LogDeterminant, SparseCholesky, SymmetricKind};
pub use lu::SparseLu;
pub use qr::SparseQr;

use crate::dense::zeros;
use crate::real::Real;
use crate::{Context, Error};
use compressed::{Compressed, Compression, Pattern};
use faer::MatMut;
use redpoll_storage::Tensor;

/// Returns a square matrix.
fn square<T: Real>(
    context: &Context,
    function: &'static str,
    a: &Tensor,
    compression: Option<Compression>,
) -> Result<Compressed<T>, Error> {
    let shape = &a.ty().shape;
    match shape[..] {
        [rows, columns] if rows == columns => Compressed::of(context, function, a, compression),
        _ => Err(Error::Shape { function, expected: "a square matrix", shape: shape.clone() }),
    }
}

/// Returns a matrix that stores the same coordinates as a factorized matrix.
fn same_pattern<T: Real>(
    context: &Context,
    function: &'static str,
    a: &Tensor,
    pattern: &Pattern,
) -> Result<Compressed<T>, Error> {
    let matrix = Compressed::of(context, function, a, Some(pattern.compression))?;
    if matrix.pattern.is_same(pattern) { Ok(matrix) } else { Err(Error::PatternChanged { function }) }
}

/// Fails if a pivot is zero. The LU and QR factorizations of faer do not report such pivots; they
/// divide by them. Every solution then has infinities or NaN, so this function solves one system
/// and looks for them. `rows` and `columns` are the sizes of the factorized matrix.
fn check_pivots<T: Real>(
    function: &'static str,
    (rows, columns): (usize, usize),
    solve: impl FnOnce(MatMut<'_, T>) -> Result<(), Error>,
) -> Result<(), Error> {
    // The right side is tiny, so that the solution overflows only if a pivot is zero. The elements
    // of the right side differ, so that no sum of them is zero by chance.
    let scale = T::MIN_POSITIVE.sqrt();
    let mut x = zeros::<T>(function, rows)?;
    x.iter_mut().enumerate().for_each(|(i, value)| *value = T::rounded(scale * (1.0 + 1.0 / (i as f64 + 1.5))));
    solve(MatMut::from_column_major_slice_mut(&mut x, rows, 1))?;
    match x[..columns].iter().all(|value| value.is_number()) {
        true => Ok(()),
        false => Err(Error::Singular { function, batch: Vec::new() }),
    }
}
