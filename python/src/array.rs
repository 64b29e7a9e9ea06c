//! The class of lazy arrays: properties, operators, indexing and computation.

use crate::argument::operator;
use crate::dtype::{dtype_name, prim_of, scalar, to_python};
use crate::error::exception;
use crate::index::index;
use crate::operand::{OperandValue, python_array, zero_annihilates};
use crate::products::product;
use crate::promotion;
use crate::run::run;
use crate::tensor::{self, Tensor};
use crate::work::Bounds;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyNotImplemented, PyTuple};
use redpoll::logic::Prim;
use redpoll::logic::op::{Builtin, Op};
use redpoll::{Index, Operand, storage};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// A lazy array of redpoll, with the properties that the module reads most often.
pub(crate) struct Core {
    pub(crate) inner: redpoll::Array,
    pub(crate) shape: Box<[u64]>,
    /// The primitive of the dtype; `None` for a struct.
    pub(crate) prim: Option<Prim>,
    pub(crate) bounds: Bounds,
    /// The work of computing the array, as in [`Core::bounds`].
    pub(crate) work: u64,
}

/// A lazy array. No operation changes elements in place: for `x[0] = 1` of Python,
/// [`Array::assign`] binds the object `x` to another array, so other arrays keep their elements.
#[pyclass(frozen, subclass, module = "redpoll._core")]
pub(crate) struct Array(RwLock<Arc<Core>>);

impl Array {
    /// Returns the result of an operation whose operands have the given work. The result may store
    /// every element.
    ///
    /// # Errors
    /// Raises the exception of an operation that could not be applied.
    pub(crate) fn new(inner: redpoll::Array, operand_work: u64) -> PyResult<Array> {
        Array::bounded(inner, |shape| Bounds::new(shape, operand_work, u64::MAX))
    }

    /// Returns the result of an operation. `bounds` returns the bounds of a result with the given
    /// shape.
    ///
    /// # Errors
    /// Raises the exception of an operation that could not be applied.
    pub(crate) fn bounded(inner: redpoll::Array, bounds: impl FnOnce(&[u64]) -> Bounds) -> PyResult<Array> {
        let shape = inner.shape().map_err(exception)?.into_boxed_slice();
        let prim = inner.dtype().map_err(exception)?.prim();
        let bounds = bounds(&shape);
        Ok(Array(RwLock::new(Arc::new(Core { inner, shape, prim, bounds, work: bounds.work }))))
    }

    /// Returns an array over a tensor.
    ///
    /// # Errors
    /// Raises the exception of an array that could not be created.
    pub(crate) fn over(inner: redpoll::Array, tensor: &storage::Tensor) -> PyResult<Array> {
        Array::bounded(inner, |shape| Bounds::stored(shape, tensor.positions()))
    }

    /// Sets the bounds of a computed array to the bounds of its tensor. If the session has a memory
    /// limit, the old bounds stay, because the tensor may be evicted and computed again.
    pub(crate) fn note_computed(&self, core: &Arc<Core>, tensor: &storage::Tensor) {
        if core.inner.session().config().memory_limit.is_some() {
            return;
        }
        let Core { inner, shape, prim, .. } = &**core;
        let bounds = Bounds::stored(shape, tensor.positions());
        let computed = Core { inner: inner.clone(), shape: shape.clone(), prim: *prim, bounds, work: bounds.work };
        let mut bound = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // The object may have been bound to another array meanwhile.
        if Arc::ptr_eq(&bound, core) {
            *bound = Arc::new(computed);
        }
    }

    /// Returns the array as an object of the class of the Python layer.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        python_array(py, self)
    }

    /// Returns the array that the object is bound to.
    pub(crate) fn core(&self) -> Arc<Core> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Core {
    /// Returns the result of an operation on this array. The result may store every element.
    pub(crate) fn derived<'py>(&self, py: Python<'py>, inner: redpoll::Array) -> PyResult<Bound<'py, PyAny>> {
        Array::new(inner, self.work.saturating_add(self.bounds.stored))?.into_python(py)
    }

    /// Returns the result of an operation on this array. The result stores at most as many elements
    /// as this array.
    pub(crate) fn rearranged<'py>(&self, py: Python<'py>, inner: redpoll::Array) -> PyResult<Bound<'py, PyAny>> {
        let Bounds { stored, .. } = self.bounds;
        let visited = self.work.saturating_add(stored);
        Array::bounded(inner, |shape| Bounds::new(shape, visited, stored))?.into_python(py)
    }

    /// Returns the number of elements, stored or not.
    fn size(&self) -> u128 {
        self.shape.iter().map(|n| u128::from(*n)).product()
    }

    /// Applies a unary operator.
    fn unary<'py>(&self, py: Python<'py>, op: Builtin) -> PyResult<Bound<'py, PyAny>> {
        let operand = OperandValue::Array(self.inner.clone(), self.bounds);
        self.rearranged(py, promotion::apply(op.into(), &self.inner, vec![operand])?)
    }

    /// Applies a binary operator with this array on the left; returns `NotImplemented` for an
    /// object that is not an operand.
    fn left<'py>(&self, op: Builtin, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Some(other) = OperandValue::beside(self, other)? else { return not_implemented(py) };
        let this = OperandValue::Array(self.inner.clone(), self.bounds);
        elementwise(op.into(), &self.inner, vec![this, other])?.into_python(py)
    }

    /// Applies a binary operator with this array on the right, as [`Core::left`] does.
    fn right<'py>(&self, op: Builtin, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Some(other) = OperandValue::beside(self, other)? else { return not_implemented(py) };
        let this = OperandValue::Array(self.inner.clone(), self.bounds);
        elementwise(op.into(), &self.inner, vec![other, this])?.into_python(py)
    }
}

/// Applies an operator elementwise, as NumPy does.
///
/// # Errors
/// Raises the exceptions of [`promotion::apply`], and the exception of an operation that could not
/// be applied.
pub(crate) fn elementwise(op: Op, like: &redpoll::Array, values: Vec<OperandValue>) -> PyResult<Array> {
    let bounds: Vec<Bounds> = values.iter().map(OperandValue::bounds).collect();
    let is_product = op == Op::Builtin(Builtin::Mul);
    let sparse: Vec<Bounds> =
        values.iter().filter(|value| is_product && value.is_sparse()).map(OperandValue::bounds).collect();
    let result = promotion::apply(op, like, values)?;
    // If 0 annihilates products, a product is not stored where an operand with the fill value 0 is
    // not stored.
    let is_sparse = !sparse.is_empty() && zero_annihilates(&result);
    Array::bounded(result, |shape| match is_sparse {
        true => Bounds::product(shape, &bounds, sparse.into_iter()),
        false => Bounds::elementwise(shape, bounds.into_iter()),
    })
}

fn not_implemented(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyNotImplemented::get(py).to_owned().into_any())
}

#[pymethods]
impl Array {
    /// Makes an object of a derived class over the same lazy array.
    #[new]
    fn from_core(core: &Bound<'_, Array>) -> Array {
        Array(RwLock::new(core.get().core()))
    }

    /// Binds the object to the array of another object.
    fn assign(&self, other: &Bound<'_, Array>) {
        let core = other.get().core();
        let previous = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), core);
        // The drop may free tensors, so it happens after the lock is released.
        drop(previous);
    }

    /// The sizes of the modes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.core().shape)
    }

    /// The number of modes.
    #[getter]
    fn ndim(&self) -> usize {
        self.core().shape.len()
    }

    /// The number of elements, stored or not.
    #[getter]
    fn size(&self) -> u128 {
        self.core().size()
    }

    /// The name of the dtype.
    #[getter]
    fn dtype_name(&self) -> PyResult<String> {
        match self.core().prim {
            Some(prim) => Ok(crate::dtype::name_of(prim).to_owned()),
            None => Ok(dtype_name(&self.core().inner.dtype().map_err(exception)?)),
        }
    }

    /// The value of the elements that are not stored.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.core().inner.fill().map_err(exception)?)
    }

    /// The names of the modes, or `None` if the modes are numbered.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let names = self.core().inner.names().map_err(exception)?;
        names.map(|names| PyTuple::new(py, names.iter().map(redpoll::logic::Field::as_str))).transpose()
    }

    /// Names the modes, in order. A repeated name selects a diagonal.
    #[pyo3(signature = (*names))]
    fn at<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        core.rearranged(py, core.inner.at(names))
    }

    /// Numbers the modes in the given order of their names.
    #[pyo3(signature = (*names))]
    fn by_position<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        core.rearranged(py, core.inner.by_position(names))
    }

    /// Applies the operator of the given name to this array and to other arrays or numbers.
    #[pyo3(signature = (operator, *others))]
    fn apply<'py>(&self, operator: &str, others: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let (op, core) = (self::operator(operator)?, self.core());
        let values: Vec<OperandValue> =
            others.iter().map(|other| OperandValue::required(&core, &other)).collect::<PyResult<_>>()?;
        let bounds: Vec<Bounds> = values.iter().map(OperandValue::bounds).chain([core.bounds]).collect();
        let result = core.inner.apply(op, values.into_iter().map(Operand::from));
        Array::bounded(result, |shape| Bounds::elementwise(shape, bounds.into_iter()))?.into_python(others.py())
    }

    /// Casts the values to the dtype of the given name. Floats saturate, and integers wrap.
    fn cast<'py>(&self, py: Python<'py>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        core.rearranged(py, core.inner.astype(prim_of(dtype)?))
    }

    /// Returns the elements at the given indices. The indices apply to the modes in order, from the
    /// first mode on; `None` and `...` are allowed as in NumPy.
    fn slice<'py>(&self, indices: Vec<Bound<'py, PyAny>>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        let index_arrays = indices.iter().filter_map(|item| item.cast::<Array>().ok());
        let work =
            index_arrays.fold(core.bounds.read(), |work, array| work.saturating_add(array.get().core().bounds.read()));
        let indices = indices.iter().map(index).collect::<PyResult<Vec<_>>>()?;
        // Arrays and lists of coordinates may repeat elements.
        let repeats = |index: &Index| matches!(index, Index::Gather(_) | Index::Take(_));
        match indices.iter().any(repeats) {
            true => Array::new(core.inner.slice(indices), work)?.into_python(py),
            false => core.rearranged(py, core.inner.slice(indices)),
        }
    }

    /// Requests a format, such as `csr`, for the tensor of the array.
    fn reformat<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        let format = tensor::format(format, core.shape.len())?;
        core.derived(py, core.inner.reformat(format))
    }

    /// Sets the fill value. All elements keep their values: an element whose value differs from the
    /// new fill value is stored.
    fn refill<'py>(&self, fill: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        let prim = core.prim.ok_or_else(|| PyTypeError::new_err("an array of structs keeps its fill value"))?;
        core.derived(fill.py(), core.inner.refill(scalar(fill, prim)?))
    }

    /// Drops stored elements that equal the fill value.
    fn drop_fills<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core();
        core.rearranged(py, core.inner.drop_fills())
    }

    /// Computes the array and keeps the tensor, which later expressions read.
    fn compute(&self, py: Python<'_>) -> PyResult<Tensor> {
        let core = self.core();
        let array = core.inner.clone();
        let tensor = run(py, core.work, move |cancel| array.cancelled_by(cancel).compute())?;
        self.note_computed(&core, &tensor);
        Ok(Tensor(tensor))
    }

    /// Computes the array in a format without keeping the tensor.
    fn collect(&self, py: Python<'_>, format: &str) -> PyResult<Tensor> {
        let core = self.core();
        let array = core.inner.reformat(tensor::format(format, core.shape.len())?);
        let work = core.work.saturating_add(core.bounds.stored);
        run(py, work, move |cancel| array.cancelled_by(cancel).collect()).map(Tensor)
    }

    /// Computes an array of one element and returns the element.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.size() != 1 {
            let message = format!("expected an array of one element, found shape {:?}", self.core().shape);
            return Err(PyValueError::new_err(message));
        }
        let value = self.compute(py)?.0.get(&vec![0; self.core().shape.len()]);
        to_python(py, &value.map_err(|error| exception(error.into()))?)
    }

    /// Writes the values to a file, whose extension determines the file format.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let core = self.core();
        let array = core.inner.clone();
        let work = core.work.saturating_add(core.bounds.stored);
        run(py, work, move |cancel| array.cancelled_by(cancel).write(path))
    }

    /// Computes the array with loops that `schedule` transforms, and keeps the tensor.
    fn compute_scheduled(&self, py: Python<'_>, schedule: String) -> PyResult<Tensor> {
        let Core { inner: array, work, .. } = &*self.core();
        let array = array.clone();
        run(py, *work, move |cancel| array.cancelled_by(cancel).schedule(&schedule)?.compute()).map(Tensor)
    }

    fn __neg__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.core().unary(py, Builtin::Neg)
    }

    fn __abs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.core().unary(py, Builtin::Abs)
    }

    fn __invert__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.core().unary(py, Builtin::BitNot)
    }

    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Add, other)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Add, other)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Sub, other)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Sub, other)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Mul, other)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Mul, other)
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Div, other)
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Div, other)
    }

    fn __floordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::FloorDiv, other)
    }

    fn __rfloordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::FloorDiv, other)
    }

    fn __mod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Rem, other)
    }

    fn __rmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Rem, other)
    }

    fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::BitAnd, other)
    }

    fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::BitAnd, other)
    }

    fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::BitOr, other)
    }

    fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::BitOr, other)
    }

    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::BitXor, other)
    }

    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::BitXor, other)
    }

    fn __lshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Shl, other)
    }

    fn __rlshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Shl, other)
    }

    fn __rshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().left(Builtin::Shr, other)
    }

    fn __rrshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.core().right(Builtin::Shr, other)
    }

    fn __pow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !modulo.is_none() {
            return not_implemented(other.py());
        }
        // A square gets its own operator. With `pow`, the exponent would be a parameter of the
        // kernel, and the kernel would call the power function.
        let is_two = other.is_exact_instance_of::<PyInt>() && other.eq(2)?;
        let core = self.core();
        if is_two { core.unary(other.py(), Builtin::Square) } else { core.left(Builtin::Pow, other) }
    }

    fn __rpow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if modulo.is_none() { self.core().right(Builtin::Pow, other) } else { not_implemented(other.py()) }
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let core = self.core();
        let Some(other) = OperandValue::beside(&core, other)? else { return not_implemented(py) };
        product(py, (&core.inner, core.bounds), other)
    }

    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let core = self.core();
        let Some(other) = OperandValue::beside(&core, other)? else { return not_implemented(py) };
        let bounds = other.bounds();
        product(py, (&other.into_array(&core.inner), bounds), OperandValue::Array(core.inner.clone(), core.bounds))
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, comparison: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let op = match comparison {
            CompareOp::Eq => Builtin::Eq,
            CompareOp::Ne => Builtin::Ne,
            CompareOp::Lt => Builtin::Lt,
            CompareOp::Le => Builtin::Le,
            CompareOp::Gt => Builtin::Gt,
            CompareOp::Ge => Builtin::Ge,
        };
        self.core().left(op, other)
    }
}
