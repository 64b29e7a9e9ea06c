//! Operators as functions, found by their names once.

use crate::argument::operator;
use crate::array::Array;
use crate::operand::OperandValue;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use redpoll::Operand;
use redpoll::logic::op::{Builtin, Op};

/// An operator of redpoll: `Operator("sin")(x)` applies it elementwise.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct Operator(Op);

#[pymethods]
impl Operator {
    /// Finds the operator of the given name.
    #[new]
    fn new(name: &str) -> PyResult<Operator> {
        operator(name).map(Operator)
    }

    /// The name of the operator.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Applies the operator to an array and others, or numbers.
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
        let work = values.iter().fold(0, |work: u64, value| work.saturating_add(value.work()));
        let mut values = values.into_iter();
        let Some(head) = values.next() else { unreachable!("one operand is an array") };
        let result = head.into_array(&first.inner).apply(self.0.clone(), values.map(Operand::from));
        Array::new(result, work)?.into_python(py)
    }

    fn __repr__(&self) -> String {
        format!("<redpoll operator '{}'>", self.0.name())
    }
}

/// Returns the names of all operators, with their descriptions.
///
/// Examples:
///     >>> dict(rp.operator_names())["hypot"]
///     'sqrt(x^2 + y^2), without intermediate overflow.'
#[pyfunction]
pub(crate) fn operator_names() -> Vec<(&'static str, &'static str)> {
    Builtin::ALL.iter().map(|op| (op.name(), op.doc())).collect()
}
