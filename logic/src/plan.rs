//! Plans: queries in order and what they produce.

use crate::expr::Expr;
use crate::field::Alias;

/// `alias := expr`; later queries may read it as a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The name of the result; bound once in a plan.
    pub alias: Alias,
    /// What to compute.
    pub expr: Expr,
}

/// A whole Logic program.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The queries, each reading inputs and results of earlier ones.
    pub queries: Vec<Query>,
    /// The results that the user wants.
    pub produces: Vec<Alias>,
}
