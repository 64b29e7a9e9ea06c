//! Functions that only count: they record the lengths of outputs and how far outputs grow, but
//! neither write the outputs nor compute workspaces used for them alone.

use redpoll_compiler::assembly::{Buffer, Expr, Function, Stmt};
use redpoll_compiler::lower::cleanup;
use std::collections::HashSet;

/// A counting function, and the buffers that it still writes because the counts depend on their
/// contents.
pub(super) struct CountingFunction {
    pub(super) function: Function,
    pub(super) retained: HashSet<Buffer>,
}

/// Returns the function without stores into `buffers` and without the code that computes the stored
/// values alone.
pub(super) fn to_counting_function(function: &Function, buffers: &HashSet<Buffer>) -> CountingFunction {
    let mut retained = HashSet::new();
    loop {
        let dropped: HashSet<Buffer> = buffers.difference(&retained).copied().collect();
        let body = without_stores(&function.body, &dropped);
        let counting = cleanup(Function { body, ..function.clone() });
        let before = retained.len();
        retained.extend(buffers_read(&counting.body).intersection(buffers));
        if retained.len() == before {
            return CountingFunction { function: counting, retained };
        }
    }
}

fn without_stores(body: &[Stmt], dropped: &HashSet<Buffer>) -> Vec<Stmt> {
    let without = |stmt: &Stmt| {
        Some(match stmt {
            Stmt::Store { buffer, .. } | Stmt::Sort { buffer, .. } | Stmt::SortBy { perm: buffer, .. }
                if dropped.contains(buffer) =>
            {
                return None;
            }
            Stmt::Swap(a, b) if dropped.contains(a) && dropped.contains(b) => return None,
            Stmt::If { cond, then, other } => {
                let (then, other) = (without_stores(then, dropped), without_stores(other, dropped));
                Stmt::If { cond: cond.clone(), then, other }
            }
            Stmt::While { cond, body } => Stmt::While { cond: cond.clone(), body: without_stores(body, dropped) },
            Stmt::For { var, lo, hi, body } => {
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body: without_stores(body, dropped) }
            }
            stmt => stmt.clone(),
        })
    };
    body.iter().filter_map(without).collect()
}

/// Returns the buffers that statements read.
fn buffers_read(body: &[Stmt]) -> HashSet<Buffer> {
    let mut found = HashSet::new();
    for stmt in body {
        stmt.any(&mut |s| {
            s.for_each_expr(&mut |e| {
                e.any(&mut |e| {
                    if let Expr::Load { buffer, .. } = e {
                        found.insert(*buffer);
                    }
                    false
                });
            });
            match s {
                Stmt::Sort { buffer, .. } => found.extend([*buffer]),
                Stmt::SortBy { perm, major, minor, .. } => found.extend([*perm, *major, *minor]),
                Stmt::Swap(a, b) => found.extend([*a, *b]),
                _ => {}
            }
            false
        });
    }
    found
}
