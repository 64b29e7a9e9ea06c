//! Code of fixed-width levels: the coordinates of a fiber, up to its padding, are read like the
//! coordinates of a sparse list.
//!
//! A kernel writes sparse lists in place of fixed-width levels, since the width depends on the
//! complete data. The lists are converted to fixed width after the run.

use super::shared::list::{ListEntries, if_present};
use crate::assembly::{BufferRole, Expr, Stmt};
use crate::lower::search::gallop_back;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, add, int, load,
    local, mul, plus,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use redpoll_storage::levels::FixedWidth;
use std::rc::Rc;

const WIDTH: usize = 0;
const IDX: usize = 1;

impl LevelLowering for FixedWidth {
    fn add_counters(&self, _: &mut Cx<'_>, _: &mut FunctionTables, _: LevelId, _: (BufferRole, &mut LevelCode)) {}

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

    fn write(&self, _: &mut Cx<'_>, _: LevelId, _: &Fiber) -> Looplet {
        unreachable_write()
    }

    fn declare(&self, _: &mut Cx<'_>, _: LevelId) {
        unreachable_write::<()>();
    }

    fn assemble(&self, _: &mut Cx<'_>, _: LevelId, _: (&Expr, &Expr), _: AssembleMode) {
        unreachable_write::<()>();
    }

    fn freeze(&self, _: &mut Cx<'_>, _: LevelId, _: &Parents) -> Expr {
        unreachable_write()
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, _: (&Expr, &Expr)) -> Vec<Expr> {
        unreachable_write()
    }
}

fn unreachable_write<T>() -> T {
    unreachable!("kernels write fixed-width levels as sparse lists")
}

/// Returns the entries of a fiber without the padding after them, and the code that finds their
/// range.
fn entries(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> (ListEntries, Vec<Stmt>) {
    let LevelCode { format, dimension, arrays, .. } = cx.level(at).clone();
    let [width, q, end] = ["width", "q", "q_end"].map(|name| cx.new_local(name, Prim::I64));
    let bounds = cx.block(|cx| {
        cx.assign(width, load(arrays[WIDTH], int(0)));
        cx.assign(q, mul(&fiber.lo, &local(width)));
        cx.assign(end, add(&local(q), &local(width)));
        if !SeededFault::Padding.is_active() {
            gallop_back(cx, arrays[IDX], (&local(q), end), &plus(&dimension, -1));
        }
    });
    let preamble = if_present(cx, fiber, bounds, (q, end));
    (ListEntries { idx: arrays[IDX], q, end: local(end), format, dimension }, preamble)
}
