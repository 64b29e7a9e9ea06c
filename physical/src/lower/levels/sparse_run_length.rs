//! Code of sparse run-length levels: see [`super::runs`].

use super::join::Comparable;
use super::runs::{Runs, counters};
use crate::assembly::{BufferRole, Expr, Local};
use crate::levels::SparseRunLength;
use crate::lower::{At, Cx, Fiber, LevelCode, LevelLowering, Looplet, Parents, Room, Tables, plus};
use redpoll_logic::physical::Protocol;

impl LevelLowering for SparseRunLength {
    fn tables(&self, cx: &mut Cx<'_>, _: &mut Tables, at: At, (role, level): (BufferRole, &mut LevelCode)) {
        counters(cx, at, role, level);
    }

    fn read(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Looplet {
        runs(cx, at).read(cx, at, fiber, protocol)
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, _: Protocol) -> Option<Looplet> {
        Some(runs(cx, at).read_backward(cx, at, fiber))
    }

    fn write(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber) -> Looplet {
        runs(cx, at).write(cx, at, fiber)
    }

    fn declare(&self, cx: &mut Cx<'_>, at: At) {
        Runs::declare(cx, at);
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: At, (_, hi): (&Expr, &Expr), room: Room) {
        runs(cx, at).assemble(cx, hi, room);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: At, Parents { count: parents, .. }: &Parents) -> Expr {
        runs(cx, at).freeze(cx, at, parents)
    }

    fn lengths(&self, _: &Cx<'_>, _: At, (parents, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![plus(parents, 1), own.clone(), own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for SparseRunLength {
    fn complete(&self, cx: &mut Cx<'_>, at: At, range: (&Expr, &Expr)) {
        runs(cx, at).complete(cx, at, range);
    }

    fn compare(&self, cx: &mut Cx<'_>, at: At, parents: (&Expr, &Expr), same: Local) {
        runs(cx, at).compare(cx, at, parents, same);
    }
}

fn runs(cx: &Cx<'_>, at: At) -> Runs {
    let arrays = &cx.level(at).arrays;
    Runs { ptr: arrays[0], left: Some(arrays[1]), right: arrays[2] }
}
