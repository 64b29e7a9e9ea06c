//! Generators for differential tests of the whole engine: random well-typed plans with their
//! inputs, and coverage counters. A case is a function of its seed and its configuration.

mod coverage;
mod data;
mod generate;
mod maps;
mod rng;
#[cfg(test)]
mod tests;

pub use coverage::Coverage;
pub use data::{random_fill, random_format, random_value};
pub use generate::random_case;
pub use rng::Rng;

use crate::field::Alias;
use crate::format::TensorType;
use crate::interp::DenseTensor;
use crate::plan::Plan;
use crate::text::Catalog;
use std::collections::HashMap;
use std::sync::Arc;

/// The size and kind of random cases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CaseConfig {
    /// Maximal number of fields of a plan, from 1 to 6.
    pub fields: usize,
    /// Largest dimension; values below 2 count as 2.
    pub dimension: u64,
    /// Maximal number of queries.
    pub queries: usize,
    /// Maximal number of nested draws of expressions. An expression may nest deeper, because one
    /// draw may add several nodes or repeat an earlier expression.
    pub depth: usize,
    /// Kind of the values.
    pub data: DataKind,
}

impl Default for CaseConfig {
    fn default() -> CaseConfig {
        CaseConfig { fields: 4, dimension: 6, queries: 3, depth: 4, data: DataKind::Exact }
    }
}

/// The kind of values in inputs and literals. In all kinds, integers are mostly small, some have
/// any value of their dtype, and the fill value of a float tensor may be infinite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataKind {
    /// Floats that are small whole numbers, so that sums and products need no rounding.
    Exact,
    /// Floats whose magnitudes span about a dozen powers of two, and some small whole numbers.
    General,
    /// Floats like those of `General`, with NaN, infinities, signed zeros, huge and tiny floats.
    Special,
}

/// An input of a case.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomInput {
    /// Name of the input.
    pub alias: Alias,
    /// Type of the input, with a random format.
    pub ty: Arc<TensorType>,
    /// Values of the input; none, some or all of them are drawn, and the others are the fill value.
    pub data: DenseTensor,
}

/// A random plan and its inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomCase {
    /// The plan, which the verifier accepts.
    pub plan: Plan,
    /// Inputs, of which the plan may leave some unread.
    pub inputs: Vec<RandomInput>,
}

impl RandomCase {
    /// Returns the inputs for the interpreter.
    pub fn dense_inputs(&self) -> HashMap<Alias, DenseTensor> {
        self.inputs.iter().map(|i| (i.alias.clone(), i.data.clone())).collect()
    }

    /// Returns the catalog of the inputs for the text form.
    pub fn catalog(&self) -> Catalog {
        self.inputs.iter().map(|i| (i.alias.clone(), i.ty.clone())).collect()
    }
}
