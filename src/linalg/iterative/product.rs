//! Products of linear operators that run many times, on vectors that are not copied.

use super::error::SolverError;
use super::operator::as_real;
use crate::array::Array;
use crate::error::Error;
use crate::prepare::Prepared;
use crate::session::Session;
use redpoll_logic::{Alias, Format, Prim, Scalar, Special, TensorType};
use redpoll_storage::{Array as Buffer, Tensor, Values};
use std::ops::Deref;
use std::sync::Arc;

/// The values of a vector: owned, or in a buffer that a plan returned.
pub(super) enum Vector {
    Owned(Vec<f64>),
    Shared(Buffer),
}

impl Deref for Vector {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            Vector::Owned(values) => values,
            Vector::Shared(buffer) => buffer.as_slice().expect("vectors consist of f64"),
        }
    }
}

impl Vector {
    pub(super) fn into_vec(self) -> Vec<f64> {
        match self {
            Vector::Owned(values) => values,
            Vector::Shared(_) => self.to_vec(),
        }
    }
}

type Run<'a> = Box<dyn FnMut(&mut Vec<f64>) -> Result<Vector, Error> + 'a>;

/// A product of a linear operator with vectors, prepared for many runs.
pub struct Product<'a> {
    /// The numbers of rows and columns.
    size: (u64, u64),
    run: Run<'a>,
}

impl<'a> Product<'a> {
    /// Returns a product from a function of the values of vectors. `size` has the numbers of rows
    /// and columns, which are the numbers of values that the function returns and takes.
    ///
    /// ```
    /// use redpoll::linalg::iterative::Product;
    ///
    /// let mut negation = Product::of_function((2, 2), |x| Ok(x.iter().map(|x| -x).collect()));
    /// assert_eq!(negation.run(vec![1.0, 2.0])?, [-1.0, -2.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn of_function(
        size: (u64, u64),
        mut function: impl FnMut(&[f64]) -> Result<Vec<f64>, Error> + 'a,
    ) -> Product<'a> {
        Product { size, run: Box::new(move |x| Ok(Vector::Owned(function(x)?))) }
    }

    /// Returns the product with a vector, whose values must be finite.
    ///
    /// # Errors
    /// Fails if the vector has another length than the operator has columns, or the product cannot
    /// be computed.
    pub fn run(&mut self, mut x: Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.times(&mut x)?.into_vec())
    }

    /// Returns the numbers of rows and columns.
    pub(super) fn size(&self) -> (u64, u64) {
        self.size
    }

    /// Returns the product with a vector, which is unchanged afterwards.
    pub(super) fn times(&mut self, x: &mut Vec<f64>) -> Result<Vector, Error> {
        let (rows, columns) = self.size;
        if x.len() as u64 != columns {
            let expected = format!("a vector of shape [{columns}]");
            return Err(SolverError::Shape { function: "Product", expected, shape: vec![x.len() as u64] }.into());
        }
        let y = (self.run)(x)?;
        if y.len() as u64 != rows {
            return Err(SolverError::ProductShape { rows, shape: vec![y.len() as u64] }.into());
        }
        Ok(y)
    }

    /// Returns a product from a function of arrays.
    pub(super) fn of_arrays(
        session: &Session,
        size: (u64, u64),
        mut function: impl FnMut(&Array) -> Result<Vector, Error> + 'a,
    ) -> Product<'a> {
        let (session, ty) = (session.clone(), vector_type(vec![size.1]));
        Product { size, run: Box::new(move |x| lend(x, &ty, |tensor| function(&session.array(tensor)))) }
    }

    /// Returns the product that applies the operator `first`, and then the operator `second`.
    pub(super) fn chain<'b: 'a>(first: &'a mut Product<'b>, second: &'a mut Product<'b>) -> Product<'a> {
        let size = (second.size.0, first.size.1);
        let run = Box::new(|x: &mut Vec<f64>| {
            let mut between = first.times(x)?.into_vec();
            second.times(&mut between)
        });
        Product { size, run }
    }

    /// Returns the product of a matrix with vectors.
    pub(super) fn of_matrix(mut matrix: MatrixProduct) -> Product<'a> {
        let size = (matrix.len as u64, matrix.ty.shape[0]);
        Product { size, run: Box::new(move |x| matrix.run(x)) }
    }
}

/// The product of a matrix with vectors, or with matrices that have a fixed number of columns. The
/// plan is made in the first run.
pub(super) struct MatrixProduct {
    matrix: Array,
    /// The type of the right operand.
    ty: Arc<TensorType>,
    /// The number of values of a product.
    len: usize,
    planned: Option<Planned>,
}

/// The plan of a product, and the name of the right operand in the plan.
struct Planned {
    prepared: Prepared,
    operand: Alias,
}

impl MatrixProduct {
    /// Returns the product of a matrix of floats with vectors, or with dense matrices of the given
    /// number of columns.
    pub(super) fn new(matrix: &Array, columns: Option<u64>) -> Result<MatrixProduct, Error> {
        let [rows, inner] = matrix.shape()?[..] else { unreachable!("callers pass matrices") };
        let ty = vector_type([inner].into_iter().chain(columns).collect());
        let len = rows.saturating_mul(columns.unwrap_or(1)) as usize;
        Ok(MatrixProduct { matrix: matrix.clone(), ty, len, planned: None })
    }

    pub(super) fn run(&mut self, x: &mut Vec<f64>) -> Result<Vector, Error> {
        let ty = self.ty.clone();
        lend(x, &ty, |tensor| {
            let product = match self.run_planned(&tensor)? {
                Some(product) => product,
                None => self.plan_and_run(tensor)?,
            };
            Ok(Vector::Shared(product))
        })
    }

    /// Runs the plan, unless there is none or it is not valid for these values.
    fn run_planned(&mut self, x: &Tensor) -> Result<Option<Buffer>, Error> {
        let Some(Planned { prepared, operand }) = &mut self.planned else { return Ok(None) };
        prepared.bindings.insert(operand.clone(), x.clone());
        let run = prepared.form.serves(&prepared.bindings).then(|| prepared.run());
        prepared.bindings.remove(operand.as_str());
        run.transpose()?.map(|run| self.values(&run.outputs[0].1)).transpose()
    }

    fn plan_and_run(&mut self, x: Tensor) -> Result<Buffer, Error> {
        let identity = x.identity();
        let session = self.matrix.session();
        let product = self.matrix.matmul(session.array(x)).astype(Prim::F64).to_dense();
        let mut prepared = product.prepare()?;
        let values = self.values(&prepared.run()?.outputs[0].1)?;
        let bound = prepared.bindings.iter().find(|(_, tensor)| tensor.identity() == identity);
        // An operand without elements need not occur in the plan.
        if let Some(operand) = bound.map(|(name, _)| name.clone()) {
            prepared.bindings.remove(operand.as_str());
            self.planned = Some(Planned { prepared, operand });
        }
        Ok(values)
    }

    fn values(&self, product: &Tensor) -> Result<Buffer, Error> {
        product.fetch()?;
        debug_assert_eq!(product.leaf()[0].len(), self.len);
        Ok(product.leaf()[0].clone())
    }
}

/// Returns the type of dense vectors or matrices of `f64`.
pub(super) fn vector_type(shape: Vec<u64>) -> Arc<TensorType> {
    let format = Format::dense(shape.len());
    Arc::new(TensorType { shape, dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format })
}

/// Returns a tensor with the given values, which are not copied.
pub(super) fn tensor_of(values: Vec<f64>, ty: &TensorType) -> Result<Tensor, Error> {
    let values = Values::try_new(Prim::F64.into(), vec![Buffer::from_vec(values)])?;
    Ok(Tensor::from_dense(ty.clone(), &values)?)
}

/// Calls a function with the values of a vector as a tensor, and takes the values back. They are
/// copied only if the function keeps the tensor. The tensor is marked as free of infinities and
/// NaNs, because solvers check that vectors are finite.
fn lend<T>(
    x: &mut Vec<f64>,
    ty: &Arc<TensorType>,
    function: impl FnOnce(Tensor) -> Result<T, Error>,
) -> Result<T, Error> {
    let tensor = tensor_of(std::mem::take(x), ty)?.with_special(Special::NONE);
    let values = tensor.leaf()[0].buffer().clone();
    let result = function(tensor);
    *x = values.into_vec().unwrap_or_else(|shared| shared.typed_data::<f64>().to_vec());
    result
}

/// Returns the values of a vector that an operator returned.
pub(super) fn vector_values(y: &Array, rows: u64) -> Result<Vector, Error> {
    let shape = y.shape()?;
    if shape != [rows] {
        return Err(SolverError::ProductShape { rows, shape }.into());
    }
    Ok(Vector::Shared(dense_values("LinearOperator", y)?))
}

/// Returns the values of an array of numbers as `f64`, in row-major order.
pub(super) fn dense_values(function: &'static str, array: &Array) -> Result<Buffer, Error> {
    let tensor = as_real(function, array)?.astype(Prim::F64).to_dense().collect()?;
    tensor.fetch()?;
    tensor.load_files()?;
    Ok(tensor.leaf()[0].clone())
}
