//! Linear operators: maps of vectors that solvers apply many times.

use super::error::SolverError;
use super::product::{MatrixProduct, Product, vector_values};
use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::{DType, Prim};

/// A matrix or its transpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orientation {
    /// The matrix itself.
    Plain,
    /// Its transpose.
    Transposed,
}

/// A linear map of vectors, which need not store a matrix.
///
/// An [`Array`] of rank 2 is an operator in any format, stored or lazy. The product of a lazy
/// matrix is one plan, so `a.t().matmul(&a)` multiplies by both factors in turn, and the plan of
/// `&a + &shift` reads both terms. A plan is made once and run for each product.
/// [`FunctionOperator`] is an operator made from closures.
///
/// ```
/// use redpoll::linalg::iterative::LinearOperator;
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [1.0, 2.0, 0.0, 3.0]);
/// let operator: &dyn LinearOperator = &a;
/// assert_eq!(operator.size()?, (2, 2));
/// assert_eq!(operator.multiply(&session.vector([1.0, 1.0]))?.to_vec::<f64>()?, [3.0, 3.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
pub trait LinearOperator {
    /// Returns the session of the vectors that the operator takes and returns.
    fn session(&self) -> &Session;

    /// Returns the numbers of rows and columns.
    ///
    /// # Errors
    /// Fails if the operator is an array that is not a matrix, or that carries an error.
    fn size(&self) -> Result<(u64, u64), Error>;

    /// Returns the product with a vector.
    ///
    /// # Errors
    /// Fails if the product cannot be computed.
    fn multiply(&self, x: &Array) -> Result<Array, Error>;

    /// Returns the product of the transpose with a vector.
    ///
    /// # Errors
    /// Fails if the product cannot be computed, or the operator has no transposed product.
    fn multiply_transposed(&self, x: &Array) -> Result<Array, Error> {
        let _ = x;
        Err(SolverError::NoTranspose.into())
    }

    /// Returns the array, if the operator is one. Factorizations need it.
    fn matrix(&self) -> Option<&Array> {
        None
    }

    /// Returns a product that runs many times. By default, each run calls
    /// [`LinearOperator::multiply`] or [`LinearOperator::multiply_transposed`].
    ///
    /// # Errors
    /// The errors of [`LinearOperator::size`].
    fn product(&self, orientation: Orientation) -> Result<Product<'_>, Error> {
        let (rows, columns) = self.size()?;
        let (rows, columns) = if orientation == Orientation::Plain { (rows, columns) } else { (columns, rows) };
        let run = move |x: &Array| {
            let y = match orientation {
                Orientation::Plain => self.multiply(x)?,
                Orientation::Transposed => self.multiply_transposed(x)?,
            };
            vector_values(&y, rows)
        };
        Ok(Product::of_arrays(self.session(), (rows, columns), run))
    }
}

impl LinearOperator for Array {
    fn session(&self) -> &Session {
        Array::session(self)
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        let shape = self.shape()?;
        match shape[..] {
            [rows, columns] => Ok((rows, columns)),
            _ => Err(SolverError::Shape { function: "LinearOperator", expected: "a matrix".into(), shape }.into()),
        }
    }

    fn multiply(&self, x: &Array) -> Result<Array, Error> {
        self.matmul(x).check()
    }

    fn multiply_transposed(&self, x: &Array) -> Result<Array, Error> {
        self.t().matmul(x).check()
    }

    fn matrix(&self) -> Option<&Array> {
        Some(self)
    }

    fn product(&self, orientation: Orientation) -> Result<Product<'_>, Error> {
        self.size()?;
        let matrix = if orientation == Orientation::Plain { self.clone() } else { self.t() };
        Ok(Product::of_matrix(MatrixProduct::new(&as_real("LinearOperator", &matrix)?, None)?))
    }
}

/// Returns an array of floats with the values of an array of numbers or booleans. Floats keep their
/// width.
pub(super) fn as_real(function: &'static str, array: &Array) -> Result<Array, Error> {
    match array.dtype()? {
        DType::Prim(Prim::F32 | Prim::F64) => Ok(array.clone()),
        DType::Prim(_) => array.astype(Prim::F64).check(),
        dtype => Err(SolverError::DType { function, dtype }.into()),
    }
}

type Function<'a> = Box<dyn Fn(&Array) -> Result<Array, Error> + 'a>;

/// A linear operator made from closures that map vectors to vectors.
///
/// ```
/// use redpoll::linalg::iterative::{FunctionOperator, SolverOptions, cg};
///
/// let session = redpoll::Session::default();
/// let doubled = FunctionOperator::new(&session, (3, 3), |x| Ok(x * 2.0));
/// let solution = cg(&doubled, &session.vector([2.0, 4.0, 6.0]), SolverOptions::default())?;
/// assert_eq!(solution.x.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
pub struct FunctionOperator<'a> {
    session: Session,
    size: (u64, u64),
    multiply: Function<'a>,
    multiply_transposed: Option<Function<'a>>,
}

impl<'a> FunctionOperator<'a> {
    /// Returns an operator with the given numbers of rows and columns. The closure takes a vector
    /// with an element for each column, and returns one with an element for each row.
    pub fn new(
        session: &Session,
        size: (u64, u64),
        multiply: impl Fn(&Array) -> Result<Array, Error> + 'a,
    ) -> FunctionOperator<'a> {
        FunctionOperator { session: session.clone(), size, multiply: Box::new(multiply), multiply_transposed: None }
    }

    /// Adds the product of the transpose.
    ///
    /// ```
    /// use redpoll::linalg::iterative::{FunctionOperator, LinearOperator};
    ///
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 1], [3.0, 4.0]);
    /// let operator = FunctionOperator::new(&session, (2, 1), |x| Ok(a.matmul(x)));
    /// let operator = operator.with_transpose(|x| Ok(a.t().matmul(x)));
    /// let x = session.vector([1.0, 1.0]);
    /// assert_eq!(operator.multiply_transposed(&x)?.to_vec::<f64>()?, [7.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[must_use]
    pub fn with_transpose(
        self,
        multiply_transposed: impl Fn(&Array) -> Result<Array, Error> + 'a,
    ) -> FunctionOperator<'a> {
        FunctionOperator { multiply_transposed: Some(Box::new(multiply_transposed)), ..self }
    }
}

impl LinearOperator for FunctionOperator<'_> {
    fn session(&self) -> &Session {
        &self.session
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        Ok(self.size)
    }

    fn multiply(&self, x: &Array) -> Result<Array, Error> {
        (self.multiply)(x)
    }

    fn multiply_transposed(&self, x: &Array) -> Result<Array, Error> {
        match &self.multiply_transposed {
            Some(multiply) => multiply(x),
            None => Err(SolverError::NoTranspose.into()),
        }
    }
}
