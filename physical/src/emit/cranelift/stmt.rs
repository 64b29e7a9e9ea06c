//! Statements.

use super::function::{Emitter, Pointer};
use crate::assembly::{Buffer, Expr, Local, Stmt, UnaryOp};
use crate::run::{Callbacks, Frame};
use cranelift::codegen::ir::{Block, SigRef};
use cranelift::prelude::{AbiParam, InstBuilder, IntCC, MemFlagsData, Signature, Type, Value, types};
use redpoll_logic::Scalar;
use std::mem::offset_of;

impl Emitter<'_> {
    /// Writes statements; whether control falls off their end. Statements behind such an end are dropped.
    pub(super) fn block(&mut self, stmts: &[Stmt]) -> bool {
        stmts.iter().all(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Assign(local, value) => {
                let value = self.expr(value);
                self.assign(*local, value);
            }
            Stmt::Store { buffer, at, value } => self.store(*buffer, at, value),
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
            Stmt::Return(status) => {
                self.ret(*status);
                return false;
            }
        }
        true
    }

    pub(super) fn assign(&mut self, local: Local, value: Value) {
        self.builder.def_var(self.locals[local.index()], value);
    }

    /// Goes to one of two blocks; whether the second can be reached.
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

    fn branch(&mut self, cond: &Expr, then: &[Stmt], other: &[Stmt]) -> bool {
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

    /// The locals that statements assign, as a table.
    fn assigned(&self, stmts: &[Stmt]) -> Vec<bool> {
        let mut assigned = vec![false; self.locals.len()];
        for stmt in stmts {
            stmt.for_each_assigned(&mut |local| assigned[local.index()] = true);
        }
        assigned
    }

    fn while_loop(&mut self, cond: &Expr, body: &[Stmt]) -> bool {
        let header = self.builder.create_block();
        let exit = self.builder.create_block();
        let mut left = self.condition(cond, header, exit);
        self.builder.switch_to_block(header);
        self.scopes.push(self.assigned(body));
        self.exits.push((exit, false));
        if self.block(body) {
            left |= self.condition(cond, header, exit);
        }
        self.scopes.pop();
        let (_, broken) = self.exits.pop().expect("pushed above");
        self.end_loop(header, exit, left || broken)
    }

    fn for_loop(&mut self, var: Local, (lo, hi): (&Expr, &Expr), body: &[Stmt]) -> bool {
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let header = self.builder.create_block();
        let exit = self.builder.create_block();
        self.assign(var, lo);
        let enters = self.builder.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.builder.ins().brif(enters, header, &[], exit, &[]);
        self.builder.switch_to_block(header);
        let mut assigned = self.assigned(body);
        assigned[var.index()] = true;
        self.scopes.push(assigned);
        self.exits.push((exit, false));
        if self.block(body) {
            let variable = self.locals[var.index()];
            let at = self.builder.use_var(variable);
            let next = self.builder.ins().iadd_imm_s(at, 1);
            self.builder.def_var(variable, next);
            let again = self.builder.ins().icmp(IntCC::SignedLessThan, next, hi);
            self.builder.ins().brif(again, header, &[], exit, &[]);
        }
        self.scopes.pop();
        self.exits.pop();
        self.end_loop(header, exit, true)
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
        let Pointer::Growing { capacity, .. } = self.pointers[buffer.index()] else {
            unreachable!("buffers that grow were found on entry");
        };
        let call = self.builder.create_block();
        let failed = self.builder.create_block();
        let reload = self.builder.create_block();
        let done = self.builder.create_block();
        for cold in [call, failed, reload] {
            self.builder.set_cold_block(cold);
        }
        let room = self.builder.use_var(capacity);
        let short = self.builder.ins().icmp(IntCC::SignedGreaterThan, len, room);
        self.builder.ins().brif(short, call, &[], done, &[]);

        self.builder.seal_block(call);
        self.builder.switch_to_block(call);
        let (trampoline, signature) = self.grow.expect("given for functions that grow a buffer");
        let callee = self.builder.ins().iconst(self.pointer, trampoline as i64);
        let number = self.number(buffer);
        self.builder.ins().call_indirect(signature, callee, &[self.frame, number, len]);
        let status = self.frame_field(offset_of!(Frame, status), types::I32);
        self.builder.ins().brif(status, failed, &[], reload, &[]);

        self.builder.seal_block(failed);
        self.builder.switch_to_block(failed);
        self.builder.ins().return_(&[status]);

        self.builder.seal_block(reload);
        self.builder.switch_to_block(reload);
        let slots = self.frame_field(offset_of!(Frame, buffers), self.pointer);
        self.read_slot(slots, buffer);
        self.builder.ins().jump(done, &[]);

        self.builder.seal_block(done);
        self.builder.switch_to_block(done);
    }

    fn number(&mut self, buffer: Buffer) -> Value {
        self.builder.ins().iconst(types::I32, i64::from(buffer.0))
    }

    /// The signature of a callback: its host, then `params`.
    fn import(&mut self, params: &[Type]) -> SigRef {
        let mut signature = Signature::new(self.builder.func.signature.call_conv);
        signature.params.push(AbiParam::new(self.pointer));
        signature.params.extend(params.iter().copied().map(AbiParam::new));
        self.builder.import_signature(signature)
    }

    /// Calls the function in a field of the callbacks.
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
