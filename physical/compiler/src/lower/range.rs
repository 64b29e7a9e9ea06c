//! Ranges of values implied by their types, and conditions that such ranges decide: a coordinate
//! loaded from an unsigned byte is below 256, so no check is needed in a mode of size 256 or more.

use super::cx::Cx;
use crate::assembly::build::{and, as_int, int, local, or, truth};
use crate::assembly::{BinaryOp, CompareOp, Expr, Local};
use redpoll_logic::{Prim, Scalar};
use std::ops::RangeInclusive;

impl Cx<'_> {
    /// Adds the range of a value as facts of the local that the value was just assigned to.
    pub(crate) fn assume_range(&mut self, of: Local, value: &Expr) {
        if self.locals[of.index()].prim == Prim::I64
            && let Some(range) = self.range(value)
        {
            self.prover.assume_le(&int(*range.start()), &local(of));
            self.prover.assume_le(&local(of), &int(*range.end()));
        }
    }

    /// Returns the range of an integer expression, if its types and operators imply one.
    fn range(&self, e: &Expr) -> Option<RangeInclusive<i64>> {
        match e {
            Expr::Const(Scalar::I64(v)) => Some(*v..=*v),
            Expr::Load { buffer, .. } => type_range(self.buffers[buffer.index()].prim),
            Expr::Local(l) => type_range(self.locals[l.index()].prim),
            Expr::Cast(to, from) => match (self.range(from), type_range(*to)) {
                (Some(own), None) if *to == Prim::I64 => Some(own),
                (Some(own), Some(target)) if target.contains(own.start()) && target.contains(own.end()) => Some(own),
                // A value that does not fit wraps to some value of the target type.
                (_, target) => target,
            },
            Expr::Binary(BinaryOp::Shr, x, by) => {
                // Every type has at least 8 bits, so a shift amount from 0 to 7 is less than the
                // width of the type.
                let by = integer_constant(by).filter(|by| (0..8).contains(by))?;
                let range = self.range(x)?;
                Some(range.start() >> by..=range.end() >> by)
            }
            Expr::Binary(BinaryOp::And, _, mask) => {
                integer_constant(mask).filter(|mask| *mask >= 0).map(|mask| 0..=mask)
            }
            _ => None,
        }
    }

    /// Simplifies a condition: comparisons by `<` and `<=` of locals, parameters and constants
    /// become constants if the prover decides them.
    pub(crate) fn simplify_condition(&self, cond: &Expr) -> Expr {
        match cond {
            Expr::Binary(BinaryOp::And, a, b) => and(&self.simplify_condition(a), &self.simplify_condition(b)),
            Expr::Binary(BinaryOp::Or, a, b) => or(&self.simplify_condition(a), &self.simplify_condition(b)),
            Expr::Compare(op, a, b) if self.is_index(a) && self.is_index(b) => {
                let proved = match op {
                    CompareOp::Le => (self.prover.le(a, b), self.prover.lt(b, a)),
                    CompareOp::Lt => (self.prover.lt(a, b), self.prover.le(b, a)),
                    CompareOp::Eq | CompareOp::Ne => (false, false),
                };
                match proved {
                    (true, _) => truth(true),
                    (_, true) => truth(false),
                    _ => cond.clone(),
                }
            }
            _ => cond.clone(),
        }
    }

    /// Returns whether the prover may decide comparisons of the expression. Sums written by users
    /// may wrap around, while the prover assumes that sums do not.
    fn is_index(&self, e: &Expr) -> bool {
        match e {
            Expr::Local(l) => self.locals[l.index()].prim == Prim::I64,
            Expr::Param(_) => true,
            _ => as_int(e).is_some(),
        }
    }
}

/// Returns the range of a type, if it is narrower than that of `i64`.
fn type_range(prim: Prim) -> Option<RangeInclusive<i64>> {
    Some(match prim {
        Prim::Bool => 0..=1,
        Prim::I8 => i64::from(i8::MIN)..=i64::from(i8::MAX),
        Prim::I16 => i64::from(i16::MIN)..=i64::from(i16::MAX),
        Prim::I32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        Prim::U8 => 0..=i64::from(u8::MAX),
        Prim::U16 => 0..=i64::from(u16::MAX),
        Prim::U32 => 0..=i64::from(u32::MAX),
        Prim::I64 | Prim::U64 | Prim::F32 | Prim::F64 => return None,
    })
}

/// Returns the value of an integer constant of any type.
fn integer_constant(e: &Expr) -> Option<i64> {
    match e {
        Expr::Const(value) => value.cast(Prim::I64).and_then(|v| if let Scalar::I64(v) = v { Some(v) } else { None }),
        _ => None,
    }
}
