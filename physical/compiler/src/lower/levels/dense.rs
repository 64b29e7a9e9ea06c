//! Code of dense levels: below position `p`, coordinate `i` has position `p * n + i`, where `n` is
//! the dimension. Writes may come in any order.

use super::shared::join::{Comparable, compare_each};
use crate::assembly::{BufferRole, Expr, Local};
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, add,
    mul,
};
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::Dense;
use std::rc::Rc;

impl LevelLowering for Dense {
    fn add_counters(&self, _: &mut Cx<'_>, _: &mut FunctionTables, _: LevelId, _: (BufferRole, &mut LevelCode)) {}

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, _: Protocol) -> Looplet {
        lookup(cx, at, fiber)
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        lookup(cx, at, fiber)
    }

    fn declare(&self, _: &mut Cx<'_>, _: LevelId) {}

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
        let n = cx.level(at).dimension.clone();
        let (lo, hi) = (cx.name("p", &mul(lo, &n)), cx.name("p", &mul(hi, &n)));
        cx.assemble(at.below(), (&lo, &hi), mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        mul(parents, &cx.level(at).dimension)
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, _: (&Expr, &Expr)) -> Vec<Expr> {
        Vec::new()
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for Dense {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr)) {
        let n = cx.level(at).dimension.clone();
        let (lo, hi) = (cx.name("p", &mul(lo, &n)), cx.name("p", &mul(hi, &n)));
        cx.complete(at.below(), (&lo, &hi));
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let n = cx.level(at).dimension.clone();
        let [a, b] = [a, b].map(|p| mul(p, &n));
        compare_each(cx, (&a, &add(&a, &n), &b), same, |cx, x, y| cx.compare(at.below(), (x, y), same));
    }
}

fn lookup(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
    let n = cx.level(at).dimension.clone();
    let first = cx.name("row", &mul(&fiber.lo, &n));
    let fiber = fiber.clone();
    Looplet::Lookup(Rc::new(move |_, i| Looplet::Run(AccessCursor::Fiber(fiber.child(add(&first, i))))))
}
