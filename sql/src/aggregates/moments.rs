//! `var`, `stddev`, `covar` and `corr`: functions of the variances of columns and of the covariance
//! of two columns. The functions are computed from the number of rows, the sums of the columns, the
//! sums of their squares, and the sum of the product of the two columns.
//!
//! Differences of such sums lose digits if the deviations from the mean are small compared with the
//! values. Then the region is left to DataFusion, except for integers whose sums are exact.

use super::sum::{check_sum, float_sum};
use super::{Aggregate, AggregateCall, Family, RegionAggregate};
use crate::claim::{GroupedJoin, LeafColumn, RegionBuilder, UnclaimedReason};
use crate::encode::EncodedRows;
use crate::error::{FallbackReason, Result};
use crate::number::Number;
use crate::program::{FoldId, FoldList, JoinFold};
use crate::results::{FoldValues, ResultColumn, SignedFold};
use datafusion::arrow::array::{ArrayRef, Float64Array};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A variance, a covariance, or a function of variances and covariances, over rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Moments {
    /// The function.
    pub function: MomentFunction,
    /// The arguments, one or two.
    pub args: Vec<MomentArg>,
    /// The factors of the product of both arguments; empty for functions of one argument.
    pub product: Vec<LeafColumn>,
    /// Columns that must not be NULL in the rows that count.
    pub valid: Vec<LeafColumn>,
}

/// An argument of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MomentArg {
    /// The column.
    pub column: LeafColumn,
    /// The column of the squares of the values.
    pub square: LeafColumn,
    /// True if the values are integers.
    pub is_integer: bool,
}

/// A function of variances and covariances.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum MomentFunction {
    /// The variance.
    Variance(Denominator),
    /// The square root of the variance.
    Deviation(Denominator),
    /// The covariance.
    Covariance(Denominator),
    /// The covariance, divided by both standard deviations.
    Correlation,
}

/// The denominator of a variance or covariance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Denominator {
    /// The number of rows minus 1.
    Sample,
    /// The number of rows.
    Population,
}

/// The functions with their names and numbers of arguments.
const FUNCTIONS: [(&str, MomentFunction, usize); 7] = [
    ("var", MomentFunction::Variance(Denominator::Sample), 1),
    ("var_pop", MomentFunction::Variance(Denominator::Population), 1),
    ("stddev", MomentFunction::Deviation(Denominator::Sample), 1),
    ("stddev_pop", MomentFunction::Deviation(Denominator::Population), 1),
    ("covar_samp", MomentFunction::Covariance(Denominator::Sample), 2),
    ("covar_pop", MomentFunction::Covariance(Denominator::Population), 2),
    ("corr", MomentFunction::Correlation, 2),
];

/// The family of variances, covariances and correlations.
pub(super) const FAMILY: Family = Family { has_function: |call| !call.is_distinct && function(call).is_some(), claim };

fn function(call: &AggregateCall<'_>) -> Option<MomentFunction> {
    let found = FUNCTIONS.iter().find(|(name, _, args)| *name == call.name() && *args == call.args.len());
    found.map(|(_, function, _)| *function)
}

fn claim(call: &AggregateCall<'_>, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let function = function(call).expect("the family has the function");
    let (mut args, mut valid) = (Vec::new(), call.valid.clone());
    for arg in call.args {
        let ty = builder.type_of(arg)?;
        if ty != DataType::Float64 {
            return Err(UnclaimedReason::Type { expr: builder.source_text(arg), ty });
        }
        let is_integer = matches!(arg, Expr::Cast(cast) if builder.type_of(&cast.expr)?.is_integer());
        let (column, square) = (builder.column(arg)?, builder.column(&(arg.clone() * arg.clone()))?);
        valid.push(column);
        args.push(MomentArg { column, square, is_integer });
    }
    let product = match (&args[..], call.args) {
        ([a, b], [x, y]) if a.column.leaf == b.column.leaf => vec![builder.column(&(x.clone() * y.clone()))?],
        ([a, b], _) => {
            let mut factors = vec![a.column, b.column];
            factors.sort_unstable();
            factors
        }
        _ => Vec::new(),
    };
    valid.sort_unstable();
    valid.dedup();
    Ok(Aggregate::Moments(Moments { function, args, product, valid }))
}

impl RegionAggregate for Moments {
    fn factors(&self) -> Vec<LeafColumn> {
        let args = self.args.iter().flat_map(|arg| [arg.column, arg.square]);
        args.chain(self.product.iter().copied()).collect()
    }

    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>> {
        let valid = rows.with_nulls(&self.valid);
        let products = self.args.iter().flat_map(|arg| [vec![arg.column], vec![arg.square]]);
        let products: Vec<Vec<LeafColumn>> = products.chain([self.product.clone()]).filter(|p| !p.is_empty()).collect();
        check_sum(rows, &float_sum(products.clone()))?;
        let mut sum = |factors: Vec<LeafColumn>| {
            folds.find_or_add(JoinFold::Sum { factors, valid: valid.clone(), number: Number::F64, limbs: Vec::new() })
        };
        let args = self.args.iter().map(|arg| (sum(vec![arg.column]), sum(vec![arg.square])));
        let args: Vec<(FoldId, FoldId)> = args.collect();
        let product = (!self.product.is_empty()).then(|| sum(self.product.clone()));
        let count = folds.find_or_add(JoinFold::Count { valid });
        let is_integer = self.args.iter().all(|arg| arg.is_integer);
        let names = self.args.iter().map(|arg| rows.join.column(arg.column).name.clone()).collect();
        Ok(Box::new(MomentColumn { function: self.function, count, args, product, is_integer, names }))
    }

    fn describe(&self, join: &GroupedJoin) -> String {
        let name = FUNCTIONS.iter().find(|(_, function, _)| *function == self.function).map_or("", |(name, ..)| name);
        let args: Vec<LeafColumn> = self.args.iter().map(|arg| arg.column).collect();
        format!("{name}({})", join.names(&args))
    }
}

/// The column of a function of variances and covariances.
#[derive(Debug)]
struct MomentColumn {
    function: MomentFunction,
    count: FoldId,
    /// The sums of each argument and of its squares.
    args: Vec<(FoldId, FoldId)>,
    /// The sum of the products of both arguments.
    product: Option<FoldId>,
    /// True if the arguments are integers.
    is_integer: bool,
    /// The names of the arguments.
    names: Vec<String>,
}

/// Sums of integers below this bound are exact.
const MAX_EXACT: f64 = (1u64 << 53) as f64;

/// Limit on the ratio of the sum of squared deviations to the sum of squares. If a group has a
/// ratio of at most this limit, the region is left to DataFusion. Sums have a relative error of
/// about 1e-14.
const MIN_DEVIATION: f64 = 1e-5;

/// Returns the sum of the products of deviations from means. `x` and `y` are the sums of the two
/// columns, and `product` is the sum of the products of the columns.
fn deviations(rows: i64, (x, y): (f64, f64), product: f64, is_exact: bool) -> f64 {
    if is_exact {
        let (rows, x, y, product) = (i128::from(rows), x as i128, y as i128, product as i128);
        return (rows * product - x * y) as f64 / rows as f64;
    }
    product - x * y / rows as f64
}

impl ResultColumn for MomentColumn {
    fn column(&self, values: &FoldValues<'_>, _: &DataType) -> Result<ArrayRef> {
        let read = |fold: FoldId| values.f64_sums(&[SignedFold { negative: false, fold }]);
        let rows = values.i64_values(self.count);
        let args = self.args.iter().map(|&(sum, squares)| (read(sum), read(squares)));
        let args: Vec<(ScalarBuffer<f64>, ScalarBuffer<f64>)> = args.collect();
        let products = self.product.map(read);
        let mut column = Vec::with_capacity(rows.len());
        for (k, &rows) in rows.iter().enumerate() {
            if rows < 2 {
                let is_zero = matches!(
                    self.function,
                    MomentFunction::Variance(Denominator::Population)
                        | MomentFunction::Deviation(Denominator::Population)
                        | MomentFunction::Covariance(Denominator::Population)
                );
                column.push((rows == 1 && is_zero).then_some(0.0));
                continue;
            }
            let is_exact = self.is_integer && args.iter().all(|(_, squares)| squares[k] < MAX_EXACT);
            let mut squares = Vec::with_capacity(2);
            for ((sums, sums_of_squares), name) in args.iter().zip(&self.names) {
                let (sum, sum_of_squares) = (sums[k], sums_of_squares[k]);
                let square = deviations(rows, (sum, sum), sum_of_squares, is_exact);
                if !is_exact && square <= MIN_DEVIATION * sum_of_squares {
                    return Err(FallbackReason::Cancellation { values: format!("`{name}`") }.into());
                }
                squares.push(square);
            }
            let divide = |deviations: f64, denominator: Denominator| match denominator {
                Denominator::Sample => deviations / (rows - 1) as f64,
                Denominator::Population => deviations / rows as f64,
            };
            let product = products
                .as_ref()
                .map_or(0.0, |products| deviations(rows, (args[0].0[k], args[1].0[k]), products[k], is_exact));
            column.push(match self.function {
                MomentFunction::Variance(denominator) => Some(divide(squares[0], denominator)),
                MomentFunction::Deviation(denominator) => Some(divide(squares[0], denominator).sqrt()),
                MomentFunction::Covariance(denominator) => Some(divide(product, denominator)),
                MomentFunction::Correlation if squares.contains(&0.0) => None,
                MomentFunction::Correlation => Some(product / squares[0].sqrt() / squares[1].sqrt()),
            });
        }
        Ok(Arc::new(Float64Array::from(column)))
    }
}
