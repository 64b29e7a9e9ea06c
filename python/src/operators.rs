//! Operators as functions of Python. The name of an operator is looked up once, before any call.

use crate::argument::operator;
use crate::array::{Array, elementwise};
use crate::dtype::{name_of, prim_of};
use crate::operand::OperandValue;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use redpoll::logic::DType;
use redpoll::logic::op::{Builtin, Op, UserOp};

/// An operator of redpoll: `Operator("sin")(x)` applies the operator elementwise.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct Operator(Op);

impl Operator {
    /// Returns the operator as redpoll's type.
    pub(crate) fn op(&self) -> &Op {
        &self.0
    }
}

#[pymethods]
impl Operator {
    /// Finds the operator of the given name.
    #[new]
    fn new(name: &str) -> PyResult<Operator> {
        operator(name).map(Operator)
    }

    /// Reads the operator of a `define-op` in the text form of plans.
    #[staticmethod]
    fn define(text: &str) -> PyResult<Operator> {
        let op = UserOp::parse(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Operator(op.into()))
    }

    /// Returns the dtype of the result for arguments of the given dtypes by the rules of redpoll. A
    /// call follows NumPy's rules for booleans and shifts, so its result may have another dtype.
    fn result_dtype(&self, dtypes: Vec<String>) -> PyResult<&'static str> {
        let dtypes: Vec<DType> = dtypes.iter().map(|name| prim_of(name).map(DType::from)).collect::<PyResult<_>>()?;
        let signature = self.0.signature(&dtypes).map_err(|error| PyTypeError::new_err(error.to_string()))?;
        let prim = signature.result.prim();
        prim.map(name_of).ok_or_else(|| PyTypeError::new_err(format!("'{}' returns a struct", self.0.name())))
    }

    /// The name of the operator.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Applies the operator by NumPy's rules to arrays and numbers. At least one operand is an
    /// array.
    #[pyo3(signature = (*operands))]
    fn __call__<'py>(&self, operands: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = operands.py();
        let array = operands.iter().find_map(|operand| operand.cast_into::<Array>().ok());
        let Some(array) = array else {
            return Err(PyTypeError::new_err(format!("'{}' expects an array among its operands", self.0.name())));
        };
        let first = array.get().core();
        let values: Vec<OperandValue> =
            operands.iter().map(|operand| OperandValue::required(&first, &operand)).collect::<PyResult<_>>()?;
        elementwise(self.0.clone(), &first.inner, values)?.into_python(py)
    }

    fn __repr__(&self) -> String {
        format!("<redpoll operator '{}'>", self.0.name())
    }
}

/// Returns the names of all built-in operators, with their descriptions.
///
/// Examples:
///     >>> dict(rp.operator_names())["hypot"]
///     'sqrt(x^2 + y^2), without intermediate overflow.'
#[pyfunction]
pub(crate) fn operator_names() -> Vec<(&'static str, &'static str)> {
    Builtin::ALL.iter().map(|op| (op.name(), op.doc())).collect()
}
