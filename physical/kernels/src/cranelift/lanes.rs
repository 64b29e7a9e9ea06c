//! Lane folds: on vectors if the operator, the lanes and the value allow it, otherwise with one
//! register per lane. The order of operations is the same in both cases.

use super::function::{FunctionEmitter, register};
use super::maps::vector;
use crate::vectors::{absorbs, steps_by_one};
use cranelift::prelude::{Block, InstBuilder, IntCC, Type, Value, Variable};
use redpoll_compiler::assembly::{BinaryOp, BufferClass, Expr, LaneFold, Local, UnaryOp};
use redpoll_logic::Prim;

impl FunctionEmitter<'_> {
    /// Writes a lane fold: a loop over full rounds of all lanes, then the remaining elements, then
    /// the combination of the lanes in halves.
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

        let folded = match self.vector_width(fold, prim) {
            Some(vector) => self.fold_on_vectors(fold, prim, vector, (lo, end, rest)),
            None => self.fold_in_registers(fold, prim, (lo, end, rest)),
        };
        let acc = self.builder.use_var(self.locals[fold.acc.index()]);
        let acc = self.binary(fold.op, prim, acc, folded);
        self.assign(fold.acc, acc);
    }

    /// Folds full rounds in `lo..end` and the remaining elements in one register for each lane.
    fn fold_in_registers(&mut self, fold: &LaneFold, prim: Prim, (lo, end, rest): (Value, Value, Value)) -> Value {
        let identity = self.constant(&fold.identity);
        let parts = self.variables(register(prim), identity, usize::from(fold.lanes));
        self.rounds(fold, (lo, end), |emitter, var| {
            for (lane, part) in parts.iter().enumerate() {
                emitter.fold_lane(fold, prim, (var, lane), *part);
            }
        });
        self.rest(fold, prim, (end, rest), &parts);
        let parts = parts.into_iter().map(|part| self.builder.use_var(part)).collect();
        self.combine_halves(fold.op, prim, parts)
    }

    /// Folds full rounds in `lo..end`, then vectors of the remaining elements, then one vector of
    /// the last elements and identities. Folding an identity changes no lane.
    fn fold_on_vectors(
        &mut self,
        fold: &LaneFold,
        prim: Prim,
        (ty, width): (Type, usize),
        (lo, end, rest): (Value, Value, Value),
    ) -> Value {
        let identity = self.constant(&fold.identity);
        let identities = self.builder.ins().splat(ty, identity);
        let vectors = self.variables(ty, identities, usize::from(fold.lanes) / width);
        let fold_vector = |emitter: &mut Self, base: Value, number: usize| {
            emitter.lane = Some((fold.var, base, (number * width) as i64));
            let value = emitter.vector(&fold.value, fold.var, prim, ty);
            emitter.lane = None;
            emitter.fold_into(fold.op, prim, vectors[number], value);
        };
        self.rounds(fold, (lo, end), |emitter, var| {
            (0..vectors.len()).for_each(|number| fold_vector(emitter, var, number));
        });
        let tail = self.builder.create_block();
        for number in 0..vectors.len() - 1 {
            self.branch_unless_at_least(rest, (number + 1) * width, tail);
            fold_vector(self, end, number);
        }
        self.builder.ins().jump(tail, &[]);
        self.builder.seal_block(tail);
        self.builder.switch_to_block(tail);

        let last = self.builder.ins().band_imm_u(rest, width as i64 - 1);
        let (partial, add, done) =
            (self.builder.declare_var(ty), self.builder.create_block(), self.builder.create_block());
        self.builder.def_var(partial, identities);
        let full = self.builder.ins().isub(rest, last);
        let first = self.builder.ins().iadd(end, full);
        for lane in 0..width - 1 {
            self.branch_unless_at_least(last, lane + 1, if lane == 0 { done } else { add });
            self.lane = Some((fold.var, first, lane as i64));
            let value = self.expr(&fold.value);
            self.lane = None;
            let vector = self.builder.use_var(partial);
            let vector = self.builder.ins().insertlane(vector, value, lane as u8);
            self.builder.def_var(partial, vector);
        }
        self.builder.ins().jump(add, &[]);
        self.builder.seal_block(add);
        self.builder.switch_to_block(add);
        for (number, vector) in vectors.iter().enumerate() {
            let next = (number + 1 < vectors.len()).then(|| self.builder.create_block());
            if let Some(next) = next {
                let here = self.builder.create_block();
                let bound = self.int(((number + 1) * width) as i64);
                let is_here = self.builder.ins().icmp(IntCC::UnsignedLessThan, rest, bound);
                self.builder.ins().brif(is_here, here, &[], next, &[]);
                self.builder.seal_block(here);
                self.builder.seal_block(next);
                self.builder.switch_to_block(here);
            }
            let value = self.builder.use_var(partial);
            self.fold_into(fold.op, prim, *vector, value);
            self.builder.ins().jump(done, &[]);
            if let Some(next) = next {
                self.builder.switch_to_block(next);
            }
        }
        self.builder.seal_block(done);
        self.builder.switch_to_block(done);
        let vectors = vectors.into_iter().map(|vector| self.builder.use_var(vector)).collect();
        let vector = self.combine_halves(fold.op, prim, vectors);
        let lanes = (0..width).map(|lane| self.builder.ins().extractlane(vector, lane as u8)).collect();
        self.combine_halves(fold.op, prim, lanes)
    }

    /// Declares variables of a type with the same initial value.
    fn variables(&mut self, ty: Type, value: Value, count: usize) -> Vec<Variable> {
        let variables: Vec<Variable> = (0..count).map(|_| self.builder.declare_var(ty)).collect();
        variables.iter().for_each(|variable| self.builder.def_var(*variable, value));
        variables
    }

    /// Continues in a new block if a number is at least `least`, else in `other`.
    fn branch_unless_at_least(&mut self, number: Value, least: usize, other: Block) {
        let more = self.builder.create_block();
        let least = self.int(least as i64);
        let is_more = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, number, least);
        self.builder.ins().brif(is_more, more, &[], other, &[]);
        self.builder.seal_block(more);
        self.builder.switch_to_block(more);
    }

    /// Folds a value into a lane, or a vector of values into a vector of lanes.
    fn fold_into(&mut self, op: BinaryOp, prim: Prim, part: Variable, value: Value) {
        let folded = self.builder.use_var(part);
        let folded = self.binary(op, prim, folded, value);
        self.builder.def_var(part, folded);
    }

    /// Combines lanes, or vectors of lanes, in halves.
    fn combine_halves(&mut self, op: BinaryOp, prim: Prim, mut parts: Vec<Value>) -> Value {
        while parts.len() > 1 {
            let upper = parts.split_off(parts.len() / 2);
            for (part, other) in parts.iter_mut().zip(upper) {
                *part = self.binary(op, prim, *part, other);
            }
        }
        parts[0]
    }

    /// Writes the loop over full rounds, `lo..end`.
    fn rounds(&mut self, fold: &LaneFold, (lo, end): (Value, Value), round: impl FnOnce(&mut Self, Value)) {
        let (exit, after) = (self.builder.create_block(), self.builder.create_block());
        let rounds = self.enter_rounds((lo, end), after);
        self.push_loop_scope(fold.var);
        self.hoist(Some(&fold.value), &[]);
        let var = self.round(&rounds);
        round(self, var);
        self.end_round(&rounds, (var, i64::from(fold.lanes)), exit);
        self.builder.ins().jump(after, &[]);
        self.builder.seal_block(after);
        self.builder.switch_to_block(after);
    }

    /// Folds the remaining elements, which start at `first` and are fewer than the lanes.
    fn rest(&mut self, fold: &LaneFold, prim: Prim, (first, rest): (Value, Value), parts: &[Variable]) {
        let done = self.builder.create_block();
        for (lane, part) in parts.iter().enumerate().take(parts.len() - 1) {
            self.branch_unless_at_least(rest, lane + 1, done);
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
        self.fold_into(fold.op, prim, part, value);
    }

    /// Returns the vector type and its number of lanes, if the fold can run on vectors.
    fn vector_width(&self, fold: &LaneFold, prim: Prim) -> Option<(Type, usize)> {
        let (ty, width) = vector(prim);
        let fits = usize::from(fold.lanes) >= width && is_native(fold.op, prim) && absorbs(fold.op, &fold.identity);
        (fits && self.is_vector(&fold.value, fold.var, prim)).then_some((ty, width))
    }

    /// Returns whether an expression can be computed on vectors of adjacent elements, with the same
    /// bits as on scalars. Such an expression consists of contiguous loads, invariants, and
    /// operators that vectors have.
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
            // A comparison has as many lanes as its operands, so the operands must have one byte,
            // as `bool` has.
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

    /// Returns the vector of an expression's values, from the current element on.
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

/// Returns whether vectors of a type have an operator.
fn is_native(op: BinaryOp, prim: Prim) -> bool {
    match op {
        BinaryOp::Div => prim.is_float(),
        BinaryOp::Mul => prim.bytes() > 1,
        BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => false,
        _ => true,
    }
}
