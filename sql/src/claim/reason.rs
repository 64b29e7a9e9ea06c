//! The reasons why a part of a plan is not claimed.

use crate::error::FallbackReason;
use datafusion::arrow::datatypes::DataType;
use std::fmt;

/// The reason why a part of a plan is left to DataFusion, shown by `EXPLAIN VERBOSE`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UnclaimedReason {
    /// The node is not an aggregate over a join.
    Node(String),
    /// DataFusion cannot analyze an expression or build a plan.
    Planning(String),
    /// There is only one table, and it is not a tensor.
    SingleTable,
    /// There is only one input, the rows of an operation other than a join. The text names the
    /// operation.
    SingleInput(&'static str),
    /// The join of a `NOT IN` whose subquery may return a NULL; the text is the compared
    /// expression. If the subquery returns a NULL, no row passes.
    NotIn(String),
    /// A subquery of `IN` or `EXISTS` is a part of a condition or expression, not a condition of
    /// its own.
    PartOfCondition,
    /// Redpoll does not compute an aggregate function, or computes it only with arguments.
    Function(String),
    /// Two arguments of an aggregate function are from the same table; the text is the second
    /// argument.
    SecondArgument(String),
    /// An aggregate has a modifier that redpoll does not support.
    Modifier {
        /// The aggregate.
        aggregate: String,
        /// The modifier.
        modifier: &'static str,
    },
    /// An expression reads columns of several tables, or of none, where an expression of one table
    /// is required.
    SeveralTables(String),
    /// A condition of an outer join is not a list of equalities of keys of two tables.
    OuterJoin(String),
    /// A condition above an outer join reads only a table that the join pads.
    PaddedTable(String),
    /// A condition in the subquery of `NOT EXISTS` or `NOT IN` cannot be a condition of an
    /// anti-join.
    AntiJoin {
        /// The condition, or a part of it.
        condition: String,
        /// The property of the condition, as a verb with its objects.
        problem: &'static str,
    },
    /// A key has a type, such as a float, whose values cannot be compared by their codes.
    Key {
        /// The key.
        expr: String,
        /// The type.
        ty: DataType,
    },
    /// A type has no exact representation in kernels.
    Type {
        /// The expression and its use.
        expr: String,
        /// The type.
        ty: DataType,
    },
    /// An expression has a type whose values cannot be combined with values of other tables.
    CombinedType {
        /// The expression.
        expr: String,
        /// The type.
        ty: DataType,
    },
    /// Two compared expressions have different types.
    TypeMismatch {
        /// One of the expressions.
        expr: String,
        /// The type of this expression.
        ty: DataType,
        /// The type of the other expression.
        other: DataType,
    },
    /// The groups are grouping sets, a cube or a rollup.
    GroupingSets,
    /// An expression is volatile.
    Volatile(String),
    /// An expression contains a subquery.
    Subquery(String),
    /// No values satisfy all comparisons; DataFusion detects this quickly.
    Contradiction,
    /// An earlier run left the rows to DataFusion.
    Fallback(FallbackReason),
    /// Redpoll is not estimated to be faster than DataFusion.
    Cost(String),
    /// Claiming is disabled.
    Disabled,
}

impl fmt::Display for UnclaimedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = SUBQUERIES.iter().fold(QualifiedReason(self).to_string(), |text, name| without_name(&text, name));
        f.write_str(&text)
    }
}

/// The starts of the names that DataFusion gives to subqueries; numbers follow.
const SUBQUERIES: [&str; 2] = ["__correlated_sq_", "__scalar_sq_"];

/// Returns a text in which columns are not qualified by the names that begin with `start`.
fn without_name(text: &str, start: &str) -> String {
    let mut parts = text.split(start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.') {
        Some(column) => text + column,
        None => text + start + part,
    })
}

/// A reason as text, in which the columns of subqueries are qualified by the names that DataFusion
/// gives to subqueries.
struct QualifiedReason<'r>(&'r UnclaimedReason);

impl fmt::Display for QualifiedReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use UnclaimedReason::*;
        match self.0 {
            Node(node) => write!(f, "{node} is not an aggregate over a join"),
            Planning(error) => write!(f, "DataFusion reports an error: {error}"),
            SingleTable => f.write_str("the aggregate reads a single table, where redpoll gains nothing"),
            SingleInput(operation) => {
                write!(f, "the aggregate reads the rows of {operation}, which are not a join of tables")
            }
            NotIn(expr) => write!(
                f,
                "`{expr} NOT IN (..)` lets no row pass if the subquery returns a NULL, which redpoll does not check; write \
                 NOT EXISTS, which ignores NULLs"
            ),
            PartOfCondition => f.write_str(
                "a subquery of IN or EXISTS is a part of a condition or expression; redpoll claims such a subquery only \
                 as a condition of its own",
            ),
            Function(name) => write!(
                f,
                "redpoll does not compute `{name}`; it computes counts, sums, means, minima, maxima, variances and \
                 correlations"
            ),
            SecondArgument(expr) => {
                write!(f, "`{expr}` is a second argument from the same table; at most one per table is supported")
            }
            Modifier { aggregate, modifier } => write!(f, "{modifier} in `{aggregate}` is not supported"),
            SeveralTables(expr) => {
                write!(f, "`{expr}` reads several tables or none, where redpoll needs an expression of one table")
            }
            OuterJoin(expr) => {
                write!(f, "the condition `{expr}` on an outer join is not an equality of columns of two tables")
            }
            PaddedTable(expr) => {
                write!(f, "the condition `{expr}` reads a table that an outer join fills with NULL, and no other table")
            }
            AntiJoin { condition, problem } => {
                write!(f, "`{condition}` in the subquery of NOT EXISTS or NOT IN {problem}")
            }
            Key { expr, ty } => write!(
                f,
                "`{expr}` of type {ty} cannot be a key; keys are integers, decimals of up to 38 digits, texts, bytes, \
                 booleans, dates and times"
            ),
            Type { expr, ty } => write!(f, "redpoll does not compute {expr} of type {ty} exactly"),
            CombinedType { expr, ty } => {
                write!(f, "`{expr}` has type {ty}, whose values cannot be combined with values of other tables")
            }
            TypeMismatch { expr, ty, other } => {
                write!(f, "`{expr}` has type {ty}, but is compared with a value of type {other}")
            }
            GroupingSets => f.write_str("grouping sets are not supported"),
            Volatile(expr) => write!(f, "`{expr}` is volatile"),
            Subquery(expr) => write!(f, "`{expr}` contains a subquery"),
            Contradiction => f.write_str("the comparisons of the query contradict each other, so no row passes them"),
            Fallback(reason) => write!(f, "an earlier run found that {reason}"),
            Cost(reason) => write!(f, "redpoll is not estimated to be faster: {reason}"),
            Disabled => f.write_str("`redpoll.enabled` is false"),
        }
    }
}
