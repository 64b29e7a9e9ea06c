//! Errors of the optimizer.

use redpoll_logic::op::OpError;
use redpoll_logic::{Alias, Field};

/// The reason why a plan cannot be optimized. The plan's author is at fault, unless a variant says
/// otherwise.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field has no size, because only a `coordinate` mentions it.
    #[error("field `{field}` of query `{query}` has no size; join it with a table that has the field")]
    Unsized {
        /// The query.
        query: Alias,
        /// The field.
        field: Field,
    },
    /// An expression uses a field that is not bound in its environment.
    #[error(
        "query `{query}` uses field `{field}`, which its expression does not bind; bind it in a table or an aggregate"
    )]
    Unbound {
        /// The query.
        query: Alias,
        /// The field.
        field: Field,
    },
    /// An operator does not fit its arguments.
    #[error("query `{query}`: {source}")]
    Operator {
        /// The query.
        query: Alias,
        /// The cause.
        source: OpError,
    },
    /// A scan's operator has no identity, which the rewriting of scans needs.
    #[error(
        "query `{query}` scans with operator `{op}`, which has no identity for {dtype}; \
         scan with an operator that has an identity"
    )]
    ScanWithoutIdentity {
        /// The query.
        query: Alias,
        /// The operator.
        op: String,
        /// The dtype.
        dtype: String,
    },
    /// A requested format does not fit the query.
    #[error("the format requested for query `{query}` {what}")]
    Format {
        /// The query.
        query: Alias,
        /// The mismatch, and a format that would fit.
        what: String,
    },
    /// No loop order satisfies all orders that the plan and the configuration pin.
    #[error(
        "query `{query}` has no loop order that satisfies every order pinned by its reorders, its folds and \
         `loop_orders`; remove a reorder or an entry of `loop_orders`"
    )]
    NoLoopOrder {
        /// The query.
        query: Alias,
    },
    /// A query computes values of another dtype than it declares. The code that built the plan is
    /// at fault.
    #[error("query `{query}` computes values of dtype {found}, but declares {expected}")]
    DType {
        /// The query.
        query: Alias,
        /// The declared dtype.
        expected: String,
        /// The dtype of its values.
        found: String,
    },
}
