//! The text form of constants: values whose dtype follows from the context.

use super::form_args;
use crate::dtype::{DType, Prim};
use crate::error::Error;
use crate::expr::fit;
use crate::literal::{read_bare, read_dtype};
use crate::scalar::Scalar;
use crate::sexpr::{Sexpr, SexprKind};

/// Reads a bare value, such as `7`, `-1.5`, `true` or `inf`; returns `None` for other forms.
pub(super) fn parse_number(s: &Sexpr) -> Option<Scalar> {
    s.as_atom().and_then(read_bare)
}

/// Reads `(lit DTYPE CONST)` or `(literal CONST)`; returns `None` for other forms. The constant of
/// a `literal` is a bare value or one of these two forms.
pub(super) fn parse_strong(s: &Sexpr) -> Result<Option<Scalar>, Error> {
    match s.as_form() {
        Some(("lit", _)) => {
            let [dtype, value] = form_args(s, "(lit DTYPE CONST)")?;
            parse_constant(value, &read_dtype(dtype)?).map(Some)
        }
        Some(("literal", _)) => {
            let [value] = form_args(s, "(literal CONST)")?;
            match parse_number(value) {
                Some(number) => Ok(Some(number)),
                None => parse_strong(value)?
                    .map(Some)
                    .ok_or_else(|| value.error(format!("expected a number or (lit DTYPE CONST), found {value}"))),
            }
        }
        _ => Ok(None),
    }
}

/// Reads a constant in a context with the given dtype.
pub(crate) fn parse_constant(s: &Sexpr, dtype: &DType) -> Result<Scalar, Error> {
    if let Some(value) = parse_number(s) {
        return fit(&value, dtype, "constant").map_err(|e| s.locate(e));
    }
    if let Some(value) = parse_strong(s)? {
        return fit(&value, dtype, "constant").map_err(|e| s.locate(e));
    }
    match (&s.kind, dtype) {
        (SexprKind::Atom(word), DType::Prim(p)) if word == "max" => Ok(range_end(*p, RangeEnd::Largest)),
        (SexprKind::Atom(word), DType::Prim(p)) if word == "min" => Ok(range_end(*p, RangeEnd::Smallest)),
        (SexprKind::List(items), DType::Struct(ty)) => {
            let items = match items.first().and_then(Sexpr::as_atom) {
                Some("pair") => &items[1..],
                _ => &items[..],
            };
            if items.len() != ty.members.len() {
                return Err(s.error(format!("expected {} members of {dtype}, found {s}", ty.members.len())));
            }
            let members = items.iter().zip(&ty.members).map(|(item, (_, t))| parse_constant(item, t));
            Ok(Scalar::Struct(ty.clone(), members.collect::<Result<Vec<_>, _>>()?.into()))
        }
        _ => Err(s.error(format!("expected a constant of dtype {dtype}, found {s}"))),
    }
}

/// An end of the range of a dtype.
#[derive(Clone, Copy)]
enum RangeEnd {
    Smallest,
    Largest,
}

/// Returns the value of a primitive at an end of its range.
fn range_end(prim: Prim, end: RangeEnd) -> Scalar {
    let bits = prim.bits();
    let low = if prim.is_signed() { -(1i128 << (bits - 1)) } else { 0 };
    let value = match end {
        RangeEnd::Smallest if prim.is_float() => {
            return Scalar::F64(f64::NEG_INFINITY).cast(prim).expect("a primitive casts to a primitive");
        }
        RangeEnd::Largest if prim.is_float() => {
            return Scalar::F64(f64::INFINITY).cast(prim).expect("a primitive casts to a primitive");
        }
        RangeEnd::Smallest => low,
        RangeEnd::Largest => low + ((1i128 << bits) - 1),
    };
    Scalar::from_bits(prim, value as u64)
}
