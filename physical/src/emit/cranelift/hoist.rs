//! Loads that an innermost loop repeats are done once in front of it.
//!
//! A load moves when every round would do it and get the same: it stands where the first round is sure to come by, its
//! position is made of what the loop does not assign, and the loop does not write its buffer. Cranelift moves pure
//! operations by itself, but no loads.

use super::function::Emitter;
use crate::assembly::{Buffer, Expr, Stmt};

impl Emitter<'_> {
    /// Does the loads of a loop that stay the same, in front of it. The locals that it assigns are the innermost scope.
    /// Gives what [`Emitter::forget`] takes behind the loop.
    pub(super) fn hoist(&mut self, cond: Option<&Expr>, body: &[Stmt]) -> usize {
        let known = self.hoisted.len();
        if body.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::While { .. } | Stmt::For { .. } | Stmt::Lanes(_)))) {
            return known;
        }
        let writes = |stmt: &Stmt, buffer: Buffer| match stmt {
            Stmt::Store { buffer: b, .. } | Stmt::Grow { buffer: b, .. } | Stmt::Sort { buffer: b, .. } => *b == buffer,
            Stmt::SortBy { perm, .. } => *perm == buffer,
            _ => false,
        };
        let is_written = |buffer: Buffer| body.iter().any(|s| s.any(&mut |s| writes(s, buffer)));
        let assigned = self.scopes.last().expect("the loop is a scope").clone();
        let stays = |e: &Expr| {
            !e.any(&mut |e| match e {
                Expr::Local(local) => assigned[local.index()],
                Expr::Load { buffer, .. } => is_written(*buffer),
                _ => false,
            })
        };
        let mut found = Vec::new();
        cond.into_iter().for_each(|cond| note_loads(cond, &stays, &mut found));
        for stmt in body {
            stmt.for_each_expr(&mut |e| note_loads(e, &stays, &mut found));
            // Behind what may leave the loop, the first round is not sure to come by.
            if stmt.any(&mut |s| matches!(s, Stmt::Break | Stmt::Return(_) | Stmt::Grow { .. })) {
                break;
            }
        }
        for load in found {
            let value = self.expr(load);
            self.hoisted.push((load.clone(), value));
        }
        known
    }

    /// Forgets the loads that were done in front of a loop, behind it.
    pub(super) fn forget(&mut self, known: usize) {
        self.hoisted.truncate(known);
    }
}

/// Adds the outermost loads of an expression that stay the same.
fn note_loads<'e>(e: &'e Expr, stays: &dyn Fn(&Expr) -> bool, found: &mut Vec<&'e Expr>) {
    if matches!(e, Expr::Load { .. }) && stays(e) {
        if !found.contains(&e) {
            found.push(e);
        }
        return;
    }
    e.for_each_child(&mut |child| note_loads(child, stays, found));
}
