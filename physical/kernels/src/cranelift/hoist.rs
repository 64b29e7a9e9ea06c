//! Hoists loads out of innermost loops, and reads the bases of growing buffers before these loops.
//!
//! A load moves if the first round certainly executes the load, and every round would load the same
//! value: the loop neither assigns the locals of the position nor writes the buffer. Cranelift
//! hoists pure operations itself, but no loads.

use super::function::{FunctionEmitter, Pointer};
use redpoll_compiler::assembly::{Buffer, Expr, Stmt};

impl FunctionEmitter<'_> {
    /// Hoists the invariant loads of an innermost loop; does nothing for other loops. The innermost
    /// scope must hold the locals that the loop assigns. Call [`FunctionEmitter::forget`] after the
    /// loop.
    pub(super) fn hoist(&mut self, cond: Option<&Expr>, body: &[Stmt]) {
        if Stmt::has_loop(body) {
            return;
        }
        self.read_bases(cond, body);
        let writes = |stmt: &Stmt, buffer: Buffer| match stmt {
            Stmt::Store { buffer: b, .. } | Stmt::Grow { buffer: b, .. } | Stmt::Sort { buffer: b, .. } => *b == buffer,
            Stmt::SortBy { perm, .. } => *perm == buffer,
            Stmt::Swap(a, b) => *a == buffer || *b == buffer,
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
            // After a statement that may leave the loop, the first round may not execute the rest.
            if stmt.any(&mut |s| matches!(s, Stmt::Break | Stmt::Return(_) | Stmt::Grow { .. })) {
                break;
            }
        }
        for load in found {
            let value = self.expr(load);
            self.hoisted.push((load.clone(), value));
        }
    }

    /// Reads bases into variables: those of the growing buffers that the loop uses.
    fn read_bases(&mut self, cond: Option<&Expr>, body: &[Stmt]) {
        let mut used = vec![false; self.pointers.len()];
        let mut note = |e: &Expr| {
            e.any(&mut |e| {
                if let Expr::Load { buffer, .. } = e {
                    used[buffer.index()] = true;
                }
                false
            });
        };
        cond.into_iter().for_each(&mut note);
        for stmt in body {
            stmt.any(&mut |s| {
                s.for_each_expr(&mut note);
                false
            });
        }
        for stmt in body {
            stmt.any(&mut |s| {
                if let Stmt::Store { buffer, .. } = s {
                    used[buffer.index()] = true;
                }
                false
            });
        }
        for number in (0..used.len()).filter(|k| used[*k]) {
            if let Pointer::Growing(None) = self.pointers[number] {
                let base = self.builder.declare_var(self.pointer);
                let value = self.slot_base(Buffer(number as u32));
                self.builder.def_var(base, value);
                self.pointers[number] = Pointer::Growing(Some(base));
            }
        }
    }

    /// Discards hoisted values after a loop. Enclosing loops have no hoisted values.
    pub(super) fn forget(&mut self) {
        self.hoisted.clear();
        for pointer in &mut self.pointers {
            if let Pointer::Growing(base) = pointer {
                *base = None;
            }
        }
    }
}

/// Adds the outermost invariant loads of an expression.
fn note_loads<'e>(e: &'e Expr, stays: &dyn Fn(&Expr) -> bool, found: &mut Vec<&'e Expr>) {
    if matches!(e, Expr::Load { .. }) && stays(e) {
        if !found.contains(&e) {
            found.push(e);
        }
        return;
    }
    e.for_each_child(&mut |child| note_loads(child, stays, found));
}
