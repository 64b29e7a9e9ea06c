//! NumPy's names and buffer formats of dtypes, and conversions of numbers.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use redpoll::logic::{DType, Prim, Scalar};

/// The primitives, in the order of the enum, with the names of their dtypes and the format
/// characters of their buffers.
const DTYPES: [(Prim, &str, &std::ffi::CStr); 11] = [
    (Prim::Bool, "bool", c"?"),
    (Prim::I8, "int8", c"b"),
    (Prim::I16, "int16", c"h"),
    (Prim::I32, "int32", c"i"),
    (Prim::I64, "int64", c"q"),
    (Prim::U8, "uint8", c"B"),
    (Prim::U16, "uint16", c"H"),
    (Prim::U32, "uint32", c"I"),
    (Prim::U64, "uint64", c"Q"),
    (Prim::F32, "float32", c"f"),
    (Prim::F64, "float64", c"d"),
];

/// Returns the name of the dtype of a primitive.
pub(crate) fn name_of(prim: Prim) -> &'static str {
    DTYPES[prim as usize].1
}

/// Returns the format character of a buffer of primitives.
pub(crate) fn format_of(prim: Prim) -> &'static std::ffi::CStr {
    DTYPES[prim as usize].2
}

/// Returns the primitive of the dtype with the given name.
pub(crate) fn prim_of(name: &str) -> PyResult<Prim> {
    let found = DTYPES.iter().find(|(_, known, _)| *known == name).map(|(prim, ..)| *prim);
    found.ok_or_else(|| {
        let names: Vec<&str> = DTYPES.iter().map(|(_, name, _)| *name).collect();
        PyTypeError::new_err(format!("redpoll has no dtype '{name}'; its dtypes are {}", names.join(", ")))
    })
}

/// Returns the name of a dtype; for a struct, its text in plans.
pub(crate) fn dtype_name(dtype: &DType) -> String {
    dtype.prim().map_or_else(|| dtype.to_string(), |prim| name_of(prim).to_owned())
}

/// Converts a Python number to the scalar that is combined with arrays of `prim`. Returns `None`
/// for any other object. Only the classes `bool`, `int` and `float` are numbers: a scalar of NumPy
/// has a dtype, although `numpy.float64` derives from `float`.
///
/// # Errors
/// Raises `OverflowError` for an integer that does not fit `prim`. If `prim` is `bool`, or `None`
/// for a struct, raises `OverflowError` for an integer that does not fit 64 bits.
pub(crate) fn number(value: &Bound<'_, PyAny>, prim: Option<Prim>) -> PyResult<Option<Scalar>> {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Ok(Some(Scalar::F64(float.value())));
    }
    if let Ok(boolean) = value.cast_exact::<PyBool>() {
        return Ok(Some(Scalar::Bool(boolean.is_true())));
    }
    let Ok(integer) = value.cast_exact::<PyInt>() else { return Ok(None) };
    if prim.is_some_and(Prim::is_float) {
        // Integers beyond 64 bits convert to floats.
        return Ok(Some(integer.extract::<i64>().map_or(Scalar::F64(integer.extract()?), Scalar::I64)));
    }
    let prim = prim.filter(|prim| prim.is_int());
    let number = match integer.extract::<i64>() {
        Ok(small) => Scalar::I64(small),
        Err(_) => Scalar::U64(integer.extract().map_err(|_| out_of_range(integer, prim.unwrap_or(Prim::I64)))?),
    };
    if let Some(prim) = prim
        && number.cast(prim).and_then(|cast| cast.to_i128()) != number.to_i128()
    {
        return Err(out_of_range(integer, prim));
    }
    Ok(Some(number))
}

/// Returns a Python number as a value of `prim`. An object with `__index__`, such as an integer of
/// NumPy, is converted to an integer of Python first, and any other object to a float of 64 bits.
///
/// # Errors
/// Raises `OverflowError` as [`number`] does, and `TypeError` if the object does not convert to a
/// float.
pub(crate) fn scalar(value: &Bound<'_, PyAny>, prim: Prim) -> PyResult<Scalar> {
    // A float of 64 bits has too few digits for integers beyond 2^53.
    let integer = value.call_method0("__index__").ok();
    let number = match number(integer.as_ref().unwrap_or(value), Some(prim))? {
        Some(number) => number,
        None => Scalar::F64(value.extract()?),
    };
    Ok(number.cast(prim).expect("a number casts to every primitive"))
}

/// Returns a value as a Python number, and a struct as a tuple of the numbers in it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Scalar) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Scalar::Bool(b) => Ok(PyBool::new(py, *b).to_owned().into_any()),
        Scalar::F32(_) | Scalar::F64(_) => {
            Ok(PyFloat::new(py, value.to_f64().expect("a float is a number")).into_any())
        }
        Scalar::Struct(..) => {
            let parts = value.flatten().iter().map(|part| to_python(py, part)).collect::<PyResult<Vec<_>>>()?;
            Ok(pyo3::types::PyTuple::new(py, parts)?.into_any())
        }
        integer => Ok(integer.to_i128().expect("the other values are integers").into_pyobject(py)?.into_any()),
    }
}

fn out_of_range(integer: &Bound<'_, PyInt>, prim: Prim) -> PyErr {
    PyOverflowError::new_err(format!("Python integer {integer} is out of bounds for {}", name_of(prim)))
}
