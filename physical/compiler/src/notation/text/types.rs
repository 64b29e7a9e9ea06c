//! Names, constants and tensor types in program texts.

use crate::notation::OPEN_DIMENSION;
use redpoll_logic::literal::{read_dtype, read_value, write_dtype, write_literal, write_value};
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::text::{format_from_sexpr, format_to_sexpr, name_to_sexpr};
use redpoll_logic::{Error, Prim, Scalar, TensorType};

/// Writes a name. A bare `_` stands for an open part of a type, so the name `_` is quoted.
pub(super) fn name(name: &str) -> Sexpr {
    if name == "_" { Sexpr::text(name) } else { name_to_sexpr(name) }
}

/// Writes a constant: bare if its text implies the dtype, else `(lit DTYPE value)`.
pub(super) fn write_constant(value: &Scalar) -> Sexpr {
    match value {
        Scalar::Bool(_) | Scalar::I64(_) | Scalar::F64(_) => write_value(value),
        _ => write_literal(value),
    }
}

/// Converts a bare constant to a dtype: an `i64` to an integer dtype that can represent it, an
/// `i64` or `f64` to a float dtype with rounding. A constant that has the dtype already does not
/// change. Returns `None` otherwise.
pub(super) fn convert_number(value: &Scalar, prim: Prim) -> Option<Scalar> {
    if value.prim() == Some(prim) {
        return Some(value.clone());
    }
    let cast = value.cast(prim)?;
    let is_allowed = match value {
        Scalar::I64(_) if prim.is_int() => cast.to_i128() == value.to_i128(),
        Scalar::I64(_) | Scalar::F64(_) => prim.is_float(),
        _ => false,
    };
    is_allowed.then_some(cast)
}

/// Writes `(type (shape n ..) dtype fill format)`, with `_` for each open size.
pub(in crate::notation) fn tensor_type(ty: &TensorType) -> Sexpr {
    let size = |n: &u64| Sexpr::atom(if *n == OPEN_DIMENSION { "_".to_owned() } else { n.to_string() });
    let shape = Sexpr::form("shape", ty.shape.iter().map(size));
    Sexpr::form("type", [shape, write_dtype(&ty.dtype), write_value(&ty.fill), format_to_sexpr(&ty.format)])
}

/// Reads `(type (shape n ..) dtype fill format)`; a size `_` is open.
pub(super) fn read_tensor_type(s: &Sexpr) -> Result<TensorType, Error> {
    let Some(("type", [shape, dtype, fill, format])) = s.as_form() else {
        return Err(s.error(format!("expected `(type (shape ..) dtype fill format)`, found {s}")));
    };
    let Some(("shape", sizes)) = shape.as_form() else {
        return Err(shape.error(format!("expected `(shape ..)`, found {shape}")));
    };
    let size = |n: &Sexpr| if n.as_atom() == Some("_") { Ok(OPEN_DIMENSION) } else { n.number("a size") };
    let shape = sizes.iter().map(size).collect::<Result<Vec<u64>, _>>()?;
    let dtype = read_dtype(dtype)?;
    let fill = read_value(&dtype, fill)?;
    let format = format_from_sexpr(format, shape.len())?;
    Ok(TensorType { shape, dtype, fill, format })
}
