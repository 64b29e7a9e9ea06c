//! The text form of constants: values whose dtype follows from the context.

use super::exactly;
use crate::dtype::{DType, Prim};
use crate::error::Error;
use crate::expr::fit;
use crate::literal::{read_bare, read_dtype};
use crate::scalar::Scalar;
use crate::sexpr::{Sexpr, SexprKind};

/// Reads a bare number or constant; returns `None` for other words.
pub(super) fn number(s: &Sexpr) -> Option<Scalar> {
    s.as_atom().and_then(read_bare)
}

/// Reads `(lit DTYPE CONST)` or `(literal CONST)`; returns `None` for other forms.
pub(super) fn strong(s: &Sexpr) -> Result<Option<Scalar>, Error> {
    match s.as_form() {
        Some(("lit", _)) => {
            let [dtype, value] = exactly(s, "(lit DTYPE CONST)")?;
            parse_constant(value, &read_dtype(dtype)?).map(Some)
        }
        Some(("literal", _)) => {
            let [value] = exactly(s, "(literal CONST)")?;
            match number(value) {
                Some(number) => Ok(Some(number)),
                None => strong(value)?
                    .map(Some)
                    .ok_or_else(|| value.error(format!("expected a number or (lit DTYPE CONST), found {value}"))),
            }
        }
        _ => Ok(None),
    }
}

/// Reads a constant in a context with the given dtype.
pub(crate) fn parse_constant(s: &Sexpr, dtype: &DType) -> Result<Scalar, Error> {
    if let Some(value) = number(s) {
        return fit(&value, dtype, "constant").map_err(|e| s.locate(e));
    }
    if let Some(value) = strong(s)? {
        return fit(&value, dtype, "constant").map_err(|e| s.locate(e));
    }
    match (&s.kind, dtype) {
        (SexprKind::Atom(word), DType::Prim(p)) if word == "max" => Ok(end(*p, End::Largest)),
        (SexprKind::Atom(word), DType::Prim(p)) if word == "min" => Ok(end(*p, End::Smallest)),
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

#[derive(Clone, Copy)]
enum End {
    Smallest,
    Largest,
}

fn end(prim: Prim, end: End) -> Scalar {
    let bits = prim.bits();
    let low = if prim.is_signed() { -(1i128 << (bits - 1)) } else { 0 };
    let value = match end {
        End::Smallest if prim.is_float() => return Scalar::F64(f64::NEG_INFINITY).cast(prim).expect("a primitive"),
        End::Largest if prim.is_float() => return Scalar::F64(f64::INFINITY).cast(prim).expect("a primitive"),
        End::Smallest => low,
        End::Largest => low + ((1i128 << bits) - 1),
    };
    Scalar::from_bits(prim, value as u64)
}
