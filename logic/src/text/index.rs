//! The text form of index maps and subscripts.

use super::constant::parse_constant;
use super::name::{name_to_sexpr, parse_name};
use super::{form_args, unknown_form};
use crate::affine::{Affine, Parameter, Subscript};
use crate::error::Error;
use crate::expr::{Expr, IndexMap};
use crate::field::Field;
use crate::literal::write_value;
use crate::scalar::Scalar;
use crate::sexpr::Sexpr;

/// Names of the index maps, and their syntax.
const MAPS: &[(&str, &str)] = &[
    ("window", "(window FIELD LOW HIGH)"),
    ("permissive", "(permissive FIELD LOW HIGH CONST)"),
    ("offset", "(offset FIELD BY CONST)"),
    ("stride", "(stride FIELD STEP)"),
    ("reverse", "(reverse FIELD)"),
    ("toeplitz", "(toeplitz FIELD I J KERNEL)"),
    ("split", "(split FIELD OUTER INNER BLOCK [CONST])"),
    ("merge", "(merge I J FIELD)"),
    ("diagonal", "(diagonal I J FIELD)"),
    ("map", "(map ((FIELD SUBSCRIPT)..) ((FIELD SIZE)..) [CONST])"),
];

/// Reads an index map and applies it to an expression.
pub(super) fn apply_map(s: &Sexpr, arg: Expr) -> Result<Expr, Error> {
    let (head, rest) = s.as_form().ok_or_else(|| s.error(format!("expected an index map, found {s}")))?;
    let Some((_, form)) = MAPS.iter().find(|(name, _)| *name == head) else {
        return Err(unknown_form(s, "index map", head, MAPS));
    };
    let dtype = arg.info().dtype.clone();
    let constant = |s| parse_constant(s, &dtype);
    let mapped = match (head, rest) {
        ("window", [f, low, high]) => arg.window(parse_field(f)?, low.number("a bound")?, high.number("a bound")?),
        ("permissive", [f, low, high, outside]) => {
            let bounds = (low.number("a bound")?, high.number("a bound")?);
            arg.permissive(parse_field(f)?, bounds, constant(outside)?)
        }
        ("offset", [f, by, outside]) => arg.offset(parse_field(f)?, by.number("an offset")?, constant(outside)?),
        ("stride", [f, step]) => arg.stride(parse_field(f)?, step.number("a step")?),
        ("reverse", [f]) => arg.reverse(parse_field(f)?),
        ("toeplitz", [f, i, j, kernel]) => {
            arg.toeplitz(parse_field(f)?, (parse_field(i)?, parse_field(j)?), kernel.number("the size of the kernel")?)
        }
        ("split", [f, outer, inner, block, outside @ ..]) if outside.len() <= 1 => {
            let outside = outside.first().map(constant).transpose()?;
            let block = block.number("the size of a block")?;
            arg.split(parse_field(f)?, (parse_field(outer)?, parse_field(inner)?), block, outside)
        }
        ("merge", [i, j, f]) => arg.merge((parse_field(i)?, parse_field(j)?), parse_field(f)?),
        ("diagonal", [i, j, f]) => arg.diagonal((parse_field(i)?, parse_field(j)?), parse_field(f)?),
        ("map", [coordinates, dimensions, outside @ ..]) if outside.len() <= 1 => {
            let coordinates = coordinates.items("the mapped fields ((FIELD SUBSCRIPT)..)")?;
            let dimensions = dimensions.items("the introduced fields ((FIELD SIZE)..)")?;
            arg.index(IndexMap {
                coordinates: coordinates.iter().map(parse_coordinate).collect::<Result<_, _>>()?,
                dimensions: dimensions.iter().map(parse_dimension).collect::<Result<_, _>>()?,
                outside: outside.first().map(constant).transpose()?,
            })
        }
        _ => return Err(s.error(format!("expected {form}, found {s}"))),
    };
    mapped.map_err(|e| s.locate(e))
}

fn parse_coordinate(s: &Sexpr) -> Result<(Field, Subscript), Error> {
    match s.as_list() {
        Some([f, subscript]) => Ok((parse_field(f)?, parse_subscript(subscript)?)),
        _ => Err(s.error(format!("expected (FIELD SUBSCRIPT), found {s}"))),
    }
}

fn parse_dimension(s: &Sexpr) -> Result<(Field, u64), Error> {
    match s.as_list() {
        Some([f, size]) => Ok((parse_field(f)?, size.number("a size")?)),
        _ => Err(s.error(format!("expected (FIELD SIZE), found {s}"))),
    }
}

/// Reads a field.
pub(crate) fn parse_field(s: &Sexpr) -> Result<Field, Error> {
    parse_name(s, "a field").map(Field::from)
}

/// Reads a subscript.
pub(crate) fn parse_subscript(s: &Sexpr) -> Result<Subscript, Error> {
    let parts = |s| -> Result<(Affine, u64), Error> {
        let [form, block] = form_args(s, "a form and the size of a block")?;
        Ok((parse_affine(form)?, block.number("the size of a block")?))
    };
    match s.as_form() {
        Some(("quot", _)) => parts(s).map(|(form, block)| Subscript::Outer(form, block)),
        Some(("mod", _)) => parts(s).map(|(form, block)| Subscript::Inner(form, block)),
        _ => parse_affine(s).map(Subscript::Affine),
    }
}

/// Reads an affine form; overflow of 64 bits is an error.
fn parse_affine(s: &Sexpr) -> Result<Affine, Error> {
    let checked = |affine: Option<Affine>| {
        affine.ok_or_else(|| s.error(format!("a coefficient or constant of {s} overflows 64 bits")))
    };
    match (s.as_atom().and_then(|w| w.parse::<i64>().ok()), s.as_form()) {
        (Some(constant), _) => Ok(Affine::constant(constant)),
        (_, Some(("+", terms))) => {
            terms.iter().try_fold(Affine::constant(0), |sum, term| checked(sum.checked_plus(&parse_affine(term)?)))
        }
        (_, Some(("-", [a, b]))) => {
            let (a, b) = (parse_affine(a)?, parse_affine(b)?);
            checked(b.checked_times(-1).and_then(|b| a.checked_plus(&b)))
        }
        (_, Some(("parameter", [input, size]))) => {
            let input = parse_name(input, "the name of an input")?.into();
            Ok(Affine::parameter(Parameter { input, size: size.number("a size")? }))
        }
        (_, Some(("*", [factor, operand]))) => {
            let factor = factor.number("an integer")?;
            checked(parse_affine(operand)?.checked_times(factor))
        }
        (_, Some(_)) => Err(
            s.error(format!(
                "expected a field, an integer, (parameter NAME SIZE), (+ FORM..), (- FORM FORM) or (* INTEGER FORM), found {s}"
            ))
        ),
        _ => parse_field(s).map(Affine::field),
    }
}

/// Writes an index map.
pub(super) fn map_to_sexpr(map: &IndexMap) -> Sexpr {
    if let ([(field, Subscript::Affine(form))], [(new, size)]) = (&map.coordinates[..], &map.dimensions[..]) {
        let low = form.constant;
        let shift = form.has_offset(low) && form.terms.len() == 1 && form.coefficient(new) == 1 && field == new;
        if let (true, Some(high)) = (shift, i64::try_from(*size).ok().and_then(|n| low.checked_add(n))) {
            let bounds = [name_to_sexpr(field.as_str()), Sexpr::atom(low.to_string()), Sexpr::atom(high.to_string())];
            match &map.outside {
                Some(outside) => return Sexpr::form("permissive", bounds.into_iter().chain([write_value(outside)])),
                None if low >= 0 => return Sexpr::form("window", bounds),
                None => {}
            }
        }
    }
    let coordinates =
        map.coordinates.iter().map(|(f, at)| Sexpr::list([name_to_sexpr(f.as_str()), subscript_to_sexpr(at)]));
    let dimensions =
        map.dimensions.iter().map(|(f, n)| Sexpr::list([name_to_sexpr(f.as_str()), Sexpr::atom(n.to_string())]));
    let outside: Option<&Scalar> = map.outside.as_ref();
    Sexpr::form("map", [Sexpr::list(coordinates), Sexpr::list(dimensions)].into_iter().chain(outside.map(write_value)))
}

/// Writes a subscript.
pub(crate) fn subscript_to_sexpr(subscript: &Subscript) -> Sexpr {
    let form = affine_to_sexpr(subscript.form());
    match subscript {
        Subscript::Affine(_) => form,
        Subscript::Outer(_, block) => Sexpr::form("quot", [form, Sexpr::atom(block.to_string())]),
        Subscript::Inner(_, block) => Sexpr::form("mod", [form, Sexpr::atom(block.to_string())]),
    }
}

fn affine_to_sexpr(affine: &Affine) -> Sexpr {
    let terms = affine.terms.iter().map(|(field, c)| (name_to_sexpr(field.as_str()), c));
    let parameters = affine.parameters.iter().map(|(Parameter { input, size }, c)| {
        let parts = [name_to_sexpr(input.as_str()), Sexpr::atom(size.to_string())];
        (Sexpr::form("parameter", parts), c)
    });
    let scaled = |(atom, c): (Sexpr, &i64)| match c {
        1 => atom,
        c => Sexpr::form("*", [Sexpr::atom(c.to_string()), atom]),
    };
    let mut parts: Vec<Sexpr> = terms.chain(parameters).map(scaled).collect();
    if affine.constant != 0 || parts.is_empty() {
        parts.push(Sexpr::atom(affine.constant.to_string()));
    }
    if parts.len() == 1 { parts.swap_remove(0) } else { Sexpr::form("+", parts) }
}
