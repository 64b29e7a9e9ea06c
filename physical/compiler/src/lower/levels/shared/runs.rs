//! Shared code of run levels: steppers and lookups of runs, and writes of whole runs.
//!
//! During writing, `open` is the fiber being written, and `covered` is one past the last coordinate
//! of its last run. Moving on to a fiber completes all fibers before it, so `ptr` always describes
//! complete fibers. A run is counted only after a value was written below it. A write to a fiber
//! before `open` reuses the position of a fiber that was not written. A run that adjoins the
//! previous run and has an equal child joins the previous run: see [`super::join`].

use super::join::{self, RunJoin, SavedCounters, compare_each, compare_entry};
use super::list::positions;
use crate::assembly::{Buffer, BufferRole, Expr, Local, Stmt};
use crate::lower::search::{gallop, gallop_back_by};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, LevelCode, LevelId, Looplet, Stepper, add, and, count, eq, int, le, load,
    local, lt, max, plus, select, sub, truth,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use std::rc::Rc;

/// The arrays of a level of runs.
#[derive(Clone, Copy)]
pub(crate) struct RunArrays {
    pub(crate) ptr: Buffer,
    /// The first coordinates of runs; `None` if each run starts where the previous one ends.
    pub(crate) left: Option<Buffer>,
    pub(crate) right: Buffer,
}

/// Adds the counters of a level of runs that is written.
pub(crate) fn counters(cx: &mut Cx<'_>, at: LevelId, role: BufferRole, level: &mut LevelCode) {
    if role == BufferRole::Owned {
        join::counters(cx, at, level);
        level.count = Some(cx.new_local("runs", Prim::I64));
        level.open_fiber = Some((cx.new_local("open", Prim::I64), cx.new_local("covered", Prim::I64)));
    }
}

impl RunArrays {
    pub(crate) fn read(self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let (q, end, preamble) = positions(cx, self.ptr, fiber);
        let inner = fiber.stored();
        let child = Looplet::Run(AccessCursor::Fiber(inner.child(local(q))));
        let fill = cx.fill(at.tensor);
        if protocol == Protocol::Follow {
            let start = cx.new_local("start", Prim::I64);
            let preamble = [preamble, vec![Stmt::Assign(start, local(q))]].concat();
            let is_covered = self.left.is_none() && fiber.present.is_none();
            let lookup = Looplet::Lookup(Rc::new(move |cx, i| {
                cx.assign(q, local(start));
                gallop(cx, self.right, (q, &end), &plus(i, 1));
                if is_covered {
                    return child.clone();
                }
                let hit = cx.new_local("hit", Prim::Bool);
                cx.assign(hit, truth(false));
                let has_begun = self.left.map_or(truth(true), |left| le(&load(left, local(q)), i));
                cx.push_if(lt(&local(q), &end), vec![Stmt::Assign(hit, has_begun)], Vec::new());
                let other = Rc::new(Looplet::Run(fill.clone()));
                Looplet::Switch { cond: local(hit), then: Rc::new(child.clone()), other }
            }));
            return Looplet::Thunk { preamble, body: Rc::new(lookup), epilogue: Vec::new() };
        }
        let stop = cx.new_local("r", Prim::I64);
        let mut current = vec![Stmt::Assign(stop, load(self.right, local(q)))];
        // An absent fiber has no runs and reads as one gap, so its chunk must start with a gap.
        let chunk = match (self.left, &fiber.present) {
            (None, None) => child,
            (left, _) => {
                let first = cx.new_local("l", Prim::I64);
                current.push(Stmt::Assign(first, left.map_or(int(0), |left| load(left, local(q)))));
                after_gap(&fill, &local(first), child)
            }
        };
        let body = Looplet::Stepper(Rc::new(Stepper {
            more: lt(&local(q), &end),
            current,
            stop: local(stop),
            bound: cx.level(at).dimension.clone(),
            chunk,
            next: Rc::new(move |condition| vec![Stmt::Assign(q, add(&local(q), &count(condition)))]),
            seek: Rc::new(move |cx, i| gallop(cx, self.right, (q, &end), &plus(i, 1))),
            first: int(0),
            rest: fill,
            entries: None,
            limit: None,
        }));
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    /// Returns the looplet of the runs from the last to the first, in negated coordinates.
    pub(crate) fn read_backward(self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let (q, end, mut preamble) = positions(cx, self.ptr, fiber);
        let [start, r, left, stop] = ["start", "r", "l", "stop"].map(|name| cx.new_local(name, Prim::I64));
        preamble.extend([Stmt::Assign(start, local(q)), Stmt::Assign(r, end)]);
        let first_of = move |q: Expr| match self.left {
            Some(left) => load(left, q),
            None => {
                let before = load(self.right, max(&plus(&q, -1), &local(start)));
                select(&lt(&local(start), &q), &before, &int(0))
            }
        };
        let inner = fiber.stored();
        let child = Looplet::Run(AccessCursor::Fiber(inner.child(local(q))));
        let fill = cx.fill(at.tensor);
        let past = if SeededFault::RunFromEnd.is_active() { 0 } else { 1 };
        let mut current = vec![
            Stmt::Assign(q, plus(&local(r), -1)),
            Stmt::Assign(left, first_of(local(q))),
            Stmt::Assign(stop, sub(&int(past), &local(left))),
        ];
        // The chunk of a fiber that may be absent must start with a gap, as in forward reads.
        let chunk = match (self.left, &fiber.present) {
            (None, None) => child,
            _ => {
                let begin = cx.new_local("begin", Prim::I64);
                current.push(Stmt::Assign(begin, sub(&int(1), &load(self.right, local(q)))));
                after_gap(&fill, &local(begin), child)
            }
        };
        let body = Looplet::Stepper(Rc::new(Stepper {
            more: lt(&local(start), &local(r)),
            current,
            stop: local(stop),
            bound: int(1),
            chunk,
            next: Rc::new(move |condition| vec![Stmt::Assign(r, sub(&local(r), &count(condition)))]),
            seek: Rc::new(move |cx, i| {
                let coordinate = cx.name("i", &sub(&int(0), i));
                gallop_back_by(cx, (&local(start), r), &|q| lt(&coordinate, &first_of(q)));
            }),
            first: sub(&int(1), &cx.level(at).dimension),
            rest: fill,
            entries: None,
            limit: None,
        }));
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    pub(crate) fn write(self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let preamble = match fiber.lo == int(0) {
            true => Vec::new(),
            false => cx.block(|cx| {
                self.drop_fibers_from(cx, at, &fiber.lo);
                self.complete_fibers_before(cx, at, &fiber.lo);
            }),
        };
        let (len, (_, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let fiber = fiber.clone();
        let accept = Looplet::AcceptRun(Rc::new(move |cx, lo, hi| {
            let (q, dirty) = (cx.new_local("q", Prim::I64), cx.new_local("dirty", Prim::Bool));
            let gap = lt(&local(covered), lo);
            let (join, mut saved) = (RunJoin::of(cx, at), None);
            let preamble = cx.block(|cx| {
                let first = if self.left.is_none() { add(&local(len), &count(&gap)) } else { local(len) };
                cx.assign(q, first);
                cx.assemble(at.below(), (&local(len), &plus(&local(q), 1)), mode_below(cx, at));
                cx.assign(dirty, truth(false));
                saved = Some(join.save_counters(cx, at));
            });
            let saved = saved.expect("the block has run");
            let mut child = fiber.child(local(q));
            child.dirty.push(dirty);
            let append = cx.block(|cx| self.append_run(cx, at, (lo, hi), q, (&join, &saved)));
            Looplet::Thunk {
                preamble,
                body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }],
            }
        }));
        Looplet::Thunk { preamble, body: Rc::new(accept), epilogue: Vec::new() }
    }

    /// Counts the run `[lo, hi)` at position `q`, or joins it to the run before. If the level
    /// stores gaps as runs, counts a gap before the run as well.
    fn append_run(
        self,
        cx: &mut Cx<'_>,
        at: LevelId,
        (lo, hi): (&Expr, &Expr),
        q: Local,
        (join, saved): (&RunJoin, &SavedCounters),
    ) {
        let (len, (_, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let before = plus(&local(q), -1);
        let adjoins = match self.left {
            Some(_) => and(&lt(&int(0), lo), &eq(&local(covered), lo)),
            None => {
                let gap = cx.block(|cx| {
                    cx.push(Stmt::Grow { buffer: self.right, len: plus(&local(len), 1) });
                    cx.push(Stmt::store(self.right, local(len), lo.clone()));
                });
                cx.push_if(lt(&local(covered), lo), gap, Vec::new());
                lt(&int(0), lo)
            }
        };
        let same = cx.new_local("same", Prim::Bool);
        cx.assign(same, adjoins);
        join.compare(cx, at, (&before, &local(q)), same);
        let joined = cx.block(|cx| {
            cx.push(Stmt::store(self.right, before, hi.clone()));
            cx.assign(len, local(q));
            join.roll_back(cx, &local(q), saved);
        });
        let mut append = Vec::new();
        for (buffer, value) in [(self.left, lo), (Some(self.right), hi)] {
            let Some(buffer) = buffer else { continue };
            append.push(Stmt::Grow { buffer, len: plus(&local(q), 1) });
            append.push(Stmt::store(buffer, local(q), value.clone()));
        }
        append.push(Stmt::Assign(len, plus(&local(q), 1)));
        cx.push(Stmt::If { cond: local(same), then: joined, other: append });
        cx.assign(covered, hi.clone());
    }

    /// Drops the fibers from `to` on, if `to` is before the open fiber. The fiber at `to` then
    /// reuses the parent position of a fiber that was not written.
    fn drop_fibers_from(self, cx: &mut Cx<'_>, at: LevelId, to: &Expr) {
        let (len, (open, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let drop_fibers = vec![
            Stmt::Assign(len, load(self.ptr, to.clone())),
            Stmt::Assign(open, to.clone()),
            Stmt::Assign(covered, int(0)),
        ];
        cx.push_if(lt(to, &local(open)), drop_fibers, Vec::new());
    }

    /// Completes the fibers below the parent positions before `to`.
    fn complete_fibers_before(self, cx: &mut Cx<'_>, at: LevelId, to: &Expr) {
        let (len, (open, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let n = cx.level(at).dimension.clone();
        let body = cx.loop_block(|cx| {
            if self.left.is_none() {
                let rest = cx.block(|cx| {
                    cx.assemble(at.below(), (&local(len), &plus(&local(len), 1)), mode_below(cx, at));
                    cx.push(Stmt::Grow { buffer: self.right, len: plus(&local(len), 1) });
                    cx.push(Stmt::store(self.right, local(len), n.clone()));
                    cx.assign(len, plus(&local(len), 1));
                });
                cx.push_if(lt(&local(covered), &n), rest, Vec::new());
            }
            cx.assign(open, plus(&local(open), 1));
            cx.push(Stmt::store(self.ptr, local(open), local(len)));
            cx.assign(covered, int(0));
        });
        cx.push(Stmt::While { cond: lt(&local(open), to), body });
    }

    pub(crate) fn declare(cx: &mut Cx<'_>, at: LevelId) {
        let (len, (open, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        [len, open, covered].into_iter().for_each(|counter| cx.assign(counter, int(0)));
        RunJoin::of(cx, at).declare(cx);
    }

    /// Completes fibers as [`join::Comparable::complete`] does.
    pub(crate) fn complete(self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr)) {
        self.complete_fibers_before(cx, at, hi);
        let bounds = [lo, hi].map(|p| cx.name("q", &load(self.ptr, p.clone())));
        cx.complete(at.below(), (&bounds[0], &bounds[1]));
    }

    /// Compares fibers as [`join::Comparable::compare`] does.
    pub(crate) fn compare(self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let [[x, x_end], [y, y_end]] =
            [a, b].map(|p| [p.clone(), plus(p, 1)].map(|p| cx.name("q", &load(self.ptr, p))));
        cx.assign(same, eq(&sub(&x_end, &x), &sub(&y_end, &y)));
        compare_each(cx, (&x, &x_end, &y), same, |cx, x, y| {
            let ends = [Some(self.right), self.left].into_iter().flatten();
            let equal = ends.fold(truth(true), |all, b| and(&all, &eq(&load(b, x.clone()), &load(b, y.clone()))));
            compare_entry(cx, at, equal, (x, y), same);
        });
    }

    pub(crate) fn assemble(self, cx: &mut Cx<'_>, hi: &Expr, mode: AssembleMode) {
        if mode != AssembleMode::ResetOnly {
            cx.push(Stmt::Grow { buffer: self.ptr, len: plus(hi, 1) });
        }
    }

    pub(crate) fn freeze(self, cx: &mut Cx<'_>, at: LevelId, parents: &Expr) -> Expr {
        let len = local(cx.level(at).counter());
        cx.push(Stmt::Grow { buffer: self.ptr, len: plus(parents, 1) });
        self.drop_fibers_from(cx, at, parents);
        self.complete_fibers_before(cx, at, parents);
        cx.check_positions(self.ptr, &len);
        len
    }
}

/// Returns the sequence of the fill value up to `first`, followed by the run.
fn after_gap(fill: &AccessCursor, first: &Expr, run: Looplet) -> Looplet {
    use crate::lower::looplets::SequencePhase;
    Looplet::Sequence(vec![
        SequencePhase { stop: Some(first.clone()), body: Looplet::Run(fill.clone()) },
        SequencePhase { stop: None, body: run },
    ])
}

/// Returns the treatment of existing positions below a run. A leaf may still have the value of a
/// run that joined the previous run.
fn mode_below(cx: &Cx<'_>, at: LevelId) -> AssembleMode {
    match is_last(cx, at) {
        true => AssembleMode::GrowAndReset,
        false => cx.tensor(at.tensor).assemble_mode,
    }
}

fn is_last(cx: &Cx<'_>, at: LevelId) -> bool {
    at.level + 1 == cx.tensor(at.tensor).levels.len()
}
