//! What levels of runs have in common in code: steppers and lookups of runs, and the writing of whole runs.
//!
//! While writing, `open` is the fiber being written and `covered` the coordinate behind its last run. Fibers before it
//! are complete: going on to a fiber completes those before, so that `ptr` is always that of complete fibers. Nothing
//! is counted before something has been written below a run; a fiber before `open` that is met again has been given up.
//! A run whose value is that of the run before it joins it.

use super::sparse_list::positions;
use crate::assembly::{BinaryOp, Buffer, BufferRole, CompareOp, Expr, Local, Stmt};
use crate::lower::search::gallop;
use crate::lower::{
    At, Cursor, Cx, Fiber, LevelCode, Looplet, Room, Stepper, add, and, count, eq, int, le, load, local, lt, or, plus,
    truth,
};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{Prim, Scalar};
use std::rc::Rc;

/// The arrays of a level of runs.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    pub(super) ptr: Buffer,
    /// `None`: a run begins where the one before it ends.
    pub(super) left: Option<Buffer>,
    pub(super) right: Buffer,
}

/// The counters of a level of runs that is written.
pub(super) fn counters(cx: &mut Cx<'_>, role: BufferRole, level: &mut LevelCode) {
    if role == BufferRole::Owned {
        level.count = Some(cx.new_local("runs", Prim::I64));
        level.open = Some((cx.new_local("open", Prim::I64), cx.new_local("covered", Prim::I64)));
    }
}

impl Runs {
    pub(super) fn read(self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let (q, end, preamble) = positions(cx, self.ptr, fiber);
        let inner = Fiber { present: None, ..fiber.clone() };
        let child = Looplet::Run(Cursor::Fiber(inner.child(local(q))));
        let fill = cx.fill(at.tensor);
        if protocol == Protocol::Follow {
            let start = cx.new_local("start", Prim::I64);
            let preamble = [preamble, vec![Stmt::Assign(start, local(q))]].concat();
            let covers = self.left.is_none() && fiber.present.is_none();
            let lookup = Looplet::Lookup(Rc::new(move |cx, i| {
                cx.assign(q, local(start));
                gallop(cx, self.right, (q, &end), &plus(i, 1));
                if covers {
                    return child.clone();
                }
                let hit = cx.new_local("hit", Prim::Bool);
                cx.assign(hit, truth(false));
                let begun = self.left.map_or(truth(true), |left| le(&load(left, local(q)), i));
                cx.push_if(lt(&local(q), &end), vec![Stmt::Assign(hit, begun)], Vec::new());
                let other = Rc::new(Looplet::Run(fill.clone()));
                Looplet::Switch { cond: local(hit), then: Rc::new(child.clone()), other }
            }));
            return Looplet::Thunk { preamble, body: Rc::new(lookup), epilogue: Vec::new() };
        }
        let stop = cx.new_local("r", Prim::I64);
        let mut current = vec![Stmt::Assign(stop, load(self.right, local(q)))];
        // A fiber that is not there has no runs, whose chunk is a gap.
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
            next: Rc::new(move |taken| vec![Stmt::Assign(q, add(&local(q), &count(taken)))]),
            seek: Rc::new(move |cx, i| gallop(cx, self.right, (q, &end), &plus(i, 1))),
            first: int(0),
            rest: fill,
        }));
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    pub(super) fn write(self, cx: &mut Cx<'_>, at: At, fiber: &Fiber) -> Looplet {
        let preamble = match fiber.lo == int(0) {
            true => Vec::new(),
            false => cx.block(|cx| {
                self.go_back(cx, at, &fiber.lo);
                self.advance(cx, at, &fiber.lo);
            }),
        };
        let (len, (_, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let fiber = fiber.clone();
        let accept = Looplet::AcceptRun(Rc::new(move |cx, lo, hi| {
            let (q, dirty) = (cx.new_local("q", Prim::I64), cx.new_local("dirty", Prim::Bool));
            let gap = lt(&local(covered), lo);
            let preamble = cx.block(|cx| {
                let first = if self.left.is_none() { add(&local(len), &count(&gap)) } else { local(len) };
                cx.assign(q, first);
                cx.assemble(at.below(), (&local(len), &plus(&local(q), 1)), room_below(cx, at));
                cx.assign(dirty, truth(false));
            });
            let mut child = fiber.child(local(q));
            child.dirty.push(dirty);
            let keep = cx.block(|cx| self.keep(cx, at, (lo, hi), q));
            Looplet::Thunk {
                preamble,
                body: Rc::new(Looplet::Run(Cursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: keep, other: Vec::new() }],
            }
        }));
        Looplet::Thunk { preamble, body: Rc::new(accept), epilogue: Vec::new() }
    }

    /// Counts the run `[lo, hi)` at position `q`, and the gap before it where there is one.
    fn keep(self, cx: &mut Cx<'_>, at: At, (lo, hi): (&Expr, &Expr), q: Local) {
        let (len, (_, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let before = plus(&local(q), -1);
        let adjoins = match self.left {
            Some(_) => and(&lt(&int(0), lo), &eq(&local(covered), lo)),
            None => {
                let gap = cx.block(|cx| {
                    cx.push(Stmt::Grow { buffer: self.right, len: plus(&local(len), 1) });
                    cx.push(Stmt::Store { buffer: self.right, at: local(len), value: lo.clone() });
                });
                cx.push_if(lt(&local(covered), lo), gap, Vec::new());
                lt(&int(0), lo)
            }
        };
        let same = cx.new_local("same", Prim::Bool);
        cx.assign(same, truth(false));
        if let Some(equal) = equal_leaves(cx, at, &before, &local(q)) {
            cx.push_if(adjoins, vec![Stmt::Assign(same, equal)], Vec::new());
        }
        let join = vec![Stmt::Store { buffer: self.right, at: before, value: hi.clone() }, Stmt::Assign(len, local(q))];
        let mut append = Vec::new();
        for (buffer, value) in [(self.left, lo), (Some(self.right), hi)] {
            let Some(buffer) = buffer else { continue };
            append.push(Stmt::Grow { buffer, len: plus(&local(q), 1) });
            append.push(Stmt::Store { buffer, at: local(q), value: value.clone() });
        }
        append.push(Stmt::Assign(len, plus(&local(q), 1)));
        cx.push(Stmt::If { cond: local(same), then: join, other: append });
        cx.assign(covered, hi.clone());
    }

    /// Forgets the fibers from `to` on: where nothing has been written below a parent position, it is given to another
    /// one.
    fn go_back(self, cx: &mut Cx<'_>, at: At, to: &Expr) {
        let (len, (open, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let forget = vec![
            Stmt::Assign(len, load(self.ptr, to.clone())),
            Stmt::Assign(open, to.clone()),
            Stmt::Assign(covered, int(0)),
        ];
        cx.push_if(lt(to, &local(open)), forget, Vec::new());
    }

    /// Completes the fibers below the parent positions before `to`.
    fn advance(self, cx: &mut Cx<'_>, at: At, to: &Expr) {
        let (len, (open, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        let n = cx.level(at).dimension.clone();
        let body = cx.loop_block(|cx| {
            if self.left.is_none() {
                let rest = cx.block(|cx| {
                    cx.assemble(at.below(), (&local(len), &plus(&local(len), 1)), room_below(cx, at));
                    cx.push(Stmt::Grow { buffer: self.right, len: plus(&local(len), 1) });
                    cx.push(Stmt::Store { buffer: self.right, at: local(len), value: n.clone() });
                    cx.assign(len, plus(&local(len), 1));
                });
                cx.push_if(lt(&local(covered), &n), rest, Vec::new());
            }
            cx.assign(open, plus(&local(open), 1));
            cx.push(Stmt::Store { buffer: self.ptr, at: local(open), value: local(len) });
            cx.assign(covered, int(0));
        });
        cx.push(Stmt::While { cond: lt(&local(open), to), body });
    }

    pub(super) fn declare(cx: &mut Cx<'_>, at: At) {
        let (len, (open, covered)) = (cx.level(at).counter(), cx.level(at).open_fiber());
        [len, open, covered].into_iter().for_each(|counter| cx.assign(counter, int(0)));
    }

    pub(super) fn assemble(self, cx: &mut Cx<'_>, hi: &Expr, room: Room) {
        if room != Room::Again {
            cx.push(Stmt::Grow { buffer: self.ptr, len: plus(hi, 1) });
        }
    }

    pub(super) fn freeze(self, cx: &mut Cx<'_>, at: At, parents: &Expr) -> Expr {
        let len = local(cx.level(at).counter());
        cx.push(Stmt::Grow { buffer: self.ptr, len: plus(parents, 1) });
        self.advance(cx, at, parents);
        cx.check_positions(self.ptr, &len);
        len
    }
}

/// The fill value up to `first`, and then the run.
fn after_gap(fill: &Cursor, first: &Expr, run: Looplet) -> Looplet {
    use crate::lower::looplets::Phase;
    Looplet::Sequence(vec![
        Phase { stop: Some(first.clone()), body: Looplet::Run(fill.clone()) },
        Phase { stop: None, body: run },
    ])
}

/// What making room below a run must do: a leaf may hold the value of a run that joined the one before.
fn room_below(cx: &Cx<'_>, at: At) -> Room {
    match is_last(cx, at) {
        true => Room::Reset,
        false => cx.tensor(at.tensor).room,
    }
}

fn is_last(cx: &Cx<'_>, at: At) -> bool {
    at.level + 1 == cx.tensor(at.tensor).levels.len()
}

/// Whether the values at two positions of the leaf are equal, bit by bit, NaN being equal to NaN; `None` where there are
/// further levels in between.
pub(super) fn equal_leaves(cx: &Cx<'_>, at: At, a: &Expr, b: &Expr) -> Option<Expr> {
    if !is_last(cx, at) {
        return None;
    }
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
    Some(cx.tensor(at.tensor).leaf.iter().fold(truth(true), |all, buffer| and(&all, &equal(buffer))))
}
