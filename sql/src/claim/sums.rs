//! Sums of products: an expression over several leaves, split into cases, each a sum of terms with
//! at most one factor per leaf.
//!
//! In DataFusion, integers wrap, so `+`, `-` and `*` on one 64-bit type are a ring and distribute
//! exactly. Floats may be regrouped, as in DataFusion's own partial sums. Decimals are exact while
//! their computation cannot exceed 128 bits. Narrower integers are computed in the wider type that
//! they are cast to, if the encoded values cannot overflow.
//!
//! A `CASE` over conditions of one leaf each, or `AND`s of such conditions, splits the rows into
//! disjoint cases. DataFusion computes other operators if they read one leaf only.

use super::join::leaves_of;
use super::reason::Reason;
use super::region::Number;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::logical_expr::expr::Case as CaseExpr;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast};

/// A product of expressions of one leaf each.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// True if the product is subtracted.
    pub(super) negative: bool,
    /// The factors, at most one per leaf, with their leaves.
    pub(super) factors: Vec<(usize, Expr)>,
    /// The factors as they were written, maybe several per leaf.
    parts: Vec<(usize, Expr)>,
}

/// The expression in the rows that pass all guards.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// Conditions of one leaf each that must be true.
    pub(super) guards: Vec<(usize, Expr)>,
    /// Expressions of one leaf each that must not be NULL, in addition to the factors.
    values: Vec<(usize, Expr)>,
    /// The products whose sum is the expression.
    pub(super) products: Vec<Product>,
}

/// A sum of products in a narrow integer type, which must not overflow.
#[derive(Clone, Debug)]
pub(super) struct Narrow {
    /// The factors of each product.
    pub(super) products: Vec<Vec<(usize, Expr)>>,
    /// The largest value of the type.
    pub(super) most: u64,
}

/// An expression in all rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    /// The cases, which share no rows; the expression is NULL in rows outside all cases.
    pub(super) cases: Vec<Case>,
    /// True if every row is in a case.
    pub(super) covers: bool,
    /// Sums that must not overflow.
    pub(super) narrow: Vec<Narrow>,
}

/// The largest number of terms for which a program is made.
const MOST_TERMS: usize = 16;

/// The bound of decimals: DataFusion computes them in 128 bits and reports those that do not fit.
const MOST: f64 = 1.7e38;

/// Returns a bound of the unscaled absolute value of a decimal expression; `None` if there is none.
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
        Expr::Case(case) => {
            let values = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
            values.map(|value| scaled(value)).reduce(|a, b| Some(a?.max(b?)))?
        }
        _ => None,
    }
}

/// Splits an expression of type `number` into terms. Parts that read no leaf are computed with leaf
/// `home`.
pub(super) fn terms(expr: &Expr, number: Number, schema: &DFSchema, home: usize) -> Result<Terms, Reason> {
    let spans = || Reason::Spans(expr.to_string());
    match leaves_of(expr)[..] {
        [] if is_null(expr) => return Ok(Terms { covers: false, ..Terms::default() }),
        // For floats, a product with 0 may be NaN, so the term stays.
        [] if number != Number::F64 && is_zero(expr) => return Ok(Terms::always(Vec::new())),
        [] => return Ok(Terms::of(home, expr)),
        [leaf] => return Ok(Terms::of(leaf, expr)),
        _ => {}
    }
    let part = |e: &Expr| match (e.get_type(schema).ok().and_then(|ty| Number::of(&ty)), number) {
        // Products and sums of decimals have their own scale.
        (Some(own @ Number::Decimal(_)), Number::Decimal(_)) => terms(e, own, schema, home),
        (Some(own), _) if own == number => terms(e, own, schema, home),
        _ => Err(spans()),
    };
    if matches!(number, Number::Decimal(_)) && most(expr, schema).is_none_or(|most| most > MOST) {
        return Err(spans());
    }
    let found = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::Plus | Operator::Minus), right }) => {
            let negative = *op == Operator::Minus;
            part(left)?.with(&part(right)?, |a, b| {
                let b = b.iter().cloned().map(|product| Product { negative: product.negative ^ negative, ..product });
                a.iter().cloned().chain(b).collect()
            })
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
            part(left)?.with(&part(right)?, |a, b| a.iter().flat_map(|a| b.iter().map(|b| times(a, b))).collect())
        }
        Expr::Negative(arg) => {
            let mut negated = part(arg)?;
            let products = negated.cases.iter_mut().flat_map(|case| &mut case.products);
            products.for_each(|product| product.negative ^= true);
            negated
        }
        Expr::Case(case) => cases(case, spans, part)?,
        Expr::Cast(widened) => widening(&widened.expr, number, schema, home).ok_or_else(spans)?,
        _ => return Err(spans()),
    };
    let count = found.cases.iter().map(|case| case.products.len().max(1)).sum::<usize>();
    if count > MOST_TERMS { Err(spans()) } else { Ok(found) }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

fn is_zero(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value)
}

impl Case {
    /// Returns the expressions of one leaf each that must not be NULL.
    pub(super) fn values(&self) -> impl Iterator<Item = &(usize, Expr)> {
        self.values.iter().chain(self.products.iter().flat_map(|product| &product.factors))
    }
}

impl Terms {
    /// Returns the sum of `products`, in every row.
    fn always(products: Vec<Product>) -> Terms {
        Terms { cases: vec![Case { products, ..Case::default() }], covers: true, narrow: Vec::new() }
    }

    /// Returns an expression of one leaf as a term.
    fn of(leaf: usize, expr: &Expr) -> Terms {
        let factors = vec![(leaf, expr.clone())];
        Terms::always(vec![Product { negative: false, parts: factors.clone(), factors }])
    }

    /// Combines two expressions in each pair of their cases.
    fn with(self, other: &Terms, join: impl Fn(&[Product], &[Product]) -> Vec<Product>) -> Terms {
        let pair = |a: &Case, b: &Case| {
            let products = join(&a.products, &b.products);
            // A product with 0 has no term left, but its other factor must still not be NULL.
            let values = match products.is_empty() {
                true => a.values().chain(b.values()).cloned().collect(),
                false => [&a.values[..], &b.values[..]].concat(),
            };
            Case { guards: [&a.guards[..], &b.guards[..]].concat(), values, products }
        };
        let cases = self.cases.iter().flat_map(|a| other.cases.iter().map(move |b| (a, b)));
        Terms {
            cases: cases.map(|(a, b)| pair(a, b)).collect(),
            covers: self.covers && other.covers,
            narrow: [&self.narrow[..], &other.narrow[..]].concat(),
        }
    }
}

/// Multiplies two products; factors of one leaf become one expression, which DataFusion computes.
fn times(a: &Product, b: &Product) -> Product {
    let mut factors = a.factors.clone();
    for (leaf, factor) in &b.factors {
        match factors.iter_mut().find(|(l, _)| l == leaf) {
            Some((_, own)) => *own = own.clone() * factor.clone(),
            None => factors.push((*leaf, factor.clone())),
        }
    }
    Product { negative: a.negative ^ b.negative, factors, parts: [&a.parts[..], &b.parts[..]].concat() }
}

/// Splits a `CASE`: a row is in the first branch whose condition is true.
fn cases(
    case: &CaseExpr,
    spans: impl Fn() -> Reason,
    part: impl Fn(&Expr) -> Result<Terms, Reason>,
) -> Result<Terms, Reason> {
    // The remaining rows, as disjoint lists of guards.
    let mut left: Vec<Vec<(usize, Expr)>> = vec![Vec::new()];
    let mut found = Terms { covers: true, ..Terms::default() };
    let mut branch = |rows: &[Vec<(usize, Expr)>], value: &Expr| {
        let terms = part(value)?;
        for (guards, case) in rows.iter().flat_map(|g| terms.cases.iter().map(move |case| (g, case))) {
            let guards = [&guards[..], &case.guards[..]].concat();
            found.cases.push(Case { guards, ..case.clone() });
        }
        found.covers &= terms.covers;
        found.narrow.extend(terms.narrow);
        Ok::<_, Reason>(())
    };
    for (when, then) in &case.when_then_expr {
        let when = match &case.expr {
            Some(base) => base.as_ref().clone().eq(when.as_ref().clone()),
            None => when.as_ref().clone(),
        };
        let mut parts: Vec<(usize, Expr)> = Vec::new();
        for conjunct in split_conjunction(&when) {
            let [leaf] = leaves_of(conjunct)[..] else { return Err(spans()) };
            match parts.iter_mut().find(|(l, _)| *l == leaf) {
                Some((_, own)) => *own = own.clone().and(conjunct.clone()),
                None => parts.push((leaf, conjunct.clone())),
            }
        }
        let and = |guards: &Vec<(usize, Expr)>, more: &[(usize, Expr)]| [&guards[..], more].concat();
        let here: Vec<_> = left.iter().map(|guards| and(guards, &parts)).collect();
        branch(&here, then)?;
        // The complement of the condition: the first part is not true, or it is and the second is
        // not, ..
        let not = |k: usize| {
            let (leaf, own) = &parts[k];
            let rest = (*leaf, Expr::IsNotTrue(Box::new(own.clone())));
            parts[..k].iter().cloned().chain([rest]).collect::<Vec<_>>()
        };
        left = left.iter().flat_map(|guards| (0..parts.len()).map(move |k| and(guards, &not(k)))).collect();
        if left.len() > MOST_TERMS {
            return Err(spans());
        }
    }
    match &case.else_expr {
        Some(value) => branch(&left, value)?,
        None => found.covers = false,
    }
    Ok(found)
}

/// Splits an integer expression that is cast to a 64-bit number, computing it in that type.
fn widening(expr: &Expr, number: Number, schema: &DFSchema, home: usize) -> Option<Terms> {
    let ty = expr.get_type(schema).ok()?;
    let (wide, most) = match (number, &ty) {
        (Number::I64, DataType::Int8 | DataType::Int16 | DataType::Int32) => (DataType::Int64, most_of(&ty)?),
        (Number::F64, ty) if ty.is_signed_integer() => (DataType::Float64, most_of(ty)?),
        _ => return None,
    };
    let found = widened(expr, &ty, &wide, schema, home)?;
    if found.len() > MOST_TERMS {
        return None;
    }
    let products = found.iter().map(|product| product.parts.clone()).collect();
    Some(Terms { narrow: vec![Narrow { products, most }], ..Terms::always(found) })
}

/// Returns the largest value of a signed type.
fn most_of(ty: &DataType) -> Option<u64> {
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
fn widened(expr: &Expr, ty: &DataType, wide: &DataType, schema: &DFSchema, home: usize) -> Option<Vec<Product>> {
    if expr.get_type(schema).ok()? != *ty {
        return None;
    }
    let leaves = leaves_of(expr);
    if leaves.len() < 2 {
        let leaf = leaves.first().copied().unwrap_or(home);
        let factors = vec![(leaf, cast(expr.clone(), wide.clone()))];
        return Some(vec![Product { negative: false, factors, parts: vec![(leaf, expr.clone())] }]);
    }
    let part = |e: &Expr| widened(e, ty, wide, schema, home);
    let negated = |mut products: Vec<Product>| {
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
            left.iter().flat_map(|a| right.iter().map(|b| times(a, b))).collect()
        }
        Expr::Negative(arg) => negated(part(arg)?),
        _ => return None,
    })
}

/// Returns expressions of one leaf each that are all not NULL exactly if `expr` is not NULL.
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

/// Returns the arguments of `coalesce(x, y)`, also written as a `CASE`.
pub(super) fn coalesce_of(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == "coalesce" => match &call.args[..] {
            [x, y] => Some((x, y)),
            _ => None,
        },
        Expr::Case(CaseExpr { expr: None, when_then_expr, else_expr: Some(y) }) => match &when_then_expr[..] {
            [(when, x)] if matches!(when.as_ref(), Expr::IsNotNull(asked) if asked == x) => Some((x, y)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether an expression is never NULL.
pub(super) fn is_total(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    !expr.nullable(schema).unwrap_or(true)
}
