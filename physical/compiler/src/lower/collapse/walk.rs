//! Recognition of loops whose rounds walk along ranges of positions.

use super::polynomial::{are_equal, is_offset_of};
use crate::assembly::build::{add, int, load, local, mul, plus, sub};
use crate::assembly::{BinaryOp, Buffer, CompareOp, Expr, LaneFold, Local, LocalDecl, Stmt};
use crate::lower::lanes::{count_nodes, count_reads, identity};
use redpoll_logic::{FloatMode, Scalar};

/// Limit on the number of nodes in the end of a walk, and in the value of each local that is
/// assigned before the walk.
const MAX_BOUND_NODES: usize = 64;

/// The walk of one round of a loop: `cursor = begin; while cursor < end { body }`.
pub(super) struct Walk {
    pub(super) cursor: Local,
    /// The first position, and one past the last.
    pub(super) begin: Expr,
    pub(super) end: Expr,
    /// The local to which the round assigns the end; `None` if there is no such local.
    pub(super) end_local: Option<Local>,
    /// The body, with the step of the cursor at its end.
    pub(super) body: Vec<Stmt>,
    /// True if the cursor was the coordinate of a loop over a row.
    pub(super) is_row: bool,
    /// The number of lanes, if the walk was a fold in lanes.
    pub(super) lanes: Option<u16>,
    /// Two kinds of locals: those that the round assigns before the walk, without accumulators of
    /// folds, and the variables of the loops and lane folds that became the walk.
    locals: Vec<Local>,
    /// The local with the end of a run of equal coordinates, and the bound of the scan that finds
    /// this end. The run begins at the cursor of the loop around the round.
    scan: Option<(Local, Expr)>,
    /// The statements before the walk if any of them is a fold; empty otherwise.
    pub(super) folds: Vec<Stmt>,
}

/// The facts on a function that decide which of its loops are walks.
pub(super) struct Recognizer<'a> {
    pub(super) mode: FloatMode,
    pub(super) locals: &'a [LocalDecl],
    /// Number of reads of each local in the function.
    pub(super) reads: &'a [usize],
}

/// The effects of the statements before a walk.
#[derive(Default)]
struct Prologue {
    /// The values of the locals that the statements assign, in terms of the locals before the
    /// statements. The local with the end of a scan stands for its own value.
    values: Vec<(Local, Expr)>,
    scan: Option<(Local, Expr)>,
    has_folds: bool,
}

impl Recognizer<'_> {
    /// Returns the walk that each round of a loop over `var` consists of; `None` if a round is not
    /// a walk, or if the walks do not follow each other.
    pub(super) fn of_fibers(&self, var: Local, body: &[Stmt]) -> Option<Walk> {
        self.walk(body, None).filter(|walk| self.follow_each_other(walk, var, body))
    }

    /// Returns the walk that each round of a `while` loop along positions consists of, with the
    /// cursor and the end of the `while` loop. Returns `None` if a round is not a walk, if folds
    /// stand before a walk, or if the walks do not follow each other.
    pub(super) fn of_positions(&self, cond: &Expr, body: &[Stmt]) -> Option<(Walk, Local, Expr)> {
        let (q, end) = bounds(cond)?;
        let (step, round) = body.split_last()?;
        let walk = self.walk(round, Some(q)).filter(|walk| walk.folds.is_empty())?;
        let follow = match &walk.scan {
            // The next round begins where the scan stops.
            Some((stop, bound)) => {
                let is_run = walk.begin == local(q) && walk.end == local(*stop) && bound == end;
                is_run && *step == Stmt::Assign(q, local(*stop)) && self.has_free_body(&walk, q, body)
            }
            None => is_step(step, q) && self.follow_each_other(&walk, q, body),
        };
        let is_fixed = !assigns_any(round, &mut |l| l == q || end.mentions(l)) && reads_unchanged(end, body);
        (follow && is_fixed).then(|| (walk, q, end.clone()))
    }

    /// Returns whether the walk of each round ends where the walk of the next round begins, and
    /// nothing else depends on the round.
    fn follow_each_other(&self, walk: &Walk, var: Local, body: &[Stmt]) -> bool {
        let next = at(&walk.begin, var, &plus(&local(var), 1));
        walk.scan.is_none() && are_equal(&walk.end, &next) && self.has_free_body(walk, var, body)
    }

    /// Returns whether the body of the walk does not depend on the round, the bounds do not change
    /// during the loop, and only the round itself reads the locals in `Walk::locals`.
    fn has_free_body(&self, walk: &Walk, var: Local, body: &[Stmt]) -> bool {
        let mut reads = vec![0; self.reads.len()];
        count_reads(body, &mut reads);
        !mentions_any(&walk.body, &mut |l| l == var)
            && walk.locals.iter().all(|l| reads[l.index()] == self.reads[l.index()])
            && !assigns_any(body, &mut |l| l != var && !walk.locals.contains(&l) && walk.begin.mentions(l))
            && !walk.locals.iter().any(|l| *l != var && walk.begin.mentions(*l))
            && reads_unchanged(&walk.begin, body)
    }

    /// Returns the statements of a round as a walk. `outer` is the cursor of the loop around them,
    /// if that loop is a walk.
    fn walk(&self, round: &[Stmt], outer: Option<Local>) -> Option<Walk> {
        let (last, before) = round.split_last()?;
        if !matches!(last, Stmt::While { .. } | Stmt::For { .. } | Stmt::Lanes(_)) {
            return None;
        }
        let prologue = self.prologue(before, last, outer)?;
        let value = |e: &Expr| e.substitute_locals(&|l| prologue.value(l));
        let walk = match last {
            Stmt::While { cond, body } => self.along_list(cond, body)?,
            Stmt::For { var, lo, hi, body } if is_ascending(lo, hi) => match self.of_fibers(*var, body) {
                Some(below) if below.folds.is_empty() => {
                    let (begin, end) = (at(&below.begin, *var, lo), at(&below.begin, *var, hi));
                    let locals = below.locals.iter().copied().chain([*var]).collect();
                    Walk { begin, end, locals, ..below }
                }
                _ => along_row(*var, (lo, hi), body.clone(), &value)?,
            },
            Stmt::Lanes(fold) if is_ascending(&fold.lo, &fold.hi) => {
                let LaneFold { acc, op, lanes, var, lo, hi, value: element, .. } = &**fold;
                let folded = Expr::Binary(*op, Box::new(local(*acc)), Box::new(element.clone()));
                let walk = along_row(*var, (lo, hi), vec![Stmt::Assign(*acc, folded)], &value)?;
                Walk { lanes: Some(*lanes), ..walk }
            }
            _ => return None,
        };
        let (begin, end) = (value(&walk.begin), value(&walk.end));
        let is_own = |l: Local| prologue.values.iter().any(|(own, _)| *own == l);
        let in_body = &mut |l: Local| l != walk.cursor && is_own(l);
        if count_nodes(&end) > MAX_BOUND_NODES || mentions_any(&walk.body, in_body) || assigns_any(&walk.body, in_body)
        {
            return None;
        }
        let locals = walk.locals.iter().copied().chain(prologue.values.iter().map(|(l, _)| *l)).collect();
        let end_local = walk.end_local.filter(|l| is_own(*l));
        let folds = if prologue.has_folds { before.to_vec() } else { Vec::new() };
        Some(Walk { begin, end, end_local, locals, scan: prologue.scan, folds, ..walk })
    }

    /// Returns a `while` loop as a walk. The bounds are in terms of the values that locals have
    /// before the loop.
    fn along_list(&self, cond: &Expr, body: &[Stmt]) -> Option<Walk> {
        let (cursor, end) = bounds(cond)?;
        let (step, inner) = body.split_last()?;
        let is_fixed = !assigns_any(inner, &mut |l| l == cursor || end.mentions(l)) && reads_unchanged(end, inner);
        if !is_step(step, cursor) || !is_fixed || has_break(inner) {
            return None;
        }
        if let Some(below) = self.walk(inner, None)
            && below.folds.is_empty()
            && self.follow_each_other(&below, cursor, body)
        {
            let (begin, last) = (below.begin.clone(), at(&below.begin, cursor, end));
            return Some(Walk { begin, end: last, ..below });
        }
        let end_local = match end {
            Expr::Local(l) => Some(*l),
            _ => None,
        };
        Some(Walk {
            cursor,
            begin: local(cursor),
            end: end.clone(),
            end_local,
            body: body.to_vec(),
            is_row: false,
            lanes: None,
            locals: Vec::new(),
            scan: None,
            folds: Vec::new(),
        })
    }

    /// Returns the effects of the statements `before` the loop `last`. Each statement must assign a
    /// local, scan to the end of a run, or fold values in an arbitrary order. Returns `None` in
    /// these cases:
    /// - a statement is of another kind, or a second scan;
    /// - a scan does not start at the position after the cursor `outer`;
    /// - a local is assigned twice, after a value reads it, or from its own value;
    /// - a value has more than [`MAX_BOUND_NODES`] nodes;
    /// - a statement reads a buffer that the loop changes;
    /// - a statement reads a local that the loop assigns, unless an earlier statement assigns the
    ///   local or the statement folds into it.
    fn prologue(&self, before: &[Stmt], last: &Stmt, outer: Option<Local>) -> Option<Prologue> {
        let body = std::slice::from_ref(last);
        let (mut assigned, changed) = (vec![false; self.reads.len()], changed_buffers(body));
        last.for_each_assigned(&mut |l| assigned[l.index()] = true);
        let mut prologue = Prologue::default();
        let mut accumulators: Vec<Local> = Vec::new();
        for stmt in before {
            let is_fold = self.is_fold(stmt, before, body);
            if is_fold {
                stmt.for_each_assigned(&mut |l| accumulators.push(l));
                prologue.has_folds = true;
            }
            let is_own = |l: Local| accumulators.contains(&l) || prologue.values.iter().any(|(own, _)| *own == l);
            let mut reads_body = false;
            for_each_expr(stmt, &mut |e| {
                reads_body |= e.any(&mut |e| match e {
                    Expr::Local(l) => assigned[l.index()] && !is_own(*l),
                    Expr::Load { buffer, .. } => changed.contains(buffer),
                    _ => false,
                });
            });
            if reads_body {
                return None;
            }
            if is_fold {
                continue;
            }
            if let Some((stop, bound)) = scan_of(stmt) {
                let first = prologue.values.iter_mut().find(|(l, _)| *l == stop)?;
                if prologue.scan.is_some() || !are_equal(&first.1, &plus(&local(outer?), 1)) {
                    return None;
                }
                first.1 = local(stop);
                prologue.scan = Some((stop, bound.clone()));
                continue;
            }
            let Stmt::Assign(l, e) = stmt else { return None };
            let value = e.substitute_locals(&|l| prologue.value(l));
            let is_assigned = prologue.values.iter().any(|(own, value)| own == l || value.mentions(*l));
            if is_assigned || e.mentions(*l) || count_nodes(&value) > MAX_BOUND_NODES {
                return None;
            }
            prologue.values.push((*l, value));
        }
        Some(prologue)
    }

    /// Returns whether a statement before a walk only folds values, possibly under conditions, and
    /// may run before or after any round of the walk.
    fn is_fold(&self, stmt: &Stmt, before: &[Stmt], body: &[Stmt]) -> bool {
        match stmt {
            Stmt::If { then, other, .. } => then.iter().chain(other).all(|s| self.is_fold(s, before, body)),
            Stmt::Assign(acc, Expr::Binary(op, left, _)) if **left == local(*acc) => {
                let prim = self.locals[acc.index()].prim;
                identity(*op, prim, self.mode).is_some() && only_folds(before, *acc, *op) && only_folds(body, *acc, *op)
            }
            _ => false,
        }
    }
}

impl Prologue {
    /// Returns the value of a local after the statements.
    fn value(&self, l: Local) -> Expr {
        self.values.iter().find(|(own, _)| *own == l).map_or(local(l), |(_, value)| value.clone())
    }
}

/// Returns a loop over the coordinates of a row as a walk along positions:
/// `for j in lo..hi { body(row + j) }`. The body must not leave the loop. It must read the
/// coordinate, but only in positions, and all these positions must be equal. `value` rewrites an
/// expression in terms of the values that locals have before the round.
fn along_row(var: Local, (lo, hi): (&Expr, &Expr), mut body: Vec<Stmt>, value: &dyn Fn(&Expr) -> Expr) -> Option<Walk> {
    if has_break(&body) {
        return None;
    }
    let mut position: Option<Expr> = None;
    let mut reads_row = true;
    let mut find = |e: &Expr| {
        let is_position = is_offset_of(e, var);
        match &position {
            Some(first) if is_position => reads_row &= are_equal(first, &value(e)),
            None if is_position => position = Some(value(e)),
            _ => reads_row &= *e != local(var),
        }
        is_position
    };
    body.iter().for_each(|s| for_each_expr(s, &mut |e| visit(e, &mut find)));
    let position = position.filter(|_| reads_row)?;
    body.iter_mut().for_each(|s| replace(s, &|e| is_offset_of(e, var).then(|| local(var))));
    body.push(Stmt::Assign(var, plus(&local(var), 1)));
    let (begin, end) = (at(&position, var, lo), at(&position, var, hi));
    Some(Walk {
        cursor: var,
        begin,
        end,
        end_local: None,
        body,
        is_row: true,
        lanes: None,
        locals: vec![var],
        scan: None,
        folds: Vec::new(),
    })
}

/// Returns an `i64` expression with a value in place of a local.
pub(super) fn at(e: &Expr, var: Local, value: &Expr) -> Expr {
    match e {
        Expr::Local(l) if *l == var => value.clone(),
        Expr::Binary(BinaryOp::Add, a, b) => add(&at(a, var, value), &at(b, var, value)),
        Expr::Binary(BinaryOp::Sub, a, b) => sub(&at(a, var, value), &at(b, var, value)),
        Expr::Binary(BinaryOp::Mul, a, b) => mul(&at(a, var, value), &at(b, var, value)),
        Expr::Load { buffer, at: index } => load(*buffer, at(index, var, value)),
        _ => e.substitute_locals(&|l| if l == var { value.clone() } else { local(l) }),
    }
}

/// Returns whether `lo <= hi` is known to hold: `lo` is 0, and `hi` is a parameter or a constant of
/// at least 0. Parameters are sizes and lengths, which are never negative.
pub(super) fn is_ascending(lo: &Expr, hi: &Expr) -> bool {
    let is_size = match hi {
        Expr::Param(_) => true,
        Expr::Const(Scalar::I64(n)) => *n >= 0,
        _ => false,
    };
    *lo == int(0) && is_size
}

/// Returns the cursor and the end of a loop with the condition `cursor < end`, where `end` does not
/// read the cursor.
fn bounds(cond: &Expr) -> Option<(Local, &Expr)> {
    match cond {
        Expr::Compare(CompareOp::Lt, q, end) => match **q {
            Expr::Local(q) if !end.mentions(q) => Some((q, end)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the local and the bound of a scan to the end of a run of equal elements:
/// `while stop < bound { if c { break }; stop = stop + 1 }`. If `stop <= bound` holds before the
/// scan, it also holds afterwards.
fn scan_of(stmt: &Stmt) -> Option<(Local, &Expr)> {
    let Stmt::While { cond, body } = stmt else { return None };
    let (stop, bound) = bounds(cond)?;
    match &body[..] {
        [Stmt::If { then, other, .. }, step]
            if then[..] == [Stmt::Break] && other.is_empty() && is_step(step, stop) =>
        {
            Some((stop, bound))
        }
        _ => None,
    }
}

fn is_step(stmt: &Stmt, cursor: Local) -> bool {
    *stmt == Stmt::Assign(cursor, plus(&local(cursor), 1))
}

/// Returns whether statements read and assign an accumulator only in folds by the operator.
fn only_folds(stmts: &[Stmt], acc: Local, op: BinaryOp) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Assign(l, Expr::Binary(own, left, value)) if *l == acc => {
            *own == op && **left == local(acc) && !value.mentions(acc)
        }
        Stmt::Assign(l, _) if *l == acc => false,
        Stmt::Lanes(fold) if fold.acc == acc => {
            fold.op == op && ![&fold.lo, &fold.hi, &fold.value].iter().any(|e| e.mentions(acc))
        }
        stmt => {
            let mut reads = false;
            stmt.for_each_expr(&mut |e| reads |= e.mentions(acc));
            !reads && stmt.bodies().into_iter().all(|body| only_folds(body, acc, op))
        }
    })
}

/// Returns whether the statements, or nested ones, read a local that passes the test.
fn mentions_any(stmts: &[Stmt], test: &mut dyn FnMut(Local) -> bool) -> bool {
    let mut found = false;
    let mut read = |e: &Expr| found = found || e.any(&mut |e| matches!(e, Expr::Local(l) if test(*l)));
    stmts.iter().for_each(|stmt| for_each_expr(stmt, &mut read));
    found
}

/// Returns whether the statements, or nested ones, assign a local that passes the test.
pub(super) fn assigns_any(stmts: &[Stmt], test: &mut dyn FnMut(Local) -> bool) -> bool {
    let mut found = false;
    stmts.iter().for_each(|stmt| stmt.for_each_assigned(&mut |l| found = found || test(l)));
    found
}

/// Returns whether the statements may leave the loop around them by a `break`.
fn has_break(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::If { then, other, .. } => has_break(then) || has_break(other),
        _ => false,
    })
}

/// Returns whether the statements change no buffer that the expression loads from.
pub(super) fn reads_unchanged(e: &Expr, stmts: &[Stmt]) -> bool {
    let changed = changed_buffers(stmts);
    !e.any(&mut |e| matches!(e, Expr::Load { buffer, .. } if changed.contains(buffer)))
}

/// Returns the buffers whose elements the statements may change.
fn changed_buffers(stmts: &[Stmt]) -> Vec<Buffer> {
    let mut changed = Vec::new();
    for stmt in stmts {
        match stmt {
            Stmt::Store { buffer, .. } | Stmt::Grow { buffer, .. } | Stmt::Sort { buffer, .. } => changed.push(*buffer),
            Stmt::SortBy { perm, .. } => changed.push(*perm),
            Stmt::Swap(a, b) => changed.extend([*a, *b]),
            _ => {}
        }
        stmt.bodies().into_iter().for_each(|body| changed.extend(changed_buffers(body)));
    }
    changed
}

/// Calls `f` on each expression of a statement and of nested ones.
fn for_each_expr(stmt: &Stmt, f: &mut dyn FnMut(&Expr)) {
    stmt.for_each_expr(&mut |e| f(e));
    stmt.bodies().into_iter().flatten().for_each(|s| for_each_expr(s, f));
}

/// Calls `f` on an expression, and visits its operands unless `f` returns true.
fn visit(e: &Expr, f: &mut dyn FnMut(&Expr) -> bool) {
    if !f(e) {
        e.for_each_child(&mut |child| visit(child, f));
    }
}

/// Replaces expressions in a statement and in nested ones, as [`Expr::replace`] does.
fn replace(stmt: &mut Stmt, with: &dyn Fn(&Expr) -> Option<Expr>) {
    stmt.for_each_expr_mut(&mut |e| *e = e.replace(with));
    stmt.bodies_mut().into_iter().flatten().flatten().for_each(|s| replace(s, with));
}
