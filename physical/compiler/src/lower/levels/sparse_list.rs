//! Code of sparse lists, which are read by walking, galloping or following. Writes append in
//! ascending order.
//!
//! During writing, `ptr[p + 1]` is the end of the fiber below `p` once that fiber is written, and 0
//! before. Freezing sets the end of each unwritten fiber to the end of the fiber before.

use super::shared::join::{Comparable, compare_each, compare_entry, complete_ends};
use super::shared::list::{ListEntries, append, assemble_ends, fill_ends, positions, spread};
use crate::assembly::{BufferRole, Expr, Local, Stmt};
use crate::lower::{
    AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, eq, int, load, local,
    plus, sub,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::SparseList;
use std::rc::Rc;

const PTR: usize = 0;
const IDX: usize = 1;

impl LevelLowering for SparseList {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        _: &mut FunctionTables,
        _: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        if role == BufferRole::Owned {
            level.count = Some(cx.new_local("len", Prim::I64));
        }
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let (entries, preamble) = entries(cx, at, fiber);
        let body = entries.looplet(cx, at, fiber, protocol);
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let (entries, preamble) = entries(cx, at, fiber);
        let body = entries.backward(cx, at, fiber, protocol);
        Some(Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() })
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let LevelCode { format, arrays, .. } = cx.level(at).clone();
        let len = cx.level(at).counter();
        let body = if format.unique { append(cx, at, arrays[IDX], fiber) } else { spread(at, arrays[IDX], fiber) };
        let end = Stmt::store(arrays[PTR], plus(&fiber.lo, 1), local(len));
        Looplet::Thunk { preamble: Vec::new(), body: Rc::new(body), epilogue: vec![end] }
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        let len = cx.level(at).counter();
        cx.assign(len, int(0));
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr), mode: AssembleMode) {
        let ptr = cx.level(at).arrays[PTR];
        assemble_ends(cx, ptr, range, mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, written: (lo, hi) }: &Parents) -> Expr {
        let (ptr, len) = (cx.level(at).arrays[PTR], local(cx.level(at).counter()));
        cx.check_positions(ptr, &len);
        cx.push(Stmt::Grow { buffer: ptr, len: plus(parents, 1) });
        if *parents == int(1) {
            cx.push(Stmt::store(ptr, int(1), len.clone()));
        } else {
            fill_ends(cx, ptr, (lo, hi));
        }
        len
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (parents, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![plus(parents, 1), own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for SparseList {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr)) {
        let ptr = cx.level(at).arrays[PTR];
        complete_ends(cx, ptr, (lo, hi));
        let bounds = [lo, hi].map(|p| cx.name("q", &load(ptr, p.clone())));
        cx.complete(at.below(), (&bounds[0], &bounds[1]));
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let [ptr, idx] = [PTR, IDX].map(|k| cx.level(at).arrays[k]);
        let [[x, x_end], [y, y_end]] = [a, b].map(|p| [p.clone(), plus(p, 1)].map(|p| cx.name("q", &load(ptr, p))));
        cx.assign(same, eq(&sub(&x_end, &x), &sub(&y_end, &y)));
        compare_each(cx, (&x, &x_end, &y), same, |cx, x, y| {
            compare_entry(cx, at, eq(&load(idx, x.clone()), &load(idx, y.clone())), (x, y), same);
        });
    }
}

fn entries(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> (ListEntries, Vec<Stmt>) {
    let LevelCode { format, dimension, arrays, .. } = cx.level(at).clone();
    let (q, end, preamble) = positions(cx, arrays[PTR], fiber);
    (ListEntries { idx: arrays[IDX], q, end, format, dimension }, preamble)
}
