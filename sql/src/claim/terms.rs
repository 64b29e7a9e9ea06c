//! Sums of products: an expression over several leaves, split into cases, each a sum of terms with
//! at most one factor per leaf.
//!
//! In DataFusion, integers wrap, so `+`, `-` and `*` on one 64-bit type form a ring, and `*`
//! distributes exactly. Floats may be regrouped, as in DataFusion's own partial sums. Decimals are
//! exact if no intermediate result can exceed 128 bits. Integers that the expression casts to
//! another type are computed in that type, if the encoded values cannot overflow the original type.
//!
//! A `CASE` over conditions of one leaf each, or `AND`s of such conditions, splits the rows into
//! disjoint cases. Division of floats by a product becomes multiplication by the reciprocals of the
//! product's factors, or division of factors of the same leaf. DataFusion computes every expression
//! that reads only one leaf. Every other operator over several leaves is computed for all
//! combinations of values (`computed.rs`).

use super::join::leaves_of;
use super::reason::UnclaimedReason;
use crate::number::Number;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::logical_expr::expr::{Case as CaseExpr, Cast};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast, lit};

/// A product of expressions of one leaf each.
#[derive(Clone, Debug)]
pub(crate) struct LeafProduct {
    /// True if the product is subtracted.
    pub(crate) negative: bool,
    /// The factors, at most one per leaf, with their leaves.
    pub(crate) factors: Vec<(usize, Expr)>,
    /// The factors as they were written, possibly several per leaf; empty for a quotient.
    parts: Vec<(usize, Expr)>,
}

/// A case of an expression: the rows that pass all guards, and the expression in these rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExprCase {
    /// Conditions that must be true, each with the leaf that it reads.
    pub(crate) guards: Vec<(usize, Expr)>,
    /// Expressions that must not be NULL, in addition to the factors; each with the leaf that it
    /// reads.
    values: Vec<(usize, Expr)>,
    /// The products whose sum is the expression.
    pub(crate) products: Vec<LeafProduct>,
}

/// A sum of products in a narrow integer type, which must not overflow.
#[derive(Clone, Debug)]
pub(crate) struct NarrowExpr {
    /// The factors of each product.
    pub(crate) products: Vec<Vec<(usize, Expr)>>,
    /// The largest value of the type.
    pub(crate) max: u64,
}

/// An expression, split into cases.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExprTerms {
    /// The cases, which share no rows; the expression is NULL in rows outside all cases.
    pub(crate) cases: Vec<ExprCase>,
    /// True if every row is in a case.
    pub(crate) covers: bool,
    /// Sums that must not overflow.
    pub(crate) narrow: Vec<NarrowExpr>,
}

/// The largest number of terms into which an expression is split. The rows that remain after a
/// branch of a `CASE` are split into at most this number of parts, too.
const MAX_TERMS: usize = 16;

/// The largest absolute value of unscaled decimals. DataFusion computes decimals in 128 bits, and
/// reports an error if a decimal does not fit.
const MAX_DECIMAL: f64 = 1.7e38;

/// Returns a bound of the unscaled absolute value of a decimal expression; `None` if no bound is
/// known.
fn decimal_bound(expr: &Expr, schema: &DFSchema) -> Option<f64> {
    let DataType::Decimal128(precision, scale) = expr.get_type(schema).ok()? else { return None };
    if leaves_of(expr).len() < 2 {
        return Some(10f64.powi(precision.into()));
    }
    let scaled = |e: &Expr| match e.get_type(schema).ok()? {
        DataType::Decimal128(_, own_scale) => {
            Some(decimal_bound(e, schema)? * 10f64.powi(i32::from(scale) - i32::from(own_scale)))
        }
        _ => None,
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus, right }) => {
            Some(scaled(left)? + scaled(right)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            Some(decimal_bound(left, schema)? * decimal_bound(right, schema)?)
        }
        Expr::Negative(arg) => decimal_bound(arg, schema),
        Expr::Case(case) => {
            let values = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
            values.map(|value| scaled(value)).reduce(|a, b| Some(a?.max(b?)))?
        }
        _ => None,
    }
}

/// Splits an expression of type `number` into terms. Parts that read no leaf become expressions of
/// the leaf `constant_leaf`.
pub(crate) fn split_terms(
    expr: &Expr,
    number: Number,
    schema: &DFSchema,
    constant_leaf: usize,
) -> Result<ExprTerms, UnclaimedReason> {
    let several_tables = || UnclaimedReason::SeveralTables(expr.to_string());
    match leaves_of(expr)[..] {
        [] if is_null(expr) => return Ok(ExprTerms { covers: false, ..ExprTerms::default() }),
        // For floats, a product with 0 may be NaN, so the term stays.
        [] if number != Number::F64 && is_zero(expr) => return Ok(ExprTerms::in_every_row(Vec::new())),
        [] => return Ok(ExprTerms::from_leaf(constant_leaf, expr)),
        [leaf] => return Ok(ExprTerms::from_leaf(leaf, expr)),
        _ => {}
    }
    let part = |e: &Expr| match (e.get_type(schema).ok().and_then(|ty| Number::of(&ty)), number) {
        // Each operand of a product or sum of decimals has its own scale.
        (Some(decimal @ Number::Decimal(_)), Number::Decimal(_)) => split_terms(e, decimal, schema, constant_leaf),
        (Some(part_number), _) if part_number == number => split_terms(e, number, schema, constant_leaf),
        _ => Err(several_tables()),
    };
    if matches!(number, Number::Decimal(_)) && decimal_bound(expr, schema).is_none_or(|bound| bound > MAX_DECIMAL) {
        return Err(several_tables());
    }
    let terms = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::Plus | Operator::Minus), right }) => {
            let negative = *op == Operator::Minus;
            part(left)?.combine(&part(right)?, |a, b| {
                let b =
                    b.iter().cloned().map(|product| LeafProduct { negative: product.negative ^ negative, ..product });
                a.iter().cloned().chain(b).collect()
            })
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            part(left)?.combine(&part(right)?, |a, b| a.iter().flat_map(|a| b.iter().map(|b| multiply(a, b))).collect())
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right }) if number == Number::F64 => {
            let (numerator, denominator) = (part(left)?, part(right)?);
            let [ExprCase { guards, values, products }] = &denominator.cases[..] else { return Err(several_tables()) };
            let ([], [], [product], true) = (&guards[..], &values[..], &products[..], denominator.covers) else {
                return Err(several_tables());
            };
            numerator.combine(&denominator, |a, _| a.iter().map(|a| divide(a, product)).collect())
        }
        Expr::Negative(arg) => {
            let mut negated = part(arg)?;
            let products = negated.cases.iter_mut().flat_map(|case| &mut case.products);
            products.for_each(|product| product.negative ^= true);
            negated
        }
        Expr::Case(case) => split_case(case, several_tables, part)?,
        Expr::Cast(cast) if matches!(*cast.expr, Expr::Case(_)) => part(&cast_branches(cast))?,
        Expr::Cast(cast) => split_widened(&cast.expr, number, schema, constant_leaf).ok_or_else(several_tables)?,
        _ => return Err(several_tables()),
    };
    let count = terms.cases.iter().map(|case| case.products.len().max(1)).sum::<usize>();
    if count > MAX_TERMS { Err(several_tables()) } else { Ok(terms) }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

fn is_zero(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value)
}

impl ExprCase {
    /// Returns the expressions that must not be NULL, each with the leaf that it reads.
    pub(crate) fn values(&self) -> impl Iterator<Item = &(usize, Expr)> {
        self.values.iter().chain(self.products.iter().flat_map(|product| &product.factors))
    }
}

impl ExprTerms {
    /// Returns the sum of `products`, in every row.
    fn in_every_row(products: Vec<LeafProduct>) -> ExprTerms {
        ExprTerms { cases: vec![ExprCase { products, ..ExprCase::default() }], covers: true, narrow: Vec::new() }
    }

    /// Returns an expression of one leaf as a term.
    fn from_leaf(leaf: usize, expr: &Expr) -> ExprTerms {
        let factors = vec![(leaf, expr.clone())];
        ExprTerms::in_every_row(vec![LeafProduct { negative: false, parts: factors.clone(), factors }])
    }

    /// Combines two expressions: `join` combines the products of each pair of their cases.
    fn combine(
        self,
        other: &ExprTerms,
        join: impl Fn(&[LeafProduct], &[LeafProduct]) -> Vec<LeafProduct>,
    ) -> ExprTerms {
        let pair = |a: &ExprCase, b: &ExprCase| {
            let products = join(&a.products, &b.products);
            // A product with 0 has no term left, but its other factor must still not be NULL.
            let values = match products.is_empty() {
                true => a.values().chain(b.values()).cloned().collect(),
                false => [&a.values[..], &b.values[..]].concat(),
            };
            ExprCase { guards: [&a.guards[..], &b.guards[..]].concat(), values, products }
        };
        let cases = self.cases.iter().flat_map(|a| other.cases.iter().map(move |b| (a, b)));
        ExprTerms {
            cases: cases.map(|(a, b)| pair(a, b)).collect(),
            covers: self.covers && other.covers,
            narrow: [&self.narrow[..], &other.narrow[..]].concat(),
        }
    }
}

/// Multiplies two products; factors of one leaf become one expression, which DataFusion computes.
fn multiply(a: &LeafProduct, b: &LeafProduct) -> LeafProduct {
    let mut factors = a.factors.clone();
    for (leaf, factor) in &b.factors {
        match factors.iter_mut().find(|(l, _)| l == leaf) {
            Some((_, product)) => *product = product.clone() * factor.clone(),
            None => factors.push((*leaf, factor.clone())),
        }
    }
    LeafProduct { negative: a.negative ^ b.negative, factors, parts: [&a.parts[..], &b.parts[..]].concat() }
}

/// Divides a product by another one. The quotient of factors of one leaf is one expression, which
/// DataFusion computes.
fn divide(product: &LeafProduct, divisor: &LeafProduct) -> LeafProduct {
    let mut factors = product.factors.clone();
    for (leaf, factor) in &divisor.factors {
        match factors.iter_mut().find(|(l, _)| l == leaf) {
            Some((_, quotient)) => *quotient = quotient.clone() / factor.clone(),
            None => factors.push((*leaf, lit(1.0) / factor.clone())),
        }
    }
    LeafProduct { negative: product.negative ^ divisor.negative, factors, parts: Vec::new() }
}

/// Returns the cast of a `CASE` as a `CASE` whose values are cast.
fn cast_branches(outer: &Cast) -> Expr {
    let cast_value = |value: &Expr| Box::new(Expr::Cast(Cast { expr: Box::new(value.clone()), ..outer.clone() }));
    let Expr::Case(case) = &*outer.expr else { return Expr::Cast(outer.clone()) };
    Expr::Case(CaseExpr {
        expr: case.expr.clone(),
        when_then_expr: case.when_then_expr.iter().map(|(when, then)| (when.clone(), cast_value(then))).collect(),
        else_expr: case.else_expr.as_deref().map(cast_value),
    })
}

/// Returns the cases in which an expression of any type is not NULL, without products. An
/// expression over several tables must be one that [`strict_parts`] splits, or a cast or `CASE` of
/// such expressions.
pub(crate) fn split_validity(expr: &Expr, constant_leaf: usize) -> Result<ExprTerms, UnclaimedReason> {
    let several_tables = || UnclaimedReason::SeveralTables(expr.to_string());
    match (&leaves_of(expr)[..], expr) {
        ([], _) if is_null(expr) => Ok(ExprTerms::default()),
        ([_, _, ..], Expr::Case(case)) => {
            split_case(case, several_tables, |value| split_validity(value, constant_leaf))
        }
        ([_, _, ..], Expr::Cast(cast)) => split_validity(&cast.expr, constant_leaf),
        _ => {
            let values = strict_parts(expr, constant_leaf)?;
            Ok(ExprTerms { cases: vec![ExprCase { values, ..ExprCase::default() }], covers: true, narrow: Vec::new() })
        }
    }
}

/// Splits a `CASE`: a row is in the first branch whose condition is true.
fn split_case(
    case: &CaseExpr,
    several_tables: impl Fn() -> UnclaimedReason,
    part: impl Fn(&Expr) -> Result<ExprTerms, UnclaimedReason>,
) -> Result<ExprTerms, UnclaimedReason> {
    // The remaining rows, as disjoint lists of guards.
    let mut remaining: Vec<Vec<(usize, Expr)>> = vec![Vec::new()];
    let mut split = ExprTerms { covers: true, ..ExprTerms::default() };
    let mut branch = |rows: &[Vec<(usize, Expr)>], value: &Expr| {
        let terms = part(value)?;
        for (guards, case) in rows.iter().flat_map(|g| terms.cases.iter().map(move |case| (g, case))) {
            let guards = [&guards[..], &case.guards[..]].concat();
            split.cases.push(ExprCase { guards, ..case.clone() });
        }
        split.covers &= terms.covers;
        split.narrow.extend(terms.narrow);
        Ok::<_, UnclaimedReason>(())
    };
    for (when, then) in &case.when_then_expr {
        let when = match &case.expr {
            Some(base) => base.as_ref().clone().eq(when.as_ref().clone()),
            None => when.as_ref().clone(),
        };
        let mut parts: Vec<(usize, Expr)> = Vec::new();
        for conjunct in split_conjunction(&when) {
            let [leaf] = leaves_of(conjunct)[..] else { return Err(several_tables()) };
            match parts.iter_mut().find(|(l, _)| *l == leaf) {
                Some((_, condition)) => *condition = condition.clone().and(conjunct.clone()),
                None => parts.push((leaf, conjunct.clone())),
            }
        }
        let and = |guards: &Vec<(usize, Expr)>, more: &[(usize, Expr)]| [&guards[..], more].concat();
        let passing: Vec<_> = remaining.iter().map(|guards| and(guards, &parts)).collect();
        branch(&passing, then)?;
        // The complement of the condition is the union of `not(k)` over all `k`. `not(k)` holds if
        // parts `0..k` are true, and part `k` is not true.
        let not = |k: usize| {
            let (leaf, condition) = &parts[k];
            let rest = (*leaf, Expr::IsNotTrue(Box::new(condition.clone())));
            parts[..k].iter().cloned().chain([rest]).collect::<Vec<_>>()
        };
        remaining = remaining.iter().flat_map(|guards| (0..parts.len()).map(move |k| and(guards, &not(k)))).collect();
        if remaining.len() > MAX_TERMS {
            return Err(several_tables());
        }
    }
    match &case.else_expr {
        Some(value) => branch(&remaining, value)?,
        None => split.covers = false,
    }
    Ok(split)
}

/// Splits an integer expression that is cast to `number`, so that kernels compute the expression in
/// that type; `None` if kernels cannot.
fn split_widened(expr: &Expr, number: Number, schema: &DFSchema, constant_leaf: usize) -> Option<ExprTerms> {
    let ty = expr.get_type(schema).ok()?;
    let (wide, max) = match (number, &ty) {
        (Number::I64, DataType::Int8 | DataType::Int16 | DataType::Int32) => (DataType::Int64, max_value(&ty)?),
        (Number::F64, ty) if ty.is_signed_integer() => (DataType::Float64, max_value(ty)?),
        _ => return None,
    };
    let terms = widened_products(expr, &ty, &wide, schema, constant_leaf)?;
    if terms.len() > MAX_TERMS {
        return None;
    }
    let products = terms.iter().map(|product| product.parts.clone()).collect();
    Some(ExprTerms { narrow: vec![NarrowExpr { products, max }], ..ExprTerms::in_every_row(terms) })
}

/// Returns the largest value of a signed type.
fn max_value(ty: &DataType) -> Option<u64> {
    Some(match ty {
        DataType::Int8 => i8::MAX as u64,
        DataType::Int16 => i16::MAX as u64,
        DataType::Int32 => i32::MAX as u64,
        DataType::Int64 => i64::MAX as u64,
        _ => return None,
    })
}

/// Splits an expression whose operators all have type `ty` into products with factors cast to
/// `wide`.
fn widened_products(
    expr: &Expr,
    ty: &DataType,
    wide: &DataType,
    schema: &DFSchema,
    constant_leaf: usize,
) -> Option<Vec<LeafProduct>> {
    if expr.get_type(schema).ok()? != *ty {
        return None;
    }
    let leaves = leaves_of(expr);
    if leaves.len() < 2 {
        let leaf = leaves.first().copied().unwrap_or(constant_leaf);
        let factors = vec![(leaf, cast(expr.clone(), wide.clone()))];
        return Some(vec![LeafProduct { negative: false, factors, parts: vec![(leaf, expr.clone())] }]);
    }
    let part = |e: &Expr| widened_products(e, ty, wide, schema, constant_leaf);
    let negated = |mut products: Vec<LeafProduct>| {
        products.iter_mut().for_each(|product| product.negative ^= true);
        products
    };
    Some(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus, right }) => [part(left)?, part(right)?].concat(),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right }) => {
            [part(left)?, negated(part(right)?)].concat()
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            let (left, right) = (part(left)?, part(right)?);
            left.iter().flat_map(|a| right.iter().map(|b| multiply(a, b))).collect()
        }
        Expr::Negative(arg) => negated(part(arg)?),
        _ => return None,
    })
}

/// Returns expressions of one leaf each. `expr` is NULL exactly if one of these expressions is
/// NULL.
pub(crate) fn strict_parts(expr: &Expr, constant_leaf: usize) -> Result<Vec<(usize, Expr)>, UnclaimedReason> {
    match (&leaves_of(expr)[..], expr) {
        ([], _) => Ok(vec![(constant_leaf, expr.clone())]),
        ([leaf], _) => Ok(vec![(*leaf, expr.clone())]),
        (
            _,
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus | Operator::Multiply, right }),
        ) => Ok([strict_parts(left, constant_leaf)?, strict_parts(right, constant_leaf)?].concat()),
        (_, Expr::Negative(arg)) => strict_parts(arg, constant_leaf),
        _ => Err(UnclaimedReason::SeveralTables(expr.to_string())),
    }
}

/// Returns the arguments of `coalesce(x, y)`, which may be written as a `CASE`.
pub(super) fn coalesce_of(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == "coalesce" => match &call.args[..] {
            [x, y] => Some((x, y)),
            _ => None,
        },
        Expr::Case(CaseExpr { expr: None, when_then_expr, else_expr: Some(y) }) => match &when_then_expr[..] {
            [(when, x)] if matches!(when.as_ref(), Expr::IsNotNull(arg) if arg == x) => Some((x, y)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether an expression is never NULL.
pub(crate) fn is_never_null(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    !expr.nullable(schema).unwrap_or(true)
}
