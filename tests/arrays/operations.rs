//! Every operation alone.

use crate::check;
use redpoll_testing::arrays::{functions, indexing, products, reductions, shapes};

/// Protects the table of functions: names, operators, alignment, dtypes.
#[test]
fn functions_of_one_array() {
    check(functions::UNARY);
    check(functions::OF_FLOATS);
    check(functions::OF_BITS);
}

/// Protects alignment and promotion.
#[test]
fn functions_of_two_arrays() {
    check(functions::BINARY);
    check(functions::STRICT);
    check(functions::BINARY_BITS);
}

/// Protects what is made of several operators, and user-defined ones.
#[test]
fn other_functions() {
    check(functions::OTHERS);
}

/// Protects folds along any axes, of no places too.
#[test]
fn folds_along_axes() {
    check(reductions::FOLDS);
}

/// Protects means and variances.
#[test]
fn moments() {
    check(reductions::MOMENTS);
}

/// Protects the coordinates of extremes: the first of equals.
#[test]
fn places_of_extremes() {
    check(reductions::PLACES);
}

/// Protects rows with NaN, and of nothing else: the first NaN is the extreme, as it is the value of `min` and `max`.
#[test]
fn places_of_extremes_with_nan() {
    check(reductions::PLACES_WITH_NAN);
}

/// Protects running folds.
#[test]
fn running_folds() {
    check(reductions::SCANS);
}

/// Protects maps of coordinates.
#[test]
fn shapes() {
    check(shapes::SHAPES);
}

/// Protects concatenation, rotation, repetition and padding.
#[test]
fn joins() {
    check(shapes::JOINS);
}

/// Protects masks on coordinates.
#[test]
fn triangles() {
    check(shapes::TRIANGLES);
}

/// Protects windows, chunks and convolutions: reads at sums of coordinates.
#[test]
fn neighbourhoods() {
    check(shapes::NEIGHBOURHOODS);
}

/// Protects writes at places that are values.
#[test]
fn scatters() {
    check(shapes::SCATTERS);
}

/// Protects arrays without data.
#[test]
fn constants() {
    check(shapes::CONSTANTS);
}

/// Protects slices, gathers and masks.
#[test]
fn indexing() {
    check(indexing::INDEXING);
}

/// Protects products, their alignment and the order of their modes.
#[test]
fn products() {
    check(products::PRODUCTS);
}

/// Protects sums of products by letters, and other semirings.
#[test]
fn einsums() {
    check(products::EINSUMS);
}
