//! What differential tests of the whole engine draw from: random well-typed plans with their inputs, and counters that
//! say what they covered. Everything is a function of a seed.

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
use crate::interp::Dense;
use crate::plan::Plan;
use crate::text::Catalog;
use std::collections::HashMap;
use std::sync::Arc;

/// The size and kind of random cases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The most fields of a plan, at most 6.
    pub fields: usize,
    /// The largest dimension.
    pub dimension: u64,
    /// The most queries.
    pub queries: usize,
    /// How deep expressions nest.
    pub depth: usize,
    /// What the values are.
    pub data: Data,
}

impl Default for Config {
    fn default() -> Config {
        Config { fields: 4, dimension: 6, queries: 3, depth: 4, data: Data::Exact }
    }
}

/// What the values of inputs and literals are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Data {
    /// Small whole numbers, so that sums and products need no rounding; integers at the ends of their range too.
    Exact,
    /// Floats of all sizes within a few powers of two.
    General,
    /// As `General`, with NaN, infinities, signed zeros, huge and tiny floats.
    Special,
}

/// An input of a case.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// Its name.
    pub alias: Alias,
    /// Its type, with a random format.
    pub ty: Arc<TensorType>,
    /// Its values; many places hold the fill value.
    pub data: Dense,
}

/// A random plan and its inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The plan; the verifier accepts it.
    pub plan: Plan,
    /// The inputs, also such as the plan does not read.
    pub inputs: Vec<Input>,
}

impl Case {
    /// The inputs as the interpreter takes them.
    pub fn dense_inputs(&self) -> HashMap<Alias, Dense> {
        self.inputs.iter().map(|i| (i.alias.clone(), i.data.clone())).collect()
    }

    /// The inputs as the text form takes them.
    pub fn catalog(&self) -> Catalog {
        self.inputs.iter().map(|i| (i.alias.clone(), i.ty.clone())).collect()
    }
}
