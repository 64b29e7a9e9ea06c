//! A late pass over a function: decides conditions on flags whose value is known at that point, and
//! removes folds and assignments into locals that are never read.
//!
//! Lowering emits code piecewise, so it cannot see that a flag was just set or that a cursor is
//! never read.

use crate::assembly::{Expr, Function, Local, Stmt};
use redpoll_logic::Scalar;
use std::collections::HashMap;

/// Returns the function without conditions on flags whose value is known at that point, and without
/// dead assignments, dead folds, and `if` and `for` statements with empty bodies.
pub fn cleanup(mut f: Function) -> Function {
    f.body = decide(f.body, &mut HashMap::new());
    let mut reads = vec![false; f.locals.len()];
    loop {
        reads.fill(false);
        note_reads(&f.body, &mut reads);
        let mut drops_reads = false;
        f.body = remove_dead(f.body, &reads, &mut drops_reads);
        if !drops_reads {
            return f;
        }
    }
}

/// Decides conditions that are flags whose value is known at that point. `flags` has the known
/// values: before the call, those on entry to `body`; after the call, those on exit from `body`.
fn decide(body: Vec<Stmt>, flags: &mut HashMap<Local, bool>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Assign(local, value) => {
                match &value {
                    Expr::Const(Scalar::Bool(v)) => flags.insert(local, *v),
                    _ => flags.remove(&local),
                };
                out.push(Stmt::Assign(local, value));
            }
            Stmt::If { cond, then, other } => {
                let decided = match &cond {
                    Expr::Local(l) => flags.get(l).copied(),
                    _ => None,
                };
                match decided {
                    Some(true) => out.extend(decide(then, flags)),
                    Some(false) => out.extend(decide(other, flags)),
                    None => {
                        let (mut in_then, mut in_other) = (flags.clone(), flags.clone());
                        if let Expr::Local(l) = &cond {
                            in_then.insert(*l, true);
                            in_other.insert(*l, false);
                        }
                        let (then, other) = (decide(then, &mut in_then), decide(other, &mut in_other));
                        flags.retain(|l, v| in_then.get(l) == Some(v) && in_other.get(l) == Some(v));
                        out.push(Stmt::If { cond, then, other });
                    }
                }
            }
            Stmt::While { cond, body } => {
                let body = decide_loop(body, flags);
                out.push(Stmt::While { cond, body });
            }
            Stmt::For { var, lo, hi, body } => {
                let body = decide_loop(body, flags);
                out.push(Stmt::For { var, lo, hi, body });
            }
            other => {
                forget_assigned(&other, flags);
                out.push(other);
            }
        }
    }
    out
}

/// Decides conditions in the body of a loop. Locals that the body assigns are unknown on entry and
/// after the loop.
fn decide_loop(body: Vec<Stmt>, flags: &mut HashMap<Local, bool>) -> Vec<Stmt> {
    body.iter().for_each(|stmt| forget_assigned(stmt, flags));
    decide(body, &mut flags.clone())
}

/// Removes from `flags` the locals that a statement assigns.
fn forget_assigned(stmt: &Stmt, flags: &mut HashMap<Local, bool>) {
    if flags.is_empty() {
        return;
    }
    stmt.for_each_assigned(&mut |local| {
        flags.remove(&local);
    });
}

/// Marks the locals that statements read. A local that is read only by its own assignment, or only
/// as the accumulator of a lane fold, is not marked.
pub(super) fn note_reads(body: &[Stmt], reads: &mut [bool]) {
    for stmt in body {
        match stmt {
            // A local that is read only by its own assignment is dead.
            Stmt::Assign(local, value) => {
                let was = reads[local.index()];
                note_expr(value, reads);
                reads[local.index()] = was;
            }
            stmt => stmt.for_each_expr(&mut |e| note_expr(e, reads)),
        }
        stmt.bodies().into_iter().for_each(|body| note_reads(body, reads));
    }
}

fn note_expr(e: &Expr, reads: &mut [bool]) {
    match e {
        Expr::Local(l) => reads[l.index()] = true,
        Expr::Const(_) | Expr::Param(_) => {}
        Expr::Load { at: a, .. } | Expr::Unary(_, a) | Expr::Cast(_, a) => note_expr(a, reads),
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
            note_expr(a, reads);
            note_expr(b, reads);
        }
        Expr::Select(c, a, b) => {
            for e in [c, a, b] {
                note_expr(e, reads);
            }
        }
        Expr::Math(_, args) => args.iter().for_each(|a| note_expr(a, reads)),
    }
}

/// Removes dead assignments and folds, and the `if` and `for` statements that this leaves without
/// statements. Sets `drops_reads` if a removed statement reads a local, which may then be dead.
fn remove_dead(body: Vec<Stmt>, reads: &[bool], drops_reads: &mut bool) -> Vec<Stmt> {
    body.into_iter()
        .filter_map(|stmt| {
            let (kept, removed) = match stmt {
                Stmt::Assign(local, _) if !reads[local.index()] => (None, Some(stmt)),
                Stmt::Lanes(ref fold) if !reads[fold.acc.index()] => (None, Some(stmt)),
                Stmt::If { cond, then, other } => {
                    let then = remove_dead(then, reads, drops_reads);
                    let other = remove_dead(other, reads, drops_reads);
                    let is_empty = then.is_empty() && other.is_empty();
                    keep_unless(is_empty, Stmt::If { cond, then, other })
                }
                Stmt::While { cond, body } => {
                    (Some(Stmt::While { cond, body: remove_dead(body, reads, drops_reads) }), None)
                }
                Stmt::For { var, lo, hi, body } => {
                    let body = remove_dead(body, reads, drops_reads);
                    keep_unless(body.is_empty(), Stmt::For { var, lo, hi, body })
                }
                other => (Some(other), None),
            };
            if let Some(stmt) = removed {
                stmt.for_each_expr(&mut |e| *drops_reads |= e.any(&mut |e| matches!(e, Expr::Local(_))));
            }
            kept
        })
        .collect()
}

/// Returns the statement as kept, or as removed.
fn keep_unless(is_empty: bool, stmt: Stmt) -> (Option<Stmt>, Option<Stmt>) {
    if is_empty { (None, Some(stmt)) } else { (Some(stmt), None) }
}
