//! Folds over the rows of a join, from which the columns of a result are computed.

use super::leaf_tables::LeafTables;
use crate::aggregates::{
    fold_distinct_count, fold_distinct_sum, fold_extreme, fold_products, fold_rows, fold_semiring,
};
use crate::claim::{FieldId, LeafColumn};
use crate::encode::{Extremum, Limb};
use crate::error::Result;
use crate::number::Number;
use crate::semiring::Semiring;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Expr, Scalar};

/// A fold over the rows of a join in each group. Rows with a NULL in one of the columns `valid` do
/// not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JoinFold {
    /// True if there is a row.
    Presence,
    /// The number of rows.
    Count {
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// The sum of a product.
    Sum {
        /// The factors, each of a different leaf.
        factors: Vec<LeafColumn>,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
        /// The number type.
        number: Number,
        /// The limb of each factor; empty unless the factors are decimals.
        limbs: Vec<Limb>,
    },
    /// The code of a minimum or maximum.
    Extreme {
        /// The minimum or maximum.
        extremum: Extremum,
        /// The column.
        column: LeafColumn,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// A fold over a semiring.
    Semiring {
        /// The semiring.
        semiring: Semiring,
        /// The arguments, each of a different leaf.
        factors: Vec<LeafColumn>,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// The number of distinct values of a field.
    CountDistinct {
        /// The field.
        field: FieldId,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
    },
    /// The sum of the distinct values of a field.
    SumDistinct {
        /// The field.
        field: FieldId,
        /// Columns that must not be NULL.
        valid: Vec<LeafColumn>,
        /// The number type.
        number: Number,
    },
}

impl JoinFold {
    /// Returns the expression of the fold; its fields are the group fields.
    pub(super) fn expr(&self, leaves: &mut LeafTables<'_>) -> Result<Expr> {
        match self {
            JoinFold::Presence => {
                let row = leaves.presence(&[], None)?;
                leaves.reduce(Builtin::Or, Scalar::Bool(false), row, None)
            }
            JoinFold::Count { valid } => fold_rows(leaves, valid),
            JoinFold::Sum { factors, valid, number, limbs } => fold_products(leaves, factors, valid, (*number, limbs)),
            JoinFold::Extreme { extremum, column, valid } => fold_extreme(leaves, *column, *extremum, valid),
            JoinFold::Semiring { semiring, factors, valid } => fold_semiring(leaves, semiring, factors, valid),
            JoinFold::CountDistinct { field, valid } => fold_distinct_count(leaves, *field, valid),
            JoinFold::SumDistinct { field, valid, number } => fold_distinct_sum(leaves, *field, valid, *number),
        }
    }
}
