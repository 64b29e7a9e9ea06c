//! Removal of chunks from a function: the bounds of the chunk are replaced by the bounds of all
//! rounds. Growth, the record of lengths, constant conditions and needless assignments are removed.

use super::{for_each_part, for_each_stmt};
use redpoll_compiler::assembly::{
    BinaryOp, Buffer, BufferClass, CompareOp, Expr, Function, Local, Status, Stmt, UnaryOp,
};
use redpoll_logic::Scalar;
use std::collections::{HashMap, HashSet};

/// Makes one chunk of all rounds: the bounds of the chunk become 0 and `i64::MAX`. Removes growth
/// with its checks, and the records of the lengths of outputs, which are 0 at the start. Removes
/// conditions and assignments that become constant.
pub(super) fn remove_chunks(function: &mut Function) {
    let mut known = HashMap::from([
        (function.chunk.0, Expr::Const(Scalar::I64(0))),
        (function.chunk.1, Expr::Const(Scalar::I64(i64::MAX))),
    ]);
    loop {
        let body = std::mem::take(&mut function.body);
        function.body = simplify(function, body, &known);
        let mut assignments: HashMap<Local, usize> = HashMap::new();
        function
            .body
            .iter()
            .for_each(|s| s.for_each_assigned(&mut |local| *assignments.entry(local).or_default() += 1));
        let before = known.len();
        for_each_stmt(&function.body, &mut |stmt| match stmt {
            Stmt::Assign(local, value @ (Expr::Const(_) | Expr::Param(_))) if assignments[local] == 1 => {
                known.insert(*local, value.clone());
            }
            _ => {}
        });
        if known.len() == before {
            break;
        }
    }
}

/// Substitutes known locals. Removes growth with its checks, the records of lengths, branches that
/// are not taken, and the test around a loop that has no rounds if the test fails.
fn simplify(function: &Function, body: Vec<Stmt>, known: &HashMap<Local, Expr>) -> Vec<Stmt> {
    let value = |e: &Expr| fold(function, &e.substitute_locals(&|l| known.get(&l).cloned().unwrap_or(Expr::Local(l))));
    let block = |body: Vec<Stmt>| simplify(function, body, known);
    let mut simplified = Vec::new();
    for stmt in body {
        simplified.push(match stmt {
            Stmt::Assign(local, _) if known.contains_key(&local) => continue,
            Stmt::Assign(local, e) => Stmt::Assign(local, value(&e)),
            Stmt::Store { buffer, .. } if is_lengths(function, buffer) => continue,
            Stmt::Store { active, buffer, at, value: e } => {
                Stmt::Store { active, buffer, at: value(&at), value: value(&e) }
            }
            Stmt::If { cond, then, other } => match value(&cond) {
                Expr::Const(Scalar::Bool(taken)) => {
                    simplified.extend(block(if taken { then } else { other }));
                    continue;
                }
                cond => {
                    let (then, other) = (block(then), block(other));
                    match &then[..] {
                        // If the condition is false, the loop has no rounds.
                        [Stmt::For { lo, hi, .. }]
                            if other.is_empty()
                                && cond == Expr::Compare(CompareOp::Lt, Box::new(lo.clone()), Box::new(hi.clone())) =>
                        {
                            simplified.extend(then);
                            continue;
                        }
                        [] if other.is_empty() => continue,
                        _ => Stmt::If { cond, then, other },
                    }
                }
            },
            Stmt::While { cond, body } => match value(&cond) {
                Expr::Const(Scalar::Bool(false)) => continue,
                cond => Stmt::While { cond, body: block(body) },
            },
            Stmt::For { var, lo, hi, body } => Stmt::For { var, lo: value(&lo), hi: value(&hi), body: block(body) },
            Stmt::Lanes(mut fold) => {
                (fold.lo, fold.hi, fold.value) = (value(&fold.lo), value(&fold.hi), value(&fold.value));
                Stmt::Lanes(fold)
            }
            Stmt::Grow { .. } | Stmt::Return(Status::PositionOverflow) => continue,
            Stmt::Sort { buffer, lo, hi } => Stmt::Sort { buffer, lo: value(&lo), hi: value(&hi) },
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                Stmt::SortBy { perm, major, minor, lo: value(&lo), hi: value(&hi) }
            }
            stmt @ (Stmt::Break | Stmt::Swap(..) | Stmt::Return(_) | Stmt::Extension(_)) => stmt,
        });
    }
    simplified
}

/// Simplifies minima, maxima and `<` if both operands are constants, or one operand is 0 or
/// `i64::MAX`, the bounds of all rounds. Simplifies negations of constants; loads of recorded
/// lengths become 0. Assumes that sizes are not negative, and that operands that are not constants
/// are less than `i64::MAX`.
fn fold(function: &Function, e: &Expr) -> Expr {
    let part = |e: &Expr| Box::new(fold(function, e));
    let int = |e: &Expr| match e {
        Expr::Const(Scalar::I64(value)) => Some(*value),
        _ => None,
    };
    let is_size = |e: &Expr| match e {
        Expr::Param(_) => true,
        Expr::Load { buffer, .. } => {
            let decl = &function.buffers[buffer.index()];
            decl.class == BufferClass::Index && !decl.prim.is_signed()
        }
        _ => false,
    };
    match e {
        Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => {
            let (a, b) = (part(a), part(b));
            match (op, int(&a), int(&b)) {
                (BinaryOp::Min, Some(a), Some(b)) => Expr::Const(Scalar::I64(a.min(b))),
                (_, Some(a), Some(b)) => Expr::Const(Scalar::I64(a.max(b))),
                (BinaryOp::Min, Some(0), _) if is_size(&b) => *a,
                (BinaryOp::Min, Some(i64::MAX), _) => *b,
                (BinaryOp::Min, _, Some(i64::MAX)) => *a,
                (BinaryOp::Max, Some(0), _) if is_size(&b) => *b,
                (BinaryOp::Max, _, Some(0)) if is_size(&a) => *a,
                _ => Expr::Binary(*op, a, b),
            }
        }
        Expr::Binary(op, a, b) => Expr::Binary(*op, part(a), part(b)),
        Expr::Compare(op, a, b) => {
            let (a, b) = (part(a), part(b));
            let known = match (op, int(&a), int(&b)) {
                (CompareOp::Lt, Some(a), Some(b)) => Some(a < b),
                (CompareOp::Lt, _, Some(0)) if is_size(&a) => Some(false),
                (CompareOp::Lt, _, Some(i64::MAX)) => Some(true),
                (CompareOp::Lt, Some(i64::MAX), _) => Some(false),
                _ => None,
            };
            known.map_or_else(|| Expr::Compare(*op, a, b), |known| Expr::Const(Scalar::Bool(known)))
        }
        Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => e.clone(),
        Expr::Load { buffer, .. } if is_lengths(function, *buffer) => Expr::Const(Scalar::I64(0)),
        Expr::Load { buffer, at } => Expr::Load { buffer: *buffer, at: part(at) },
        Expr::Unary(op, a) => match (&*part(a), op) {
            (Expr::Const(Scalar::Bool(value)), UnaryOp::Not) => Expr::Const(Scalar::Bool(!value)),
            (a, _) => Expr::Unary(*op, Box::new(a.clone())),
        },
        Expr::Select(c, a, b) => Expr::Select(part(c), part(a), part(b)),
        Expr::Cast(prim, a) => Expr::Cast(*prim, part(a)),
        Expr::Math(f, args) => Expr::Math(*f, args.iter().map(|e| fold(function, e)).collect()),
    }
}

/// Returns whether a buffer records the lengths of outputs. No buffer of a tensor has this name,
/// because the names of such buffers contain a dot.
fn is_lengths(function: &Function, buffer: Buffer) -> bool {
    function.buffers[buffer.index()].name == "lengths"
}

/// Removes assignments to locals that nothing reads, and assignments at the end of the function.
pub(super) fn remove_unread(body: &mut Vec<Stmt>) {
    while matches!(body.last(), Some(Stmt::Assign(..))) {
        body.pop();
    }
    loop {
        let mut read: HashSet<Local> = HashSet::new();
        for_each_part(body, &mut |e| {
            if let Expr::Local(local) = e {
                read.insert(*local);
            }
        });
        let mut unread = false;
        for_each_stmt(body, &mut |stmt| {
            unread |= matches!(stmt, Stmt::Assign(local, _) if !read.contains(local));
        });
        if !unread {
            return;
        }
        retain_read(body, &read);
    }
}

fn retain_read(body: &mut Vec<Stmt>, read: &HashSet<Local>) {
    body.retain(|stmt| !matches!(stmt, Stmt::Assign(local, _) if !read.contains(local)));
    body.iter_mut().for_each(|stmt| stmt.bodies_mut().into_iter().flatten().for_each(|body| retain_read(body, read)));
}
