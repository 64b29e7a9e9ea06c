//! Functions without some of their stores. A counting function records the lengths of outputs, and
//! the sizes to which outputs grow. It writes an output or a workspace only if the counts depend on
//! the contents of that output or workspace.

use redpoll_compiler::assembly::{Buffer, Expr, Function, Stmt};
use redpoll_compiler::lower::cleanup;
use std::collections::HashSet;

/// A counting function, and those of the given buffers that it still writes, because the counts
/// depend on their contents.
pub(super) struct CountingFunction {
    pub(super) function: Function,
    pub(super) retained: HashSet<Buffer>,
}

/// Removes the stores into `buffers`, and the code that only these stores need. Retains the stores
/// into a buffer if the counts depend on its contents.
pub(super) fn to_counting_function(function: &Function, buffers: &HashSet<Buffer>) -> CountingFunction {
    let mut retained = HashSet::new();
    loop {
        let dropped: HashSet<Buffer> = buffers.difference(&retained).copied().collect();
        let body = without_statements(&function.body, &|stmt| stores_only_into(stmt, &dropped));
        let counting = cleanup(Function { body, ..function.clone() });
        let before = retained.len();
        retained.extend(buffers_read(&counting.body).intersection(buffers));
        if retained.len() == before {
            return CountingFunction { function: counting, retained };
        }
    }
}

/// Returns a function without the statements that write or grow a buffer. The function must not
/// read the buffer.
pub(super) fn without_writes(function: &Function, buffer: Buffer) -> Function {
    let writes = |stmt: &Stmt| {
        matches!(stmt, Stmt::Grow { buffer: grown, .. } if *grown == buffer)
            || stores_only_into(stmt, &HashSet::from([buffer]))
    };
    cleanup(Function { body: without_statements(&function.body, &writes), ..function.clone() })
}

/// Returns whether a statement changes elements of `buffers` and does nothing else.
fn stores_only_into(stmt: &Stmt, buffers: &HashSet<Buffer>) -> bool {
    match stmt {
        Stmt::Store { buffer, .. } | Stmt::Sort { buffer, .. } | Stmt::SortBy { perm: buffer, .. } => {
            buffers.contains(buffer)
        }
        Stmt::Swap(a, b) => buffers.contains(a) && buffers.contains(b),
        _ => false,
    }
}

fn without_statements(body: &[Stmt], dropped: &impl Fn(&Stmt) -> bool) -> Vec<Stmt> {
    let without = |body: &[Stmt]| without_statements(body, dropped);
    let retained = body.iter().filter(|stmt| !dropped(stmt));
    let inside = retained.map(|stmt| match stmt {
        Stmt::If { cond, then, other } => Stmt::If { cond: cond.clone(), then: without(then), other: without(other) },
        Stmt::While { cond, body } => Stmt::While { cond: cond.clone(), body: without(body) },
        Stmt::For { var, lo, hi, body } => Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body: without(body) },
        stmt => stmt.clone(),
    });
    inside.collect()
}

/// Returns the buffers that statements load from, sort, sort by or swap.
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
