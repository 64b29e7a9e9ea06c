//! The reasons why a part of a plan is not claimed.

use crate::error::Left;
use datafusion::arrow::datatypes::DataType;
use std::fmt;

/// The reason why a part of a plan is left to DataFusion, shown by `EXPLAIN VERBOSE`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The node is no aggregate over a join.
    Node(String),
    /// There is only one table, and it is no tensor.
    NoJoin,
    /// An aggregate function is no fold over a known semiring.
    Function(String),
    /// An aggregate has a modifier that changes its meaning.
    Modifier {
        /// The aggregate.
        aggregate: String,
        /// The modifier.
        modifier: &'static str,
    },
    /// An expression reads columns of several tables in a way that is no sum of products.
    Spans(String),
    /// An outer join, or a condition above it, is more than equality of keys of two tables.
    Outer(String),
    /// A type has no exact representation in kernels.
    Type {
        /// The expression and its use.
        what: String,
        /// The type.
        ty: DataType,
    },
    /// The groups are grouping sets, a cube or a rollup.
    GroupingSets,
    /// An expression is volatile.
    Volatile(String),
    /// An expression contains a subquery.
    Subquery(String),
    /// No values satisfy all comparisons, which DataFusion finds out quickly.
    Contradiction,
    /// An earlier run left the rows to DataFusion.
    Left(Left),
    /// The region is estimated not to pay.
    Cost(String),
    /// Claiming is disabled.
    Disabled,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Node(node) => write!(f, "{node} is no aggregate over a join"),
            Reason::NoJoin => f.write_str("an aggregate of one table gains nothing"),
            Reason::Function(name) => write!(f, "`{name}` is no fold over a semiring"),
            Reason::Modifier { aggregate, modifier } => write!(f, "{modifier} in `{aggregate}`"),
            Reason::Spans(expr) => write!(f, "`{expr}` reads several tables and is no sum of products"),
            Reason::Outer(expr) => write!(f, "`{expr}` is asked of an outer join"),
            Reason::Type { what, ty } => write!(f, "{what} has type {ty}, which is not carried exactly there"),
            Reason::GroupingSets => f.write_str("grouping sets are several groupings"),
            Reason::Volatile(expr) => write!(f, "`{expr}` gives another value each time"),
            Reason::Subquery(expr) => write!(f, "`{expr}` holds a query"),
            Reason::Contradiction => f.write_str("no values pass all of its comparisons"),
            Reason::Left(why) => write!(f, "when it ran, {why}"),
            Reason::Cost(why) => write!(f, "it would not pay: {why}"),
            Reason::Disabled => f.write_str("`redpoll.enabled` is false"),
        }
    }
}
