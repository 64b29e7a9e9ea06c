//! Arguments of operations: axes and operators.

use crate::operators::Operator;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use redpoll::Axes;
use redpoll::logic::Field;
use redpoll::logic::op::Op;

/// The axes of an operation, unless the argument is `None`: one or several, by number or by name.
#[derive(FromPyObject)]
enum AxisArgument {
    Number(i64),
    Name(String),
    Numbers(Vec<i64>),
    Names(Vec<String>),
}

/// Returns the axes of an operation: all axes if `axis` is `None`. With `keep`, the result of a
/// reduction has the reduced modes with size 1.
pub(crate) fn axes(axis: &Bound<'_, PyAny>, keep: bool) -> PyResult<Axes> {
    let axes = if axis.is_none() {
        Axes::from(..)
    } else {
        match axis.extract() {
            Ok(AxisArgument::Number(number)) => number.into(),
            Ok(AxisArgument::Name(name)) => vec![Field::from(name)].into(),
            Ok(AxisArgument::Numbers(numbers)) => numbers[..].into(),
            Ok(AxisArgument::Names(names)) => names.into_iter().map(Field::from).collect::<Vec<_>>().into(),
            Err(_) => {
                let message =
                    format!("an axis is `None`, an integer, a name, several integers or several names, found {axis}");
                return Err(PyTypeError::new_err(message));
            }
        }
    };
    Ok(if keep { axes.keep() } else { axes })
}

/// Returns the built-in operator of the given name.
pub(crate) fn operator(name: &str) -> PyResult<Op> {
    Op::from_name(name)
        .ok_or_else(|| PyValueError::new_err(format!("there is no operator '{name}'; see `redpoll.operator_names()`")))
}

/// An operator as an argument: its name, or an object of the class [`Operator`].
#[derive(FromPyObject)]
pub(crate) enum OperatorArgument<'py> {
    Name(String),
    Object(Bound<'py, Operator>),
}

impl OperatorArgument<'_> {
    /// Returns the operator.
    ///
    /// # Errors
    /// Raises `ValueError` if there is no operator with this name.
    pub(crate) fn find(&self) -> PyResult<Op> {
        match self {
            OperatorArgument::Name(name) => operator(name),
            OperatorArgument::Object(object) => Ok(object.get().op().clone()),
        }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        match self {
            OperatorArgument::Name(name) => name,
            OperatorArgument::Object(object) => object.get().op().name(),
        }
    }
}
