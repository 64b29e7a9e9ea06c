//! The factorizations of dense and sparse tensors, checked by the plain products and sums of
//! `matrix.rs`: residuals, orthogonality, triangular shapes; also errors, empty matrices, formats
//! and dtypes.

mod dense;
mod dense_errors;
mod matrix;
mod scaling;
mod sparse;
mod threads;
