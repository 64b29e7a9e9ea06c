//! Loops that count: `while` loops whose last statement increments a local become `for` loops. Also
//! finds the loop whose rounds threads share.

use super::{for_each_part, for_each_stmt};
use redpoll_compiler::assembly::{BinaryOp, BufferRole, CompareOp, Expr, Function, Local, Stmt};
use redpoll_logic::Scalar;
use std::collections::{HashMap, HashSet};

/// Returns the variable of the loop whose rounds threads share: the first loop, if it is a `for`
/// loop whose bounds depend on the bounds of the chunk.
pub(super) fn chunked_loop(function: &Function) -> Option<Local> {
    let mut bounds = HashSet::from([function.chunk.0, function.chunk.1]);
    let mut first = None;
    for_each_stmt(&function.body, &mut |stmt| {
        let depends = |e: &Expr| e.any(&mut |e| matches!(e, Expr::Local(local) if bounds.contains(local)));
        match stmt {
            Stmt::Assign(local, e) if depends(e) => {
                bounds.insert(*local);
            }
            Stmt::For { var, lo, hi, .. } if first.is_none() => {
                first = Some(Some(*var).filter(|_| depends(lo) || depends(hi)));
            }
            Stmt::While { .. } | Stmt::Lanes(_) if first.is_none() => first = Some(None),
            _ => {}
        }
    });
    first.flatten()
}

/// Returns whether an expression is known to have the same value in all rounds of a loop with this
/// body. Loads of owned buffers count as changing.
pub(super) fn is_unchanged(function: &Function, e: &Expr, body: &[Stmt]) -> bool {
    let mut assigned = HashSet::new();
    body.iter().for_each(|s| {
        s.for_each_assigned(&mut |local| {
            assigned.insert(local);
        });
    });
    !e.any(&mut |e| match e {
        Expr::Local(local) => assigned.contains(local),
        Expr::Load { buffer, .. } => function.buffers[buffer.index()].role == BufferRole::Owned,
        _ => false,
    })
}

/// Turns `while` loops that count into `for` loops. Such a loop has the condition `local < bound`,
/// and increments the local at the end of each round. The bound must not change, and the local must
/// be set right before the loop and be used nowhere else. If the bound is a local that only the
/// condition reads, its value replaces the local in the head of the loop where possible.
pub(super) fn make_for_loops(function: &mut Function) {
    let body = std::mem::take(&mut function.body);
    let uses = Uses::of(&body);
    function.body = block(function, body, &uses);
}

/// The numbers of reads and of assignments of each local in a function.
struct Uses {
    reads: HashMap<Local, usize>,
    assignments: HashMap<Local, usize>,
}

impl Uses {
    fn of(body: &[Stmt]) -> Uses {
        let mut uses = Uses { reads: HashMap::new(), assignments: HashMap::new() };
        for_each_part(body, &mut |e| {
            if let Expr::Local(local) = e {
                *uses.reads.entry(*local).or_default() += 1;
            }
        });
        let assignments = &mut uses.assignments;
        body.iter().for_each(|s| s.for_each_assigned(&mut |local| *assignments.entry(local).or_default() += 1));
        uses
    }
}

fn block(function: &Function, body: Vec<Stmt>, uses: &Uses) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::new();
    for mut stmt in body {
        let counter = counter(function, &stmt, uses);
        for inner in stmt.bodies_mut().into_iter().flatten() {
            *inner = block(function, std::mem::take(inner), uses);
        }
        let trail = out.iter().rposition(|s| !matches!(s, Stmt::Assign(..))).map_or(0, |at| at + 1);
        let mut before = out.split_off(trail);
        let stmt = match counter.and_then(|var| Some((var, take_value(&mut before, var)?))) {
            Some((var, lo)) => for_loop(function, (var, lo), stmt, (&mut before, uses)),
            None => stmt,
        };
        out.extend(before);
        out.push(stmt);
    }
    out
}

/// Returns the local that a `while` loop compares with an unchanged bound and increments at the end
/// of each round, if only the loop reads the local, and only one other statement assigns it.
fn counter(function: &Function, stmt: &Stmt, uses: &Uses) -> Option<Local> {
    let Stmt::While { cond: Expr::Compare(CompareOp::Lt, var, hi), body } = stmt else { return None };
    let Expr::Local(var) = **var else { return None };
    let next = Expr::Binary(BinaryOp::Add, Box::new(Expr::Local(var)), Box::new(Expr::Const(Scalar::I64(1))));
    let here = Uses::of(std::slice::from_ref(stmt));
    let counts = body.last() == Some(&Stmt::Assign(var, next))
        && uses.assignments.get(&var) == Some(&2)
        && here.assignments.get(&var) == Some(&1)
        && here.reads.get(&var) == uses.reads.get(&var)
        && is_unchanged(function, hi, body);
    counts.then_some(var)
}

/// Turns a `while` loop that increments `var` into a `for` loop from `lo`. `before` holds the
/// assignments before the loop.
fn for_loop(
    function: &Function,
    (var, lo): (Local, Expr),
    stmt: Stmt,
    (before, uses): (&mut Vec<Stmt>, &Uses),
) -> Stmt {
    let Stmt::While { cond: Expr::Compare(_, _, mut hi), mut body } = stmt else {
        unreachable!("only a `while` loop counts")
    };
    if let Expr::Local(end) = *hi
        && uses.reads.get(&end) == Some(&1)
        && uses.assignments.get(&end) == Some(&1)
        && let Some(value) = take_value(before, end)
    {
        if is_unchanged(function, &value, &body) {
            *hi = value;
        } else {
            before.push(Stmt::Assign(end, value));
        }
    }
    body.pop();
    Stmt::For { var, lo, hi: *hi, body }
}

/// Removes the last assignment of a local, and returns its value. Removes nothing and returns
/// `None` if there is no assignment of the local, or if a later assignment changes the value or
/// reads the local.
fn take_value(assignments: &mut Vec<Stmt>, of: Local) -> Option<Expr> {
    let at = assignments.iter().rposition(|s| matches!(s, Stmt::Assign(local, _) if *local == of))?;
    let Stmt::Assign(_, value) = assignments[at].clone() else { return None };
    let is_movable = |s: &Stmt| matches!(s, Stmt::Assign(local, e) if !value.mentions(*local) && !e.mentions(of));
    if !assignments[at + 1..].iter().all(is_movable) {
        return None;
    }
    assignments.remove(at);
    Some(value)
}
