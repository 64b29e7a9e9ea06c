//! Backward reads of levels that list their coordinates: from the last entry to the first.
//!
//! `r` is one past the current entry, or past the current run of equal coordinates. `q` is the
//! position of this entry, or of the first one of the run, as in forward reads, so reads in both
//! directions have the same child. Coordinates are negated, so that they ascend.

use super::list::ListEntries;
use crate::assembly::Stmt;
use crate::lower::looplets::mirror::mirror;
use crate::lower::search::gallop_back;
use crate::lower::{
    AccessCursor, Cx, Fiber, LevelId, Looplet, Stepper, count, eq, int, load, local, lt, plus, select, sub,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use std::rc::Rc;

impl ListEntries {
    /// Returns the looplet of entries whose position is their index in `idx`.
    pub(crate) fn backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let inner = fiber.stored();
        if self.format.unique {
            let child = Looplet::Run(AccessCursor::Fiber(inner.child(local(self.q))));
            return self.backward_of(cx, at, &child, protocol);
        }
        let r = cx.new_local("r", Prim::I64);
        let child = Fiber { hi: Some(local(r)), ..inner.child(local(self.q)) };
        self.descending(cx, at, r, (Looplet::Run(AccessCursor::Fiber(child)), Protocol::Walk))
    }

    /// Returns the looplet of entries with the given child, which is mirrored here.
    pub(crate) fn backward_of(&self, cx: &mut Cx<'_>, at: LevelId, child: &Looplet, protocol: Protocol) -> Looplet {
        let child = mirror(child, &self.dimension).expect("the looplet at an entry does not step");
        let r = cx.new_local("r", Prim::I64);
        self.descending(cx, at, r, (child, protocol))
    }

    fn descending(
        &self,
        cx: &mut Cx<'_>,
        at: LevelId,
        r: crate::assembly::Local,
        (child, protocol): (Looplet, Protocol),
    ) -> Looplet {
        let fill = cx.fill(at.tensor);
        let (start, coordinate) = (cx.new_local("start", Prim::I64), cx.new_local("i", Prim::I64));
        let (q, idx, unique) = (self.q, self.idx, self.format.unique);
        let mut current = vec![Stmt::Assign(q, plus(&local(r), -1))];
        if !unique {
            // The run of equal coordinates that ends before `r` starts at `q`.
            let before = load(idx, plus(&local(q), -1));
            let body = cx.block(|cx| {
                let same = eq(&before, &load(idx, local(q)));
                cx.push_if(crate::lower::not(&same), vec![Stmt::Break], Vec::new());
                cx.assign(q, plus(&local(q), -1));
            });
            current.push(Stmt::While { cond: lt(&local(start), &local(q)), body });
        }
        current.push(Stmt::Assign(coordinate, sub(&int(0), &load(idx, local(q)))));
        let stepper = Rc::new(Stepper {
            more: lt(&local(start), &local(r)),
            current,
            stop: plus(&local(coordinate), 1),
            bound: int(1),
            chunk: Looplet::Spike { body: fill.clone(), tail: Rc::new(child) },
            next: Rc::new(move |condition| {
                let rest = match unique {
                    true => sub(&local(r), &count(condition)),
                    false => select(condition, &local(q), &local(r)),
                };
                vec![Stmt::Assign(r, rest)]
            }),
            seek: Rc::new(move |cx, i| gallop_back(cx, idx, (&local(start), r), &sub(&int(0), i))),
            first: sub(&int(1), &self.dimension),
            rest: fill,
            entries: None,
            limit: None,
        });
        let body = match protocol {
            Protocol::Gallop if unique => Looplet::Jumper(stepper),
            _ => Looplet::Stepper(stepper),
        };
        let preamble = vec![Stmt::Assign(start, local(q)), Stmt::Assign(r, self.end.clone())];
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }
}
