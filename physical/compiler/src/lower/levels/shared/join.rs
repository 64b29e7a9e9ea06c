//! Joining of adjacent runs with equal children. If the children are fibers, the data written below
//! the second run is compared with the data below the first run and, if equal, rolled back.
//!
//! A level kind that may be below such runs implements [`Comparable`], which compares fibers while
//! the tensor is being written. Rolling back restores only the counters of the levels below. The
//! rolled-back data stays in memory, so all memory is reset before it is used.

use crate::assembly::{BinaryOp, Buffer, CompareOp, Expr, Local, Stmt};
use crate::lower::level::lowering;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::storage::counters_of;
use crate::lower::{Cx, LevelCode, LevelId, and, int, load, local, lt, max, or, plus, truth};
use crate::notation::TensorId;
use redpoll_logic::{Format, LevelFormat, Prim, Scalar};
use redpoll_storage::levels::kernel_format;

/// A level kind whose fibers can be compared while they are written.
pub(crate) trait Comparable {
    /// Completes the ends of the fibers below the parent positions `lo..hi`, as freezing does.
    /// These fibers are the last ones and are not written any more, and all fibers before them are
    /// complete.
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr));

    /// Sets `same` to false if the fibers below two parent positions differ. Before the comparison,
    /// `same` is true and both fibers are complete.
    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, parents: (&Expr, &Expr), same: Local);
}

/// Returns whether writing a tensor of this format joins runs of some level by comparing fibers.
pub(crate) fn has_joined_fibers(format: &Format) -> bool {
    let levels = &kernel_format(format).levels;
    (0..levels.len()).any(|k| can_join_fibers(levels, k))
}

/// Returns whether runs of level `k` join by comparing the fibers below them.
fn can_join_fibers(levels: &[LevelFormat], k: usize) -> bool {
    let (level, below) = (&levels[k], &levels[k + 1..]);
    level.kind.traits().runs && !below.is_empty() && below.iter().all(|l| lowering(l.kind).comparable().is_some())
}

/// The method of joining the runs of a level.
#[derive(Clone)]
pub(crate) enum RunJoin {
    /// No joins: the children of runs cannot be compared during writing.
    Never,
    /// Joins of runs with equal values.
    Leaves,
    /// Joins of runs with equal fibers below. Fibers are complete up to the position `done`.
    Fibers { done: Local },
}

/// Adds the counter `done`, which [`RunJoin::of`] reads, to a level that is written, if the runs of
/// the level join by comparing fibers.
pub(crate) fn counters(cx: &mut Cx<'_>, at: LevelId, level: &mut LevelCode) {
    if can_join_fibers(&kernel_format(&cx.program.tensors[at.tensor.index()].ty.format).levels, at.level) {
        level.extra_locals = vec![cx.new_local("done", Prim::I64)];
    }
}

impl RunJoin {
    pub(crate) fn of(cx: &Cx<'_>, at: LevelId) -> RunJoin {
        match cx.level(at).extra_locals[..] {
            [done, ..] => RunJoin::Fibers { done },
            [] if at.level + 1 == cx.tensor(at.tensor).levels.len() => RunJoin::Leaves,
            [] => RunJoin::Never,
        }
    }

    pub(crate) fn declare(&self, cx: &mut Cx<'_>) {
        if let RunJoin::Fibers { done } = self {
            cx.assign(*done, int(0));
        }
    }

    /// Saves the counters of the levels below before they are written.
    pub(crate) fn save_counters(&self, cx: &mut Cx<'_>, at: LevelId) -> SavedCounters {
        let below = match self {
            RunJoin::Fibers { .. } => counters_of(&cx.tensor(at.tensor).levels[at.level + 1..]),
            _ => Vec::new(),
        };
        let pairs: Vec<(Local, Local)> = below.into_iter().map(|c| (c, cx.new_local("saved", Prim::I64))).collect();
        pairs.iter().for_each(|(counter, saved)| cx.assign(*saved, local(*counter)));
        SavedCounters(pairs)
    }

    /// Sets `same` to false if the children at the adjacent positions `before` and `q` differ or
    /// cannot be compared. Both children are completely written.
    pub(crate) fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (before, q): (&Expr, &Expr), same: Local) {
        match self {
            RunJoin::Never => cx.assign(same, truth(false)),
            RunJoin::Leaves => {
                let equal = equal_leaves(cx, at.tensor, before, q);
                cx.push_if(local(same), vec![Stmt::Assign(same, equal)], Vec::new());
            }
            RunJoin::Fibers { done } => {
                let end = plus(q, 1);
                cx.complete(at.below(), (&local(*done), &end));
                cx.assign(*done, end);
                let compare = cx.block(|cx| cx.compare(at.below(), (before, q), same));
                cx.push_if(local(same), compare, Vec::new());
            }
        }
    }

    /// Rolls back the data written at the position `q` and below it.
    pub(crate) fn roll_back(&self, cx: &mut Cx<'_>, q: &Expr, saved: &SavedCounters) {
        if let RunJoin::Fibers { done } = self {
            cx.assign(*done, q.clone());
        }
        if !SeededFault::JoinRollback.is_active() {
            saved.0.iter().for_each(|(counter, saved)| cx.assign(*counter, local(*saved)));
        }
    }
}

/// Counters and their saved values.
pub(crate) struct SavedCounters(Vec<(Local, Local)>);

impl Cx<'_> {
    /// Completes fibers as [`Comparable::complete`] does; does nothing for values.
    pub(crate) fn complete(&mut self, at: LevelId, range: (&Expr, &Expr)) {
        if at.level < self.tensor(at.tensor).levels.len() {
            comparable(self, at).complete(self, at, range);
        }
    }

    /// Compares fibers as [`Comparable::compare`] does, or the values of leaves.
    pub(crate) fn compare(&mut self, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        if at.level < self.tensor(at.tensor).levels.len() {
            return comparable(self, at).compare(self, at, (a, b), same);
        }
        let equal = equal_leaves(self, at.tensor, a, b);
        self.assign(same, equal);
    }
}

fn comparable(cx: &Cx<'_>, at: LevelId) -> &'static dyn Comparable {
    lowering(cx.level(at).format.kind).comparable().expect("runs are joined only if the fibers below can be compared")
}

/// Sets the end of each unwritten fiber among `lo..hi` to the end of the fiber before.
pub(crate) fn complete_ends(cx: &mut Cx<'_>, ptr: Buffer, (lo, hi): (&Expr, &Expr)) {
    let p = cx.new_local("p", Prim::I64);
    let next = plus(&local(p), 1);
    let value = max(&load(ptr, local(p)), &load(ptr, next.clone()));
    let body = vec![Stmt::store(ptr, next, value)];
    cx.push(Stmt::For { var: p, lo: lo.clone(), hi: hi.clone(), body });
}

/// Emits a loop of `body` over the positions `a..end`, paired with the positions from `b` on. The
/// loop runs while `same` is true.
pub(crate) fn compare_each(
    cx: &mut Cx<'_>,
    (a, end, b): (&Expr, &Expr, &Expr),
    same: Local,
    body: impl FnOnce(&mut Cx<'_>, &Expr, &Expr),
) {
    let [x, y, last] = ["x", "y", "x_end"].map(|name| cx.new_local(name, Prim::I64));
    cx.assign(x, a.clone());
    cx.assign(y, b.clone());
    cx.assign(last, end.clone());
    let body = cx.block(|cx| {
        body(cx, &local(x), &local(y));
        cx.assign(x, plus(&local(x), 1));
        cx.assign(y, plus(&local(y), 1));
    });
    cx.push(Stmt::While { cond: and(&local(same), &lt(&local(x), &local(last))), body });
}

/// Sets `same` to whether `equal` is true and the children at two positions are equal.
pub(crate) fn compare_entry(cx: &mut Cx<'_>, at: LevelId, equal: Expr, (x, y): (&Expr, &Expr), same: Local) {
    cx.assign(same, equal);
    let below = cx.block(|cx| cx.compare(at.below(), (x, y), same));
    cx.push_if(local(same), below, Vec::new());
}

/// Returns the condition that the values at two leaf positions have the same bits, or are both NaN.
fn equal_leaves(cx: &Cx<'_>, tensor: TensorId, a: &Expr, b: &Expr) -> Expr {
    let equal = |buffer: &Buffer| {
        let (x, y) = (load(*buffer, a.clone()), load(*buffer, b.clone()));
        let compare = |op, x: &Expr, y: &Expr| Expr::Compare(op, Box::new(x.clone()), Box::new(y.clone()));
        let prim = cx.buffers[buffer.index()].prim;
        if !prim.is_float() {
            return compare(CompareOp::Eq, &x, &y);
        }
        let one = Expr::Const(Scalar::one(prim));
        let inverse = |v: &Expr| Expr::Binary(BinaryOp::Div, Box::new(one.clone()), Box::new(v.clone()));
        let equal = and(&compare(CompareOp::Eq, &x, &y), &compare(CompareOp::Eq, &inverse(&x), &inverse(&y)));
        or(&equal, &and(&compare(CompareOp::Ne, &x, &x), &compare(CompareOp::Ne, &y, &y)))
    };
    cx.tensor(tensor).leaf.iter().fold(truth(true), |all, buffer| and(&all, &equal(buffer)))
}
