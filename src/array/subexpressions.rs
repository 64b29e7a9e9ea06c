//! Plans of expressions with shared parts: a shared part of a large expression becomes a query of
//! its own.
//!
//! Phases that read an expression as a tree take time proportional to its unfolded size, which
//! counts a shared part at every use. The unfolded size doubles with each `a = &a + &a`.

use redpoll_logic::expr::Node;
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

/// Returns the queries of shared parts, followed by the queries of the named expressions.
///
/// # Errors
/// Fails only if an expression is invalid.
pub(super) fn queries(named: Vec<(Alias, Expr)>) -> Result<Vec<Query>, Error> {
    let mut distinct = DistinctNodes { nodes: HashMap::new(), order: Vec::new() };
    let sizes: Vec<u64> = named.iter().map(|(_, expr)| distinct.count(expr)).collect();
    if sizes.into_iter().fold(0, u64::saturating_add) <= MAX_UNSHARED_NODES {
        return Ok(named.into_iter().map(|(alias, expr)| Query { alias, expr }).collect());
    }
    let (mut rebuilt, mut queries): (HashMap<*const Node, (Expr, u64)>, _) = (HashMap::new(), Vec::new());
    for expr in &distinct.order {
        let args: Vec<(Expr, u64)> = expr.node().args().iter().map(|arg| rebuilt[&address(arg)].clone()).collect();
        let size = args.iter().fold(1, |size, (_, arg)| u64::saturating_add(size, *arg));
        let part = expr.with_args(args.into_iter().map(|(arg, _)| arg).collect())?;
        let is_shared = distinct.nodes[&address(expr)].uses > 1 && size >= MIN_SHARED_NODES;
        let alias = Alias::from(format!("part{}", queries.len() + 1));
        let query = Query { alias: alias.clone(), expr: part.clone() };
        let replacement = match query.result_type() {
            Ok(ty) if is_shared => {
                queries.push(query);
                (Expr::table(alias, Arc::new(ty), part.info().fields.iter().cloned())?, 1)
            }
            _ => (part, size),
        };
        rebuilt.insert(address(expr), replacement);
    }
    let result = |(alias, expr): (Alias, Expr)| Query { alias, expr: rebuilt[&address(&expr)].0.clone() };
    queries.extend(named.into_iter().map(result));
    Ok(queries)
}

/// The distinct nodes of expressions.
struct DistinctNodes {
    nodes: HashMap<*const Node, NodeUse>,
    /// Expressions in topological order, arguments first.
    order: Vec<Expr>,
}

struct NodeUse {
    /// Number of nodes of the unfolded expression.
    size: u64,
    /// Number of times the expression is an argument or a root.
    uses: usize,
}

pub(super) fn address(expr: &Expr) -> *const Node {
    ptr::from_ref(expr.node())
}

impl DistinctNodes {
    /// Returns the number of nodes of an unfolded expression, and records the distinct nodes.
    fn count(&mut self, expr: &Expr) -> u64 {
        if let Some(part) = self.nodes.get_mut(&address(expr)) {
            part.uses += 1;
            return part.size;
        }
        let size = expr.node().args().iter().fold(1, |size, arg| u64::saturating_add(size, self.count(arg)));
        self.nodes.insert(address(expr), NodeUse { size, uses: 1 });
        self.order.push(expr.clone());
        size
    }
}
