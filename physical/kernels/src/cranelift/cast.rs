//! Casts, with the results of `Scalar::cast` for all values.

use super::function::{FunctionEmitter, register};
use cranelift::prelude::{FloatCC, InstBuilder, IntCC, Value, types};
use redpoll_logic::{Prim, Scalar};

impl FunctionEmitter<'_> {
    /// Casts a register.
    pub(super) fn cast(&mut self, from: Prim, to: Prim, a: Value) -> Value {
        match (from, to) {
            _ if from == to => a,
            (_, Prim::Bool) => {
                let zero = self.constant(&Scalar::zero(from));
                if from.is_float() {
                    self.builder.ins().fcmp(FloatCC::NotEqual, a, zero)
                } else {
                    self.builder.ins().icmp(IntCC::NotEqual, a, zero)
                }
            }
            (Prim::F32, Prim::F64) => self.builder.ins().fpromote(types::F64, a),
            (Prim::F64, Prim::F32) => self.builder.ins().fdemote(types::F32, a),
            _ if from.is_float() => self.float_to_int(to, a),
            _ if to.is_float() => self.int_to_float(from, to, a),
            _ => self.int_to_int(from, to, a),
        }
    }

    /// Casts between integers, and from `bool`, whose register is 0 or 1.
    fn int_to_int(&mut self, from: Prim, to: Prim, a: Value) -> Value {
        let (source, target) = (register(from), register(to));
        let ins = self.builder.ins();
        if target.bits() < source.bits() {
            ins.ireduce(target, a)
        } else if target == source {
            a
        } else if from.is_signed() {
            ins.sextend(target, a)
        } else {
            ins.uextend(target, a)
        }
    }

    /// Casts an integer to a float. Every integer except `u64` is exact as an `i64`; an `i32`, or
    /// an integer narrower than 32 bits, is exact as an `i32`.
    fn int_to_float(&mut self, from: Prim, to: Prim, a: Value) -> Value {
        let target = register(to);
        if from == Prim::U64 {
            return self.builder.ins().fcvt_from_uint(target, a);
        }
        let wide = if from == Prim::U32 || from == Prim::I64 { Prim::I64 } else { Prim::I32 };
        let a = self.int_to_int(from, wide, a);
        self.builder.ins().fcvt_from_sint(target, a)
    }

    /// Casts a float to an integer. Values out of range saturate, and NaN becomes 0. The machine
    /// converts to 32 or 64 bits; for narrower types, the converted value is clamped.
    fn float_to_int(&mut self, to: Prim, a: Value) -> Value {
        let bits = to.bits();
        let wide = if bits == 64 { types::I64 } else { types::I32 };
        if to.is_signed() {
            let value = self.builder.ins().fcvt_to_sint_sat(wide, a);
            if bits >= 32 {
                return value;
            }
            let low = self.builder.ins().iconst(wide, -1 << (bits - 1));
            let high = self.builder.ins().iconst(wide, (1 << (bits - 1)) - 1);
            let value = self.builder.ins().smax(value, low);
            let value = self.builder.ins().smin(value, high);
            self.builder.ins().ireduce(register(to), value)
        } else {
            let value = self.builder.ins().fcvt_to_uint_sat(wide, a);
            if bits >= 32 {
                return value;
            }
            let high = self.builder.ins().iconst(wide, (1 << bits) - 1);
            let value = self.builder.ins().umin(value, high);
            self.builder.ins().ireduce(register(to), value)
        }
    }
}
