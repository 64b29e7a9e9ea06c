//! NumPy's rules for the dtypes of operators, where redpoll has other rules. Redpoll treats
//! booleans as integers, and computes shifts in the dtype of the first operand.

use crate::operand::OperandValue;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use redpoll::Operand;
use redpoll::logic::Prim;
use redpoll::logic::op::{Builtin, Op, promote};

/// Applies an operator to operands as NumPy does.
///
/// # Errors
/// Raises `TypeError` if there is no operand, if NumPy does not define the operator for booleans,
/// or if a shift has a float as an operand or as its common dtype.
pub(crate) fn apply(op: Op, like: &redpoll::Array, values: Vec<OperandValue>) -> PyResult<redpoll::Array> {
    let (op, target) = numpy_rule(op, &values)?;
    let mut values = values.into_iter();
    let Some(first) = values.next() else { return Err(PyTypeError::new_err("expected at least one operand")) };
    let cast = |value: OperandValue| match target {
        Some(prim) => value.into_array(like).astype(prim).into(),
        None => Operand::from(value),
    };
    let head = first.into_array(like);
    let head = if let Some(prim) = target { head.astype(prim) } else { head };
    Ok(head.apply(op, values.map(cast)))
}

/// Returns the operator that computes NumPy's result, and the dtype that the operands are cast to;
/// `None` if the operands are not cast.
fn numpy_rule(op: Op, values: &[OperandValue]) -> PyResult<(Op, Option<Prim>)> {
    let Op::Builtin(builtin) = op else { return Ok((op, None)) };
    let shift = matches!(builtin, Builtin::Shl | Builtin::Shr);
    if !shift && !has_boolean_rule(builtin) {
        return Ok((op, None));
    }
    let booleans = values.iter().all(|value| value.prim() == Some(Prim::Bool));
    let target = match builtin {
        _ if !booleans && !shift => None,
        Builtin::Add => return Ok((Builtin::Or.into(), None)),
        Builtin::Sub | Builtin::Neg | Builtin::Sign => {
            let advice = match builtin {
                Builtin::Sub => "use `^` or `logical_xor`",
                Builtin::Neg => "use `~`",
                _ => "cast the operand with `astype`",
            };
            return Err(PyTypeError::new_err(format!("'{}' is not defined for booleans; {advice}", op.name())));
        }
        _ if booleans => Some(Prim::I8),
        _ => shifted(values)?,
    };
    Ok((op, target))
}

/// Returns whether NumPy and redpoll differ in an operator on booleans, apart from shifts.
fn has_boolean_rule(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Add
            | Builtin::Sub
            | Builtin::Neg
            | Builtin::Sign
            | Builtin::Square
            | Builtin::FloorDiv
            | Builtin::Rem
            | Builtin::Fmod
            | Builtin::Pow
    )
}

/// Returns the dtype of a shift: the common dtype of the arrays, to which numbers adapt; `None` if
/// there is no common dtype.
///
/// # Errors
/// Raises `TypeError` if an operand or the common dtype is a float.
fn shifted(values: &[OperandValue]) -> PyResult<Option<Prim>> {
    let arrays = values.iter().filter(|value| matches!(value, OperandValue::Array(..)));
    let common = promote(arrays.filter_map(OperandValue::prim));
    // Booleans that are shifted by a number become 64-bit integers.
    let common = if common == Some(Prim::Bool) { Some(Prim::I64) } else { common };
    if values.iter().filter_map(OperandValue::prim).chain(common).any(Prim::is_float) {
        return Err(PyTypeError::new_err("shifts expect integers of a common dtype; cast the operands with `astype`"));
    }
    Ok(common)
}
