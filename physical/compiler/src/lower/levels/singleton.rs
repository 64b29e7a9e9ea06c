//! Code of singletons, the inner modes of COO: a fiber is a range of positions, whose coordinates
//! ascend.

use super::shared::join::{Comparable, compare_entry};
use super::shared::list::{ListEntries, append, if_present, spread};
use crate::assembly::{BufferRole, Expr, Local, Stmt};
use crate::lower::{
    AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, eq, int, load, local,
    plus,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::Singleton;
use std::rc::Rc;

const IDX: usize = 0;

impl LevelLowering for Singleton {
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
        if format.unique { append(cx, at, arrays[IDX], fiber) } else { spread(at, arrays[IDX], fiber) }
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        let len = cx.level(at).counter();
        cx.assign(len, int(0));
    }

    fn assemble(&self, _: &mut Cx<'_>, _: LevelId, _: (&Expr, &Expr), _: AssembleMode) {}

    fn freeze(&self, _: &mut Cx<'_>, _: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        parents.clone()
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (_, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for Singleton {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr)) {
        cx.complete(at.below(), range);
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let idx = cx.level(at).arrays[IDX];
        compare_entry(cx, at, eq(&load(idx, a.clone()), &load(idx, b.clone())), (a, b), same);
    }
}

fn entries(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> (ListEntries, Vec<Stmt>) {
    let LevelCode { format, dimension, arrays, .. } = cx.level(at).clone();
    let (q, end) = (cx.new_local("q", Prim::I64), cx.new_local("q_end", Prim::I64));
    let hi = fiber.hi.clone().unwrap_or_else(|| plus(&fiber.lo, 1));
    let bounds = vec![Stmt::Assign(q, fiber.lo.clone()), Stmt::Assign(end, hi)];
    let preamble = if_present(cx, fiber, bounds, (q, end));
    (ListEntries { idx: arrays[IDX], q, end: local(end), format, dimension }, preamble)
}
