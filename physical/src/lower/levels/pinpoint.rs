//! Code of pinpoints: the phases before, at and after the only coordinate of a fiber.
//!
//! During writing, a fiber without a coordinate stores one that is not below the dimension;
//! freezing replaces it with the dimension. A second coordinate in a fiber ends the kernel.

use super::join::Comparable;
use crate::assembly::{BufferRole, Expr, Local, Status, Stmt};
use crate::levels::Pinpoint;
use crate::lower::looplets::Phase;
use crate::lower::seeded::{self, Seeded};
use crate::lower::{
    At, Cursor, Cx, Fiber, LevelCode, LevelLowering, Looplet, Parents, Room, Tables, and, eq, int, load, local, lt,
    min, plus, truth,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use std::rc::Rc;

const IDX: usize = 0;
/// The coordinate of an absent fiber, which no index reaches.
const NOWHERE: i64 = i64::MAX / 4;

impl LevelLowering for Pinpoint {
    fn tables(&self, _: &mut Cx<'_>, _: &mut Tables, _: At, _: (BufferRole, &mut LevelCode)) {}

    fn read(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let idx = cx.level(at).arrays[IDX];
        let l = cx.new_local("l", Prim::I64);
        let found = vec![Stmt::Assign(l, load(idx, fiber.lo.clone()))];
        let preamble = match fiber.present.clone() {
            None => found,
            Some(present) => cx.block(|cx| cx.push_if(present, found, vec![Stmt::Assign(l, int(NOWHERE))])),
        };
        let inner = Fiber { present: None, ..fiber.clone() };
        let child = Looplet::Run(Cursor::Fiber(inner.child(fiber.lo.clone())));
        let fill = Looplet::Run(cx.fill(at.tensor));
        let place = if seeded::is(Seeded::PinpointPlace) { plus(&local(l), 1) } else { local(l) };
        let body = match protocol {
            Protocol::Follow => Looplet::Lookup(Rc::new(move |_, i| Looplet::Switch {
                cond: eq(&place, i),
                then: Rc::new(child.clone()),
                other: Rc::new(fill.clone()),
            })),
            Protocol::Walk | Protocol::Gallop => Looplet::Sequence(vec![
                Phase { stop: Some(place.clone()), body: fill.clone() },
                Phase { stop: Some(plus(&place, 1)), body: child },
                Phase { stop: None, body: fill },
            ]),
        };
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn write(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let idx = arrays[IDX];
        let fiber = fiber.clone();
        Looplet::Lookup(Rc::new(move |cx, i| {
            let dirty = cx.new_local("dirty", Prim::Bool);
            let mut child = fiber.child(fiber.lo.clone());
            child.dirty.push(dirty);
            let keep = cx.block(|cx| {
                let taken = lt(&load(idx, fiber.lo.clone()), &dimension);
                cx.push_if(taken, vec![Stmt::Return(Status::SecondEntry)], Vec::new());
                cx.push(Stmt::Store { buffer: idx, at: fiber.lo.clone(), value: i.clone() });
            });
            Looplet::Thunk {
                preamble: vec![Stmt::Assign(dirty, truth(false))],
                body: Rc::new(Looplet::Run(Cursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: keep, other: Vec::new() }],
            }
        }))
    }

    fn declare(&self, _: &mut Cx<'_>, _: At) {}

    fn assemble(&self, cx: &mut Cx<'_>, at: At, (lo, hi): (&Expr, &Expr), room: Room) {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        if room != Room::Again {
            cx.push(Stmt::Grow { buffer: arrays[IDX], len: hi.clone() });
        }
        if room != Room::Fresh {
            cx.store_range(arrays[IDX], (lo, hi), &dimension);
        }
        cx.assemble(at.below(), (lo, hi), room);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: At, Parents { count: parents, .. }: &Parents) -> Expr {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let (idx, p) = (arrays[IDX], cx.new_local("p", Prim::I64));
        cx.push(Stmt::Grow { buffer: idx, len: parents.clone() });
        let value = min(&load(idx, local(p)), &dimension);
        let body = vec![Stmt::Store { buffer: idx, at: local(p), value }];
        cx.push(Stmt::For { var: p, lo: int(0), hi: parents.clone(), body });
        parents.clone()
    }

    fn lengths(&self, _: &Cx<'_>, _: At, (_, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for Pinpoint {
    fn complete(&self, cx: &mut Cx<'_>, at: At, range: (&Expr, &Expr)) {
        cx.complete(at.below(), range);
    }

    fn compare(&self, cx: &mut Cx<'_>, at: At, (a, b): (&Expr, &Expr), same: Local) {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let [i, j] = [a, b].map(|p| cx.name("i", &min(&load(arrays[IDX], p.clone()), &dimension)));
        cx.assign(same, eq(&i, &j));
        let below = cx.block(|cx| cx.compare(at.below(), (a, b), same));
        cx.push_if(and(&local(same), &lt(&i, &dimension)), below, Vec::new());
    }
}
