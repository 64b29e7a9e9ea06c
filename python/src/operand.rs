//! Operands of operators, and the classes of the Python layer.

use crate::array::{Array, Core};
use crate::dtype::number;
use crate::work::Bounds;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use redpoll::Operand;
use redpoll::logic::{FloatMode, Prim, Scalar};

/// The parts of the Python layer that this module uses.
struct PythonLayer {
    /// The class of arrays, which derives from [`Array`].
    array: Py<PyType>,
    /// The function that converts foreign operands: `convert(object)` returns an array, or
    /// `NotImplemented`.
    convert: Py<PyAny>,
    /// The class of exceptions for axes out of range.
    axis_error: Py<PyType>,
}

static PYTHON_LAYER: PyOnceLock<PythonLayer> = PyOnceLock::new();

/// Registers the class of arrays, the conversion of foreign operands, and the class of exceptions
/// for axes out of range. The package calls this function once, when it is imported.
#[pyfunction]
pub(crate) fn register(py: Python<'_>, array: Py<PyType>, convert: Py<PyAny>, axis_error: Py<PyType>) -> PyResult<()> {
    let layer = PythonLayer { array, convert, axis_error };
    PYTHON_LAYER.set(py, layer).map_err(|_| PyRuntimeError::new_err("the Python layer is registered already"))
}

/// Returns an array of the class of the Python layer, or `array` itself before that class is
/// registered.
pub(crate) fn python_array<'py>(py: Python<'py>, array: Array) -> PyResult<Bound<'py, PyAny>> {
    let core = Bound::new(py, array)?;
    match PYTHON_LAYER.get(py) {
        Some(layer) => layer.array.bind(py).call1((core,)),
        None => Ok(core.into_any()),
    }
}

/// Returns the exception for an axis out of range. Its class in the Python layer derives from
/// `ValueError` and `IndexError`; before that class is registered, the exception is an
/// `IndexError`.
pub(crate) fn axis_error(message: String) -> PyErr {
    Python::attach(|py| match PYTHON_LAYER.get(py) {
        Some(layer) => PyErr::from_type(layer.axis_error.bind(py).clone(), message),
        None => PyIndexError::new_err(message),
    })
}

/// The value of an operand.
pub(crate) enum OperandValue {
    /// An array, with its bounds.
    Array(redpoll::Array, Bounds),
    /// A number, whose dtype adapts to the arrays that it is combined with.
    Number(Scalar),
}

impl OperandValue {
    /// Returns the other operand of an operator on `array`: an array, a number, or an object that
    /// the Python layer converts; `None` for an object that the Python layer does not know.
    pub(crate) fn beside(array: &Core, value: &Bound<'_, PyAny>) -> PyResult<Option<OperandValue>> {
        if let Ok(other) = value.cast::<Array>() {
            return Ok(Some(OperandValue::of(&other.get().core())));
        }
        if let Some(number) = number(value, array.prim)? {
            return Ok(Some(OperandValue::Number(number)));
        }
        let Some(layer) = PYTHON_LAYER.get(value.py()) else { return Ok(None) };
        let converted = layer.convert.bind(value.py()).call1((value,))?;
        Ok(converted.cast::<Array>().ok().map(|array| OperandValue::of(&array.get().core())))
    }

    /// Returns an operand as [`OperandValue::beside`] does.
    ///
    /// # Errors
    /// Raises `TypeError` for an object that is not an operand.
    pub(crate) fn required(array: &Core, value: &Bound<'_, PyAny>) -> PyResult<OperandValue> {
        OperandValue::beside(array, value)?
            .ok_or_else(|| PyTypeError::new_err(format!("expected an array or a number, found {}", class_name(value))))
    }

    fn of(array: &Core) -> OperandValue {
        OperandValue::Array(array.inner.clone(), array.bounds)
    }

    /// Returns the bounds of the operand.
    pub(crate) fn bounds(&self) -> Bounds {
        if let OperandValue::Array(_, bounds) = self { *bounds } else { Bounds::NUMBER }
    }

    /// Returns the work of computing the operand and reading it.
    pub(crate) fn work(&self) -> u64 {
        self.bounds().read()
    }

    /// Returns whether the operand stores only a part of its elements, and the other elements are
    /// 0.
    pub(crate) fn is_sparse(&self) -> bool {
        let OperandValue::Array(array, bounds) = self else { return false };
        bounds.stored < bounds.size && fill_is_zero(array)
    }

    /// Returns the primitive of the operand; `None` for structs and arrays with errors.
    pub(crate) fn prim(&self) -> Option<Prim> {
        match self {
            OperandValue::Array(array, _) => array.dtype().ok()?.prim(),
            OperandValue::Number(number) => number.dtype().prim(),
        }
    }

    /// Returns the operand as an array. A number becomes an array of the session of `like`.
    pub(crate) fn into_array(self, like: &redpoll::Array) -> redpoll::Array {
        match self {
            OperandValue::Array(array, _) => array,
            OperandValue::Number(number) => like.number(number),
        }
    }
}

impl From<OperandValue> for Operand {
    fn from(value: OperandValue) -> Operand {
        match value {
            OperandValue::Array(array, _) => array.into(),
            OperandValue::Number(number) => number.into(),
        }
    }
}

/// Returns whether the fill value of an array is 0; false for structs and arrays with errors.
pub(crate) fn fill_is_zero(array: &redpoll::Array) -> bool {
    array.fill().is_ok_and(|fill| fill.prim().is_some_and(|prim| fill == Scalar::zero(prim)))
}

/// Returns whether a product is 0 if an operand is 0. With strict floats, 0 times infinity is NaN.
pub(crate) fn zero_annihilates(product: &redpoll::Array) -> bool {
    product.session().config().optimizer.float_mode != FloatMode::StrictIeee
        || !product.dtype().is_ok_and(|dtype| dtype.prim().is_some_and(Prim::is_float))
}

/// Returns the name of the class of an object, for messages.
pub(crate) fn class_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
