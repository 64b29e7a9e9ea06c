//! Expressions in Cranelift's representation: addresses, operators, calls of functions.

use super::function::{FunctionEmitter, register};
use cranelift::codegen::ir::{InstructionData, Opcode};
use cranelift::prelude::{AbiParam, FloatCC, InstBuilder, IntCC, Signature, Value, types};
use redpoll_compiler::assembly::{BinaryOp, Buffer, BufferClass, CompareOp, Expr, MathFn, UnaryOp};
use redpoll_logic::{Prim, Scalar};

/// A position as a sum: the part that is invariant in the innermost loop, the part that varies, and
/// a constant.
#[derive(Default)]
struct AddressSum {
    invariant: Option<Value>,
    varying: Option<Value>,
    constant: i64,
}

impl FunctionEmitter<'_> {
    /// Writes an expression; returns its value.
    pub(super) fn expr(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Local(local) => match self.lane {
                Some((var, base, offset)) if var == *local => self.builder.ins().iadd_imm_s(base, offset),
                _ => self.builder.use_var(self.locals[local.index()]),
            },
            Expr::Param(param) => self.params[param.index()],
            Expr::Load { buffer, at } => match self.hoisted.iter().find(|(load, _)| load == expr) {
                Some((_, value)) => *value,
                None => self.load(*buffer, at),
            },
            Expr::Unary(op, a) => {
                let prim = self.function.prim_of(a);
                let a = self.expr(a);
                self.unary(*op, prim, a)
            }
            Expr::Binary(op, a, b) => {
                let prim = self.function.prim_of(a);
                let x = self.expr(a);
                match (op, &**b) {
                    (BinaryOp::Add, Expr::Cast(_, flag))
                        if prim.is_int() && self.function.prim_of(flag) == Prim::Bool =>
                    {
                        self.add_flag(x, flag)
                    }
                    (BinaryOp::Div | BinaryOp::Rem, Expr::Const(by)) if prim.is_int() => {
                        self.divide_by_constant(*op, prim, x, by)
                    }
                    (BinaryOp::Shl | BinaryOp::Shr, Expr::Const(by)) => self.shift_by_constant(*op, prim, x, by),
                    _ => {
                        let y = self.expr(b);
                        self.binary(*op, prim, x, y)
                    }
                }
            }
            Expr::Compare(op, a, b) => {
                let prim = self.function.prim_of(a);
                let (a, b) = (self.expr(a), self.expr(b));
                self.compare(*op, prim, a, b)
            }
            Expr::Select(cond, a, b) => {
                let (cond, a, b) = (self.expr(cond), self.expr(a), self.expr(b));
                self.builder.ins().select(cond, a, b)
            }
            Expr::Cast(to, a) => {
                let from = self.function.prim_of(a);
                let a = self.expr(a);
                self.cast(from, *to, a)
            }
            Expr::Math(function, args) => {
                let prim = self.function.prim_of(&args[0]);
                let args: Vec<Value> = args.iter().map(|a| self.expr(a)).collect();
                self.math(*function, prim, &args)
            }
        }
    }

    /// Writes a constant; returns its value.
    pub(super) fn constant(&mut self, value: &Scalar) -> Value {
        match value {
            Scalar::F32(v) => self.builder.ins().f32const(*v),
            Scalar::F64(v) => self.builder.ins().f64const(*v),
            _ => {
                let prim = value.prim().expect("constants of Assembly are primitives");
                let bits = value.to_bits().expect("constants of Assembly are primitives");
                self.builder.ins().iconst(register(prim), bits as i64)
            }
        }
    }

    fn load(&mut self, buffer: Buffer, at: &Expr) -> Value {
        let decl = &self.function.buffers[buffer.index()];
        let (prim, class) = (decl.prim, decl.class);
        let (address, offset) = self.address(buffer, at);
        let flags = self.flags[buffer.index()];
        let ins = self.builder.ins();
        match (class, prim) {
            (BufferClass::Index, Prim::I8) => ins.sload8(types::I64, flags, address, offset),
            (BufferClass::Index, Prim::I16) => ins.sload16(types::I64, flags, address, offset),
            (BufferClass::Index, Prim::I32) => ins.sload32(flags, address, offset),
            (BufferClass::Index, Prim::U8) => ins.uload8(types::I64, flags, address, offset),
            (BufferClass::Index, Prim::U16) => ins.uload16(types::I64, flags, address, offset),
            (BufferClass::Index, Prim::U32) => ins.uload32(flags, address, offset),
            _ => ins.load(register(prim), flags, address, offset),
        }
    }

    /// Returns the address of an element, as a computed address and a constant offset.
    ///
    /// The position is decomposed as a sum. The sum of its constants becomes the offset of the
    /// instruction, if the offset fits 32 bits. The part that is invariant in the innermost loop is
    /// added to the base first, so that it is computed once before the loop.
    pub(super) fn address(&mut self, buffer: Buffer, at: &Expr) -> (Value, i32) {
        let size = self.function.buffers[buffer.index()].prim.bytes() as i64;
        let shift = i64::from(size.trailing_zeros());
        let mut sum = AddressSum::default();
        self.add_terms(at, &mut sum);
        let mut address = self.base(buffer);
        for part in [sum.invariant, sum.varying].into_iter().flatten() {
            let bytes = if shift == 0 { part } else { self.builder.ins().ishl_imm_u(part, shift) };
            address = self.builder.ins().iadd(address, bytes);
        }
        let bytes = sum.constant.wrapping_mul(size);
        match i32::try_from(bytes) {
            Ok(offset) => (address, offset),
            Err(_) => {
                let bytes = self.int(bytes);
                (self.builder.ins().iadd(address, bytes), 0)
            }
        }
    }

    fn add_terms(&mut self, expr: &Expr, sum: &mut AddressSum) {
        match expr {
            Expr::Const(Scalar::I64(c)) => sum.constant = sum.constant.wrapping_add(*c),
            Expr::Binary(BinaryOp::Add, a, b) => {
                self.add_terms(a, sum);
                self.add_terms(b, sum);
            }
            Expr::Binary(BinaryOp::Sub, a, b) if matches!(**b, Expr::Const(Scalar::I64(_))) => {
                self.add_terms(a, sum);
                if let Expr::Const(Scalar::I64(c)) = **b {
                    sum.constant = sum.constant.wrapping_sub(c);
                }
            }
            Expr::Local(local) if self.lane.is_some_and(|(var, ..)| var == *local) => {
                let (_, base, offset) = self.lane.expect("the guard tests it");
                sum.constant = sum.constant.wrapping_add(offset);
                self.add_term(&mut sum.varying, base);
            }
            _ => {
                let is_invariant = self.is_invariant(expr);
                let value = self.expr(expr);
                self.add_term(if is_invariant { &mut sum.invariant } else { &mut sum.varying }, value);
            }
        }
    }

    fn add_term(&mut self, part: &mut Option<Value>, value: Value) {
        *part = Some(match *part {
            Some(other) => self.builder.ins().iadd(other, value),
            None => value,
        });
    }

    /// Returns whether an expression is invariant in the innermost loop. Loads count as varying,
    /// and so does every expression outside of loops.
    fn is_invariant(&self, expr: &Expr) -> bool {
        let Some(assigned) = self.scopes.last() else {
            return false;
        };
        !expr.any(&mut |e| match e {
            Expr::Local(local) => assigned[local.index()],
            Expr::Load { .. } => true,
            _ => false,
        })
    }

    pub(super) fn unary(&mut self, op: UnaryOp, prim: Prim, a: Value) -> Value {
        let ins = self.builder.ins();
        if prim.is_float() {
            return match op {
                UnaryOp::Neg => ins.fneg(a),
                UnaryOp::Abs => ins.fabs(a),
                UnaryOp::Sqrt => ins.sqrt(a),
                UnaryOp::Floor => ins.floor(a),
                UnaryOp::Ceil => ins.ceil(a),
                UnaryOp::Trunc => ins.trunc(a),
                UnaryOp::Round => ins.nearest(a),
                UnaryOp::Not | UnaryOp::TrailingZeros | UnaryOp::LeadingZeros => {
                    unreachable!("the verifier admits bit operators on integers only")
                }
            };
        }
        match (op, prim) {
            (UnaryOp::Not, Prim::Bool) => ins.bxor_imm_u(a, 1),
            (UnaryOp::Not, _) => ins.bnot(a),
            (UnaryOp::Neg, _) => ins.ineg(a),
            (UnaryOp::Abs, _) if prim.is_signed() => ins.iabs(a),
            (UnaryOp::Abs, _) => a,
            (UnaryOp::TrailingZeros, _) => ins.ctz(a),
            (UnaryOp::LeadingZeros, _) => ins.clz(a),
            _ => unreachable!("the verifier admits roots and rounding of floats only"),
        }
    }

    /// Applies an operator to registers of one type.
    pub(super) fn binary(&mut self, op: BinaryOp, prim: Prim, a: Value, b: Value) -> Value {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let ins = self.builder.ins();
        if prim.is_float() {
            return match op {
                Add => ins.fadd(a, b),
                Sub => ins.fsub(a, b),
                Mul => ins.fmul(a, b),
                Div => ins.fdiv(a, b),
                Min => ins.fmin(a, b),
                Max => ins.fmax(a, b),
                Rem | And | Or | Xor | Shl | Shr => {
                    unreachable!("the verifier admits these operators on integers only")
                }
            };
        }
        if op == And
            && let Some((x, y)) = self.as_equality(a, b)
        {
            return self.builder.ins().icmp(IntCC::Equal, x, y);
        }
        let (signed, ins) = (prim.is_signed(), self.builder.ins());
        match op {
            Add => ins.iadd(a, b),
            Sub => ins.isub(a, b),
            Mul => ins.imul(a, b),
            And => ins.band(a, b),
            Or => ins.bor(a, b),
            Xor => ins.bxor(a, b),
            Min if signed => ins.smin(a, b),
            Min => ins.umin(a, b),
            Max if signed => ins.smax(a, b),
            Max => ins.umax(a, b),
            Div | Rem => self.divide(op, prim, a, b),
            Shl | Shr => self.shift(op, prim, a, b),
        }
    }

    /// Divides integers. The machine may trap for the divisor 0 and, if the integers are signed,
    /// for -1, so these divisors are replaced by 1. After the division, a select replaces the
    /// quotient for such a divisor by the defined one. The remainder needs no select: it is 0, as
    /// for the divisor 1.
    fn divide(&mut self, op: BinaryOp, prim: Prim, a: Value, b: Value) -> Value {
        let ty = register(prim);
        let zero = self.builder.ins().iconst(ty, 0);
        let one = self.builder.ins().iconst(ty, 1);
        let by_zero = self.builder.ins().icmp(IntCC::Equal, b, zero);
        if !prim.is_signed() {
            let safe = self.builder.ins().select(by_zero, one, b);
            return if op == BinaryOp::Div {
                let quotient = self.builder.ins().udiv(a, safe);
                self.builder.ins().select(by_zero, zero, quotient)
            } else {
                self.builder.ins().urem(a, safe)
            };
        }
        let next = self.builder.ins().iadd(b, one);
        let special = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, next, one);
        let safe = self.builder.ins().select(special, one, b);
        if op == BinaryOp::Rem {
            return self.builder.ins().srem(a, safe);
        }
        let quotient = self.builder.ins().sdiv(a, safe);
        let negated = self.builder.ins().ineg(a);
        let by_minus_one = self.builder.ins().select(by_zero, zero, negated);
        self.builder.ins().select(special, by_minus_one, quotient)
    }

    fn divide_by_constant(&mut self, op: BinaryOp, prim: Prim, a: Value, by: &Scalar) -> Value {
        let divisor = by.to_i128().expect("the verifier admits integers only");
        match (op, divisor) {
            (_, 0) | (BinaryOp::Rem, 1 | -1) => self.constant(&Scalar::zero(prim)),
            (_, 1) => a,
            (_, -1) => self.builder.ins().ineg(a),
            _ => {
                let b = self.constant(by);
                let ins = self.builder.ins();
                match (op, prim.is_signed()) {
                    (BinaryOp::Div, true) => ins.sdiv(a, b),
                    (BinaryOp::Div, false) => ins.udiv(a, b),
                    (_, true) => ins.srem(a, b),
                    (_, false) => ins.urem(a, b),
                }
            }
        }
    }

    /// Shifts by any number of bits. The machine takes the number modulo the width, so numbers from
    /// the width on are handled separately.
    fn shift(&mut self, op: BinaryOp, prim: Prim, a: Value, by: Value) -> Value {
        let ty = register(prim);
        let last = self.builder.ins().iconst(ty, i64::from(prim.bits()) - 1);
        if op == BinaryOp::Shr && prim.is_signed() {
            let by = self.builder.ins().umin(by, last);
            return self.builder.ins().sshr(a, by);
        }
        let zero = self.builder.ins().iconst(ty, 0);
        let all = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, by, last);
        let ins = self.builder.ins();
        let shifted = if op == BinaryOp::Shl { ins.ishl(a, by) } else { ins.ushr(a, by) };
        self.builder.ins().select(all, zero, shifted)
    }

    fn shift_by_constant(&mut self, op: BinaryOp, prim: Prim, a: Value, by: &Scalar) -> Value {
        let by = by.to_bits().expect("constants of Assembly are primitives");
        let last = u64::from(prim.bits()) - 1;
        let ins = self.builder.ins();
        match (op, prim.is_signed()) {
            (BinaryOp::Shr, true) => ins.sshr_imm_u(a, by.min(last) as i64),
            _ if by > last => self.constant(&Scalar::zero(prim)),
            (BinaryOp::Shr, false) => ins.ushr_imm_u(a, by as i64),
            _ => ins.ishl_imm_u(a, by as i64),
        }
    }

    pub(super) fn compare(&mut self, op: CompareOp, prim: Prim, a: Value, b: Value) -> Value {
        if prim.is_float() {
            let code = match op {
                CompareOp::Eq => FloatCC::Equal,
                CompareOp::Ne => FloatCC::NotEqual,
                CompareOp::Lt => FloatCC::LessThan,
                CompareOp::Le => FloatCC::LessThanOrEqual,
            };
            return self.builder.ins().fcmp(code, a, b);
        }
        if op == CompareOp::Eq
            && let Some((x, y)) = self.as_at_most(a, b).or_else(|| self.as_at_most(b, a))
        {
            return self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, x, y);
        }
        let code = match (op, prim.is_signed()) {
            (CompareOp::Eq, _) => IntCC::Equal,
            (CompareOp::Ne, _) => IntCC::NotEqual,
            (CompareOp::Lt, true) => IntCC::SignedLessThan,
            (CompareOp::Lt, false) => IntCC::UnsignedLessThan,
            (CompareOp::Le, true) => IntCC::SignedLessThanOrEqual,
            (CompareOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        };
        self.builder.ins().icmp(code, a, b)
    }

    /// Adds 1 to `x` if a flag is true. Both results are available before the flag, so cursors of
    /// merges wait only for their comparison.
    fn add_flag(&mut self, x: Value, flag: &Expr) -> Value {
        let flag = self.expr(flag);
        let next = self.builder.ins().iadd_imm_s(x, 1);
        self.builder.ins().select(flag, next, x)
    }

    /// Returns the sides of `x == y` if the flags are `x <= y` and `y <= x`.
    fn as_equality(&self, a: Value, b: Value) -> Option<(Value, Value)> {
        let dfg = &self.builder.func.dfg;
        let at_most = |flag: Value| match dfg.insts[dfg.value_def(dfg.resolve_aliases(flag)).inst()?] {
            InstructionData::IntCompare { cond: IntCC::SignedLessThanOrEqual, args, .. } => {
                Some(args.map(|v| dfg.resolve_aliases(v)))
            }
            _ => None,
        };
        let ([x, y], [z, w]) = (at_most(a)?, at_most(b)?);
        (x == w && y == z).then_some((x, y))
    }

    /// Returns `a` and `b` if `smaller` is the minimum of `a` and another value `b`. The comparison
    /// `a == smaller` is then the same as `a <= b`, which need not wait for the minimum.
    fn as_at_most(&self, a: Value, smaller: Value) -> Option<(Value, Value)> {
        let dfg = &self.builder.func.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(smaller)).inst()?;
        if dfg.insts[inst].opcode() != Opcode::Smin {
            return None;
        }
        let &[x, y] = dfg.inst_args(inst) else { return None };
        let same = |x: Value| dfg.resolve_aliases(x) == dfg.resolve_aliases(a);
        if same(x) { Some((a, y)) } else { same(y).then_some((a, x)) }
    }

    /// Calls the function of the mathematical library that the interpreter calls as well.
    fn math(&mut self, function: MathFn, prim: Prim, args: &[Value]) -> Value {
        let implementation = function.implementation();
        let double = prim == Prim::F64;
        let address = if double { implementation.address_f64() } else { implementation.address_f32() };
        let signature = match self.signatures.math[args.len() - 1][usize::from(double)] {
            Some(signature) => signature,
            None => {
                let mut signature = Signature::new(self.builder.func.signature.call_conv);
                signature.params.extend(args.iter().map(|_| AbiParam::new(register(prim))));
                signature.returns.push(AbiParam::new(register(prim)));
                self.builder.import_signature(signature)
            }
        };
        self.signatures.math[args.len() - 1][usize::from(double)] = Some(signature);
        let callee = self.builder.ins().iconst(self.pointer, address as i64);
        let call = self.builder.ins().call_indirect(signature, callee, args);
        self.builder.inst_results(call)[0]
    }
}
