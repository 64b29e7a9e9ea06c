//! The factorizations of dense and sparse tensors, checked by products and sums that are written
//! apart from them: residuals, orthogonality, triangular shapes; also errors, empty matrices,
//! formats and dtypes.

mod dense;
mod dense_errors;
mod matrix;
mod sparse;
mod threads;
