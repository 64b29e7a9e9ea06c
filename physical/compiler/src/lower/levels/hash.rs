//! Code of hash levels. Reads walk or gallop along the entries in sorted order, or follow
//! coordinates by probing the table. Writes may come in any order.
//!
//! The layout and the hash function are those of [`redpoll_storage::levels::Hash`]. A write probes
//! for its entry. A new entry gets the next number, and is inserted once a value has been written
//! below it, or immediately if the program writes the tensor with different subscripts. Above a
//! leaf without values, the entry itself is the value, so the entry is found or inserted after the
//! write.

use super::shared::list::{ListEntries, positions};
use crate::assembly::{BinaryOp, Buffer, BufferRole, Expr, Local, Stmt};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents, add,
    and, eq, int, load, local, lt, max, mul, plus, truth,
};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{LeafKind, Prim};
use redpoll_storage::levels::Hash;
use std::rc::Rc;

const PTR: usize = 0;
const IDX: usize = 1;
const POS: usize = 2;
const TABLE: usize = 3;
const PARENT: usize = 4;
const COORDINATE: usize = 5;
/// Number of slots of a table when its first entry is inserted.
const MIN_SLOTS: i64 = 16;

impl LevelLowering for Hash {
    fn add_counters(
        &self,
        cx: &mut Cx<'_>,
        tables: &mut FunctionTables,
        at: LevelId,
        (role, level): (BufferRole, &mut LevelCode),
    ) {
        level.slots = Some(match role {
            BufferRole::Input => tables.length(at, TABLE),
            BufferRole::Owned => {
                level.count = Some(cx.new_local("entries", Prim::I64));
                local(cx.new_local("slots", Prim::I64))
            }
        });
    }

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let code = cx.level(at).clone();
        let inner = fiber.stored();
        if protocol == Protocol::Follow {
            let outer = fiber.clone();
            let miss = Rc::new(Looplet::Run(cx.fill(at.tensor)));
            return Looplet::Lookup(Rc::new(move |cx, i| {
                let entry = cx.new_local("entry", Prim::I64);
                cx.assign(entry, int(-1));
                let slots = code.slots.clone().expect("a hash table has slots");
                let search = cx.block(|cx| {
                    probe(cx, &code, (&slots, &outer.lo, i), entry);
                });
                let has_slots = lt(&int(0), &slots);
                let searchable = outer.present.as_ref().map_or(has_slots.clone(), |present| and(present, &has_slots));
                cx.push_if(searchable, search, Vec::new());
                let then = Rc::new(Looplet::Run(AccessCursor::Fiber(inner.child(local(entry)))));
                Looplet::Switch { cond: crate::lower::le(&int(0), &local(entry)), then, other: miss.clone() }
            }));
        }
        let (entries, child, preamble) = entries(cx, at, fiber);
        let body = entries.looplet_of(cx, at, Rc::new(child), protocol);
        Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let (entries, child, preamble) = entries(cx, at, fiber);
        let body = entries.backward_of(cx, at, &child, protocol);
        Some(Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() })
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let code = cx.level(at).clone();
        let (mode, scattered) = (cx.tensor(at.tensor).assemble_mode, cx.tensor(at.tensor).scattered);
        let fiber = fiber.clone();
        let format = &cx.program.tensors[at.tensor.index()].ty.format;
        if format.leaf == LeafKind::Pattern && at.level + 1 == format.levels.len() {
            return write_pattern(code, fiber);
        }
        Looplet::Lookup(Rc::new(move |cx, i| {
            let (len, slots) = (code.counter(), code.slot_counter());
            let (entry, dirty) = (cx.new_local("entry", Prim::I64), cx.new_local("dirty", Prim::Bool));
            let mut slot = None;
            let preamble = cx.block(|cx| {
                grow_table(cx, &code);
                cx.assign(entry, int(-1));
                slot = Some(probe(cx, &code, (&local(slots), &fiber.lo, i), entry));
                let append = cx.block(|cx| {
                    cx.assign(entry, local(len));
                    cx.assemble(at.below(), (&local(entry), &plus(&local(entry), 1)), mode);
                });
                cx.push_if(lt(&local(entry), &int(0)), append, Vec::new());
                cx.assign(dirty, truth(false));
            });
            let slot = slot.expect("the probe ends at a slot");
            let enter = enter_entry(&code, slot, (&fiber.lo, i));
            let mut child = fiber.child(local(entry));
            if scattered && !SeededFault::SharedEntry.is_active() {
                // Another coordinate that is looked up before this one is written must get another
                // entry.
                let mut preamble = preamble;
                let marks = fiber.dirty.iter().map(|flag| Stmt::Assign(*flag, truth(true)));
                let then = enter.into_iter().chain(marks).collect();
                preamble.push(Stmt::If { cond: eq(&local(entry), &local(len)), then, other: Vec::new() });
                let body = Rc::new(Looplet::Run(AccessCursor::Fiber(child)));
                return Looplet::Thunk { preamble, body, epilogue: Vec::new() };
            }
            let enter = vec![Stmt::If { cond: eq(&local(entry), &local(len)), then: enter, other: Vec::new() }];
            child.dirty.push(dirty);
            Looplet::Thunk {
                preamble,
                body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: enter, other: Vec::new() }],
            }
        }))
    }

    fn declare(&self, cx: &mut Cx<'_>, at: LevelId) {
        let (len, slots) = (cx.level(at).counter(), cx.level(at).slot_counter());
        cx.assign(len, int(0));
        cx.assign(slots, int(0));
    }

    fn assemble(&self, _: &mut Cx<'_>, _: LevelId, _: (&Expr, &Expr), _: AssembleMode) {}

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        let code = cx.level(at).clone();
        let len = local(code.counter());
        let [ptr, idx, pos, parent, coordinate] = [PTR, IDX, POS, PARENT, COORDINATE].map(|k| code.arrays[k]);
        cx.check_positions(ptr, &max(&len, &local(code.slot_counter())));
        let ends = plus(parents, 1);
        cx.push(Stmt::Grow { buffer: ptr, len: ends.clone() });
        cx.store_range(ptr, (&int(0), &ends), &int(0));
        cx.push(Stmt::Grow { buffer: pos, len: len.clone() });
        cx.push(Stmt::Grow { buffer: idx, len: len.clone() });
        let e = cx.new_local("e", Prim::I64);
        let end = plus(&load(parent, local(e)), 1);
        let count = vec![Stmt::store(pos, local(e), local(e)), Stmt::store(ptr, end.clone(), plus(&load(ptr, end), 1))];
        cx.push(Stmt::For { var: e, lo: int(0), hi: len.clone(), body: count });
        let p = cx.new_local("p", Prim::I64);
        let next = plus(&local(p), 1);
        let sum = add(&load(ptr, local(p)), &load(ptr, next.clone()));
        let sums = vec![Stmt::store(ptr, next, sum)];
        cx.push(Stmt::For { var: p, lo: int(0), hi: parents.clone(), body: sums });
        cx.push(Stmt::SortBy { perm: pos, major: parent, minor: coordinate, lo: int(0), hi: len.clone() });
        let k = cx.new_local("k", Prim::I64);
        let value = load(coordinate, load(pos, local(k)));
        let list = vec![Stmt::store(idx, local(k), value)];
        cx.push(Stmt::For { var: k, lo: int(0), hi: len.clone(), body: list });
        len
    }

    fn lengths(&self, cx: &Cx<'_>, at: LevelId, (parents, own): (&Expr, &Expr)) -> Vec<Expr> {
        let slots = local(cx.level(at).slot_counter());
        let entries = || own.clone();
        vec![plus(parents, 1), entries(), entries(), slots, entries(), entries()]
    }
}

/// Returns the looplet of writes above a leaf without values. An entry is the value `true`, so the
/// entry is found or added only after this value was written.
fn write_pattern(code: LevelCode, fiber: Fiber) -> Looplet {
    Looplet::Lookup(Rc::new(move |cx, i| {
        let dirty = cx.new_local("dirty", Prim::Bool);
        let add = cx.block(|cx| {
            let entry = cx.new_local("entry", Prim::I64);
            grow_table(cx, &code);
            cx.assign(entry, int(-1));
            let slot = probe(cx, &code, (&local(code.slot_counter()), &fiber.lo, i), entry);
            let enter = enter_entry(&code, slot, (&fiber.lo, i));
            cx.push_if(lt(&local(entry), &int(0)), enter, Vec::new());
        });
        let mut child = fiber.child(int(0));
        child.dirty.push(dirty);
        Looplet::Thunk {
            preamble: vec![Stmt::Assign(dirty, truth(false))],
            body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
            epilogue: vec![Stmt::If { cond: local(dirty), then: add, other: Vec::new() }],
        }
    }))
}

/// Returns the code that adds an entry for a coordinate below a parent, in an empty slot.
fn enter_entry(code: &LevelCode, slot: Local, (p, i): (&Expr, &Expr)) -> Vec<Stmt> {
    let [table, parent, coordinate] = [TABLE, PARENT, COORDINATE].map(|k| code.arrays[k]);
    let len = code.counter();
    let next = plus(&local(len), 1);
    vec![
        Stmt::Grow { buffer: parent, len: next.clone() },
        Stmt::Grow { buffer: coordinate, len: next.clone() },
        Stmt::store(parent, local(len), p.clone()),
        Stmt::store(coordinate, local(len), i.clone()),
        Stmt::store(table, local(slot), next.clone()),
        Stmt::Assign(len, next),
    ]
}

/// Returns the entries of a fiber in ascending order of coordinates, the child of each, and the
/// code that finds their range.
fn entries(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> (ListEntries, Looplet, Vec<Stmt>) {
    let code = cx.level(at).clone();
    let inner = fiber.stored();
    let (q, end, preamble) = positions(cx, code.arrays[PTR], fiber);
    let entry = cx.new_local("entry", Prim::I64);
    let child = Looplet::Thunk {
        preamble: vec![Stmt::Assign(entry, load(code.arrays[POS], local(q)))],
        body: Rc::new(Looplet::Run(AccessCursor::Fiber(inner.child(local(entry))))),
        epilogue: Vec::new(),
    };
    let entries = ListEntries { idx: code.arrays[IDX], q, end, format: code.format, dimension: code.dimension };
    (entries, child, preamble)
}

/// Returns the slot at which a search for coordinate `i` below parent `p` starts:
/// `((p * PARENT_FACTOR + i) * FACTOR >> SHIFT) & (slots - 1)`.
fn slot_of(p: &Expr, i: &Expr, slots: &Expr) -> Expr {
    let sum = add(&mul(p, &int(Hash::PARENT_FACTOR)), i);
    let mixed = Expr::Binary(BinaryOp::Shr, Box::new(mul(&sum, &int(Hash::FACTOR))), Box::new(int(Hash::SHIFT)));
    Expr::Binary(BinaryOp::And, Box::new(mixed), Box::new(plus(slots, -1)))
}

/// Sets `entry` to the number of the entry of (p, i), if there is one, and returns the slot where
/// the search ended.
fn probe(cx: &mut Cx<'_>, code: &LevelCode, (slots, p, i): (&Expr, &Expr, &Expr), entry: Local) -> Local {
    let [table, parent, coordinate]: [Buffer; 3] = [TABLE, PARENT, COORDINATE].map(|k| code.arrays[k]);
    let (slot, found) = (cx.new_local("slot", Prim::I64), cx.new_local("found", Prim::I64));
    cx.assign(slot, slot_of(p, i, slots));
    let body = cx.block(|cx| {
        cx.assign(found, load(table, local(slot)));
        cx.push_if(eq(&local(found), &int(0)), vec![Stmt::Break], Vec::new());
        let number = plus(&local(found), -1);
        let same_parent = match SeededFault::HashParent.is_active() {
            true => truth(true),
            false => eq(&load(parent, number.clone()), p),
        };
        let same = and(&eq(&load(coordinate, number.clone()), i), &same_parent);
        cx.push_if(same, vec![Stmt::Assign(entry, number), Stmt::Break], Vec::new());
        step(cx, slot, slots);
    });
    cx.push(Stmt::While { cond: truth(true), body });
    slot
}

/// Moves to the next slot, cyclically.
fn step(cx: &mut Cx<'_>, slot: Local, slots: &Expr) {
    let next = Expr::Binary(BinaryOp::And, Box::new(plus(&local(slot), 1)), Box::new(plus(slots, -1)));
    cx.assign(slot, next);
}

/// Rebuilds the table with twice the slots, and at least [`MIN_SLOTS`], if one more entry would
/// fill more than half of it.
fn grow_table(cx: &mut Cx<'_>, code: &LevelCode) {
    let (len, slots) = (code.counter(), code.slot_counter());
    let [table, parent, coordinate] = [TABLE, PARENT, COORDINATE].map(|k| code.arrays[k]);
    let rebuild = cx.block(|cx| {
        cx.assign(slots, max(&mul(&local(slots), &int(2)), &int(MIN_SLOTS)));
        cx.push(Stmt::Grow { buffer: table, len: local(slots) });
        cx.store_range(table, (&int(0), &local(slots)), &int(0));
        let (e, slot) = (cx.new_local("e", Prim::I64), cx.new_local("slot", Prim::I64));
        let body = cx.block(|cx| {
            let (p, i) = (load(parent, local(e)), load(coordinate, local(e)));
            cx.assign(slot, slot_of(&p, &i, &local(slots)));
            let body = cx.block(|cx| {
                let free = eq(&load(table, local(slot)), &int(0));
                cx.push_if(free, vec![Stmt::Break], Vec::new());
                step(cx, slot, &local(slots));
            });
            cx.push(Stmt::While { cond: truth(true), body });
            cx.push(Stmt::store(table, local(slot), plus(&local(e), 1)));
        });
        cx.push(Stmt::For { var: e, lo: int(0), hi: local(len), body });
    });
    let needed = mul(&plus(&local(len), 1), &int(2));
    cx.push_if(lt(&local(slots), &needed), rebuild, Vec::new());
}
