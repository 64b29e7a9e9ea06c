//! Every operation on its own.

use crate::check;
use redpoll_testing::arrays::{functions, indexing, products, reductions, shapes};

/// Checks the element-wise functions of one array: their names, operators and dtypes.
#[test]
fn functions_of_one_array() {
    check(functions::UNARY);
    check(functions::FLOAT_UNARY);
    check(functions::BIT_UNARY);
}

/// Checks the element-wise functions of two arrays: alignment of shapes and promotion of dtypes.
/// Division and powers are also checked in the strict mode.
#[test]
fn functions_of_two_arrays() {
    check(functions::BINARY);
    check(functions::STRICT);
    check(functions::BINARY_BITS);
}

/// Checks functions with operands of particular dtypes, functions of several operators, and
/// user-defined functions.
#[test]
fn other_functions() {
    check(functions::OTHERS);
}

/// Checks folds along any axes, including folds over no elements.
#[test]
fn folds_along_axes() {
    check(reductions::FOLDS);
}

/// Checks variances and standard deviations.
#[test]
fn moments() {
    check(reductions::MOMENTS);
}

/// Checks the coordinates of extremes: the first coordinate of equal extremes.
#[test]
fn coordinates_of_extremes() {
    check(reductions::ARG_EXTREMES);
}

/// Checks the coordinates of extremes in arrays with NaN: if one of the elements is NaN, the
/// coordinate is that of the first NaN.
#[test]
fn coordinates_of_extremes_with_nan() {
    check(reductions::ARG_EXTREMES_WITH_NAN);
}

/// Checks running folds.
#[test]
fn running_folds() {
    check(reductions::SCANS);
}

/// Checks operations that change only coordinates: transpositions, reshapes and broadcasts.
#[test]
fn shapes() {
    check(shapes::SHAPES);
}

/// Checks concatenation, reversal, rotation, repetition and padding.
#[test]
fn joins() {
    check(shapes::JOINS);
}

/// Checks triangles, diagonals and traces of matrices, symmetric matrices made from a triangle, and
/// diagonal matrices.
#[test]
fn triangles() {
    check(shapes::TRIANGLES);
}

/// Checks windows, chunks and convolutions, which read at sums of coordinates, and bands of
/// matrices.
#[test]
fn neighbourhoods() {
    check(shapes::NEIGHBOURHOODS);
}

/// Checks writes at computed coordinates: scatters, counts and histograms.
#[test]
fn scatters() {
    check(shapes::SCATTERS);
}

/// Checks arrays that are created without operands.
#[test]
fn constants() {
    check(shapes::CONSTANTS);
}

/// Checks slices, gathers, masks and differences of neighbours.
#[test]
fn indexing() {
    check(indexing::INDEXING);
}

/// Checks products, their alignment and the order of their modes.
#[test]
fn products() {
    check(products::PRODUCTS);
}

/// Checks `einsum`, which names modes by letters, also over other semirings.
#[test]
fn einsums() {
    check(products::EINSUMS);
}
