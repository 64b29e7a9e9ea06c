//! Code of intervals: the phases before, in and after the only run of a fiber.
//!
//! The first run of a fiber is written at the position of the fiber. A later run is written at the
//! next position. The later run joins the first if the two are adjacent and their children are
//! equal; otherwise the kernel stops with `Status::SecondRun`.

use super::shared::join::{self, Comparable, RunJoin};
use super::shared::list::if_present;
use crate::assembly::{BufferRole, Expr, Local, Status, Stmt};
use crate::lower::looplets::SequencePhase;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, add,
    and, count, eq, int, le, load, local, lt, not, plus, select, truth,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::Interval;
use std::rc::Rc;

const LEFT: usize = 0;
const RIGHT: usize = 1;

impl LevelLowering for Interval {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        _: &mut FunctionTables,
        at: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        if role == BufferRole::Owned {
            join::counters(cx, at, level);
        }
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let [left, right] = [LEFT, RIGHT].map(|k| cx.level(at).arrays[k]);
        let (l, r) = (cx.new_local("l", Prim::I64), cx.new_local("r", Prim::I64));
        let bounds =
            vec![Stmt::Assign(l, load(left, fiber.lo.clone())), Stmt::Assign(r, load(right, fiber.lo.clone()))];
        let preamble = if_present(cx, fiber, bounds, (l, r));
        let inner = fiber.stored();
        let child = Looplet::Run(AccessCursor::Fiber(inner.child(fiber.lo.clone())));
        let fill = Looplet::Run(cx.fill(at.tensor));
        let body = match protocol {
            Protocol::Follow => Looplet::Lookup(Rc::new(move |_, i| Looplet::Switch {
                cond: and(&le(&local(l), i), &lt(i, &local(r))),
                then: Rc::new(child.clone()),
                other: Rc::new(fill.clone()),
            })),
            Protocol::Walk | Protocol::Gallop => Looplet::Sequence(vec![
                SequencePhase { stop: Some(local(l)), body: fill.clone() },
                SequencePhase { stop: Some(local(r)), body: child },
                SequencePhase { stop: None, body: fill },
            ]),
        };
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let [left, right] = [LEFT, RIGHT].map(|k| cx.level(at).arrays[k]);
        let fiber = fiber.clone();
        let p = fiber.lo.clone();
        Looplet::AcceptRun(Rc::new(move |cx, lo, hi| {
            let (q, dirty) = (cx.new_local("q", Prim::I64), cx.new_local("dirty", Prim::Bool));
            let (join, mut saved) = (RunJoin::of(cx, at), None);
            let preamble = cx.block(|cx| {
                let has_begun = lt(&load(left, p.clone()), &load(right, p.clone()));
                cx.assign(q, add(&p, &count(&has_begun)));
                let reset = cx
                    .block(|cx| cx.assemble(at.below(), (&local(q), &plus(&local(q), 1)), AssembleMode::GrowAndReset));
                cx.push_if(lt(&p, &local(q)), reset, Vec::new());
                cx.assign(dirty, truth(false));
                saved = Some(join.save_counters(cx, at));
            });
            let saved = saved.expect("the block has run");
            let mut child = fiber.child(local(q));
            child.dirty.push(dirty);
            let first = vec![Stmt::store(left, p.clone(), lo.clone()), Stmt::store(right, p.clone(), hi.clone())];
            let second = cx.block(|cx| {
                let joins = cx.new_local("joins", Prim::Bool);
                cx.assign(joins, eq(&load(right, p.clone()), lo));
                join.compare(cx, at, (&p, &local(q)), joins);
                cx.push_if(not(&local(joins)), vec![Stmt::Return(Status::SecondRun)], Vec::new());
                cx.push(Stmt::store(right, p.clone(), hi.clone()));
                join.roll_back(cx, &local(q), &saved);
                // The joined run was written at the next position, which belongs to another fiber.
                cx.assemble(at.below(), (&local(q), &plus(&local(q), 1)), AssembleMode::GrowAndReset);
            });
            let append = cx.block(|cx| cx.push_if(eq(&local(q), &p), first, second));
            Looplet::Thunk {
                preamble,
                body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }],
            }
        }))
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        RunJoin::of(cx, at).declare(cx);
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
        for k in [LEFT, RIGHT] {
            let buffer = cx.level(at).arrays[k];
            if mode != AssembleMode::ResetOnly {
                cx.push(Stmt::Grow { buffer, len: hi.clone() });
            }
            if mode != AssembleMode::New {
                cx.store_range(buffer, (lo, hi), &int(0));
            }
        }
        cx.assemble(at.below(), (lo, hi), mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        for k in [LEFT, RIGHT] {
            let buffer = cx.level(at).arrays[k];
            cx.push(Stmt::Grow { buffer, len: parents.clone() });
        }
        parents.clone()
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (_, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![own.clone(), own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for Interval {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr)) {
        cx.complete(at.below(), range);
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let [left, right] = [LEFT, RIGHT].map(|k| cx.level(at).arrays[k]);
        let [[l, r], [m, s]] = [a, b].map(|p| [left, right].map(|k| cx.name("end", &load(k, p.clone()))));
        let (first, second) = (lt(&l, &r), lt(&m, &s));
        let equal = and(&second, &and(&eq(&l, &m), &eq(&r, &s)));
        cx.assign(same, select(&first, &equal, &not(&second)));
        let below = cx.block(|cx| cx.compare(at.below(), (a, b), same));
        cx.push_if(and(&local(same), &first), below, Vec::new());
    }
}
