//! Code of bands: one block between two runs of the fill value. Writes append in ascending order.
//!
//! During writing, `ofs[p + 1]` is the number of positions up to the end of the fiber below `p`
//! once that fiber is written, and 0 before. The `ptr` of sparse lists works in the same way. A
//! coordinate between two written coordinates gets its position when the second of them is written.

use super::block_list::block;
use super::shared::join::{Comparable, compare_each, complete_ends};
use super::shared::list::{assemble_ends, fill_ends};
use crate::assembly::{BufferRole, Expr, Local, Stmt};
use crate::lower::looplets::SequencePhase;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, add,
    and, eq, int, le, load, local, lt, max, not, or, plus, select, sub, truth,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::Band;
use std::rc::Rc;

const IDX: usize = 0;
const OFS: usize = 1;
/// The value of the local `last` in a fiber without coordinates, and of `open` before the first
/// fiber.
const NO_COORDINATE: i64 = -1;

impl LevelLowering for Band {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        _: &mut FunctionTables,
        _: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        if role == BufferRole::Owned {
            level.count = Some(cx.new_local("len", Prim::I64));
            level.extra_locals = ["last", "allocated", "open"].map(|name| cx.new_local(name, Prim::I64)).to_vec();
        }
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let LevelCode { arrays, .. } = cx.level(at).clone();
        let [first, stop, shift] = ["first", "stop", "shift"].map(|name| cx.new_local(name, Prim::I64));
        let bounds = vec![
            Stmt::Assign(stop, plus(&load(arrays[IDX], fiber.lo.clone()), 1)),
            Stmt::Assign(shift, sub(&load(arrays[OFS], plus(&fiber.lo, 1)), &local(stop))),
            Stmt::Assign(first, sub(&load(arrays[OFS], fiber.lo.clone()), &local(shift))),
        ];
        let preamble = match fiber.present.clone() {
            None => bounds,
            Some(present) => {
                let none = [stop, shift, first].map(|l| Stmt::Assign(l, int(0))).to_vec();
                cx.block(|cx| cx.push_if(present, bounds, none))
            }
        };
        cx.prover.assume_le(&local(first), &local(stop));
        let fill = Looplet::Run(cx.fill(at.tensor));
        let inside = block(fiber.stored(), shift);
        let body = if protocol == Protocol::Follow {
            Looplet::Lookup(Rc::new(move |cx, i| Looplet::Switch {
                cond: and(&le(&local(first), i), &lt(i, &local(stop))),
                then: Rc::new(inside(cx, i)),
                other: Rc::new(fill.clone()),
            }))
        } else {
            let ends = if SeededFault::BandEnd.is_active() { plus(&local(stop), -1) } else { local(stop) };
            Looplet::Sequence(vec![
                SequencePhase { stop: Some(local(first)), body: fill.clone() },
                SequencePhase { stop: Some(ends), body: Looplet::Lookup(inside) },
                SequencePhase { stop: None, body: fill },
            ])
        };
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let LevelCode { arrays, extra_locals, .. } = cx.level(at).clone();
        let (len, last, allocated, open) = (cx.level(at).counter(), extra_locals[0], extra_locals[1], extra_locals[2]);
        let mode = cx.tensor(at.tensor).assemble_mode;
        let end_at = plus(&fiber.lo, 1);
        let preamble = cx.block(|cx| {
            // A fiber that is visited again keeps `last`. Another fiber may reuse the position of a
            // fiber that was not written; `last` is then still `NO_COORDINATE`.
            let begin = vec![Stmt::Assign(last, int(NO_COORDINATE)), Stmt::Assign(open, fiber.lo.clone())];
            cx.push_if(not(&eq(&local(open), &fiber.lo)), begin, Vec::new());
        });
        let end = vec![
            Stmt::store(arrays[OFS], end_at, local(len)),
            Stmt::store(arrays[IDX], fiber.lo.clone(), max(&local(last), &int(0))),
        ];
        let fiber = fiber.clone();
        let body = Looplet::Lookup(Rc::new(move |cx, i| {
            let (dirty, position) = (cx.new_local("dirty", Prim::Bool), cx.new_local("p", Prim::I64));
            let next = plus(&local(position), 1);
            let preamble = cx.block(|cx| {
                let gap = plus(&sub(i, &local(last)), -1);
                let gap = if SeededFault::BandGap.is_active() {
                    int(0)
                } else {
                    select(&lt(&local(last), &int(0)), &int(0), &gap)
                };
                cx.assign(position, add(&local(len), &gap));
                let allocate = cx.block(|cx| {
                    cx.assemble(at.below(), (&local(allocated), &next), mode);
                    cx.assign(allocated, next.clone());
                });
                cx.push_if(lt(&local(allocated), &next), allocate, Vec::new());
                cx.assign(dirty, truth(false));
            });
            let mut child = fiber.child(local(position));
            child.dirty.push(dirty);
            let append = vec![Stmt::Assign(len, next), Stmt::Assign(last, i.clone())];
            let epilogue = vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }];
            Looplet::Thunk { preamble, body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))), epilogue }
        }));
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: end }
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        let (len, extra_locals) = (cx.level(at).counter(), cx.level(at).extra_locals.clone());
        cx.assign(len, int(0));
        cx.assign(extra_locals[0], int(NO_COORDINATE));
        cx.assign(extra_locals[1], int(0));
        cx.assign(extra_locals[2], int(NO_COORDINATE));
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr), mode: AssembleMode) {
        let LevelCode { arrays, .. } = cx.level(at).clone();
        if mode != AssembleMode::ResetOnly {
            cx.push(Stmt::Grow { buffer: arrays[IDX], len: range.1.clone() });
        }
        assemble_ends(cx, arrays[OFS], range, mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        let LevelCode { arrays, .. } = cx.level(at).clone();
        let len = local(cx.level(at).counter());
        cx.check_positions(arrays[OFS], &len);
        cx.push(Stmt::Grow { buffer: arrays[IDX], len: parents.clone() });
        cx.push(Stmt::Grow { buffer: arrays[OFS], len: plus(parents, 1) });
        if *parents == int(1) {
            cx.push(Stmt::store(arrays[OFS], int(1), len.clone()));
        } else {
            fill_ends(cx, arrays[OFS], (&int(0), parents));
        }
        len
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (parents, _): (&Expr, &Expr)) -> Vec<Expr> {
        vec![parents.clone(), plus(parents, 1)]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for Band {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr)) {
        let ofs = cx.level(at).arrays[OFS];
        complete_ends(cx, ofs, (lo, hi));
        let bounds = [lo, hi].map(|p| cx.name("q", &load(ofs, p.clone())));
        cx.complete(at.below(), (&bounds[0], &bounds[1]));
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let [idx, ofs] = [IDX, OFS].map(|k| cx.level(at).arrays[k]);
        let [[x, x_end], [y, y_end]] = [a, b].map(|p| [p.clone(), plus(p, 1)].map(|p| cx.name("q", &load(ofs, p))));
        // A fiber without coordinates has no last coordinate to compare.
        let last = or(&eq(&x, &x_end), &eq(&load(idx, a.clone()), &load(idx, b.clone())));
        cx.assign(same, and(&eq(&sub(&x_end, &x), &sub(&y_end, &y)), &last));
        compare_each(cx, (&x, &x_end, &y), same, |cx, x, y| cx.compare(at.below(), (x, y), same));
    }
}
