//! Code of block lists, which are read by walking, galloping or following. Writes append in
//! ascending order.
//!
//! A chunk of the stepper is a gap followed by a block. In a block, positions are coordinates plus
//! a constant, so a block is read by a plain loop. During writing, `ptr[p + 1]` is the number of
//! blocks up to the end of the fiber below `p` once that fiber is written, and 0 before, as in
//! sparse lists. A coordinate directly after the last coordinate of its fiber extends the last
//! block.

use super::shared::join::{Comparable, compare_each, complete_ends};
use super::shared::list::{assemble_ends, fill_ends, positions};
use crate::assembly::{Buffer, BufferRole, Expr, Local, Stmt};
use crate::lower::looplets::mirror::mirror;
use crate::lower::looplets::{LookupFn, SequencePhase};
use crate::lower::search::{gallop, gallop_back_by};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents,
    Stepper, add, and, count, eq, int, le, load, local, lt, not, plus, sub, truth,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::BlockList;
use std::rc::Rc;

const PTR: usize = 0;
const IDX: usize = 1;
const OFS: usize = 2;
/// The value of the local `last` in a fiber without coordinates, and of `open` before the first
/// fiber. No coordinate is adjacent to this value.
const NO_COORDINATE: i64 = -2;

impl LevelLowering for BlockList {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        _: &mut FunctionTables,
        _: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        if role == BufferRole::Owned {
            level.count = Some(cx.new_local("len", Prim::I64));
            level.extra_locals = ["blocks", "last", "open"].map(|name| cx.new_local(name, Prim::I64)).to_vec();
        }
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let (idx, ofs) = (arrays[IDX], arrays[OFS]);
        let (q, end, preamble) = positions(cx, arrays[PTR], fiber);
        let inner = fiber.stored();
        let body = match protocol {
            Protocol::Follow => return search_lookup(cx, at, (idx, ofs), (q, end, preamble), inner),
            _ => stepper(cx, at, (idx, ofs), (q, end), inner, dimension),
        };
        let body = match protocol {
            Protocol::Gallop => Looplet::Jumper(Rc::new(body)),
            _ => Looplet::Stepper(Rc::new(body)),
        };
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let (idx, ofs) = (arrays[IDX], arrays[OFS]);
        let (q, end, mut preamble) = positions(cx, arrays[PTR], fiber);
        let [start, r] = ["start", "r"].map(|name| cx.new_local(name, Prim::I64));
        preamble.extend([Stmt::Assign(start, local(q)), Stmt::Assign(r, end)]);
        let inner = fiber.stored();
        let body = backward(cx, at, (idx, ofs), (start, r, q), inner, &dimension);
        let body = match protocol {
            Protocol::Gallop => Looplet::Jumper(Rc::new(body)),
            _ => Looplet::Stepper(Rc::new(body)),
        };
        Some(Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() })
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let LevelCode { arrays, extra_locals, .. } = cx.level(at).clone();
        let (len, blocks, last, open) = (cx.level(at).counter(), extra_locals[0], extra_locals[1], extra_locals[2]);
        let mode = cx.tensor(at.tensor).assemble_mode;
        let end_at = plus(&fiber.lo, 1);
        let preamble = cx.block(|cx| {
            // A fiber that is visited again keeps `last`. Another fiber may reuse the position of a
            // fiber that was not written; `last` is then still `NO_COORDINATE`.
            let begin = vec![Stmt::Assign(last, int(NO_COORDINATE)), Stmt::Assign(open, fiber.lo.clone())];
            cx.push_if(not(&eq(&local(open), &fiber.lo)), begin, Vec::new());
        });
        let end = Stmt::store(arrays[PTR], end_at, local(blocks));
        let fiber = fiber.clone();
        let body = Looplet::Lookup(Rc::new(move |cx, i| {
            let dirty = cx.new_local("dirty", Prim::Bool);
            let position = local(len);
            let preamble = cx.block(|cx| {
                cx.assemble(at.below(), (&position, &plus(&position, 1)), mode);
                cx.assign(dirty, truth(false));
            });
            let mut child = fiber.child(position.clone());
            child.dirty.push(dirty);
            let append = cx.block(|cx| {
                let store = |at: Expr| Stmt::store(arrays[IDX], at, i.clone());
                let open = vec![
                    Stmt::Grow { buffer: arrays[IDX], len: plus(&local(blocks), 1) },
                    Stmt::Grow { buffer: arrays[OFS], len: plus(&local(blocks), 2) },
                    store(local(blocks)),
                    Stmt::Assign(blocks, plus(&local(blocks), 1)),
                ];
                let extends = if SeededFault::BlockEnds.is_active() {
                    lt(&int(0), &local(blocks))
                } else {
                    eq(&plus(&local(last), 1), i)
                };
                cx.push_if(extends, vec![store(plus(&local(blocks), -1))], open);
                cx.assign(last, i.clone());
                cx.assign(len, plus(&position, 1));
                cx.push(Stmt::store(arrays[OFS], local(blocks), local(len)));
            });
            let epilogue = vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }];
            Looplet::Thunk { preamble, body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))), epilogue }
        }));
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: vec![end] }
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        let (len, extra_locals) = (cx.level(at).counter(), cx.level(at).extra_locals.clone());
        let ofs = cx.level(at).arrays[OFS];
        cx.assign(len, int(0));
        cx.assign(extra_locals[0], int(0));
        cx.assign(extra_locals[1], int(NO_COORDINATE));
        cx.assign(extra_locals[2], int(NO_COORDINATE));
        cx.push(Stmt::Grow { buffer: ofs, len: int(1) });
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr), mode: AssembleMode) {
        let ptr = cx.level(at).arrays[PTR];
        assemble_ends(cx, ptr, range, mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        let LevelCode { arrays, extra_locals, .. } = cx.level(at).clone();
        let (len, blocks) = (local(cx.level(at).counter()), local(extra_locals[0]));
        cx.check_positions(arrays[OFS], &len);
        cx.check_positions(arrays[PTR], &blocks);
        cx.push(Stmt::Grow { buffer: arrays[PTR], len: plus(parents, 1) });
        if *parents == int(1) {
            cx.push(Stmt::store(arrays[PTR], int(1), blocks));
        } else {
            fill_ends(cx, arrays[PTR], (&int(0), parents));
        }
        len
    }

    fn lengths(&self, cx: &Cx<'_>, at: LevelId, (parents, _): (&Expr, &Expr)) -> Vec<Expr> {
        let blocks = local(cx.level(at).extra_locals[0]);
        vec![plus(parents, 1), blocks.clone(), plus(&blocks, 1)]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for BlockList {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr)) {
        let [ptr, ofs] = [PTR, OFS].map(|k| cx.level(at).arrays[k]);
        complete_ends(cx, ptr, (lo, hi));
        let bounds = [lo, hi].map(|p| cx.name("q", &load(ofs, load(ptr, p.clone()))));
        cx.complete(at.below(), (&bounds[0], &bounds[1]));
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let [ptr, idx, ofs] = [PTR, IDX, OFS].map(|k| cx.level(at).arrays[k]);
        let [[x, x_end], [y, y_end]] = [a, b].map(|p| [p.clone(), plus(p, 1)].map(|p| cx.name("b", &load(ptr, p))));
        cx.assign(same, eq(&sub(&x_end, &x), &sub(&y_end, &y)));
        compare_each(cx, (&x, &x_end, &y), same, |cx, x, y| {
            let len = |b: &Expr| sub(&load(ofs, plus(b, 1)), &load(ofs, b.clone()));
            let ends = eq(&load(idx, x.clone()), &load(idx, y.clone()));
            cx.assign(same, and(&ends, &eq(&len(x), &len(y))));
        });
        let [first, end, other] = [&x, &x_end, &y].map(|b| cx.name("q", &load(ofs, b.clone())));
        compare_each(cx, (&first, &end, &other), same, |cx, x, y| cx.compare(at.below(), (x, y), same));
    }
}

/// Returns the lookup of the coordinates of a block; each position is the coordinate plus `shift`.
pub(super) fn block(inner: Fiber, shift: Local) -> LookupFn {
    Rc::new(move |_, i| Looplet::Run(AccessCursor::Fiber(inner.child(add(i, &local(shift))))))
}

/// Returns the stepper over blocks `q..end`.
fn stepper(
    cx: &mut Cx<'_>,
    at: LevelId,
    (idx, ofs): (Buffer, Buffer),
    (q, end): (Local, Expr),
    inner: Fiber,
    dimension: Expr,
) -> Stepper {
    let fill = cx.fill(at.tensor);
    let [last, shift, first] = ["last", "shift", "first"].map(|name| cx.new_local(name, Prim::I64));
    let before = if SeededFault::BlockStart.is_active() { plus(&local(first), 1) } else { local(first) };
    Stepper {
        more: lt(&local(q), &end),
        current: vec![
            Stmt::Assign(last, load(idx, local(q))),
            Stmt::Assign(shift, sub(&load(ofs, plus(&local(q), 1)), &plus(&local(last), 1))),
            Stmt::Assign(first, sub(&load(ofs, local(q)), &local(shift))),
        ],
        stop: plus(&local(last), 1),
        bound: dimension,
        chunk: Looplet::Sequence(vec![
            SequencePhase { stop: Some(before), body: Looplet::Run(fill.clone()) },
            SequencePhase { stop: None, body: Looplet::Lookup(block(inner, shift)) },
        ]),
        next: Rc::new(move |condition| vec![Stmt::Assign(q, add(&local(q), &count(condition)))]),
        seek: Rc::new(move |cx, i| gallop(cx, idx, (q, &end), i)),
        first: int(0),
        rest: fill,
        entries: None,
        limit: None,
    }
}

/// Returns the stepper over blocks `start..r` from the last to the first, in negated coordinates.
fn backward(
    cx: &mut Cx<'_>,
    at: LevelId,
    (idx, ofs): (Buffer, Buffer),
    (start, r, q): (Local, Local, Local),
    inner: Fiber,
    dimension: &Expr,
) -> Stepper {
    let fill = cx.fill(at.tensor);
    let [last, shift, begin, stop] = ["last", "shift", "begin", "stop"].map(|name| cx.new_local(name, Prim::I64));
    let first = move |q: Expr| {
        let len = sub(&load(ofs, plus(&q, 1)), &load(ofs, q.clone()));
        plus(&sub(&load(idx, q), &len), 1)
    };
    let block = mirror(&Looplet::Lookup(block(inner, shift)), dimension).expect("a lookup does not step");
    let before = if SeededFault::BlockFromEnd.is_active() { plus(&local(begin), 1) } else { local(begin) };
    Stepper {
        more: lt(&local(start), &local(r)),
        current: vec![
            Stmt::Assign(q, plus(&local(r), -1)),
            Stmt::Assign(last, load(idx, local(q))),
            Stmt::Assign(shift, sub(&load(ofs, local(r)), &plus(&local(last), 1))),
            Stmt::Assign(begin, sub(&int(0), &local(last))),
            Stmt::Assign(stop, plus(&sub(&local(shift), &load(ofs, local(q))), 1)),
        ],
        stop: local(stop),
        bound: int(1),
        chunk: Looplet::Sequence(vec![
            SequencePhase { stop: Some(before), body: Looplet::Run(fill.clone()) },
            SequencePhase { stop: None, body: block },
        ]),
        next: Rc::new(move |condition| vec![Stmt::Assign(r, sub(&local(r), &count(condition)))]),
        seek: Rc::new(move |cx, i| {
            let coordinate = cx.name("i", &sub(&int(0), i));
            gallop_back_by(cx, (&local(start), r), &|q| lt(&coordinate, &first(q)));
        }),
        first: sub(&int(1), dimension),
        rest: fill,
        entries: None,
        limit: None,
    }
}

/// Returns a lookup that searches blocks `q..end` for each coordinate, starting at the first block.
fn search_lookup(
    cx: &mut Cx<'_>,
    at: LevelId,
    (idx, ofs): (Buffer, Buffer),
    (q, end, mut preamble): (Local, Expr, Vec<Stmt>),
    inner: Fiber,
) -> Looplet {
    let start = cx.new_local("start", Prim::I64);
    preamble.push(Stmt::Assign(start, local(q)));
    let rest = Rc::new(Looplet::Run(cx.fill(at.tensor)));
    let lookup = Looplet::Lookup(Rc::new(move |cx, i| {
        cx.assign(q, local(start));
        gallop(cx, idx, (q, &end), i);
        let (hit, p) = (cx.new_local("hit", Prim::Bool), cx.new_local("p", Prim::I64));
        cx.assign(hit, truth(false));
        cx.assign(p, int(0));
        let inside = cx.block(|cx| {
            let before_end = plus(&sub(&load(idx, local(q)), i), 1);
            cx.assign(p, sub(&load(ofs, plus(&local(q), 1)), &before_end));
            cx.assign(hit, le(&load(ofs, local(q)), &local(p)));
        });
        cx.push_if(lt(&local(q), &end), inside, Vec::new());
        let then = Rc::new(Looplet::Run(AccessCursor::Fiber(inner.child(local(p)))));
        Looplet::Switch { cond: local(hit), then, other: rest.clone() }
    }));
    Looplet::Thunk { preamble, body: Rc::new(lookup), epilogue: Vec::new() }
}
