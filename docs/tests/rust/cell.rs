//! Checks of the Rust expressions in the tables of the book's pages: each expression is evaluated,
//! and must succeed.

use redpoll::prelude::*;
use redpoll::{Flow, Unique};
use std::error;

/// Checks that the expression of a cell succeeds, including the computation of a lazy value.
pub(crate) fn check_cell(cell: impl Cell) -> Result<(), Box<dyn error::Error>> {
    cell.check()
}

/// A value of an expression in a table.
pub(crate) trait Cell {
    /// Computes the value if it is lazy. Returns the error of the expression, or of the
    /// computation.
    fn check(self) -> Result<(), Box<dyn error::Error>>;
}

impl Cell for Array {
    fn check(self) -> Result<(), Box<dyn error::Error>> {
        self.collect()?;
        Ok(())
    }
}

impl<T: Cell> Cell for Result<T, Error> {
    fn check(self) -> Result<(), Box<dyn error::Error>> {
        self?.check()
    }
}

impl<A: Cell, B: Cell> Cell for (A, B) {
    fn check(self) -> Result<(), Box<dyn error::Error>> {
        self.0.check()?;
        self.1.check()
    }
}

impl<T> Cell for Vec<T> {
    fn check(self) -> Result<(), Box<dyn error::Error>> {
        Ok(())
    }
}

macro_rules! computed {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            fn check(self) -> Result<(), Box<dyn error::Error>> {
                Ok(())
            }
        }
    )*};
}
computed!((), bool, i64, u64, usize, f64, Scalar, DType, Tensor, Unique, Flow);
