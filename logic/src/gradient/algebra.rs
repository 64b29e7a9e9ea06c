//! Functions that construct the expressions of derivatives: from the texts of rows, by sums, by
//! broadcasts, and by new names of fields.

use crate::error::Error;
use crate::expr::{Expr, IndexMap, Info};
use crate::field::Field;
use crate::op::{Builtin, Op};
use crate::sexpr::{Sexpr, read_one};

/// Builds the expression of a text such as `(* g (cos x))`, in which names stand for expressions.
/// Numbers take the dtype of the other arguments.
pub(super) fn build(text: &str, names: &[(&str, &Expr)]) -> Result<Expr, Error> {
    build_form(&read_one(text)?, names)
}

fn build_form(form: &Sexpr, names: &[(&str, &Expr)]) -> Result<Expr, Error> {
    if let Some(word) = form.as_atom() {
        return match (names.iter().find(|(name, _)| *name == word), word.parse::<f64>()) {
            (Some((_, expr)), _) => Ok((*expr).clone()),
            (None, Ok(number)) => Ok(Expr::number(number)),
            (None, Err(_)) => Err(form.error(format!("`{word}` is not a name of the row"))),
        };
    }
    let (head, args) = form.as_form().ok_or_else(|| form.error("an operator is expected".to_owned()))?;
    let op = Op::from_name(head).ok_or_else(|| form.error(format!("`{head}` is not an operator")))?;
    Expr::mapjoin(op, args.iter().map(|arg| build_form(arg, names)).collect::<Result<Vec<_>, _>>()?)
}

/// Returns the sum of expressions; `None` if there are none.
pub(super) fn sum(terms: Vec<Expr>) -> Result<Option<Expr>, Error> {
    match <[Expr; 1]>::try_from(terms) {
        Ok([only]) => Ok(Some(only)),
        Err(terms) if terms.is_empty() => Ok(None),
        Err(terms) => Expr::mapjoin(Builtin::Add, terms).map(Some),
    }
}

/// Sums an expression over fields of a node. Along a field that the expression lacks, its value is
/// multiplied by the size of the field.
pub(super) fn sum_over(expr: Expr, fields: &[Field], node: &Info) -> Result<Expr, Error> {
    let (present, missing): (Vec<_>, Vec<_>) =
        fields.iter().cloned().partition(|field| expr.info().fields.contains(field));
    let count = missing.iter().try_fold(1.0, |count, field| Ok::<_, Error>(count * size_of(node, field)? as f64))?;
    let total = match present.is_empty() {
        true => expr,
        false => Expr::aggregate(Builtin::Add, 0i64, expr, present)?,
    };
    if count == 1.0 { Ok(total) } else { Expr::mapjoin(Builtin::Mul, [total, Expr::number(count)]) }
}

/// Returns the size of a field of a node.
pub(super) fn size_of(node: &Info, field: &Field) -> Result<u64, Error> {
    let unknown = || Error::UnknownSize { field: field.clone(), location: "a derivative".to_owned() };
    node.dimension(field).ok_or_else(unknown)
}

/// Broadcasts an expression along those of the given fields that the expression lacks. A field of
/// the expression without a size, which only coordinate nodes mention, takes the given size.
pub(super) fn with_fields(expr: Expr, fields: impl IntoIterator<Item = (Field, u64)>) -> Result<Expr, Error> {
    let has = |field: &Field| expr.info().fields.contains(field);
    let unsized_or_missing = fields.into_iter().filter(|(field, _)| expr.info().dimension(field).is_none());
    let (bare, missing): (Vec<_>, Vec<_>) = unsized_or_missing.partition(|(field, _)| has(field));
    let broadcast = |expr: Expr, dimensions: Vec<(Field, u64)>| match dimensions.is_empty() {
        true => Ok(expr),
        false => expr.index(IndexMap { coordinates: Vec::new(), dimensions, outside: None }),
    };
    let sized = match bare.is_empty() {
        true => expr,
        false => {
            let ones = broadcast(Expr::literal(1.0).cast(&expr.info().dtype)?, bare)?;
            Expr::mapjoin(Builtin::Mul, [expr, ones])?
        }
    };
    broadcast(sized, missing)
}

/// Broadcasts an expression to the fields of a node, in the order of the node.
pub(super) fn broadcast_to(expr: Expr, node: &Info) -> Result<Expr, Error> {
    let sizes = node.fields.iter().map(|field| Ok((field.clone(), size_of(node, field)?)));
    let broadcast = with_fields(expr, sizes.collect::<Result<Vec<_>, Error>>()?)?;
    if broadcast.info().fields == node.fields { Ok(broadcast) } else { broadcast.reorder(node.fields.iter().cloned()) }
}

/// Renames fields of an expression; fields without a new name keep their names.
pub(super) fn rename(expr: Expr, new_name: impl Fn(&Field) -> Option<Field>) -> Result<Expr, Error> {
    let names: Vec<Field> =
        expr.info().fields.iter().map(|field| new_name(field).unwrap_or_else(|| field.clone())).collect();
    if names == expr.info().fields { Ok(expr) } else { expr.relabel(names) }
}

/// Returns the expressions that the names of a row stand for.
pub(super) fn row_names<'e>(args: &'e [Expr], result: &'e Expr, g: &'e Expr) -> Vec<(&'static str, &'e Expr)> {
    let names = [("g", Some(g)), ("r", Some(result)), ("x", args.first()), ("y", args.get(1))];
    names.into_iter().filter_map(|(name, expr)| Some((name, expr?))).collect()
}

/// Sums a term of the cotangent of `arg`, an argument of `node`, over the fields of the node that
/// the argument lacks.
pub(super) fn reduce_to(value: Expr, node: &Expr, arg: &Expr) -> Result<Expr, Error> {
    let kept = &arg.info().fields;
    let lost: Vec<_> = node.info().fields.iter().filter(|field| !kept.contains(field)).cloned().collect();
    sum_over(value, &lost, node.info())
}
