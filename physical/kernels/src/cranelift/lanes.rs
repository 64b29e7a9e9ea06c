//! Lane folds: on vectors if the value allows it, otherwise in unrolled registers, in one order of
//! operations.

use super::function::{FunctionEmitter, register};
use super::maps::vector;
use crate::vectors::steps_by_one;
use cranelift::prelude::{InstBuilder, IntCC, Type, Value, Variable};
use redpoll_compiler::assembly::{BinaryOp, BufferClass, Expr, LaneFold, Local, UnaryOp};
use redpoll_logic::Prim;

impl FunctionEmitter<'_> {
    /// Writes a lane fold: a loop over full rounds of all lanes, then the remaining elements lane
    /// by lane, then the combination of the lanes.
    pub(super) fn lanes(&mut self, fold: &LaneFold) {
        let prim = self.function.locals[fold.acc.index()].prim;
        let lanes = i64::from(fold.lanes);
        let (lo, hi) = (self.expr(&fold.lo), self.expr(&fold.hi));
        // `hi - lo` as an unsigned number cannot overflow if the range is not empty.
        let count = self.builder.ins().isub(hi, lo);
        let is_nonempty = self.builder.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let zero = self.int(0);
        let count = self.builder.ins().select(is_nonempty, count, zero);
        let rest = self.builder.ins().band_imm_u(count, lanes - 1);
        let rounds = self.builder.ins().isub(count, rest);
        let end = self.builder.ins().iadd(lo, rounds);

        let parts: Vec<Variable> = (0..lanes).map(|_| self.builder.declare_var(register(prim))).collect();
        let identity = self.constant(&fold.identity);
        for part in &parts {
            self.builder.def_var(*part, identity);
        }
        self.rounds(fold, prim, (lo, end), &parts);
        self.rest(fold, prim, (end, rest), &parts);

        let mut parts: Vec<Value> = parts.into_iter().map(|part| self.builder.use_var(part)).collect();
        while parts.len() > 1 {
            let upper = parts.split_off(parts.len() / 2);
            for (part, other) in parts.iter_mut().zip(upper) {
                *part = self.binary(fold.op, prim, *part, other);
            }
        }
        let acc = self.builder.use_var(self.locals[fold.acc.index()]);
        let acc = self.binary(fold.op, prim, acc, parts[0]);
        self.assign(fold.acc, acc);
    }

    /// Writes the loop over full rounds, `lo..end`.
    fn rounds(&mut self, fold: &LaneFold, prim: Prim, (lo, end): (Value, Value), parts: &[Variable]) {
        let width = self.vector_width(fold, prim);
        let exit = self.builder.create_block();
        let after = self.builder.create_block();
        let rounds = self.enter_rounds((lo, end), after);
        let vectors: Vec<Variable> = match width {
            Some((ty, width)) => {
                let identity = self.constant(&fold.identity);
                let identity = self.builder.ins().splat(ty, identity);
                let vectors = (0..parts.len() / width).map(|_| self.builder.declare_var(ty)).collect::<Vec<_>>();
                for vector in &vectors {
                    self.builder.def_var(*vector, identity);
                }
                vectors
            }
            None => vec![],
        };
        self.push_loop_scope(fold.var);
        self.hoist(Some(&fold.value), &[]);
        let var = self.round(&rounds);
        match width {
            Some((ty, width)) => {
                for (k, vector) in vectors.iter().enumerate() {
                    self.lane = Some((fold.var, var, (k * width) as i64));
                    let value = self.vector(&fold.value, fold.var, prim, ty);
                    let folded = self.builder.use_var(*vector);
                    let folded = self.binary(fold.op, prim, folded, value);
                    self.builder.def_var(*vector, folded);
                }
            }
            None => {
                for (lane, part) in parts.iter().enumerate() {
                    self.fold_lane(fold, prim, (var, lane), *part);
                }
            }
        }
        self.end_round(&rounds, (var, parts.len() as i64), exit);
        if let Some((_, width)) = width {
            for (lane, part) in parts.iter().enumerate() {
                let vector = self.builder.use_var(vectors[lane / width]);
                let value = self.builder.ins().extractlane(vector, (lane % width) as u8);
                self.builder.def_var(*part, value);
            }
        }
        self.builder.ins().jump(after, &[]);
        self.builder.seal_block(after);
        self.builder.switch_to_block(after);
    }

    /// Folds the remaining elements, fewer than there are lanes, from `first` on.
    fn rest(&mut self, fold: &LaneFold, prim: Prim, (first, rest): (Value, Value), parts: &[Variable]) {
        let done = self.builder.create_block();
        for (lane, part) in parts.iter().enumerate().take(parts.len() - 1) {
            let one_more = self.builder.create_block();
            let lane_number = self.int(lane as i64);
            let more = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, rest, lane_number);
            self.builder.ins().brif(more, one_more, &[], done, &[]);
            self.builder.seal_block(one_more);
            self.builder.switch_to_block(one_more);
            self.fold_lane(fold, prim, (first, lane), *part);
        }
        self.lane = None;
        self.builder.ins().jump(done, &[]);
        self.builder.seal_block(done);
        self.builder.switch_to_block(done);
    }

    /// Folds the element `base + lane` into its lane.
    fn fold_lane(&mut self, fold: &LaneFold, prim: Prim, (base, lane): (Value, usize), part: Variable) {
        self.lane = Some((fold.var, base, lane as i64));
        let value = self.expr(&fold.value);
        let folded = self.builder.use_var(part);
        let folded = self.binary(fold.op, prim, folded, value);
        self.builder.def_var(part, folded);
    }

    /// Returns the vector type and its number of lanes, if the fold can run on vectors.
    fn vector_width(&self, fold: &LaneFold, prim: Prim) -> Option<(Type, usize)> {
        let (ty, width) = vector(prim);
        let fits = usize::from(fold.lanes) >= width && is_native(fold.op, prim);
        (fits && self.is_vector(&fold.value, fold.var, prim)).then_some((ty, width))
    }

    /// Returns whether an expression can be computed for adjacent elements at once, with equal
    /// bits: it consists of contiguous loads, invariants, and operators that vectors have.
    pub(super) fn is_vector(&self, expr: &Expr, var: Local, prim: Prim) -> bool {
        if !expr.mentions(var) {
            return self.function.prim_of(expr) == prim;
        }
        match expr {
            Expr::Load { buffer, at } => {
                let decl = &self.function.buffers[buffer.index()];
                decl.class == BufferClass::Value && decl.prim == prim && steps_by_one(at, var)
            }
            Expr::Unary(op, a) => {
                let native = match op {
                    UnaryOp::Neg | UnaryOp::Not => true,
                    UnaryOp::Abs | UnaryOp::Sqrt => prim.is_float(),
                    _ => false,
                };
                native && self.is_vector(a, var, prim)
            }
            Expr::Binary(op, a, b) => {
                is_native(*op, prim) && self.is_vector(a, var, prim) && self.is_vector(b, var, prim)
            }
            // A comparison has the lanes of its operands.
            Expr::Compare(_, a, b) if prim == Prim::Bool => {
                let compared = self.function.prim_of(a);
                compared.bytes() == 1 && self.is_vector(a, var, compared) && self.is_vector(b, var, compared)
            }
            Expr::Select(cond, a, b) if prim.bytes() == 1 => {
                self.is_vector(cond, var, Prim::Bool) && self.is_vector(a, var, prim) && self.is_vector(b, var, prim)
            }
            Expr::Cast(_, a) if prim.bytes() == 1 && prim != Prim::Bool => {
                self.function.prim_of(a) == Prim::Bool && self.is_vector(a, var, Prim::Bool)
            }
            _ => false,
        }
    }

    /// Returns the vector of an expression for the elements from the current one on.
    pub(super) fn vector(&mut self, expr: &Expr, var: Local, prim: Prim, ty: Type) -> Value {
        if !expr.mentions(var) {
            let value = self.expr(expr);
            return self.builder.ins().splat(ty, value);
        }
        match expr {
            Expr::Load { buffer, at } => {
                let (address, offset) = self.address(*buffer, at);
                // Elements are aligned, but vectors of them may not be.
                let flags = self.flags[buffer.index()];
                let region = flags.alias_region();
                let flags = cranelift::prelude::MemFlagsData::new().with_notrap().with_alias_region(region);
                self.builder.ins().load(ty, flags, address, offset)
            }
            Expr::Unary(UnaryOp::Not, a) if prim == Prim::Bool => {
                let (a, ones) = (self.vector(a, var, prim, ty), self.ones(ty));
                self.builder.ins().bxor(a, ones)
            }
            Expr::Unary(op, a) => {
                let a = self.vector(a, var, prim, ty);
                self.unary(*op, prim, a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.vector(a, var, prim, ty), self.vector(b, var, prim, ty));
                self.binary(*op, prim, a, b)
            }
            Expr::Compare(op, a, b) => {
                let compared = self.function.prim_of(a);
                let (a, b) = (self.vector(a, var, compared, ty), self.vector(b, var, compared, ty));
                let (mask, ones) = (self.compare(*op, compared, a, b), self.ones(ty));
                self.builder.ins().band(mask, ones)
            }
            Expr::Select(cond, a, b) => {
                let cond = self.vector(cond, var, Prim::Bool, ty);
                let (a, b) = (self.vector(a, var, prim, ty), self.vector(b, var, prim, ty));
                let mask = self.builder.ins().ineg(cond);
                self.builder.ins().bitselect(mask, a, b)
            }
            Expr::Cast(_, a) => self.vector(a, var, Prim::Bool, ty),
            _ => unreachable!("`is_vector` admits no other expression"),
        }
    }

    /// Returns a vector with 1 in each lane.
    fn ones(&mut self, ty: Type) -> Value {
        let one = self.builder.ins().iconst(ty.lane_type(), 1);
        self.builder.ins().splat(ty, one)
    }
}

/// Returns whether vectors have an operator.
fn is_native(op: BinaryOp, prim: Prim) -> bool {
    match op {
        BinaryOp::Div => prim.is_float(),
        BinaryOp::Mul => prim.bytes() > 1,
        BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => false,
        _ => true,
    }
}
