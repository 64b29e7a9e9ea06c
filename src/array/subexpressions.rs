//! Plans of large expressions: some parts become queries of their own.
//!
//! Phases that read an expression as a tree take time proportional to its unfolded size, which
//! counts a shared part at every use. The unfolded size doubles with each `a = &a + &a`. Such
//! phases are recursive, too, and a loop such as `a = &a * 0.9 + &b` makes expressions as deep as
//! the loop has rounds. So shared parts and deep parts become queries.

use redpoll_logic::expr::{Node, topological_order};
use redpoll_logic::{Alias, Error, Expr, Query};
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

/// Maximum number of nodes of unfolded expressions that are planned without extracting shared
/// parts.
const MAX_UNSHARED_NODES: u64 = 1 << 10;

/// Minimum number of unfolded nodes of a shared part that becomes a query. Within the part, another
/// part that became a query counts as one node.
const MIN_SHARED_NODES: u64 = 1 << 6;

/// The depth from which a part becomes a query if it has no more places than one of its tables. A
/// part with more places, such as an outer product, may be far larger than what its readers need
/// of it.
const MAX_DEPTH: usize = 1 << 7;

/// The depth from which every part becomes a query.
const MAX_WIDENED_DEPTH: usize = 1 << 9;

/// Returns the queries of shared and deep parts, followed by the queries of the named expressions.
///
/// # Errors
/// Fails only if an expression is invalid.
pub(super) fn queries(named: Vec<(Alias, Expr)>) -> Result<Vec<Query>, Error> {
    let order = topological_order(named.iter().map(|(_, expr)| expr), |_| true);
    if named.iter().all(|(_, expr)| expr.depth() <= MAX_DEPTH) && unfolded_size(&named, &order) <= MAX_UNSHARED_NODES {
        return Ok(named.into_iter().map(|(alias, expr)| Query { alias, expr }).collect());
    }
    let uses = uses(&named, &order);
    let (mut rebuilt, mut queries): (HashMap<*const Node, Part>, _) = (HashMap::new(), Vec::new());
    for expr in &order {
        let args: Vec<&Part> = expr.node().args().iter().map(|arg| &rebuilt[&address(arg)]).collect();
        let mut part = Part::new(expr, &args)?;
        if part.is_query(uses[&address(expr)]) {
            let alias = Alias::from(format!("part{}", queries.len() + 1));
            let query = Query { alias: alias.clone(), expr: part.expr.clone() };
            if let Ok(ty) = query.result_type() {
                let fields = part.expr.info().fields.iter().cloned();
                part = Part::new(&Expr::table(alias, Arc::new(ty), fields)?, &[])?;
                queries.push(query);
            }
        }
        rebuilt.insert(address(expr), part);
    }
    let result = |(alias, expr): (Alias, Expr)| Query { alias, expr: rebuilt[&address(&expr)].expr.clone() };
    queries.extend(named.into_iter().map(result));
    Ok(queries)
}

/// A part of an expression, in which other parts that became queries are tables.
struct Part {
    expr: Expr,
    /// Number of unfolded nodes.
    size: u64,
    /// Largest number of places of a table of the part.
    table_places: u128,
}

impl Part {
    fn new(expr: &Expr, args: &[&Part]) -> Result<Part, Error> {
        let expr = expr.with_args(args.iter().map(|arg| arg.expr.clone()).collect())?;
        let size = args.iter().fold(1, |size, arg| u64::saturating_add(size, arg.size));
        let table_places = match expr.node() {
            Node::Table { .. } => places(&expr),
            _ => args.iter().map(|arg| arg.table_places).max().unwrap_or(0),
        };
        Ok(Part { expr, size, table_places })
    }

    /// Returns whether a part with this number of uses becomes a query.
    fn is_query(&self, uses: usize) -> bool {
        let depth = self.expr.depth();
        let is_deep = depth >= MAX_WIDENED_DEPTH || depth >= MAX_DEPTH && places(&self.expr) <= self.table_places;
        // The dtype of a bare number depends on its readers.
        !self.expr.info().weak && (is_deep || uses > 1 && self.size >= MIN_SHARED_NODES)
    }
}

/// Returns the number of places of an expression. Fields of unknown size count as one place.
fn places(expr: &Expr) -> u128 {
    let sizes = expr.info().dimensions.iter().flatten();
    sizes.fold(1, |places, size| u128::saturating_mul(places, (*size).into()))
}

/// Returns the number of times that each node is an argument or a named expression.
fn uses(named: &[(Alias, Expr)], order: &[Expr]) -> HashMap<*const Node, usize> {
    let mut uses = HashMap::new();
    let args = order.iter().flat_map(|expr| expr.node().args());
    for expr in args.chain(named.iter().map(|(_, expr)| expr)) {
        *uses.entry(address(expr)).or_default() += 1;
    }
    uses
}

/// Returns the number of nodes of the unfolded expressions.
fn unfolded_size(named: &[(Alias, Expr)], order: &[Expr]) -> u64 {
    let mut sizes: HashMap<*const Node, u64> = HashMap::new();
    for expr in order {
        let args = expr.node().args().iter();
        let size = args.fold(1, |size, arg| u64::saturating_add(size, sizes[&address(arg)]));
        sizes.insert(address(expr), size);
    }
    named.iter().fold(0, |size, (_, expr)| u64::saturating_add(size, sizes[&address(expr)]))
}

pub(super) fn address(expr: &Expr) -> *const Node {
    ptr::from_ref(expr.node())
}
