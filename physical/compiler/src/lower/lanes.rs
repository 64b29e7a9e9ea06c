//! Fixed lanes: a loop that only folds one value into a local becomes a fold in lanes.
//!
//! Loops over every coordinate are converted wherever the fold may be regrouped. Walks along lists
//! are converted only in two cases, since short lists are slower in lanes: the program requests
//! lanes (`lanes-for`), or `collapse` has merged the walks of many fibers.
//!
//! Lanes regroup the fold, so its operator must be associative and commutative in the float mode.
//! The order of the lanes is part of the statement, so that every backend computes the same bits.

use super::cx::Cx;
use crate::assembly::build::{local, max, plus};
use crate::assembly::{BinaryOp, CompareOp, Expr, Function, LaneFold, Local, LocalDecl, Stmt};
use redpoll_logic::{FloatMode, Prim, Scalar};

/// Number of lanes of a fold: two 512-bit vectors, or eight 128-bit vectors, of 64-bit values.
pub(super) const LANES: u16 = 16;
/// Limit on the number of nodes in the value that a round of a walk folds. Locals of the round are
/// substituted into the value in full.
const MAX_VALUE_NODES: usize = 64;

/// Returns the loop as a fold in lanes if its body only folds one value, which depends on the
/// index, and the fold may be regrouped. Returns other loops unchanged. `requested` is the number
/// of lanes; `None` selects [`LANES`].
pub(crate) fn fold_in_lanes(cx: &Cx<'_>, stmt: Stmt, requested: Option<u8>) -> Stmt {
    let Stmt::For { var, lo, hi, body } = stmt else { return stmt };
    let fold = match &body[..] {
        [Stmt::Assign(acc, Expr::Binary(op, left, value))]
            if **left == Expr::Local(*acc) && !value.mentions(*acc) && value.mentions(var) =>
        {
            let prim = cx.locals[acc.index()].prim;
            identity(*op, prim, cx.mode).map(|identity| LaneFold {
                acc: *acc,
                op: *op,
                identity,
                lanes: requested.map_or(LANES, u16::from),
                var,
                lo: lo.clone(),
                hi: hi.clone(),
                value: (**value).clone(),
            })
        }
        _ => None,
    };
    match fold {
        Some(fold) => Stmt::Lanes(Box::new(fold)),
        None => Stmt::For { var, lo, hi, body },
    }
}

/// Returns the identity of an operator; `None` if folds by the operator must not be regrouped.
pub fn identity(op: BinaryOp, prim: Prim, mode: FloatMode) -> Option<Scalar> {
    let is_exact = matches!(op, BinaryOp::Min | BinaryOp::Max) || !prim.is_float();
    if !is_exact && mode == FloatMode::StrictIeee {
        return None;
    }
    let extreme = |smallest: bool| match prim {
        Prim::F32 => Scalar::F32(if smallest { f32::NEG_INFINITY } else { f32::INFINITY }),
        Prim::F64 => Scalar::F64(if smallest { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ if prim.is_signed() => {
            let lowest = 1u64 << (prim.bits() - 1);
            Scalar::from_bits(prim, if smallest { lowest } else { lowest - 1 })
        }
        _ => Scalar::from_bits(prim, if smallest { 0 } else { u64::MAX }),
    };
    match op {
        BinaryOp::Add => Some(Scalar::zero(prim)),
        BinaryOp::Mul => Some(Scalar::one(prim)),
        BinaryOp::Min => Some(extreme(false)),
        BinaryOp::Max => Some(extreme(true)),
        BinaryOp::And if !prim.is_float() => Some(Scalar::from_bits(prim, u64::MAX)),
        BinaryOp::Or | BinaryOp::Xor if !prim.is_float() => Some(Scalar::zero(prim)),
        _ => None,
    }
}

/// Replaces walks along lists with folds in lanes, for the cursors in `requested`. Of two requests
/// for a cursor, the later one counts. The body of such a walk only folds one value:
/// ```text
/// while q < end { name = .. q ..; acc = acc op value; q = q + 1 }
/// ```
pub fn fold_walks_in_lanes(mut f: Function, requested: &[(Local, u16)], mode: FloatMode) -> Function {
    if requested.is_empty() {
        return f;
    }
    let mut reads = vec![0; f.locals.len()];
    count_reads(&f.body, &mut reads);
    let body = std::mem::take(&mut f.body);
    f.body = LaneWalks { requested, mode, reads, locals: &mut f.locals }.block(body);
    f
}

struct LaneWalks<'a> {
    requested: &'a [(Local, u16)],
    mode: FloatMode,
    /// Number of reads of each local in the function.
    reads: Vec<usize>,
    locals: &'a mut Vec<LocalDecl>,
}

impl LaneWalks<'_> {
    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(body.len());
        for stmt in body {
            match stmt {
                Stmt::If { cond, then, other } => {
                    let (then, other) = (self.block(then), self.block(other));
                    out.push(Stmt::If { cond, then, other });
                }
                Stmt::For { var, lo, hi, body } => {
                    let body = self.block(body);
                    out.push(Stmt::For { var, lo, hi, body });
                }
                Stmt::While { cond, body } => match self.walk(&cond, &body) {
                    Some(walk) => out.extend(walk),
                    None => {
                        let body = self.block(body);
                        out.push(Stmt::While { cond, body });
                    }
                },
                other => out.push(other),
            }
        }
        out
    }

    /// Returns a walk as a fold in lanes, followed by an assignment of the final value to the
    /// cursor if the cursor is read outside of the walk; `None` if the walk cannot be converted.
    fn walk(&mut self, cond: &Expr, body: &[Stmt]) -> Option<Vec<Stmt>> {
        let Expr::Compare(CompareOp::Lt, q, end) = cond else { return None };
        let Expr::Local(q) = **q else { return None };
        let lanes = self.requested.iter().rev().find(|(cursor, _)| *cursor == q)?.1;
        let [named @ .., Stmt::Assign(acc, Expr::Binary(op, left, value)), next] = body else { return None };
        if **left != local(*acc) || *next != Stmt::Assign(q, plus(&local(q), 1)) {
            return None;
        }
        let identity = identity(*op, self.locals[acc.index()].prim, self.mode)?;
        let var = Local(self.locals.len() as u32);
        let mut substitutions = vec![(q, local(var))];
        let substitute = |e: &Expr, substitutions: &[(Local, Expr)]| {
            e.substitute_locals(&|l| substitutions.iter().find(|(k, _)| *k == l).map_or(local(l), |(_, e)| e.clone()))
        };
        let mut own = vec![0; self.reads.len()];
        count_reads(body, &mut own);
        for stmt in named {
            let Stmt::Assign(name, e) = stmt else { return None };
            // Locals of a round must be read in that round only.
            if substitutions.iter().any(|(k, _)| k == name)
                || name == acc
                || self.reads[name.index()] != own[name.index()]
            {
                return None;
            }
            let e = substitute(e, &substitutions);
            if count_nodes(&e) > MAX_VALUE_NODES || !is_assigned_before(name, named, stmt) {
                return None;
            }
            substitutions.push((*name, e));
        }
        let value = substitute(value, &substitutions);
        let is_fixed = !end.mentions(*acc) && !substitutions.iter().any(|(k, _)| end.mentions(*k));
        if !is_fixed || value.mentions(*acc) || !value.mentions(var) || count_nodes(&value) > MAX_VALUE_NODES {
            return None;
        }
        let name = self.locals[q.index()].name.clone();
        self.locals.push(LocalDecl { name, prim: Prim::I64 });
        let (lo, hi) = (local(q), (**end).clone());
        let fold = Stmt::Lanes(Box::new(LaneFold { acc: *acc, op: *op, identity, lanes, var, lo, hi, value }));
        // The condition of the loop reads the cursor once.
        let is_read = self.reads[q.index()] > own[q.index()] + 1;
        Some([fold].into_iter().chain(is_read.then(|| Stmt::Assign(q, max(&local(q), end)))).collect())
    }
}

/// Returns whether a round reads a local only after its assignment. An earlier read would get the
/// value of the previous round.
fn is_assigned_before(name: &Local, named: &[Stmt], stmt: &Stmt) -> bool {
    let before = named.iter().take_while(|other| !std::ptr::eq(*other, stmt)).chain([stmt]);
    !before.into_iter().any(|s| matches!(s, Stmt::Assign(_, e) if e.mentions(*name)))
}

/// Returns the number of nodes in an expression.
pub(super) fn count_nodes(e: &Expr) -> usize {
    let mut count = 1;
    e.for_each_child(&mut |child| count += count_nodes(child));
    count
}

/// Counts the reads of each local in statements.
pub(super) fn count_reads(body: &[Stmt], reads: &mut [usize]) {
    fn of_expr(e: &Expr, reads: &mut [usize]) {
        if let Expr::Local(l) = e {
            reads[l.index()] += 1;
        }
        e.for_each_child(&mut |child| of_expr(child, reads));
    }
    for stmt in body {
        stmt.for_each_expr(&mut |e| of_expr(e, reads));
        stmt.bodies().into_iter().for_each(|body| count_reads(body, reads));
    }
}
