//! Shared code of levels that list coordinates: ends of fibers, looplets of entries, and writes
//! that append.

use crate::assembly::{Buffer, Expr, Local, Stmt};
use crate::lower::looplets::SeekFn;
use crate::lower::search::{drop_from, gallop, hit};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, LevelId, Looplet, Stepper, count, eq, int, load, local, lt, max, plus,
    select, sub, truth,
};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{LevelFormat, Prim};
use std::rc::Rc;

/// Makes room for the ends of the fibers below the parent positions `lo..hi`, none of which has
/// been written.
pub(crate) fn assemble_ends(cx: &mut Cx<'_>, ptr: Buffer, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
    let ends = plus(hi, 1);
    if mode != AssembleMode::ResetOnly {
        cx.push(Stmt::Grow { buffer: ptr, len: ends.clone() });
    }
    if mode != AssembleMode::New {
        // The end at `lo` belongs to the fiber before the range, or stays 0.
        cx.store_range(ptr, (&plus(lo, 1), &ends), &int(0));
    }
}

/// Sets the end of each unwritten fiber below the parent positions `lo..hi` to the end of the fiber
/// before.
pub(crate) fn fill_ends(cx: &mut Cx<'_>, ptr: Buffer, (lo, hi): (&Expr, &Expr)) {
    if SeededFault::FiberEnds.is_active() {
        return;
    }
    let (end, p) = (cx.new_local("end", Prim::I64), cx.new_local("p", Prim::I64));
    cx.assign(end, if *lo == int(0) { int(0) } else { load(ptr, lo.clone()) });
    let next = plus(&local(p), 1);
    let body = vec![Stmt::Assign(end, max(&local(end), &load(ptr, next.clone()))), Stmt::store(ptr, next, local(end))];
    cx.push(Stmt::For { var: p, lo: lo.clone(), hi: hi.clone(), body });
}

/// Returns three things: a local with the position of a fiber's first entry, the end of the fiber's
/// entries as an expression, and the code that sets both. A fiber that is not stored has no
/// entries.
pub(crate) fn positions(cx: &mut Cx<'_>, ptr: Buffer, fiber: &Fiber) -> (Local, Expr, Vec<Stmt>) {
    let (q, end) = (cx.new_local("q", Prim::I64), cx.new_local("q_end", Prim::I64));
    let bounds = vec![Stmt::Assign(q, load(ptr, fiber.lo.clone())), Stmt::Assign(end, load(ptr, plus(&fiber.lo, 1)))];
    (q, local(end), if_present(cx, fiber, bounds, (q, end)))
}

/// Returns code that sets the bounds as given if the fiber is stored, and to 0 otherwise.
pub(crate) fn if_present(cx: &mut Cx<'_>, fiber: &Fiber, bounds: Vec<Stmt>, (q, end): (Local, Local)) -> Vec<Stmt> {
    let Some(present) = fiber.present.clone() else { return bounds };
    let none = vec![Stmt::Assign(q, int(0)), Stmt::Assign(end, int(0))];
    cx.block(|cx| cx.push_if(present, bounds, none))
}

/// The entries of a fiber in ascending order: `idx[q..end]`.
pub(crate) struct ListEntries {
    pub(crate) idx: Buffer,
    pub(crate) q: Local,
    pub(crate) end: Expr,
    pub(crate) format: LevelFormat,
    pub(crate) dimension: Expr,
}

impl ListEntries {
    /// Returns the looplet of entries whose position is their index in `idx`.
    pub(crate) fn looplet(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let inner = fiber.stored();
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
    pub(crate) fn looplet_of(&self, cx: &mut Cx<'_>, at: LevelId, child: Rc<Looplet>, protocol: Protocol) -> Looplet {
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
        let entries = self.format.unique.then(|| sub(&end, &local(q)));
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
            entries,
            limit: self.limit(),
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
            entries: None,
            limit: self.limit(),
        };
        let preamble = vec![Stmt::Assign(run_end, int(0))];
        Looplet::Thunk { preamble, body: Rc::new(Looplet::Stepper(Rc::new(stepper))), epilogue: Vec::new() }
    }

    /// Returns the code that drops the entries from a coordinate on; `None` if the end of the
    /// entries is not a local.
    fn limit(&self) -> Option<SeekFn> {
        let (q, idx) = (self.q, self.idx);
        let Expr::Local(end) = self.end else { return None };
        Some(Rc::new(move |cx, i| drop_from(cx, idx, (q, end), i)))
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

/// Returns the looplet for writes to a level with unique coordinates: a coordinate is appended if a
/// value was written below it.
pub(crate) fn append(cx: &mut Cx<'_>, at: LevelId, idx: Buffer, fiber: &Fiber) -> Looplet {
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
            Stmt::store(idx, position.clone(), i.clone()),
            Stmt::Assign(len, plus(&position, 1)),
        ];
        let epilogue = vec![Stmt::If { cond: local(dirty), then: append, other: Vec::new() }];
        Looplet::Thunk { preamble, body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))), epilogue }
    }))
}

/// Returns the looplet for writes to a level with repeated coordinates: each position that was
/// appended below gets the coordinate.
pub(crate) fn spread(at: LevelId, idx: Buffer, fiber: &Fiber) -> Looplet {
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
