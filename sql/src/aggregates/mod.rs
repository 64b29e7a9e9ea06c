//! The aggregates that regions compute, one file for each family of functions.
//!
//! The file of a family has all code that is particular to the functions of the family. A `Family`
//! recognizes and claims calls. A `RegionAggregate` lists the folds over the rows of the join,
//! computes the column of the result from the folds, and writes the text in `EXPLAIN`. The file
//! also has the expressions of the folds, except that `moments` uses the folds of `count` and
//! `sum`. `columns` and `decimal` have the columns of results that several families share.

mod columns;
mod count;
mod decimal;
mod distinct;
mod extreme;
mod moments;
mod semiring;
mod sum;

pub use columns::SumKind;
pub use count::Count;
pub(crate) use count::fold_rows;
pub use distinct::{Distinct, DistinctFold};
pub(crate) use distinct::{fold_distinct_count, fold_distinct_sum};
pub use extreme::Extreme;
pub(crate) use extreme::fold_extreme;
pub use moments::{Denominator, MomentArg, MomentFunction, Moments};
pub use semiring::SemiringFold;
pub(crate) use semiring::fold_semiring;
pub(crate) use sum::fold_products;
pub use sum::{NarrowSum, Sum, SumCase, SumOfProducts, SumTerm};

use crate::claim::{GroupedJoin, LeafColumn, RegionBuilder, UnclaimedReason};
use crate::encode::EncodedRows;
use crate::error::Result;
use crate::program::FoldList;
use crate::results::ResultColumn;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{AggregateUDF, Expr};
use serde::{Deserialize, Serialize};

/// A computed column of a region's result.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Aggregate {
    /// A number of rows.
    Count(Count),
    /// The sum or mean of an expression.
    Sum(Sum),
    /// The smallest or largest value of a column.
    Extreme(Extreme),
    /// The number, sum or mean of distinct values.
    Distinct(Distinct),
    /// A variance, a covariance, or a function of variances and covariances.
    Moments(Moments),
    /// A fold over a semiring.
    Semiring(SemiringFold),
}

/// The families, in the order in which they are tried for a call. Semirings come first, because a
/// user may give a function the name of a built-in function. `distinct` comes before `count` and
/// `sum`, which claim calls without regard to `DISTINCT`.
const FAMILIES: [Family; 6] =
    [semiring::FAMILY, distinct::FAMILY, count::FAMILY, sum::FAMILY, extreme::FAMILY, moments::FAMILY];

impl Aggregate {
    /// Returns the aggregate as a trait object.
    pub(crate) fn as_dyn(&self) -> &dyn RegionAggregate {
        match self {
            Aggregate::Count(count) => count,
            Aggregate::Sum(sum) => sum,
            Aggregate::Extreme(extreme) => extreme,
            Aggregate::Distinct(distinct) => distinct,
            Aggregate::Moments(moments) => moments,
            Aggregate::Semiring(fold) => fold,
        }
    }
}

/// A family of aggregate functions.
pub(crate) struct Family {
    /// Returns whether the family has the function of a call.
    has_function: fn(&AggregateCall<'_>) -> bool,
    /// Claims a call of a function of the family.
    claim: fn(&AggregateCall<'_>, &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason>,
}

/// A call of an aggregate function over columns of leaves.
pub(crate) struct AggregateCall<'a> {
    /// The text of the call, with columns under the names that they have in the query.
    source_text: String,
    /// The function.
    function: &'a AggregateUDF,
    /// The arguments, one or more.
    args: &'a [Expr],
    /// True if the call has `DISTINCT`.
    is_distinct: bool,
    /// The columns of the conditions of `FILTER`. A row passes if none of these columns is NULL.
    valid: Vec<LeafColumn>,
}

impl AggregateCall<'_> {
    /// Returns the name of the function.
    fn name(&self) -> &str {
        self.function.name()
    }

    /// Returns the reason not to claim a call with a modifier.
    fn unsupported(&self, modifier: &'static str) -> UnclaimedReason {
        UnclaimedReason::Modifier { aggregate: self.source_text.clone(), modifier }
    }
}

/// The computation of an aggregate over the rows of a join.
pub(crate) trait RegionAggregate {
    /// Returns the columns that are factors of sums. A leaf can be a tensor only if each of these
    /// columns of the leaf is the tensor's value.
    fn factors(&self) -> Vec<LeafColumn> {
        Vec::new()
    }

    /// Returns the columns that are read row by row. The leaves of these columns must not be
    /// tensors.
    fn row_columns(&self) -> Vec<LeafColumn> {
        Vec::new()
    }

    /// Returns the column of the result, and adds the folds from which the column is computed.
    ///
    /// # Errors
    /// If the region must be left to DataFusion because of its values, or a tensor cannot be read.
    fn result(&self, rows: EncodedRows<'_>, folds: &mut FoldList) -> Result<Box<dyn ResultColumn>>;

    /// Returns the text of the aggregate in `EXPLAIN`.
    fn describe(&self, join: &GroupedJoin) -> String;
}

/// Claims an aggregate over columns of leaves.
///
/// # Errors
/// The reason why the call is not claimed.
pub(crate) fn claim_call(expr: &Expr, builder: &mut RegionBuilder) -> Result<Aggregate, UnclaimedReason> {
    let Expr::AggregateFunction(AggregateFunction { func, params }) = expr else {
        return Err(UnclaimedReason::Function(builder.source_text(expr)));
    };
    let (args, is_distinct) = (&params.args, params.distinct);
    let source_text = builder.source_text(expr);
    let mut call = AggregateCall { source_text, function: func, args, is_distinct, valid: Vec::new() };
    if !params.order_by.is_empty() {
        return Err(call.unsupported("ORDER BY"));
    }
    if params.null_treatment.is_some() {
        return Err(call.unsupported("IGNORE NULLS or RESPECT NULLS"));
    }
    for conjunct in params.filter.iter().flat_map(|f| split_conjunction(f)) {
        call.valid.push(builder.condition_column(conjunct)?);
    }
    let unknown = || UnclaimedReason::Function(func.name().to_string());
    if args.is_empty() {
        return Err(unknown());
    }
    match FAMILIES.iter().find(|family| (family.has_function)(&call)) {
        Some(family) => (family.claim)(&call, builder),
        None if is_distinct => Err(call.unsupported("DISTINCT")),
        None => Err(unknown()),
    }
}
