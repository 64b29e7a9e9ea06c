//! Code of run-length levels: see [`super::shared::runs`].

use super::shared::join::Comparable;
use super::shared::runs::{RunArrays, counters};
use crate::assembly::{BufferRole, Expr, Local};
use crate::lower::{
    AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, plus,
};
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::RunLength;

impl LevelLowering for RunLength {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        _: &mut FunctionTables,
        at: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        counters(cx, at, role, level);
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        runs(cx, at).read(cx, at, fiber, protocol)
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, _: Protocol) -> Option<Looplet> {
        Some(runs(cx, at).read_backward(cx, at, fiber))
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        runs(cx, at).write(cx, at, fiber)
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        RunArrays::declare(cx, at);
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, (_, hi): (&Expr, &Expr), mode: AssembleMode) {
        runs(cx, at).assemble(cx, hi, mode);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        runs(cx, at).freeze(cx, at, parents)
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (parents, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![plus(parents, 1), own.clone()]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for RunLength {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, range: (&Expr, &Expr)) {
        runs(cx, at).complete(cx, at, range);
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, parents: (&Expr, &Expr), same: Local) {
        runs(cx, at).compare(cx, at, parents, same);
    }
}

fn runs(cx: &Cx<'_>, at: LevelId) -> RunArrays {
    let arrays = &cx.level(at).arrays;
    RunArrays { ptr: arrays[0], left: None, right: arrays[1] }
}
