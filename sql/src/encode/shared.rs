//! Identification of tensors that are equal, although they are built for leaves with different
//! names.

use super::EncodedJoin;
use super::tensor::{Payload, TensorRequest};
use crate::claim::{GroupedJoin, LeafColumn, LeafId, NullTreatment};

/// A request in terms of the rows of an input. Requests with equal values of this type ask for the
/// same tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SharedRequest {
    rows: RowOrigin,
    modes: Vec<SharedMode>,
    payload: Payload,
    valid: Vec<usize>,
}

/// The origin of the rows of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum RowOrigin {
    /// An input, which other leaves may read.
    Input(usize),
    /// A leaf, whose rows no other leaf reads.
    Leaf(LeafId),
}

/// A mode of a tensor: the columns of its field in the leaf, the domain of the field, and the
/// treatment of NULLs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct SharedMode {
    columns: Vec<usize>,
    domain: usize,
    nulls: NullTreatment,
}

impl EncodedJoin {
    /// Returns the request in terms of the leaf's input, or of the leaf itself if it has no input.
    pub fn shared_request(&self, join: &GroupedJoin, request: &TensorRequest) -> SharedRequest {
        let row_column = |column: usize| {
            let input_column = join.input_column(LeafColumn { leaf: request.leaf, column });
            input_column.map_or(column, |(_, of_input)| of_input)
        };
        let mode = |&field: &usize| {
            let field = &join.fields[field];
            let columns = field.columns.iter().flatten().filter(|c| c.leaf == request.leaf);
            SharedMode {
                columns: columns.map(|c| row_column(c.column)).collect(),
                domain: field.domain,
                nulls: field.nulls,
            }
        };
        let payload = match &request.payload {
            Payload::Column { column, fold } => Payload::Column { column: row_column(*column), fold: fold.clone() },
            of_rows => of_rows.clone(),
        };
        let mut valid: Vec<usize> = request.valid.iter().map(|&c| row_column(c)).collect();
        valid.sort_unstable();
        let rows = join.input(request.leaf).map_or(RowOrigin::Leaf(request.leaf), RowOrigin::Input);
        SharedRequest { rows, modes: request.fields.iter().map(mode).collect(), payload, valid }
    }
}
