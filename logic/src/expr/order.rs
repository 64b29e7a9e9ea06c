//! Traversals of expressions without recursion, whose depth only memory limits.
//!
//! A lazy array that a loop builds may be thousands of nodes deep. A recursive function on such an
//! expression would exhaust the stack of its thread.

use super::{Expr, ExprData, Node};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The depth from which an expression is dropped without recursion.
const RECURSIVE_DROP: u32 = 64;

/// Returns the distinct nodes of expressions in topological order: arguments before the nodes that
/// use them, and otherwise in the order of a traversal from left to right. `descend` returns
/// whether the arguments of a node are visited.
///
/// ```
/// use redpoll_logic::Expr;
/// use redpoll_logic::expr::topological_order;
/// use redpoll_logic::op::Builtin;
///
/// let one = Expr::literal(1.0);
/// let two = Expr::mapjoin(Builtin::Add, [one.clone(), one.clone()])?;
/// let four = Expr::mapjoin(Builtin::Mul, [two.clone(), two.clone()])?;
/// assert_eq!(topological_order([&four], |_| true), [one, two.clone(), four.clone()]);
/// assert_eq!(topological_order([&four], |e| *e != two), [two, four]);
/// # Ok::<(), redpoll_logic::Error>(())
/// ```
pub fn topological_order<'e>(
    roots: impl IntoIterator<Item = &'e Expr>,
    mut descend: impl FnMut(&Expr) -> bool,
) -> Vec<Expr> {
    enum Step<'e> {
        Enter(&'e Expr),
        Leave(&'e Expr),
    }
    let (mut order, mut seen, mut steps) = (Vec::new(), FxHashSet::default(), Vec::new());
    for root in roots {
        steps.push(Step::Enter(root));
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(expr) if seen.insert(expr.address()) => {
                    steps.push(Step::Leave(expr));
                    if descend(expr) {
                        steps.extend(expr.node().args().iter().rev().map(Step::Enter));
                    }
                }
                Step::Enter(_) => {}
                Step::Leave(expr) => order.push(expr.clone()),
            }
        }
    }
    order
}

impl Expr {
    /// Returns the number of nodes on the longest path from this node to a node without arguments,
    /// both included.
    pub fn depth(&self) -> usize {
        self.0.depth as usize
    }
}

impl Node {
    /// Returns the depth of an expression with this node as its root.
    pub(super) fn depth(&self) -> u32 {
        self.args().iter().map(|arg| arg.0.depth).max().unwrap_or(0).saturating_add(1)
    }

    /// Removes the arguments, and leaves a node without arguments.
    fn take_args(&mut self) -> Vec<Expr> {
        let args = self.args().to_vec();
        if !args.is_empty() {
            *self = Node::Literal(false.into());
        }
        args
    }
}

impl Drop for ExprData {
    fn drop(&mut self) {
        if self.depth <= RECURSIVE_DROP {
            return;
        }
        let mut pending = self.node.take_args();
        while let Some(Expr(data)) = pending.pop() {
            if let Some(mut data) = Arc::into_inner(data) {
                pending.append(&mut data.node.take_args());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Builtin;

    /// Checks that an expression of a million nodes is built, traversed, compared and dropped.
    #[test]
    fn depth_is_limited_by_memory_alone() {
        let chain = || {
            (0..1_000_000)
                .fold(Expr::literal(0.5), |x, _| Expr::mapjoin(Builtin::Mul, [x, Expr::literal(0.5)]).unwrap())
        };
        let (a, shorter) = (chain(), chain().node().args()[0].clone());
        assert_eq!(a.depth(), 1_000_001);
        assert_eq!(topological_order([&a], |_| true).len(), 2_000_001);
        assert_ne!(a, shorter);
    }

    /// Checks that shared nodes survive the drop of a deep expression.
    #[test]
    fn shared_nodes_survive() {
        let mut nodes = vec![Expr::literal(1.0)];
        for k in 0..1000 {
            nodes.push(Expr::mapjoin(Builtin::Add, [nodes[k].clone(), nodes[k / 2].clone()]).unwrap());
        }
        let (middle, last) = (nodes[500].clone(), nodes.pop());
        drop(nodes);
        drop(last);
        assert_eq!(topological_order([&middle], |_| true).len(), 501);
    }
}
