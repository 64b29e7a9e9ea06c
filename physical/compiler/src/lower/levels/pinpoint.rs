//! Code of pinpoints: the phases before, at and after the only coordinate of a fiber.
//!
//! During writing, a fiber without an entry stores a coordinate that is not below the dimension.
//! Freezing replaces this coordinate with the dimension. At a second coordinate in a fiber, the
//! kernel stops with `Status::SecondEntry`.

use super::shared::join::Comparable;
use crate::assembly::{BufferRole, Expr, Local, Status, Stmt};
use crate::lower::looplets::SequencePhase;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, and,
    eq, int, load, local, lt, min, plus, truth,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::Pinpoint;
use std::rc::Rc;

const IDX: usize = 0;
/// The coordinate of an absent fiber, which no index reaches.
const NO_COORDINATE: i64 = i64::MAX / 4;

impl LevelLowering for Pinpoint {
    fn add_counters(&self, _: &mut Cx<'_>, _: &mut FunctionTables, _: LevelId, _: (BufferRole, &mut LevelCode)) {}

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let idx = cx.level(at).arrays[IDX];
        let l = cx.new_local("l", Prim::I64);
        let found = vec![Stmt::Assign(l, load(idx, fiber.lo.clone()))];
        let preamble = match fiber.present.clone() {
            None => found,
            Some(present) => cx.block(|cx| cx.push_if(present, found, vec![Stmt::Assign(l, int(NO_COORDINATE))])),
        };
        let inner = fiber.stored();
        let child = Looplet::Run(AccessCursor::Fiber(inner.child(fiber.lo.clone())));
        let fill = Looplet::Run(cx.fill(at.tensor));
        let coordinate = if SeededFault::PinpointCoordinate.is_active() { plus(&local(l), 1) } else { local(l) };
        let body = match protocol {
            Protocol::Follow => Looplet::Lookup(Rc::new(move |_, i| Looplet::Switch {
                cond: eq(&coordinate, i),
                then: Rc::new(child.clone()),
                other: Rc::new(fill.clone()),
            })),
            Protocol::Walk | Protocol::Gallop => Looplet::Sequence(vec![
                SequencePhase { stop: Some(coordinate.clone()), body: fill.clone() },
                SequencePhase { stop: Some(plus(&coordinate, 1)), body: child },
                SequencePhase { stop: None, body: fill },
            ]),
        };
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let idx = arrays[IDX];
        let fiber = fiber.clone();
        Looplet::Lookup(Rc::new(move |cx, i| {
            let dirty = cx.new_local("dirty", Prim::Bool);
            let mut child = fiber.child(fiber.lo.clone());
            child.dirty.push(dirty);
            let append = cx.block(|cx| {
                let occupied = lt(&load(idx, fiber.lo.clone()), &dimension);
                cx.push_if(occupied, vec![Stmt::Return(Status::SecondEntry)], Vec::new());
                cx.push(Stmt::store(idx, fiber.lo.clone(), i.clone()));
            });
            Looplet::Thunk {
                preamble: vec![Stmt::Assign(dirty, truth(false))],
                body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }],
            }
        }))
    }

    fn declare(&self, _: &mut Cx<'_>, _: LevelId) {}

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        if mode != AssembleMode::ResetOnly {
            cx.push(Stmt::Grow { buffer: arrays[IDX], len: hi.clone() });
        }
        if mode != AssembleMode::New {
            cx.store_range(arrays[IDX], (lo, hi), &dimension);
        }
        cx.assemble(at.below(), (lo, hi), mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let (idx, p) = (arrays[IDX], cx.new_local("p", Prim::I64));
        cx.push(Stmt::Grow { buffer: idx, len: parents.clone() });
        let value = min(&load(idx, local(p)), &dimension);
        let body = vec![Stmt::store(idx, local(p), value)];
        cx.push(Stmt::For { var: p, lo: int(0), hi: parents.clone(), body });
        parents.clone()
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (_, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for Pinpoint {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr)) {
        cx.complete(at.below(), range);
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let [i, j] = [a, b].map(|p| cx.name("i", &min(&load(arrays[IDX], p.clone()), &dimension)));
        cx.assign(same, eq(&i, &j));
        let below = cx.block(|cx| cx.compare(at.below(), (a, b), same));
        cx.push_if(and(&local(same), &lt(&i, &dimension)), below, Vec::new());
    }
}
