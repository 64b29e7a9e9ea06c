//! Operands of array operators: arrays and numbers.

use super::state::ArrayState;
use super::{Array, ArrayError};
use redpoll_logic::{Expr, Scalar};
use std::sync::Arc;

/// An array or a number. A number takes the dtype of the arrays that it is combined with, unless
/// the number is of a higher kind (`bool` < integers < floats).
#[derive(Clone, Debug)]
pub struct Operand(OperandKind);

#[derive(Clone, Debug)]
enum OperandKind {
    Array(Array),
    Number(Scalar),
}

impl Operand {
    pub(crate) fn state(&self) -> Result<ArrayState, Arc<ArrayError>> {
        match &self.0 {
            OperandKind::Array(array) => array.state.get(),
            OperandKind::Number(number) => Ok(ArrayState::constant(Expr::number(number.clone()))),
        }
    }
}

impl From<Array> for Operand {
    fn from(array: Array) -> Operand {
        Operand(OperandKind::Array(array))
    }
}

impl From<&Array> for Operand {
    fn from(array: &Array) -> Operand {
        Operand(OperandKind::Array(array.clone()))
    }
}

impl From<Scalar> for Operand {
    fn from(number: Scalar) -> Operand {
        Operand(OperandKind::Number(number))
    }
}

macro_rules! impl_number {
    ($($t:ty),*) => {$(
        impl From<$t> for Operand {
            fn from(number: $t) -> Operand {
                Operand(OperandKind::Number(number.into()))
            }
        }
    )*};
}
impl_number!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
