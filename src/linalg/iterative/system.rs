//! The parts that all solvers of square systems share: checked inputs, the first residual, the
//! conditions that end the iteration.

use super::arithmetic::{Sweeper, axpy, dot};
use super::error::SolverError;
use super::operator::{LinearOperator, Orientation};
use super::options::{Callback, Iteration, Solution, SolverOptions, Termination};
use super::product::{Product, Vector, dense_values, tensor_of, vector_type};
use crate::array::Array;
use crate::error::Error;
use crate::linalg::call::context;
use crate::session::Session;
use redpoll_linalg::Reservation;
use redpoll_storage::{Status, Tensor};
use std::borrow::Cow;
use std::sync::atomic::Ordering;

/// A residual counts as zero if its norm is at most this fraction of the norm of the right side,
/// 1e-120. The squares of smaller residuals might underflow.
const SMALLEST_RESIDUAL: f64 = f64::from_bits((1023 - 400) << 52);
/// The right side is not scaled if the exponents of its elements have at most this absolute value.
const SAFE_EXPONENT: i32 = 250;

/// The properties of a solver.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// The number of vectors of the solver other than the solution and the residual.
    pub(super) vectors: u64,
    /// The limit of iterations for each row, unless the caller sets a limit.
    pub(super) iterations_per_row: u64,
}

/// A square system with the vectors of its iteration. If the right side is very large or very
/// small, vectors and norms are those of a system whose right side is multiplied by a power of two.
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
    pub(super) atol: f64,
    m: Option<Product<'a>>,
    solver: &'static str,
    session: &'a Session,
    max_iterations: u64,
    callback: Option<Callback<'a>>,
    /// The exponent of the power of two by which solutions and residuals are multiplied at the end.
    power: i32,
    _charge: Reservation,
}

impl<'a> System<'a> {
    pub(super) fn new(
        Method { name: solver, vectors, iterations_per_row }: Method,
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
        let charge = charge(a.session(), vectors.saturating_add(2).saturating_mul(n))?;
        let mut r = vector_of(solver, b, n)?;
        let b_exponent = largest_exponent(solver, "the right side", &r)?;
        let mut x = match options.x0 {
            Some(x0) => vector_of(solver, x0, n)?,
            None => vec![0.0; n as usize],
        };
        let x_exponent = largest_exponent(solver, "the first guess", &x)?;
        let power = match b_exponent {
            Some(b) if b.abs() > SAFE_EXPONENT => x_exponent.map_or(b, |x| b.max(x - 2 * SAFE_EXPONENT)),
            _ => 0,
        };
        [&mut r, &mut x].into_iter().for_each(|vector| multiply(vector, -power));
        let b_norm = sweeper.norm(&r);
        let mut a_product = product_of(a, Orientation::Plain)?;
        let mut r_norm = b_norm;
        if b_exponent.is_none() {
            x.fill(0.0);
        } else if options.x0.is_some() {
            let product = a_product.times(&mut x)?;
            let [square] = sweeper.sweep(r.len(), [&mut r], |at, [r]| {
                axpy(-1.0, at.of(&product), r);
                [dot(r, r)]
            });
            r_norm = finite(solver, "the product with the first guess", square.sqrt())?;
        }
        let atol = times_power(options.atol, -power);
        Ok(System {
            sweeper,
            a: a_product,
            x,
            r,
            r_norm,
            iterations: 0,
            tolerance: atol.max(options.rtol.max(SMALLEST_RESIDUAL) * b_norm),
            rtol: options.rtol,
            atol,
            m,
            solver,
            session: a.session(),
            max_iterations: options.max_iterations.unwrap_or(n.saturating_mul(iterations_per_row)),
            callback: options.callback,
            power,
            _charge: charge,
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
        let mut x = Cow::Borrowed(&self.x[..]);
        if iterate == Iterate::Formed && self.power != 0 {
            multiply(x.to_mut(), self.power);
        }
        let iteration = Iteration {
            iterations: self.iterations,
            residual_norm: times_power(self.r_norm, self.power),
            x: (iterate == Iterate::Formed).then_some(&x[..]),
        };
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

    /// Fails if a product has an infinity or NaN.
    pub(super) fn check_product(&self, product: &[f64]) -> Result<(), Error> {
        largest_exponent(self.solver, "a product", product).map(drop)
    }

    pub(super) fn solution(mut self, termination: Termination) -> Result<Solution, Error> {
        multiply(&mut self.x, self.power);
        largest_exponent(self.solver, "the solution", &self.x)?;
        let residual_norm = times_power(self.r_norm, self.power);
        let x = array_of(self.session, self.x)?;
        Ok(Solution { x, termination, iterations: self.iterations, residual_norm })
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

/// Returns a vector as an array, charged to the memory limit.
pub(super) fn array_of(session: &Session, values: Vec<f64>) -> Result<Array, Error> {
    let shape = vec![values.len() as u64];
    Ok(session.array(charged_tensor(session, values, shape)?))
}

/// Returns a dense tensor, charged to the memory limit.
pub(super) fn charged_tensor(session: &Session, values: Vec<f64>, shape: Vec<u64>) -> Result<Tensor, Error> {
    let tensor = tensor_of(values, &vector_type(shape))?.charged(&session.limits().memory);
    Ok(tensor.ok_or(redpoll_storage::Error::Stopped(Status::OutOfMemory))?)
}

/// Charges this many floats to the memory limit until the reservation is dropped.
pub(super) fn charge(session: &Session, len: u64) -> Result<Reservation, Error> {
    Ok(context(session).reserve::<f64>(usize::try_from(len).unwrap_or(usize::MAX))?)
}

/// Returns the exponent of the largest absolute value; `None` if all values are zero. Fails if one
/// is infinite or NaN.
fn largest_exponent(function: &'static str, name: &'static str, vector: &[f64]) -> Result<Option<i32>, Error> {
    let largest = vector.iter().fold(0.0, |largest, value| if value.abs() > largest { value.abs() } else { largest });
    if !largest.is_finite() || vector.iter().any(|value| value.is_nan()) {
        return Err(SolverError::NotFinite { function, vector: name }.into());
    }
    // Subnormal numbers have this exponent, too.
    Ok((largest > 0.0).then(|| largest.max(f64::MIN_POSITIVE).log2().floor() as i32))
}

/// Multiplies a vector by two to a power.
fn multiply(vector: &mut [f64], power: i32) {
    if power != 0 {
        vector.iter_mut().for_each(|value| *value = times_power(*value, power));
    }
}

/// Multiplies a number by two to a power.
fn times_power(value: f64, power: i32) -> f64 {
    // Each half is a normal number.
    let half = power / 2;
    value * 2f64.powi(half) * 2f64.powi(power - half)
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
