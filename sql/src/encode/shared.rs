//! Identification of tensors that are equal, although they are built for leaves with different
//! names.

use super::EncodedJoin;
use super::tensor::{Payload, Request};
use crate::claim::{GroupedJoin, LeafColumn, NullTreatment};

/// A request in terms of an input. Requests with equal values of this type ask for the same tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SharedRequest {
    input: usize,
    modes: Vec<SharedMode>,
    payload: Payload,
    valid: Vec<usize>,
}

/// A mode of a tensor: its columns, which are equal, and their codes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct SharedMode {
    columns: Vec<usize>,
    domain: usize,
    nulls: NullTreatment,
}

impl EncodedJoin {
    /// Returns the request in terms of the leaf's input.
    ///
    /// # Panics
    /// If the leaf is a tensor.
    pub fn shared_request(&self, join: &GroupedJoin, request: &Request) -> SharedRequest {
        let of_input = |column: usize| {
            let column = LeafColumn { leaf: request.leaf, column };
            join.input_column(column).expect("the leaf has rows")
        };
        let mode = |&field: &usize| {
            let field = &join.fields[field];
            let columns = field.columns.iter().flatten().filter(|c| c.leaf == request.leaf);
            SharedMode {
                columns: columns.map(|c| of_input(c.column).1).collect(),
                domain: field.domain,
                nulls: field.nulls,
            }
        };
        let payload = match &request.payload {
            Payload::Column { column, fold } => Payload::Column { column: of_input(*column).1, fold: fold.clone() },
            of_rows => of_rows.clone(),
        };
        let mut valid: Vec<usize> = request.valid.iter().map(|&c| of_input(c).1).collect();
        valid.sort_unstable();
        let input = join.input(request.leaf).expect("the leaf has rows");
        SharedRequest { input, modes: request.fields.iter().map(mode).collect(), payload, valid }
    }
}
