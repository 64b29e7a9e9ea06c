//! Statements in Cranelift's representation: branches, loops, growth, callbacks.

use super::function::{FunctionEmitter, Pointer};
use crate::run::{Callbacks, Frame};
use cranelift::codegen::ir::{Block, SigRef};
use cranelift::prelude::{AbiParam, InstBuilder, IntCC, MemFlagsData, Signature, Type, Value, types};
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, Local, Status, Stmt, UnaryOp};
use redpoll_logic::Scalar;
use std::mem::offset_of;

impl FunctionEmitter<'_> {
    /// Writes statements up to the first that does not fall through; returns whether control
    /// reaches the end of the statements.
    pub(super) fn block(&mut self, stmts: &[Stmt]) -> bool {
        stmts.iter().all(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Assign(local, value) => {
                let value = self.expr(value);
                self.assign(*local, value);
            }
            Stmt::Store { buffer, at, value, .. } => self.store(*buffer, at, value),
            Stmt::If { cond, then, other } => return self.branch(cond, then, other),
            Stmt::While { cond, body } => return self.while_loop(cond, body),
            Stmt::For { var, lo, hi, body } => return self.for_loop(*var, (lo, hi), body),
            Stmt::Break => {
                let (exit, used) = self.exits.last_mut().expect("the verifier admits breaks in loops only");
                *used = true;
                let exit = *exit;
                self.builder.ins().jump(exit, &[]);
                return false;
            }
            Stmt::Lanes(fold) => self.lanes(fold),
            Stmt::Grow { buffer, len } => self.grow(*buffer, len),
            Stmt::Sort { buffer, lo, hi } => {
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                let signature = match self.signatures.sort {
                    Some(signature) => signature,
                    None => self.import(&[types::I32, types::I64, types::I64]),
                };
                self.signatures.sort = Some(signature);
                let buffer = self.number(*buffer);
                self.callback(offset_of!(Callbacks, sort), signature, &[buffer, lo, hi]);
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                let signature = match self.signatures.sort_by {
                    Some(signature) => signature,
                    None => self.import(&[types::I32, types::I32, types::I32, types::I64, types::I64]),
                };
                self.signatures.sort_by = Some(signature);
                let [perm, major, minor] = [perm, major, minor].map(|b| self.number(*b));
                self.callback(offset_of!(Callbacks, sort_by), signature, &[perm, major, minor, lo, hi]);
            }
            Stmt::Swap(a, b) => self.swap(*a, *b),
            Stmt::Return(status) => {
                self.return_status(*status);
                return false;
            }
            Stmt::Extension(never) => match *never {},
        }
        true
    }

    pub(super) fn assign(&mut self, local: Local, value: Value) {
        self.builder.def_var(self.locals[local.index()], value);
    }

    /// Branches to one of two blocks; returns whether the second can be reached.
    fn condition(&mut self, cond: &Expr, then: Block, other: Block) -> bool {
        match cond {
            Expr::Const(Scalar::Bool(true)) => {
                self.builder.ins().jump(then, &[]);
                false
            }
            Expr::Unary(UnaryOp::Not, inner) => {
                let value = self.expr(inner);
                self.builder.ins().brif(value, other, &[], then, &[]);
                true
            }
            _ => {
                let value = self.expr(cond);
                self.builder.ins().brif(value, then, &[], other, &[]);
                true
            }
        }
    }

    /// Branches at the test of a loop. The sides of an `and` become two branches, since their
    /// outcomes are mostly predictable. Returns whether `other` can be reached.
    fn loop_condition(&mut self, cond: &Expr, then: Block, other: Block) -> bool {
        let Expr::Binary(BinaryOp::And, a, b) = cond else {
            return self.condition(cond, then, other);
        };
        let both = self.builder.create_block();
        let first = self.loop_condition(a, both, other);
        self.builder.seal_block(both);
        self.builder.switch_to_block(both);
        self.loop_condition(b, then, other) || first
    }

    /// Writes `if cond { local = value }` as a select if the value is a cheap integer; returns
    /// whether a select was written.
    fn select(&mut self, cond: &Expr, then: &[Stmt]) -> bool {
        let [Stmt::Assign(local, value)] = then else { return false };
        let prim = self.function.locals[local.index()].prim;
        if prim.is_float() || !is_cheap(value, &mut 6) {
            return false;
        }
        let (cond, value) = (self.expr(cond), self.expr(value));
        let old = self.builder.use_var(self.locals[local.index()]);
        let chosen = self.builder.ins().select(cond, value, old);
        self.assign(*local, chosen);
        true
    }

    fn branch(&mut self, cond: &Expr, then: &[Stmt], other: &[Stmt]) -> bool {
        if other.is_empty() && self.select(cond, then) {
            return true;
        }
        let then_block = self.builder.create_block();
        let join = self.builder.create_block();
        let other_block = if other.is_empty() { join } else { self.builder.create_block() };
        let mut reached = self.condition(cond, then_block, other_block) && other.is_empty();
        self.builder.seal_block(then_block);
        self.builder.switch_to_block(then_block);
        if self.block(then) {
            self.builder.ins().jump(join, &[]);
            reached = true;
        }
        if !other.is_empty() {
            self.builder.seal_block(other_block);
            self.builder.switch_to_block(other_block);
            if self.block(other) {
                self.builder.ins().jump(join, &[]);
                reached = true;
            }
        }
        self.builder.seal_block(join);
        if reached {
            self.builder.switch_to_block(join);
        }
        reached
    }

    /// Returns for each local whether statements assign it.
    fn assigned_locals(&self, stmts: &[Stmt]) -> Vec<bool> {
        let mut assigned = vec![false; self.locals.len()];
        for stmt in stmts {
            stmt.for_each_assigned(&mut |local| assigned[local.index()] = true);
        }
        assigned
    }

    /// Polls for cancellation, if the body of a loop contains loops.
    fn poll(&mut self, body: &[Stmt]) {
        if !Stmt::has_loop(body) {
            return;
        }
        let stop = self.builder.create_block();
        let resume = self.builder.create_block();
        self.builder.set_cold_block(stop);
        let cancel = self.frame_field(offset_of!(Frame, cancel), self.pointer);
        // Another thread writes the flag, so every round loads it again.
        let cancel = self.builder.ins().load(types::I8, MemFlagsData::new().with_notrap(), cancel, 0);
        self.builder.ins().brif(cancel, stop, &[], resume, &[]);
        self.builder.seal_block(stop);
        self.builder.switch_to_block(stop);
        self.return_status(Status::Cancelled);
        self.builder.seal_block(resume);
        self.builder.switch_to_block(resume);
    }

    fn while_loop(&mut self, cond: &Expr, body: &[Stmt]) -> bool {
        let enter = self.builder.create_block();
        let header = self.builder.create_block();
        let exit = self.builder.create_block();
        let mut reached = self.loop_condition(cond, enter, exit);
        self.scopes.push(self.assigned_locals(body));
        self.enter_loop(enter, header, Some(cond), body);
        self.exits.push((exit, false));
        self.poll(body);
        if self.block(body) {
            reached |= self.loop_condition(cond, header, exit);
        }
        self.forget();
        self.scopes.pop();
        let (_, has_break) = self.exits.pop().expect("pushed above");
        self.end_loop(header, exit, reached || has_break)
    }

    fn for_loop(&mut self, var: Local, (lo, hi): (&Expr, &Expr), body: &[Stmt]) -> bool {
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let lo = self.vector_loop(var, (lo, hi), body).unwrap_or(lo);
        let enter = self.builder.create_block();
        let header = self.builder.create_block();
        let exit = self.builder.create_block();
        self.assign(var, lo);
        let enters = self.builder.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.builder.ins().brif(enters, enter, &[], exit, &[]);
        let mut assigned = self.assigned_locals(body);
        assigned[var.index()] = true;
        self.scopes.push(assigned);
        self.enter_loop(enter, header, None, body);
        self.exits.push((exit, false));
        self.poll(body);
        if self.block(body) {
            let variable = self.locals[var.index()];
            let at = self.builder.use_var(variable);
            let next = self.builder.ins().iadd_imm_s(at, 1);
            self.builder.def_var(variable, next);
            let again = self.builder.ins().icmp(IntCC::SignedLessThan, next, hi);
            self.builder.ins().brif(again, header, &[], exit, &[]);
        }
        self.forget();
        self.scopes.pop();
        self.exits.pop();
        self.end_loop(header, exit, true)
    }

    /// Writes the code between the first test of a loop and its body.
    fn enter_loop(&mut self, enter: Block, header: Block, cond: Option<&Expr>, body: &[Stmt]) {
        self.builder.seal_block(enter);
        self.builder.switch_to_block(enter);
        self.hoist(cond, body);
        self.builder.ins().jump(header, &[]);
        self.builder.switch_to_block(header);
    }

    fn end_loop(&mut self, header: Block, exit: Block, reached: bool) -> bool {
        self.builder.seal_block(header);
        self.builder.seal_block(exit);
        if reached {
            self.builder.switch_to_block(exit);
        }
        reached
    }

    fn grow(&mut self, buffer: Buffer, len: &Expr) {
        let len = self.expr(len);
        let call = self.builder.create_block();
        let failed = self.builder.create_block();
        let reload = self.builder.create_block();
        let done = self.builder.create_block();
        for cold in [call, failed, reload] {
            self.builder.set_cold_block(cold);
        }
        let capacity = self.capacity(buffer);
        let short = self.builder.ins().icmp(IntCC::SignedGreaterThan, len, capacity);
        self.builder.ins().brif(short, call, &[], done, &[]);

        self.builder.seal_block(call);
        self.builder.switch_to_block(call);
        let callee = self.frame_field(offset_of!(Frame, trampoline), self.pointer);
        let number = self.number(buffer);
        self.builder.ins().call_indirect(self.grow, callee, &[self.frame, number, len]);
        let status = self.frame_field(offset_of!(Frame, status), types::I32);
        self.builder.ins().brif(status, failed, &[], reload, &[]);

        self.builder.seal_block(failed);
        self.builder.switch_to_block(failed);
        self.builder.ins().return_(&[status]);

        self.builder.seal_block(reload);
        self.builder.switch_to_block(reload);
        self.reload(buffer);
        self.builder.ins().jump(done, &[]);

        self.builder.seal_block(done);
        self.builder.switch_to_block(done);
    }

    fn swap(&mut self, a: Buffer, b: Buffer) {
        let signature = match self.signatures.swap {
            Some(signature) => signature,
            None => self.import(&[types::I32, types::I32]),
        };
        self.signatures.swap = Some(signature);
        let numbers = [a, b].map(|buffer| self.number(buffer));
        self.callback(offset_of!(Callbacks, swap), signature, &numbers);
        for buffer in [a, b] {
            self.reload(buffer);
        }
    }

    /// Reloads the base of a buffer after its memory has moved, if the base is in a variable.
    fn reload(&mut self, buffer: Buffer) {
        if let Pointer::Growing(Some(base)) = self.pointers[buffer.index()] {
            let value = self.slot_base(buffer);
            self.builder.def_var(base, value);
        }
    }

    fn number(&mut self, buffer: Buffer) -> Value {
        self.builder.ins().iconst(types::I32, i64::from(buffer.0))
    }

    /// Imports the signature of a callback, whose parameters are the host and `params`.
    fn import(&mut self, params: &[Type]) -> SigRef {
        let mut signature = Signature::new(self.builder.func.signature.call_conv);
        signature.params.push(AbiParam::new(self.pointer));
        signature.params.extend(params.iter().copied().map(AbiParam::new));
        self.builder.import_signature(signature)
    }

    /// Calls the function at the offset `field` of [`Callbacks`].
    fn callback(&mut self, field: usize, signature: SigRef, args: &[Value]) {
        let host = self.frame_field(offset_of!(Frame, host), self.pointer);
        let callbacks = self.frame_field(offset_of!(Frame, callbacks), self.pointer);
        let flags = MemFlagsData::trusted();
        let callee = self.builder.ins().load(self.pointer, flags, callbacks, field as i32);
        let args: Vec<Value> = std::iter::once(host).chain(args.iter().copied()).collect();
        self.builder.ins().call_indirect(signature, callee, &args);
    }

    fn store(&mut self, buffer: Buffer, at: &Expr, value: &Expr) {
        let element = super::function::register(self.function.buffers[buffer.index()].prim);
        let value = self.expr(value);
        let (address, offset) = self.address(buffer, at);
        let flags = self.flags[buffer.index()];
        let narrow = self.builder.func.dfg.value_type(value) != element;
        let value = if narrow { self.builder.ins().ireduce(element, value) } else { value };
        self.builder.ins().store(flags, value, address, offset);
    }
}

/// Returns whether an expression has at most `budget` operators, and no loads, divisions or
/// mathematical functions.
fn is_cheap(e: &Expr, budget: &mut u32) -> bool {
    let operator = match e {
        Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => return true,
        Expr::Load { .. } | Expr::Math(..) | Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => false,
        _ => true,
    };
    let mut cheap = operator && *budget > 0;
    *budget = budget.saturating_sub(1);
    e.for_each_child(&mut |child| cheap = cheap && is_cheap(child, budget));
    cheap
}
