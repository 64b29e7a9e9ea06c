//! Loops that compute adjacent elements from adjacent elements, on vectors.
//!
//! Every round of such a loop writes elements of its own, and reads no elements that other rounds
//! write. So rounds may run side by side and give the same bits.

use super::function::FunctionEmitter;
use crate::vectors::steps_by_one;
use cranelift::prelude::{InstBuilder, IntCC, MemFlagsData, Type, Value, types};
use redpoll_compiler::assembly::{Buffer, BufferClass, Expr, Local, Stmt};
use redpoll_logic::Prim;

/// Number of vectors in a round: enough to overlap their latencies, few enough for short loops.
const VECTORS: usize = 2;

/// A store of adjacent elements.
struct AdjacentStore<'s> {
    buffer: Buffer,
    at: &'s Expr,
    value: &'s Expr,
}

impl FunctionEmitter<'_> {
    /// Runs the full rounds of a loop over `lo..hi` on vectors, if its body allows that. Returns
    /// the index of the first remaining element; `None` if the body does not allow vectors.
    pub(super) fn vector_loop(&mut self, var: Local, (lo, hi): (Value, Value), body: &[Stmt]) -> Option<Value> {
        let (stores, prim) = self.adjacent_stores(var, body)?;
        let (ty, width) = vector(prim);
        let step = (width * VECTORS) as i64;
        // `hi - lo` as an unsigned number cannot overflow if the range is not empty.
        let count = self.builder.ins().isub(hi, lo);
        let is_nonempty = self.builder.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let zero = self.int(0);
        let count = self.builder.ins().select(is_nonempty, count, zero);
        let full = self.builder.ins().band_imm_s(count, -step);
        let end = self.builder.ins().iadd(lo, full);

        let exit = self.builder.create_block();
        let rounds = self.enter_rounds((lo, end), exit);
        self.push_loop_scope(var);
        self.hoist(None, body);
        let base = self.round(&rounds);
        for vector in 0..VECTORS {
            self.lane = Some((var, base, (vector * width) as i64));
            for store in &stores {
                let value = self.vector(store.value, var, prim, ty);
                let (address, offset) = self.address(store.buffer, store.at);
                let region = self.flags[store.buffer.index()].alias_region();
                // Elements are aligned, but vectors of them may not be.
                let flags = MemFlagsData::new().with_notrap().with_alias_region(region);
                self.builder.ins().store(flags, value, address, offset);
            }
        }
        self.end_round(&rounds, (base, step), exit);
        Some(end)
    }

    /// Returns the stores of a loop and the type of their elements. Returns `None` if vectors
    /// cannot compute the stores, if the body has other statements or two stores to one buffer, or
    /// if a round accesses elements that another round writes.
    fn adjacent_stores<'s>(&self, var: Local, body: &'s [Stmt]) -> Option<(Vec<AdjacentStore<'s>>, Prim)> {
        let mut stores: Vec<AdjacentStore<'s>> = Vec::new();
        for stmt in body {
            let Stmt::Store { buffer, at, value, .. } = stmt else { return None };
            if stores.iter().any(|m| m.buffer == *buffer) {
                return None;
            }
            stores.push(AdjacentStore { buffer: *buffer, at, value });
        }
        let prim = self.function.buffers[stores.first()?.buffer.index()].prim;
        let is_vector = |store: &AdjacentStore<'_>| {
            let decl = &self.function.buffers[store.buffer.index()];
            decl.class == BufferClass::Value
                && decl.prim == prim
                && steps_by_one(store.at, var)
                && self.is_vector(store.value, var, prim)
                && [store.at, store.value].into_iter().all(|e| reads_own_elements(e, &stores))
        };
        stores.iter().all(is_vector).then_some((stores, prim))
    }
}

/// Returns whether an expression reads stored buffers only at the positions of the stores.
fn reads_own_elements(e: &Expr, stores: &[AdjacentStore<'_>]) -> bool {
    !e.any(&mut |e| match e {
        Expr::Load { buffer, at } => stores.iter().any(|m| m.buffer == *buffer && *m.at != **at),
        _ => false,
    })
}

/// Returns the vector type of a primitive, and its number of lanes.
pub(super) fn vector(prim: Prim) -> (Type, usize) {
    match prim {
        Prim::F64 => (types::F64X2, 2),
        Prim::F32 => (types::F32X4, 4),
        Prim::I64 | Prim::U64 => (types::I64X2, 2),
        Prim::I32 | Prim::U32 => (types::I32X4, 4),
        Prim::I16 | Prim::U16 => (types::I16X8, 8),
        Prim::Bool | Prim::I8 | Prim::U8 => (types::I8X16, 16),
    }
}
