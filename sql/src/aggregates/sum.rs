//! `sum` and `avg` of sums of products, whose factors are expressions of one table each.
//!
//! A sum of products over the rows of a join is computed by one fold per product, or several if the
//! factors are decimals. The fold multiplies tensors of the leaves, whose entries are already sums
//! over rows with equal codes. The cases of a `CASE` share no rows, so the sums over the cases add
//! up to the sum over all rows.

use super::columns::{ScaledFold, SumColumn, SumKind, sum_column};
use super::decimal::limb_sums;
use super::{Aggregate, AggregateCall, Family, RegionAggregate};
use crate::claim::{GroupedJoin, LeafColumn, LeafRole, RegionBuilder, UnclaimedReason, is_never_null, split_terms};
use crate::encode::{ColumnFold, EncodedRows, Limb, Payload};
use crate::error::{FallbackReason, Result};
use crate::number::Number;
use crate::program::{FoldId, FoldList, JoinFold, LeafTables, combine};
use crate::results::{ResultColumn, SignedFold};
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::Expr as PlanExpr;
use redpoll_logic::op::Builtin;
use redpoll_logic::{DType, Expr, Scalar};
use serde::{Deserialize, Serialize};

/// The sum or mean of an expression over rows; NULL if no row counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// The expression.
    pub sum: SumOfProducts,
    /// The sum itself, or the mean over the rows in which the expression is not NULL.
    pub kind: SumKind,
}

/// A sum of products over rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SumOfProducts {
    /// The cases, which share no rows; rows outside all cases do not count.
    pub cases: Vec<SumCase>,
    /// True if every row is in a case.
    pub covers: bool,
    /// Sums of narrow integers. No sum may overflow the type of its integers.
    pub narrow: Vec<NarrowSum>,
    /// The number type of the computation.
    pub ty: Number,
}

/// The products that are summed in the rows of one case.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SumCase {
    /// Columns that are not NULL exactly in the rows of the case.
    pub guards: Vec<LeafColumn>,
    /// Columns that must not be NULL in the rows that count, in addition to the guards.
    pub valid: Vec<LeafColumn>,
    /// The products, each with at most one column per leaf.
    pub terms: Vec<SumTerm>,
}

/// A sum of products of integers. The sum must not overflow the integer type that its expression
/// has in the query.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NarrowSum {
    /// The factors of each product.
    pub products: Vec<Vec<LeafColumn>>,
    /// The largest value of the type.
    pub max: u64,
}

/// A product of columns.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SumTerm {
    /// True if the product is subtracted.
    pub negative: bool,
    /// The factors, each of a different leaf.
    pub factors: Vec<LeafColumn>,
}

impl SumOfProducts {
    /// Returns the terms of all cases.
    pub fn terms(&self) -> impl Iterator<Item = &SumTerm> {
        self.cases.iter().flat_map(|case| &case.terms)
    }
}

/// The family of `sum` and `avg`.
pub(super) const FAMILY: Family = Family { has_function: |call| matches!(call.name(), "sum" | "avg"), claim };

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let arg = &call.args[0];
    let kind = if call.name() == "avg" { SumKind::Mean } else { SumKind::Sum };
    if kind == SumKind::Mean {
        let ty = builder.type_of(arg)?;
        if !matches!(ty, DataType::Float64 | DataType::Decimal128(..)) {
            let expr = format!("the average of `{}`", builder.source_text(arg));
            return Err(UnclaimedReason::Type { expr, ty });
        }
    }
    Ok(Aggregate::Sum(Sum { sum: sum_of_products(arg, &call.valid, builder)?, kind }))
}

/// Splits an expression into a sum of products over the rows in which no column of `filter` is
/// NULL.
fn sum_of_products(
    arg: &PlanExpr,
    filter: &[LeafColumn],
    builder: &mut RegionBuilder,
) -> Result<SumOfProducts, UnclaimedReason> {
    builder.check_computable(arg)?;
    let number = builder.number_of(arg)?;
    let expr_terms = builder
        .split_or_compute(arg, |builder, arg| split_terms(arg, number, &builder.schema, builder.constant_leaf))?;
    let mut sum = SumOfProducts { cases: Vec::new(), covers: expr_terms.covers, narrow: Vec::new(), ty: number };
    for case in expr_terms.cases {
        let mut guards = filter.to_vec();
        for (_, condition) in &case.guards {
            guards.push(builder.condition_column(condition)?);
        }
        let mut valid = Vec::new();
        for (leaf, value) in case.values() {
            if !is_never_null(value, &builder.schema) {
                valid.push(builder.supply(*leaf, value));
            }
        }
        let mut terms = Vec::new();
        for product in case.products {
            let factors = product.factors.iter().map(|(leaf, factor)| builder.supply(*leaf, factor));
            let mut factors: Vec<LeafColumn> = factors.collect();
            factors.sort_unstable();
            terms.push(SumTerm { negative: product.negative, factors });
        }
        for list in [&mut guards, &mut valid] {
            list.sort_unstable();
            list.dedup();
        }
        sum.cases.push(SumCase { guards, valid, terms });
    }
    for narrow in expr_terms.narrow {
        let factors = |product: Vec<(usize, PlanExpr)>| {
            product.into_iter().map(|(leaf, factor)| builder.supply(leaf, &factor)).collect()
        };
        let products = narrow.products.into_iter().map(factors).collect();
        sum.narrow.push(NarrowSum { products, max: narrow.max });
    }
    sum.covers &= filter.is_empty();
    Ok(sum)
}

impl RegionAggregate for Sum {
    fn factors(&self) -> Vec<LeafColumn> {
        let factors = self.sum.terms().flat_map(|term| &term.factors);
        factors.chain(self.sum.narrow.iter().flat_map(|narrow| &narrow.products).flatten()).copied().collect()
    }

    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        let Sum { sum, kind } = self;
        check_sum(rows, sum)?;
        let (mut terms, mut counted) = (Vec::new(), Vec::new());
        let mut counts_all = sum.covers;
        for case in &sum.cases {
            let mut valid = rows.with_nulls(&case.valid);
            counts_all &= valid.is_empty();
            valid.extend(rows.with_nulls(&case.guards));
            valid.sort_unstable();
            valid.dedup();
            counted.push(valid.clone());
            for term in &case.terms {
                if let Number::Decimal(scale) = sum.ty {
                    terms.extend(limb_sums(rows, folds, (term, scale), &valid)?);
                    continue;
                }
                let (factors, valid) = (term.factors.clone(), valid.clone());
                let fold = folds.find_or_add(JoinFold::Sum { factors, valid, number: sum.ty, limbs: Vec::new() });
                terms.push(ScaledFold::from(SignedFold { negative: term.negative, fold }));
            }
        }
        if counts_all {
            counted = vec![Vec::new()];
        }
        let is_decimal = matches!(sum.ty, Number::Decimal(_));
        if counts_all && *kind == SumKind::Sum && !rows.join.groups.is_empty() && !is_decimal {
            let terms = terms.iter().map(|term| term.term).collect();
            return Ok(Box::new(SumColumn { terms, number: sum.ty, rows: None }));
        }
        let counts = counted.into_iter().map(|valid| folds.find_or_add(JoinFold::Count { valid }));
        let mut rows: Vec<FoldId> = counts.collect();
        // Cases with the same columns count the same rows.
        rows.sort_unstable();
        rows.dedup();
        Ok(sum_column(*kind, sum.ty, terms, rows))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        let cases = self.sum.cases.iter().map(|case| match &case.guards[..] {
            [] => describe_terms(join, &case.terms),
            guards => format!("{} where {}", describe_terms(join, &case.terms), join.names(guards)),
        });
        let suffix = match self.sum.ty {
            Number::I64 | Number::Decimal(_) => "",
            Number::U64 => " as u64",
            Number::F64 => " as f64",
        };
        format!("{}({}{suffix})", self.kind, cases.collect::<Vec<_>>().join("; "))
    }
}

/// Returns the sum of products of floats over all rows.
pub(super) fn float_sum(products: Vec<Vec<LeafColumn>>) -> SumOfProducts {
    let terms = products.into_iter().map(|factors| SumTerm { negative: false, factors }).collect();
    let case = SumCase { guards: Vec::new(), valid: Vec::new(), terms };
    SumOfProducts { cases: vec![case], covers: true, narrow: Vec::new(), ty: Number::F64 }
}

/// A sum whose bound is below this limit does not overflow, in whichever order its terms are added.
const MAX_SUM: f64 = 1e300;

/// Checks that a sum has the same result in every order of computation, apart from rounding, and
/// that narrow integers do not overflow.
///
/// # Errors
/// If the result may differ, or a tensor cannot be read.
pub(super) fn check_sum(rows: EncodedRows<'_>, sum: &SumOfProducts) -> Result<()> {
    for narrow in &sum.narrow {
        check_narrow(rows, narrow)?;
    }
    let terms: Vec<&SumTerm> = sum.terms().collect();
    // Integers have the same sum in every order. DataFusion adds the floats of one column in an
    // arbitrary order, too.
    if sum.ty != Number::F64 || terms.len() < 2 && terms.iter().all(|term| term.factors.len() < 2) {
        return Ok(());
    }
    let mut total = 0.0;
    for &term in &terms {
        total += max_absolute_sum(rows, term)?;
    }
    if total < MAX_SUM {
        return Ok(());
    }
    let columns = terms.iter().flat_map(|term| &term.factors);
    let mut names: Vec<String> = columns.map(|&c| format!("`{}`", rows.join.column(c).name)).collect();
    names.dedup();
    Err(FallbackReason::Unbounded { values: format!("a sum of {}", names.join(", ")) }.into())
}

/// Returns an upper bound of the sum of a product's absolute values over all rows of the join. The
/// bound also holds for every partial sum.
fn max_absolute_sum(EncodedRows { join, encoded }: EncodedRows<'_>, term: &SumTerm) -> Result<f64> {
    let mut max = 1.0;
    for leaf in (0..join.leaves.len()).filter(|&leaf| join.leaves[leaf].role == LeafRole::Join) {
        let leaf_max = match term.factors.iter().find(|factor| factor.leaf == leaf) {
            Some(factor) => encoded.absolute_sum(join, *factor)?,
            None => encoded.count(join, leaf)? as f64,
        };
        // `max` ignores NaN, so a NaN becomes infinity.
        max *= if leaf_max.is_nan() { f64::INFINITY } else { leaf_max.max(1.0) };
    }
    Ok(max)
}

/// Checks that a sum of products cannot overflow the narrow integer type of its expression.
fn check_narrow(EncodedRows { join, encoded }: EncodedRows<'_>, narrow: &NarrowSum) -> Result<()> {
    let mut total = 0.0;
    for product in &narrow.products {
        let mut max = 1.0;
        for factor in product {
            let numbers = encoded.float_values(join, *factor)?;
            max *= numbers.into_iter().map(f64::abs).fold(1.0, f64::max);
        }
        total += max;
    }
    // The margin is larger than the rounding error of the bound.
    if total < 0.999 * narrow.max as f64 {
        return Ok(());
    }
    let factor =
        narrow.products.first().and_then(|p| p.first()).map_or_else(String::new, |&c| join.column(c).name.clone());
    Err(FallbackReason::Unbounded { values: format!("a product with `{factor}`") }.into())
}

/// Returns the sum of a product of columns as an expression; without factors, the number of rows.
/// `limbs` has the limb of each factor, if the factors are decimals.
pub(crate) fn fold_products(
    leaves: &mut LeafTables<'_>,
    factors: &[LeafColumn],
    valid: &[LeafColumn],
    (number, limbs): (Number, &[Limb]),
) -> Result<Expr> {
    let dtype = DType::from(number.prim());
    let payload = |leaf| match factors.iter().position(|c| c.leaf == leaf) {
        None => Payload::Count,
        Some(k) => {
            let fold = limbs.get(k).map_or(ColumnFold::Sum(number), |limb| ColumnFold::Limb(*limb));
            Payload::Column { column: factors[k].column, fold }
        }
    };
    let args = leaves.factors(|leaf| Some(payload(leaf)), valid, None)?;
    let (mut args, times) = leaves.remove_all_true(args, None);
    // A factor that is not a boolean comes first, if there is one. The first factor is cast to the
    // number type, which is then the type of the product; later booleans need no cast.
    let is_number = |arg: &Expr| arg.info().dtype != DType::BOOL;
    if let Some(first) = args.iter().position(is_number) {
        args.swap(0, first);
    }
    for (k, arg) in args.iter_mut().enumerate() {
        if k == 0 || is_number(arg) {
            *arg = arg.clone().cast(&dtype)?;
        }
    }
    let mut product = combine(Builtin::Mul, args)?;
    let mut finite = true;
    for factor in factors {
        finite &= number != Number::F64 || leaves.encoded.absolute_sum(leaves.join, *factor)?.is_finite();
    }
    if !finite {
        // If there is no row, the product must be 0, but an infinite factor times 0 would be NaN.
        let identity = Expr::literal(Scalar::zero(number.prim()));
        product = Expr::mapjoin(Builtin::IfElse, [leaves.presence(valid, None)?, product, identity])?;
    }
    let sum = leaves.reduce(Builtin::Add, Scalar::zero(number.prim()), product, None)?;
    match times {
        1 => Ok(sum),
        times => Ok(Expr::mapjoin(Builtin::Mul, [sum, Expr::literal(Scalar::I64(times)).cast(&dtype)?])?),
    }
}

/// Returns the text of a sum of terms.
fn describe_terms(join: &GroupedJoin, terms: &[SumTerm]) -> String {
    let mut text = String::new();
    for (k, term) in terms.iter().enumerate() {
        text.push_str(match (k, term.negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        });
        let factors = term.factors.iter().map(|&c| join.column(c).name.as_str());
        text.push_str(&factors.collect::<Vec<_>>().join(" * "));
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
