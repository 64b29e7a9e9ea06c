//! Derivatives of index maps: reverse mode applies the transpose of a map to a cotangent, forward
//! mode applies the map to a tangent.

use super::algebra::{rename, size_of, sum_over, with_fields};
use crate::affine::{Affine, Subscript};
use crate::error::Error;
use crate::expr::{Expr, IndexMap, Info, Node};
use crate::field::Field;
use crate::op::Builtin;
use crate::scalar::Scalar;
use std::collections::BTreeSet;

/// Names of fields that an expression does not use.
pub(super) struct FreshFields {
    taken: BTreeSet<Field>,
    next: usize,
}

impl FreshFields {
    /// Creates names for an expression with the given fields.
    pub(super) fn new(taken: BTreeSet<Field>) -> FreshFields {
        FreshFields { taken, next: 0 }
    }

    /// Returns the next unused name.
    pub(super) fn next(&mut self) -> Field {
        loop {
            let name = Field::from(format!("g{}", self.next));
            self.next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Returns the cotangent of the argument of an index map for the cotangent `g` of its result. The
/// cotangent of a value of the argument is the sum of the cotangents at all coordinates of the
/// result that read the value.
///
/// A subscript that consists of one field that the map introduces, with a step of 1 or -1, is
/// inverted if no other subscript mentions the field: the cotangent is read at the inverse of the
/// subscript. The cotangent is then summed over the other fields that the map introduces, under the
/// condition that the other subscripts equal the coordinates of the argument.
///
/// # Errors
/// Returns [`Error::NoDerivative`] for a map with offsets that are known only when a plan runs.
pub(super) fn pull_index(index: &Expr, g: Expr, fresh: &mut FreshFields) -> Result<Expr, Error> {
    let Node::Index { map, arg } = index.node() else { unreachable!("the node is an index map") };
    if index.node().parameters().next().is_some() {
        let reason = "it has an offset that is not a constant".to_owned();
        return Err(Error::NoDerivative { name: "index map".to_owned(), reason });
    }
    // The fields of the result may have the names of fields of the argument.
    let names: Vec<(Field, Field, u64)> =
        map.dimensions.iter().map(|(field, size)| (field.clone(), fresh.next(), *size)).collect();
    let renamed = |field: &Field| names.iter().find(|(old, ..)| old == field).map(|(_, new, _)| new.clone());
    let form =
        |affine: &Affine| affine.substitute(&|field| Affine::field(renamed(field).unwrap_or_else(|| field.clone())));
    let mut g = rename(g, renamed)?;
    let subscripts: Vec<(Field, Subscript, Affine)> =
        map.coordinates.iter().map(|(field, at)| (field.clone(), at.clone(), form(at.form()))).collect();
    let result = Info {
        fields: names.iter().map(|(_, new, _)| new.clone()).collect(),
        dimensions: names.iter().map(|(.., size)| Some(*size)).collect(),
        ..index.info().clone()
    };
    let mut inverted: Vec<Field> = Vec::new();
    for (field, at, affine) in &subscripts {
        if let Some(source) = unit_step(at, affine, &subscripts)
            && let Some(size) = result.dimension(&source)
        {
            g = invert(g, (field, size_of(arg.info(), field)?), (affine, &source, size))?;
            inverted.extend([field.clone(), source]);
        }
    }
    let rest: Vec<_> = subscripts.into_iter().filter(|(field, ..)| !inverted.contains(field)).collect();
    let sizes = rest.iter().map(|(field, ..)| Ok((field.clone(), size_of(arg.info(), field)?)));
    let sizes: Vec<(Field, u64)> = sizes.collect::<Result<_, Error>>()?;
    let summed: Vec<Field> = result.fields.iter().filter(|field| !inverted.contains(field)).cloned().collect();
    if rest.is_empty() {
        return sum_over(g, &summed, &result);
    }
    let read: Vec<(Field, u64)> =
        names.iter().filter(|(_, new, _)| summed.contains(new)).map(|(_, new, size)| (new.clone(), *size)).collect();
    let zero = Expr::number(0i64);
    let mut value = with_fields(g, read.into_iter().chain(sizes))?;
    for (field, at, affine) in &rest {
        let equal = Expr::mapjoin(Builtin::Eq, [Expr::coordinate(field.clone()), subscript_value(at, affine)?])?;
        value = Expr::mapjoin(Builtin::IfElse, [equal, value, zero.clone()])?;
    }
    sum_over(value, &summed, &result)
}

/// Returns the only field of an affine subscript, if its coefficient is 1 or -1 and no other
/// subscript mentions the field.
fn unit_step(at: &Subscript, affine: &Affine, all: &[(Field, Subscript, Affine)]) -> Option<Field> {
    let (Subscript::Affine(_), [(field, 1 | -1)]) = (at, &affine.terms[..]) else { return None };
    (all.iter().filter(|(.., other)| other.coefficient(field) != 0).count() == 1).then(|| field.clone())
}

/// Replaces the field `source` of a cotangent by the field of the argument that the index map reads
/// at `affine`. The new cotangent is 0 at the coordinates of the argument that the map does not
/// read.
fn invert(
    g: Expr,
    (field, field_size): (&Field, u64),
    (affine, source, size): (&Affine, &Field, u64),
) -> Result<Expr, Error> {
    let sign = affine.coefficient(source);
    // at = sign * source + constant, so source = sign * (at - constant).
    let inverse = Affine::field(field.clone()).plus(&Affine::constant(-affine.constant)).times(sign);
    if g.info().fields.contains(source) {
        let coordinates = vec![(source.clone(), Subscript::Affine(inverse))];
        let dimensions = vec![(field.clone(), field_size)];
        let outside = g.info().dtype.prim().map(Scalar::zero);
        return g.index(IndexMap { coordinates, dimensions, outside });
    }
    let covers = field_size == size
        && match sign {
            1 => affine.constant == 0,
            _ => affine.constant == size as i64 - 1,
        };
    if covers {
        return Ok(g);
    }
    let source = subscript_value(&Subscript::Affine(inverse.clone()), &inverse)?;
    let g = with_fields(g, [(field.clone(), field_size)])?;
    let low = Expr::mapjoin(Builtin::Ge, [source.clone(), Expr::number(0i64)])?;
    let high = Expr::mapjoin(Builtin::Lt, [source, Expr::number(size as i64)])?;
    let is_read = Expr::mapjoin(Builtin::And, [low, high])?;
    Expr::mapjoin(Builtin::IfElse, [is_read, g, Expr::number(0i64)])
}

/// Returns the value of a subscript as an expression of coordinates.
fn subscript_value(at: &Subscript, affine: &Affine) -> Result<Expr, Error> {
    let mut value = Expr::literal(affine.constant);
    for (field, factor) in &affine.terms {
        let term = Expr::mapjoin(Builtin::Mul, [Expr::coordinate(field.clone()), Expr::literal(*factor)])?;
        value = Expr::mapjoin(Builtin::Add, [value, term])?;
    }
    match at {
        Subscript::Affine(_) => Ok(value),
        Subscript::Outer(_, block) => Expr::mapjoin(Builtin::FloorDiv, [value, Expr::literal(*block as i64)]),
        Subscript::Inner(_, block) => Expr::mapjoin(Builtin::Rem, [value, Expr::literal(*block as i64)]),
    }
}

/// Returns the tangent of the result of an index map for the tangent of its argument. Reads out of
/// bounds have the tangent 0.
pub(super) fn push_index(index: &Expr, tangent: Expr) -> Result<Expr, Error> {
    let Node::Index { map, arg } = index.node() else { unreachable!("the node is an index map") };
    let mapped = map.coordinates.iter().map(|(field, _)| Ok((field.clone(), size_of(arg.info(), field)?)));
    let tangent = with_fields(tangent, mapped.collect::<Result<Vec<_>, Error>>()?)?;
    let outside = map.outside.as_ref().and_then(|_| tangent.info().dtype.prim().map(Scalar::zero));
    tangent.index(IndexMap { outside, ..map.clone() })
}
