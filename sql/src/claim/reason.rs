//! Why a part of a plan is not claimed.

use crate::error::Left;
use datafusion::arrow::datatypes::DataType;
use std::fmt;

/// Why a part of a plan is left to DataFusion; `EXPLAIN VERBOSE` shows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The node is no aggregate, nor anything that is computed as one.
    Node(String),
    /// There is but one table, and it is no tensor: nothing that a join would gain.
    NoJoin,
    /// An aggregate function that is no fold over a known semiring.
    Function(String),
    /// A modifier of an aggregate that changes what it means.
    Modifier {
        /// The aggregate.
        aggregate: String,
        /// The modifier.
        modifier: &'static str,
    },
    /// An expression reads columns of several tables in a way that is no sum of products.
    Spans(String),
    /// What an outer join or what is above it asks of rows, other than that keys of two tables are equal.
    Outer(String),
    /// A value of a type that is not carried exactly there.
    Type {
        /// What has the type.
        what: String,
        /// The type.
        ty: DataType,
    },
    /// A grouping that is no list of expressions: sets, cubes, rollups.
    GroupingSets,
    /// An expression gives another value each time.
    Volatile(String),
    /// A query inside of an expression.
    Subquery(String),
    /// Comparisons that no values pass together; DataFusion finds out at once.
    Contradiction,
    /// Its rows were found to be for DataFusion when it ran.
    Left(Left),
    /// It is estimated not to pay.
    Cost(String),
    /// It is switched off.
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
