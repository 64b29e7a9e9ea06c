//! The parts that all solvers of square systems share: checked inputs, the first residual, the
//! conditions that end the iteration.

use super::arithmetic::{Sweeper, axpy, dot};
use super::error::SolverError;
use super::operator::{LinearOperator, Orientation};
use super::options::{Callback, Iteration, Solution, SolverOptions, Termination};
use super::product::{Product, Vector, dense_values, tensor_of, vector_type};
use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use redpoll_storage::Status;
use std::sync::atomic::Ordering;

/// A square system with the vectors of its iteration.
pub(super) struct System<'a> {
    pub(super) sweeper: Sweeper,
    pub(super) a: Product<'a>,
    pub(super) x: Vec<f64>,
    /// The residual `b - A x`.
    pub(super) r: Vec<f64>,
    pub(super) r_norm: f64,
    pub(super) iterations: u64,
    /// The norm of the residual at or below which the solver has converged.
    pub(super) tolerance: f64,
    pub(super) rtol: f64,
    m: Option<Product<'a>>,
    solver: &'static str,
    session: &'a Session,
    max_iterations: u64,
    callback: Option<Callback<'a>>,
}

impl<'a> System<'a> {
    pub(super) fn new(
        solver: &'static str,
        (a, b): (&'a dyn LinearOperator, &Array),
        options: SolverOptions<'a>,
    ) -> Result<System<'a>, Error> {
        let n = square(solver, a)?;
        for (parameter, found) in [("rtol", options.rtol), ("atol", options.atol)] {
            check_tolerance(solver, parameter, found)?;
        }
        let mut m = None;
        if let Some(preconditioner) = options.preconditioner {
            if preconditioner.size()? != (n, n) {
                let (rows, columns) = preconditioner.size()?;
                let expected = format!("a preconditioner of shape [{n}, {n}]");
                return Err(SolverError::Shape { function: solver, expected, shape: vec![rows, columns] }.into());
            }
            m = Some(product_of(preconditioner, Orientation::Plain)?);
        }
        let sweeper = Sweeper::of(a.session());
        let mut r = vector_of(solver, b, n)?;
        let b_norm = finite(solver, "the right side", sweeper.norm(&r))?;
        let mut x = match options.x0 {
            Some(x0) => vector_of(solver, x0, n)?,
            None => vec![0.0; n as usize],
        };
        let mut a_product = product_of(a, Orientation::Plain)?;
        let mut r_norm = b_norm;
        if b_norm == 0.0 {
            x.fill(0.0);
        } else if options.x0.is_some() {
            finite(solver, "the first guess", sweeper.norm(&x))?;
            let product = a_product.times(&mut x)?;
            let [square] = sweeper.sweep(r.len(), [&mut r], |at, [r]| {
                axpy(-1.0, at.of(&product), r);
                [dot(r, r)]
            });
            r_norm = finite(solver, "the product with the first guess", square.sqrt())?;
        }
        Ok(System {
            sweeper,
            a: a_product,
            x,
            r,
            r_norm,
            iterations: 0,
            tolerance: options.atol.max(options.rtol * b_norm),
            rtol: options.rtol,
            m,
            solver,
            session: a.session(),
            max_iterations: options.max_iterations.unwrap_or(n.saturating_mul(10)),
            callback: options.callback,
        })
    }

    /// Returns the number of unknowns.
    pub(super) fn len(&self) -> usize {
        self.r.len()
    }

    /// Returns the reason to stop before the next iteration, if there is one.
    pub(super) fn end(&self) -> Result<Option<Termination>, Error> {
        check_cancelled(self.session)?;
        finite(self.solver, "a product", self.r_norm)?;
        Ok(if self.r_norm <= self.tolerance {
            Some(Termination::Converged)
        } else if self.iterations >= self.max_iterations {
            Some(Termination::IterationLimit)
        } else {
            None
        })
    }

    /// Counts an iteration and calls the callback, which may stop the solver.
    pub(super) fn count_iteration(&mut self) -> Option<Termination> {
        self.iterations += 1;
        self.call_back(Iterate::Formed)
    }

    /// Calls the callback, which may stop the solver.
    pub(super) fn call_back(&mut self, iterate: Iterate) -> Option<Termination> {
        let callback = self.callback.as_mut()?;
        let x = (iterate == Iterate::Formed).then_some(&self.x[..]);
        let iteration = Iteration { iterations: self.iterations, residual_norm: self.r_norm, x };
        callback(&iteration).is_break().then_some(Termination::Stopped)
    }

    /// Applies the preconditioner; `None` if there is none.
    pub(super) fn precondition(&mut self, vector: &mut Vec<f64>) -> Result<Option<Vector>, Error> {
        self.m.as_mut().map(|m| m.times(vector)).transpose()
    }

    /// Applies the preconditioner to the residual; `None` if there is none.
    pub(super) fn precondition_residual(&mut self) -> Result<Option<Vector>, Error> {
        self.m.as_mut().map(|m| m.times(&mut self.r)).transpose()
    }

    /// Checks that a number computed from a product is finite, and returns it.
    pub(super) fn finite(&self, number: f64) -> Result<f64, Error> {
        finite(self.solver, "a product", number)
    }

    pub(super) fn solution(self, termination: Termination) -> Result<Solution, Error> {
        let x = array_of(self.session, self.x)?;
        Ok(Solution { x, termination, iterations: self.iterations, residual_norm: self.r_norm })
    }
}

/// The state of the approximate solution after an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Iterate {
    /// The solution is formed.
    Formed,
    /// The solution is formed by a later iteration.
    Pending,
}

/// Returns the product of an operator. Fails if the product has another size than the operator.
pub(super) fn product_of(a: &dyn LinearOperator, orientation: Orientation) -> Result<Product<'_>, Error> {
    let (rows, columns) = a.size()?;
    let size = if orientation == Orientation::Plain { (rows, columns) } else { (columns, rows) };
    let product = a.product(orientation)?;
    if product.size() != size {
        let (rows, columns) = product.size();
        let expected = format!("a product of shape [{}, {}]", size.0, size.1);
        return Err(SolverError::Shape { function: "LinearOperator", expected, shape: vec![rows, columns] }.into());
    }
    Ok(product)
}

/// Returns the number of rows of a square operator.
pub(super) fn square(function: &'static str, a: &dyn LinearOperator) -> Result<u64, Error> {
    let (rows, columns) = a.size()?;
    if rows != columns {
        let expected = "a square matrix".to_owned();
        return Err(SolverError::Shape { function, expected, shape: vec![rows, columns] }.into());
    }
    Ok(rows)
}

/// Returns the values of a vector of the given length.
pub(super) fn vector_of(function: &'static str, vector: &Array, len: u64) -> Result<Vec<f64>, Error> {
    let shape = vector.shape()?;
    if shape != [len] {
        return Err(SolverError::Shape { function, expected: format!("a vector of shape [{len}]"), shape }.into());
    }
    Ok(Vector::Shared(dense_values(function, vector)?).into_vec())
}

/// Returns a vector as an array.
pub(super) fn array_of(session: &Session, values: Vec<f64>) -> Result<Array, Error> {
    let ty = vector_type(vec![values.len() as u64]);
    Ok(session.array(tensor_of(values, &ty)?))
}

/// Checks that a number computed from a vector is finite, and returns it.
pub(super) fn finite(function: &'static str, vector: &'static str, number: f64) -> Result<f64, Error> {
    if number.is_finite() { Ok(number) } else { Err(SolverError::NotFinite { function, vector }.into()) }
}

/// Checks that a tolerance is a number of at least 0.
pub(super) fn check_tolerance(function: &'static str, parameter: &'static str, found: f64) -> Result<(), Error> {
    if found >= 0.0 {
        return Ok(());
    }
    Err(SolverError::Parameter { function, parameter, expected: "at least 0", found }.into())
}

/// Fails if the user has cancelled the runs of the session.
pub(super) fn check_cancelled(session: &Session) -> Result<(), Error> {
    if session.limits().cancel.load(Ordering::Relaxed) {
        return Err(redpoll_kernels::Error::KernelStopped(Status::Cancelled).into());
    }
    Ok(())
}
