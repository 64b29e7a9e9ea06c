//! The number types that kernels compute with.

use datafusion::arrow::datatypes::DataType;
use redpoll_logic::Prim;
use serde::{Deserialize, Serialize};

/// The number types of sums and of folds over semirings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Number {
    /// `BIGINT`, which wraps.
    I64,
    /// `BIGINT UNSIGNED`, which wraps.
    U64,
    /// `DOUBLE`.
    F64,
    /// `DECIMAL` with the given scale, as integers of 128 bits in limbs.
    Decimal(i8),
}

impl Number {
    /// Returns the primitive type with which kernels compute; for decimals, the type of a limb.
    pub fn prim(self) -> Prim {
        match self {
            Number::I64 | Number::Decimal(_) => Prim::I64,
            Number::U64 => Prim::U64,
            Number::F64 => Prim::F64,
        }
    }

    /// Returns the number type of an Arrow type; `None` if kernels do not sum values of the type.
    pub fn of(ty: &DataType) -> Option<Number> {
        match ty {
            DataType::Int64 => Some(Number::I64),
            DataType::UInt64 => Some(Number::U64),
            DataType::Float64 => Some(Number::F64),
            DataType::Decimal128(_, scale) => Some(Number::Decimal(*scale)),
            _ => None,
        }
    }
}
