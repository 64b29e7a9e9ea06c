//! Code of fixed-width levels: the coordinates of a fiber, up to its padding, are read as those of
//! a sparse list.
//!
//! A kernel writes sparse lists in their place, since the width depends on the complete data; they
//! are laid out after the run.

use super::sparse_list::{Entries, if_present};
use crate::assembly::{BufferRole, Expr, Stmt};
use crate::levels::FixedWidth;
use crate::lower::search::gallop_back;
use crate::lower::seeded::{self, Seeded};
use crate::lower::{
    At, Cx, Fiber, LevelCode, LevelLowering, Looplet, Parents, Room, Tables, add, int, load, local, mul, plus,
};
use redpoll_logic::Prim;
use redpoll_logic::physical::Protocol;
use std::rc::Rc;

const WIDTH: usize = 0;
const IDX: usize = 1;

impl LevelLowering for FixedWidth {
    fn tables(&self, _: &mut Cx<'_>, _: &mut Tables, _: At, _: (BufferRole, &mut LevelCode)) {}

    fn read(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let (entries, preamble) = entries(cx, at, fiber);
        let body = entries.looplet(cx, at, fiber, protocol);
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: At, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let (entries, preamble) = entries(cx, at, fiber);
        let body = entries.backward(cx, at, fiber, protocol);
        Some(Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() })
    }

    fn write(&self, _: &mut Cx<'_>, _: At, _: &Fiber) -> Looplet {
        written_as_list()
    }

    fn declare(&self, _: &mut Cx<'_>, _: At) {
        written_as_list::<()>();
    }

    fn assemble(&self, _: &mut Cx<'_>, _: At, _: (&Expr, &Expr), _: Room) {
        written_as_list::<()>();
    }

    fn freeze(&self, _: &mut Cx<'_>, _: At, _: &Parents) -> Expr {
        written_as_list()
    }

    fn lengths(&self, _: &Cx<'_>, _: At, _: (&Expr, &Expr)) -> Vec<Expr> {
        written_as_list()
    }
}

fn written_as_list<T>() -> T {
    unreachable!("a kernel writes a sparse list in place of a fixed-width level")
}

/// Returns the coordinates of a fiber without the padding after them.
fn entries(cx: &mut Cx<'_>, at: At, fiber: &Fiber) -> (Entries, Vec<Stmt>) {
    let LevelCode { format, dimension, arrays, .. } = cx.level(at).clone();
    let [width, q, end] = ["width", "q", "q_end"].map(|name| cx.new_local(name, Prim::I64));
    let bounds = cx.block(|cx| {
        cx.assign(width, load(arrays[WIDTH], int(0)));
        cx.assign(q, mul(&fiber.lo, &local(width)));
        cx.assign(end, add(&local(q), &local(width)));
        if !seeded::is(Seeded::Padding) {
            gallop_back(cx, arrays[IDX], (&local(q), end), &plus(&dimension, -1));
        }
    });
    let preamble = if_present(cx, fiber, bounds, (q, end));
    (Entries { idx: arrays[IDX], q, end: local(end), format, dimension }, preamble)
}
