//! Code of sparse lists: walked, galloped or followed. Writes append in ascending order.
//!
//! During writing, `ptr[p + 1]` is the end of the fiber below `p` once that fiber is written, and 0
//! before. Freezing sets the ends of fibers that were not written to those of the fibers before.

use super::join::{Comparable, compare_each, compare_entry, complete_ends};
use crate::assembly::{Buffer, BufferRole, Expr, Local, Stmt};
use crate::levels::SparseList;
use crate::lower::search::{gallop, hit};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents,
    Stepper, count, eq, int, load, local, lt, max, plus, select, sub, truth,
};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{LevelFormat, Prim};
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
        let end = Stmt::Store { buffer: arrays[PTR], at: plus(&fiber.lo, 1), value: local(len) };
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
            cx.push(Stmt::Store { buffer: ptr, at: int(1), value: len.clone() });
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

/// Makes room for the ends of the fibers below the parent positions `lo..hi`, none of which has
/// been written.
pub(super) fn assemble_ends(cx: &mut Cx<'_>, ptr: Buffer, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
    let ends = plus(hi, 1);
    if mode != AssembleMode::ResetOnly {
        cx.push(Stmt::Grow { buffer: ptr, len: ends.clone() });
    }
    if mode != AssembleMode::New {
        // The end before the first of them belongs to another fiber, or stays 0.
        cx.store_range(ptr, (&plus(lo, 1), &ends), &int(0));
    }
}

fn entries(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> (ListEntries, Vec<Stmt>) {
    let LevelCode { format, dimension, arrays, .. } = cx.level(at).clone();
    let (q, end, preamble) = positions(cx, arrays[PTR], fiber);
    (ListEntries { idx: arrays[IDX], q, end, format, dimension }, preamble)
}

/// Sets the ends of fibers that were not written, below the parent positions `lo..hi`, to those of
/// the fibers before.
pub(super) fn fill_ends(cx: &mut Cx<'_>, ptr: Buffer, (lo, hi): (&Expr, &Expr)) {
    if SeededFault::FiberEnds.is_active() {
        return;
    }
    let (end, p) = (cx.new_local("end", Prim::I64), cx.new_local("p", Prim::I64));
    cx.assign(end, if *lo == int(0) { int(0) } else { load(ptr, lo.clone()) });
    let next = plus(&local(p), 1);
    let body = vec![
        Stmt::Assign(end, max(&local(end), &load(ptr, next.clone()))),
        Stmt::Store { buffer: ptr, at: next, value: local(end) },
    ];
    cx.push(Stmt::For { var: p, lo: lo.clone(), hi: hi.clone(), body });
}

/// Returns a local with the first entry of a fiber, the end of its entries, and the code that sets
/// both. A fiber that is not stored has no entries.
pub(super) fn positions(cx: &mut Cx<'_>, ptr: Buffer, fiber: &Fiber) -> (Local, Expr, Vec<Stmt>) {
    let (q, end) = (cx.new_local("q", Prim::I64), cx.new_local("q_end", Prim::I64));
    let bounds = vec![Stmt::Assign(q, load(ptr, fiber.lo.clone())), Stmt::Assign(end, load(ptr, plus(&fiber.lo, 1)))];
    (q, local(end), if_present(cx, fiber, bounds, (q, end)))
}

/// Returns code that sets the bounds as given if the fiber is stored, and to 0 otherwise.
pub(super) fn if_present(cx: &mut Cx<'_>, fiber: &Fiber, bounds: Vec<Stmt>, (q, end): (Local, Local)) -> Vec<Stmt> {
    let Some(present) = fiber.present.clone() else { return bounds };
    let none = vec![Stmt::Assign(q, int(0)), Stmt::Assign(end, int(0))];
    cx.block(|cx| cx.push_if(present, bounds, none))
}

/// The entries of a fiber in ascending order: `idx[q..end]`.
pub(super) struct ListEntries {
    pub(super) idx: Buffer,
    pub(super) q: Local,
    pub(super) end: Expr,
    pub(super) format: LevelFormat,
    pub(super) dimension: Expr,
}

impl ListEntries {
    /// Returns the looplet of entries whose own position is their index.
    pub(super) fn looplet(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let inner = Fiber { present: None, ..fiber.clone() };
        if self.format.unique {
            let child = Looplet::Run(AccessCursor::Fiber(inner.child(local(self.q))));
            return self.looplet_of(cx, at, Rc::new(child), protocol);
        }
        // The child of a run of equal coordinates is the range of its positions.
        let run_end = cx.new_local("run_end", Prim::I64);
        let child = Fiber { hi: Some(local(run_end)), ..inner.child(local(self.q)) };
        let child = Looplet::Thunk {
            preamble: self.run(cx, run_end),
            body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
            epilogue: Vec::new(),
        };
        if protocol == Protocol::Follow {
            return self.looplet_of(cx, at, Rc::new(child), protocol);
        }
        self.runs(cx, at, run_end)
    }

    /// Returns the looplet of entries with the given child.
    pub(super) fn looplet_of(&self, cx: &mut Cx<'_>, at: LevelId, child: Rc<Looplet>, protocol: Protocol) -> Looplet {
        let fill = cx.fill(at.tensor);
        let coordinate = cx.new_local("i", Prim::I64);
        let (q, end, idx) = (self.q, self.end.clone(), self.idx);
        if protocol == Protocol::Follow {
            let start = cx.new_local("start", Prim::I64);
            let rest = Rc::new(Looplet::Run(fill));
            let lookup = Looplet::Lookup(Rc::new(move |cx, i| {
                cx.assign(q, local(start));
                gallop(cx, idx, (q, &end), i);
                let is_hit = hit(cx, idx, (q, &end), i);
                Looplet::Switch { cond: is_hit, then: child.clone(), other: rest.clone() }
            }));
            let save = vec![Stmt::Assign(start, local(q))];
            return Looplet::Thunk { preamble: save, body: Rc::new(lookup), epilogue: Vec::new() };
        }
        let stepper = Stepper {
            more: lt(&local(q), &end),
            current: vec![Stmt::Assign(coordinate, load(idx, local(q)))],
            stop: plus(&local(coordinate), 1),
            bound: self.dimension.clone(),
            chunk: Looplet::Spike { body: fill.clone(), tail: child },
            next: Rc::new(move |condition| vec![Stmt::Assign(q, crate::lower::add(&local(q), &count(condition)))]),
            seek: Rc::new(move |cx, i| gallop(cx, idx, (q, &end), i)),
            first: int(0),
            rest: fill,
        };
        match protocol {
            Protocol::Gallop => Looplet::Jumper(Rc::new(stepper)),
            _ => Looplet::Stepper(Rc::new(stepper)),
        }
    }

    /// Returns the stepper over runs of equal coordinates.
    fn runs(&self, cx: &mut Cx<'_>, at: LevelId, run_end: Local) -> Looplet {
        let fill = cx.fill(at.tensor);
        let coordinate = cx.new_local("i", Prim::I64);
        let (q, end, idx) = (self.q, self.end.clone(), self.idx);
        let mut current = vec![Stmt::Assign(coordinate, load(idx, local(q)))];
        current.extend(self.run(cx, run_end));
        let fiber = Fiber { hi: Some(local(run_end)), ..Fiber::at(at.level + 1, local(q)) };
        let stepper = Stepper {
            more: lt(&local(q), &end),
            current,
            stop: plus(&local(coordinate), 1),
            bound: self.dimension.clone(),
            chunk: Looplet::Spike { body: fill.clone(), tail: Rc::new(Looplet::Run(AccessCursor::Fiber(fiber))) },
            next: Rc::new(move |condition| vec![Stmt::Assign(q, select(condition, &local(run_end), &local(q)))]),
            seek: Rc::new(move |cx, i| gallop(cx, idx, (q, &end), i)),
            first: int(0),
            rest: fill,
        };
        let preamble = vec![Stmt::Assign(run_end, int(0))];
        Looplet::Thunk { preamble, body: Rc::new(Looplet::Stepper(Rc::new(stepper))), epilogue: Vec::new() }
    }

    /// Returns code that finds the end of the run of coordinates equal to the one at `q`.
    fn run(&self, cx: &mut Cx<'_>, run_end: Local) -> Vec<Stmt> {
        cx.block(|cx| {
            cx.assign(run_end, plus(&local(self.q), 1));
            let same = eq(&load(self.idx, local(run_end)), &load(self.idx, local(self.q)));
            let body = cx.block(|cx| {
                cx.push_if(crate::lower::not(&same), vec![Stmt::Break], Vec::new());
                cx.assign(run_end, plus(&local(run_end), 1));
            });
            cx.push(Stmt::While { cond: lt(&local(run_end), &self.end), body });
        })
    }
}

/// Returns the looplet for writes to a level with unique coordinates: a coordinate is appended if
/// something was written below it.
pub(super) fn append(cx: &mut Cx<'_>, at: LevelId, idx: Buffer, fiber: &Fiber) -> Looplet {
    let len = cx.level(at).counter();
    let mode = cx.tensor(at.tensor).assemble_mode;
    let fiber = fiber.clone();
    Looplet::Lookup(Rc::new(move |cx, i| {
        let dirty = cx.new_local("dirty", Prim::Bool);
        let position = local(len);
        let preamble = cx.block(|cx| {
            cx.assemble(at.below(), (&position, &plus(&position, 1)), mode);
            cx.assign(dirty, truth(false));
        });
        let mut child = fiber.child(position.clone());
        child.dirty.push(dirty);
        let append = vec![
            Stmt::Grow { buffer: idx, len: plus(&position, 1) },
            Stmt::Store { buffer: idx, at: position.clone(), value: i.clone() },
            Stmt::Assign(len, plus(&position, 1)),
        ];
        let epilogue = vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }];
        Looplet::Thunk { preamble, body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))), epilogue }
    }))
}

/// Returns the looplet for writes to a level with repeated coordinates: each position that was
/// appended below gets the coordinate.
pub(super) fn spread(at: LevelId, idx: Buffer, fiber: &Fiber) -> Looplet {
    let fiber = fiber.clone();
    Looplet::Lookup(Rc::new(move |cx, i| {
        let len = local(cx.level(at).counter());
        let start = cx.new_local("start", Prim::I64);
        let epilogue = cx.block(|cx| {
            cx.push(Stmt::Grow { buffer: idx, len: len.clone() });
            cx.store_range(idx, (&local(start), &len), i);
        });
        let child = Looplet::Run(AccessCursor::Fiber(fiber.child(local(start))));
        Looplet::Thunk { preamble: vec![Stmt::Assign(start, len)], body: Rc::new(child), epilogue }
    }))
}
