//! Run-length levels in code: see [`super::runs`].

use super::runs::{Runs, counters};
use crate::assembly::{BufferRole, Expr};
use crate::levels::RunLength;
use crate::lower::{At, Cx, Fiber, LevelCode, LevelLowering, Looplet, Room, Tables, plus};
use redpoll_logic::physical::Protocol;

impl LevelLowering for RunLength {
    fn tables(&self, cx: &mut Cx<'_>, _: &mut Tables, _: At, (role, level): (BufferRole, &mut LevelCode)) {
        counters(cx, role, level);
    }

    fn read(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Looplet {
        runs(cx, at).read(cx, at, fiber, protocol)
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

    fn freeze(&self, cx: &mut Cx<'_>, at: At, parents: &Expr) -> Expr {
        runs(cx, at).freeze(cx, at, parents)
    }

    fn lengths(&self, _: &Cx<'_>, _: At, (parents, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![plus(parents, 1), own.clone()]
    }
}

fn runs(cx: &Cx<'_>, at: At) -> Runs {
    let arrays = &cx.level(at).arrays;
    Runs { ptr: arrays[0], left: None, right: arrays[1] }
}
