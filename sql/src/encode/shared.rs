//! Identification of tensors that are equal, although they are made for leaves of different names.

use super::Encoded;
use super::tensor::{Payload, Request};
use crate::claim::{LeafColumn, Nulls, Region};

/// A request in terms of an input. Requests with equal values of this type ask for the same tensor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shared {
    input: usize,
    modes: Vec<Mode>,
    payload: Payload,
    valid: Vec<usize>,
}

/// A mode of a tensor: its columns, which are equal, and their codes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Mode {
    columns: Vec<usize>,
    domain: usize,
    nulls: Nulls,
}

impl Encoded {
    /// Returns the request in terms of the leaf's input.
    ///
    /// # Panics
    /// If the leaf is a tensor.
    pub fn shared(&self, region: &Region, request: &Request) -> Shared {
        let of_input = |column: usize| {
            let column = LeafColumn { leaf: request.leaf, column };
            region.input_column(column).expect("the leaf has rows")
        };
        let mode = |&field: &usize| {
            let field = &region.fields[field];
            let own = field.columns.iter().flatten().filter(|c| c.leaf == request.leaf);
            Mode { columns: own.map(|c| of_input(c.column).1).collect(), domain: field.domain, nulls: field.nulls }
        };
        let payload = match request.payload {
            Payload::Exists => Payload::Exists,
            Payload::Count => Payload::Count,
            Payload::Sum(column, number) => Payload::Sum(of_input(column).1, number),
            Payload::Limb(column, limb) => Payload::Limb(of_input(column).1, limb),
            Payload::Folded(column, aggregate) => Payload::Folded(of_input(column).1, aggregate),
            Payload::Extreme(column, end) => Payload::Extreme(of_input(column).1, end),
        };
        let mut valid: Vec<usize> = request.valid.iter().map(|&c| of_input(c).1).collect();
        valid.sort_unstable();
        let input = region.input(request.leaf).expect("the leaf has rows");
        Shared { input, modes: request.fields.iter().map(mode).collect(), payload, valid }
    }
}
