//! The arguments of lowering other than the program and the layouts of its inputs: options, and
//! lengths of lists.

use crate::notation::TensorId;
use redpoll_logic::FloatMode;
use std::collections::HashMap;

/// The options of lowering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoweringOptions {
    /// The laws that floats are assumed to obey.
    pub mode: FloatMode,
    /// The width of positions in outputs and workspaces, and in inputs without a layout.
    pub width: PositionWidth,
    /// Limit on `copies * (1 + inner)` for each loop, where `copies` is the number of times that
    /// the loop occurs in the code, and `inner` the number of loops in its body. Beyond this limit,
    /// rules that emit a body several times give way to rules that emit the body once. Code size
    /// therefore grows with the product of the copies of nested loops up to the limit, and with the
    /// sum of these copies beyond the limit.
    pub max_copies: u32,
}

impl Default for LoweringOptions {
    fn default() -> LoweringOptions {
        LoweringOptions { mode: FloatMode::default(), width: PositionWidth::default(), max_copies: 16 }
    }
}

/// The width of positions: 32 or 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PositionWidth {
    /// Fewer than 2^31 positions; the kernel ends with a status at 2^31 or more.
    #[default]
    Narrow,
    /// Any number of positions.
    Wide,
}

/// The average number of entries in the lists of each level for which it is known.
pub(crate) type MeanLengths = HashMap<(TensorId, usize), f64>;
