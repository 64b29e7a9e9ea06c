//! Sums of products: an expression over several leaves as terms with a factor of each leaf at most.
//!
//! Integers wrap in DataFusion, so `+`, `-` and `*` on one 64-bit type are a ring and distribute exactly; floats may be
//! regrouped, as they are by DataFusion's own partial sums. Other operators are computed where all that they read is of
//! one leaf, by DataFusion.

use super::join::leaves_of;
use super::reason::Reason;
use super::region::Number;
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

/// A product of expressions of one leaf each.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// Whether it is subtracted.
    pub(super) negative: bool,
    /// The factors, the leaf of each.
    pub(super) factors: Vec<(usize, Expr)>,
}

/// More terms than these are not worth a program.
const MOST_TERMS: usize = 16;

/// The terms of an expression of that type; what reads no leaf is computed with `home`.
pub(super) fn terms(expr: &Expr, number: Number, schema: &DFSchema, home: usize) -> Result<Vec<Product>, Reason> {
    let spans = || Reason::Spans(expr.to_string());
    match leaves_of(expr)[..] {
        [] => return Ok(vec![Product { negative: false, factors: vec![(home, expr.clone())] }]),
        [leaf] => return Ok(vec![Product { negative: false, factors: vec![(leaf, expr.clone())] }]),
        _ => {}
    }
    // A product of decimals has a type of its own, and so has a sum.
    if matches!(number, Number::Decimal(_)) {
        return Err(spans());
    }
    let of_number = |e: &Expr| e.get_type(schema).ok().and_then(|ty| Number::of(&ty)) == Some(number);
    let part = |e: &Expr| if of_number(e) { terms(e, number, schema, home) } else { Err(spans()) };
    let found = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::Plus | Operator::Minus), right }) => {
            let (mut sum, mut right) = (part(left)?, part(right)?);
            right.iter_mut().for_each(|product| product.negative ^= *op == Operator::Minus);
            sum.append(&mut right);
            sum
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            let (left, right) = (part(left)?, part(right)?);
            left.iter().flat_map(|a| right.iter().map(|b| times(a, b))).collect()
        }
        Expr::Negative(arg) => {
            let mut negated = part(arg)?;
            negated.iter_mut().for_each(|product| product.negative ^= true);
            negated
        }
        _ => return Err(spans()),
    };
    if found.len() > MOST_TERMS { Err(spans()) } else { Ok(found) }
}

/// The product of two products; factors of one leaf become one, which DataFusion computes.
fn times(a: &Product, b: &Product) -> Product {
    let mut factors = a.factors.clone();
    for (leaf, factor) in &b.factors {
        match factors.iter_mut().find(|(l, _)| l == leaf) {
            Some((_, own)) => *own = own.clone() * factor.clone(),
            None => factors.push((*leaf, factor.clone())),
        }
    }
    Product { negative: a.negative ^ b.negative, factors }
}

/// The expressions of one leaf each that must all have values for an expression to have one.
pub(super) fn strict_parts(expr: &Expr, home: usize) -> Result<Vec<(usize, Expr)>, Reason> {
    match (&leaves_of(expr)[..], expr) {
        ([], _) => Ok(vec![(home, expr.clone())]),
        ([leaf], _) => Ok(vec![(*leaf, expr.clone())]),
        (
            _,
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus | Operator::Multiply, right }),
        ) => Ok([strict_parts(left, home)?, strict_parts(right, home)?].concat()),
        (_, Expr::Negative(arg)) => strict_parts(arg, home),
        _ => Err(Reason::Spans(expr.to_string())),
    }
}

/// Whether an expression has a value in every row.
pub(super) fn is_total(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    !expr.nullable(schema).unwrap_or(true)
}
