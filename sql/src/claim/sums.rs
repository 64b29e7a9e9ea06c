//! Sums of products: an expression over several leaves as terms with a factor of each leaf at most.
//!
//! Decimals are exact, as long as what is computed of them cannot exceed 128 bits.
//! Integers wrap in DataFusion, so `+`, `-` and `*` on one 64-bit type are a ring and distribute exactly; floats may be
//! regrouped, as they are by DataFusion's own partial sums. Other operators are computed where all that they read is of
//! one leaf, by DataFusion.

use super::join::leaves_of;
use super::reason::Reason;
use super::region::Number;
use datafusion::arrow::datatypes::DataType;
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

/// Decimals are computed in integers of 128 bits, and DataFusion refuses those that do not fit.
const MOST: f64 = 1.7e38;

/// The most that a decimal can be, without its point; `None` when that is not known.
fn most(expr: &Expr, schema: &DFSchema) -> Option<f64> {
    let DataType::Decimal128(precision, scale) = expr.get_type(schema).ok()? else { return None };
    if leaves_of(expr).len() < 2 {
        return Some(10f64.powi(precision.into()));
    }
    let scaled = |e: &Expr| match e.get_type(schema).ok()? {
        DataType::Decimal128(_, own) => Some(most(e, schema)? * 10f64.powi(i32::from(scale) - i32::from(own))),
        _ => None,
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus, right }) => {
            Some(scaled(left)? + scaled(right)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            Some(most(left, schema)? * most(right, schema)?)
        }
        Expr::Negative(arg) => most(arg, schema),
        _ => None,
    }
}

/// The terms of an expression of that type; what reads no leaf is computed with `home`.
pub(super) fn terms(expr: &Expr, number: Number, schema: &DFSchema, home: usize) -> Result<Vec<Product>, Reason> {
    let spans = || Reason::Spans(expr.to_string());
    match leaves_of(expr)[..] {
        [] => return Ok(vec![Product { negative: false, factors: vec![(home, expr.clone())] }]),
        [leaf] => return Ok(vec![Product { negative: false, factors: vec![(leaf, expr.clone())] }]),
        _ => {}
    }
    let part = |e: &Expr| match (e.get_type(schema).ok().and_then(|ty| Number::of(&ty)), number) {
        // A product of decimals has a scale of its own, and so has a sum.
        (Some(own @ Number::Decimal(_)), Number::Decimal(_)) => terms(e, own, schema, home),
        (Some(own), _) if own == number => terms(e, own, schema, home),
        _ => Err(spans()),
    };
    if matches!(number, Number::Decimal(_)) && most(expr, schema).is_none_or(|most| most > MOST) {
        return Err(spans());
    }
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
