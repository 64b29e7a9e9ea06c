//! From a region and the rows of its leaves to a Logic plan.
//!
//! Every field of the region that joins, groups or is compared is a field of the plan. A fold over the rows of the join is
//! one aggregate over a mapjoin of the leaves:
//!
//! - how many rows there are is the sum of the product of how many rows each leaf has;
//! - a sum of products has the sum of a factor in the place of how many rows its leaf has;
//! - whether there is a row is the `or` of `and`;
//! - a smallest or largest value is the `max` of the `min` of its code and of the largest code where the others have rows.
//!
//! A leaf that filters counts once: its own fields are folded with `or` first. A leaf that has a row for every choice of
//! codes, as a table that others refer to or a matrix in a table, is left out where its rows just count.

mod fold;
mod folds;
mod order;
mod show;
mod whole;

pub use fold::Fold;
pub use folds::{Folds, LimbSum, Output};
pub use show::show;

use crate::claim::Region;
use crate::encode::Encoded;
use crate::error::{Error, Result};
use fold::Leaves;
use redpoll_logic::{Alias, Expr, Field, Node, Plan, Query};
use redpoll_physical::storage::Tensor;
use std::collections::BTreeSet;

/// A Logic plan with the tensors that it reads.
#[derive(Debug)]
pub struct Program {
    /// The plan; it produces a result for each fold, in their order.
    pub plan: Plan,
    /// The tensors.
    pub bindings: Vec<(Alias, Tensor)>,
    /// The number of the group field, among those of [`Region::group_fields`], in each mode of each result.
    pub modes: Vec<Vec<usize>>,
}

/// Makes the program of the folds of a region.
///
/// # Errors
/// When a tensor cannot be made.
pub fn program(region: &Region, encoded: &Encoded, folds: &Folds) -> Result<Program> {
    let mut leaves = Leaves::new(region, encoded);
    let groups: Vec<Field> = region.group_fields().iter().map(|&f| leaves.field(f).clone()).collect();
    let mut queries = Vec::new();
    let mut modes = Vec::new();
    for (k, fold) in folds.folds.iter().enumerate() {
        let expr = leaves.fold(fold)?;
        if folds.presence == Some(k) && !whole::is_zero(&expr.info().fill) {
            return Err(Error::Unlisted);
        }
        let place = |field: &Field| groups.iter().position(|g| g == field).expect("the other fields are folded");
        modes.push(expr.info().fields.iter().map(place).collect());
        queries.push(Query { alias: Alias::from(format!("q{k}")), expr });
    }
    let produces = queries.iter().map(|q| q.alias.clone()).collect();
    let mut read = BTreeSet::new();
    queries.iter().for_each(|query| tables(&query.expr, &mut read));
    let bindings = leaves.into_bindings().into_iter().filter(|(alias, _)| read.contains(alias)).collect();
    Ok(Program { plan: Plan { queries, produces }, bindings, modes })
}

/// The tables that an expression reads.
fn tables(expr: &Expr, read: &mut BTreeSet<Alias>) {
    if let Node::Table { tensor, .. } = expr.node() {
        read.insert(tensor.clone());
    }
    expr.node().args().iter().for_each(|arg| tables(arg, read));
}
