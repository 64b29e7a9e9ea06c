//! Code of byte maps, which are read by walking, galloping or following. Writes may come in any
//! order.
//!
//! During writing, a list contains the written positions in the order of their first write.
//! Freezing sorts the list, unless the level is the outermost one of a local tensor that is never
//! swapped, and all reads of the level are lookups. If no level below has arrays, declaring the
//! tensor again clears only the listed positions, so clearing a workspace costs time in proportion
//! to its writes. If a level below has arrays, all positions below are cleared. Elements without a
//! mark always have the fill value.

use super::shared::list::{ListEntries, fill_ends, positions};
use crate::assembly::{BinaryOp, BufferClass, BufferDecl, BufferRole, Expr, Stmt};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Binding, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet,
    Parents, add, int, load, local, mul, plus, sub, truth,
};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{Prim, Scalar};
use redpoll_storage::levels::ByteMap;
use std::rc::Rc;

const PTR: usize = 0;
const IDX: usize = 1;
const MAP: usize = 2;

impl LevelLowering for ByteMap {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        tables: &mut FunctionTables,
        at: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        if role != BufferRole::Owned {
            return;
        }
        level.count = Some(cx.new_local("touched", Prim::I64));
        // The positions of a single fiber are its coordinates, so the list is `idx` itself.
        level.scratch = Some(match at.level {
            0 => level.arrays[IDX],
            _ => {
                let name = format!("{}.touched{}", cx.program.tensors[at.tensor.index()].name, at.level);
                let (prim, fill) = (Prim::I64, Scalar::I64(0));
                tables.buffer(cx, Binding::Scratch, BufferDecl { name, prim, class: BufferClass::Index, role, fill })
            }
        });
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let first = cx.name("row", &mul(&fiber.lo, &dimension));
        if protocol == Protocol::Follow {
            return map_lookup(cx, at, fiber, first, move |p| is_marked(arrays[MAP], p));
        }
        let (entries, child, preamble) = entries(cx, at, fiber, first);
        let body = entries.looplet_of(cx, at, Rc::new(child), protocol);
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let first = cx.name("row", &mul(&fiber.lo, &cx.level(at).dimension.clone()));
        let (entries, child, preamble) = entries(cx, at, fiber, first);
        let body = entries.backward_of(cx, at, &child, protocol);
        Some(Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() })
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let first = cx.name("row", &mul(&fiber.lo, &dimension));
        let fiber = fiber.clone();
        Looplet::Lookup(Rc::new(move |cx, i| {
            let p = cx.name("p", &add(&first, i));
            let dirty = cx.new_local("dirty", Prim::Bool);
            let mut child = fiber.child(p.clone());
            child.dirty.push(dirty);
            let touch = cx.block(|cx| {
                let (len, list) = (cx.level(at).counter(), scratch(cx, at));
                cx.push(Stmt::Grow { buffer: list, len: plus(&local(len), 1) });
                cx.push(Stmt::store(list, local(len), p.clone()));
                cx.assign(len, plus(&local(len), 1));
                cx.push(Stmt::store(arrays[MAP], p.clone(), Expr::Const(Scalar::U8(1))));
            });
            let touch = cx.block(|cx| cx.push_if(crate::lower::not(&is_marked(arrays[MAP], &p)), touch, Vec::new()));
            Looplet::Thunk {
                preamble: vec![Stmt::Assign(dirty, truth(false))],
                body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: touch, other: Vec::new() }],
            }
        }))
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        let (len, list) = (cx.level(at).counter(), scratch(cx, at));
        if cx.tensor(at.tensor).assemble_mode == AssembleMode::GrowAndReset && !SeededFault::WorkspaceReset.is_active()
        {
            let k = cx.new_local("k", Prim::I64);
            let p = cx.new_local("p", Prim::I64);
            let body = cx.block(|cx| {
                cx.assign(p, load(list, local(k)));
                let map = cx.level(at).arrays[MAP];
                cx.push(Stmt::store(map, local(p), Expr::Const(Scalar::U8(0))));
                cx.assemble(at.below(), (&local(p), &plus(&local(p), 1)), AssembleMode::ResetOnly);
            });
            cx.push(Stmt::For { var: k, lo: int(0), hi: local(len), body });
        }
        cx.assign(len, int(0));
    }

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
        // When the tensor is declared again, its entries are cleared one by one.
        if mode == AssembleMode::ResetOnly {
            return;
        }
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let (lo, hi) = (cx.name("p", &mul(lo, &dimension)), cx.name("p", &mul(hi, &dimension)));
        cx.push(Stmt::Grow { buffer: arrays[MAP], len: hi.clone() });
        // The arrays of the levels below also have ends for the empty fibers at coordinates that
        // are not stored.
        let below = if cx.has_arrays_below(at) { mode } else { AssembleMode::New };
        cx.assemble(at.below(), (&lo, &hi), below);
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let (ptr, idx) = (arrays[PTR], arrays[IDX]);
        let (len, list) = (local(cx.level(at).counter()), scratch(cx, at));
        if list == idx && cx.is_lookup_only(at) {
            return mul(parents, &dimension);
        }
        cx.push(Stmt::Sort { buffer: list, lo: int(0), hi: len.clone() });
        let ends = plus(parents, 1);
        cx.push(Stmt::Grow { buffer: ptr, len: ends.clone() });
        cx.check_positions(ptr, &len);
        if list == idx {
            cx.push(Stmt::store(ptr, int(1), len));
            return mul(parents, &dimension);
        }
        if cx.tensor(at.tensor).assemble_mode == AssembleMode::GrowAndReset {
            cx.store_range(ptr, (&int(0), &ends), &int(0));
        }
        cx.push(Stmt::Grow { buffer: idx, len: len.clone() });
        let (k, position) = (cx.new_local("k", Prim::I64), cx.new_local("p", Prim::I64));
        let parent = cx.new_local("parent", Prim::I64);
        let by = |a: &Expr, b: &Expr| Expr::Binary(BinaryOp::Div, Box::new(a.clone()), Box::new(b.clone()));
        let body = vec![
            Stmt::Assign(position, load(list, local(k))),
            Stmt::Assign(parent, by(&local(position), &dimension)),
            Stmt::store(idx, local(k), sub(&local(position), &mul(&local(parent), &dimension))),
            Stmt::store(ptr, plus(&local(parent), 1), plus(&local(k), 1)),
        ];
        cx.push(Stmt::For { var: k, lo: int(0), hi: len, body });
        fill_ends(cx, ptr, (&int(0), parents));
        mul(parents, &dimension)
    }

    fn lengths(&self, cx: &Cx<'_>, at: LevelId, (parents, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![plus(parents, 1), local(cx.level(at).counter()), own.clone()]
    }
}

/// Returns the lookup in a fiber whose positions start at `first`; `marked` tests whether a
/// position is stored.
pub(super) fn map_lookup(
    cx: &mut Cx<'_>,
    at: LevelId,
    fiber: &Fiber,
    first: Expr,
    marked: impl Fn(&Expr) -> Expr + 'static,
) -> Looplet {
    let (present, inner) = (fiber.present.clone(), fiber.stored());
    let miss = Rc::new(Looplet::Run(cx.fill(at.tensor)));
    Looplet::Lookup(Rc::new(move |cx, i| {
        let p = cx.name("p", &add(&first, i));
        let marked = marked(&p);
        let hit = match present.clone() {
            None => cx.name_bool("hit", &marked),
            Some(present) => {
                let hit = cx.new_local("hit", Prim::Bool);
                cx.assign(hit, truth(false));
                cx.push_if(present, vec![Stmt::Assign(hit, marked)], Vec::new());
                local(hit)
            }
        };
        let then = Rc::new(Looplet::Run(AccessCursor::Fiber(inner.child(p))));
        Looplet::Switch { cond: hit, then, other: miss.clone() }
    }))
}

fn scratch(cx: &Cx<'_>, at: LevelId) -> crate::assembly::Buffer {
    cx.level(at).scratch.expect("a byte map that is written has a list of written positions")
}

/// Returns the entries of a fiber whose positions start at `first`, the child of each, and the code
/// that finds the range of the entries.
fn entries(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, first: Expr) -> (ListEntries, Looplet, Vec<Stmt>) {
    let LevelCode { format, dimension, arrays, .. } = cx.level(at).clone();
    let inner = fiber.stored();
    let (q, end, preamble) = positions(cx, arrays[PTR], fiber);
    let child = Looplet::Lookup(Rc::new(move |_, i| Looplet::Run(AccessCursor::Fiber(inner.child(add(&first, i))))));
    (ListEntries { idx: arrays[IDX], q, end, format, dimension }, child, preamble)
}

fn is_marked(map: crate::assembly::Buffer, p: &Expr) -> Expr {
    let zero = Expr::Const(Scalar::U8(0));
    Expr::Compare(crate::assembly::CompareOp::Ne, Box::new(load(map, p.clone())), Box::new(zero))
}
