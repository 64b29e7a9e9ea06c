//! Errors of operations on arrays.

use crate::error::Error;
use redpoll_logic::{DType, Field, Prim, plural};
use std::panic::Location;
use std::sync::Arc;

/// An error of an operation on arrays, with the line of the caller's program that applied the
/// operation.
#[derive(Debug, thiserror::Error)]
#[error("`{operation}` at {location}: {cause}")]
pub struct ArrayError {
    /// The name of the method.
    pub operation: &'static str,
    /// The line that called the method.
    pub location: &'static Location<'static>,
    /// The cause.
    #[source]
    pub cause: Cause,
}

/// Cause of an error of an array operation; the fault is the caller's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// Shapes that cannot be broadcast together.
    #[error(
        "shapes {} do not align: mode {mode} from the end has sizes {sizes:?}; sizes must be equal or 1",
        shape_list(.shapes)
    )]
    Broadcast {
        /// The shapes of the operands.
        shapes: Vec<Vec<u64>>,
        /// The mode whose sizes differ, counted from 1 at the last mode.
        mode: usize,
        /// The size of the mode in each shape that has the mode.
        sizes: Vec<u64>,
    },
    /// Modes of one name with different sizes in two operands.
    #[error(
        "mode `{name}` has size {} in operand {} of shape {:?}, but size {} in operand {} of shape {:?}; modes of one name must have equal sizes",
        .sizes[0], .operands[0], .shapes[0], .sizes[1], .operands[1], .shapes[1]
    )]
    NamedSizes {
        /// The name.
        name: Field,
        /// The numbers of the operands, from 1. If the operation is a method of an array, this
        /// array is operand 1.
        operands: [usize; 2],
        /// The shapes of the operands.
        shapes: [Vec<u64>; 2],
        /// The size of the mode in each of the operands.
        sizes: [u64; 2],
    },
    /// An array with named modes combined with an array with numbered modes.
    #[error("an array with modes named {} cannot be combined with an array of shape {shape:?} whose modes are numbered; name the numbered modes with `at`", name_list(.names))]
    MixedStyles {
        /// The names of the modes of one array.
        names: Vec<Field>,
        /// The shape of the other array.
        shape: Vec<u64>,
    },
    /// An axis out of range.
    #[error(
        "axis {axis} is out of range for an array of {rank} {}; axes are {}..{rank}",
        plural(*.rank as u64, "mode", "modes"), -(*.rank as i64)
    )]
    Axis {
        /// The axis, negative if counted from the end.
        axis: i64,
        /// The number of modes of the array.
        rank: usize,
    },
    /// A mode that the axes select twice, by the number of the mode.
    #[error("axis {0} is given twice")]
    RepeatedAxis(i64),
    /// An unknown name of a mode.
    #[error("there is no mode `{name}`; {}", known_modes(.names))]
    UnknownMode {
        /// The unknown name.
        name: Field,
        /// The names of the modes of the array; empty if the modes are numbered.
        names: Vec<Field>,
    },
    /// Shapes, dtypes or values that the operation does not accept.
    #[error("{0}")]
    Shape(String),
    /// Values requested in a type other than their dtype.
    #[error(
        "the values have dtype {dtype}, but {requested} was requested; cast the array first: `astype(Prim::{requested:?})`"
    )]
    DType {
        /// The dtype of the values.
        dtype: DType,
        /// The requested type.
        requested: Prim,
    },
    /// An operation by position on an array with named modes.
    #[error("the operation needs numbered modes, but the modes are named {}; call `by_position` first", name_list(.0))]
    NamedModes(Vec<Field>),
    /// An expression that is not well-formed.
    #[error(transparent)]
    Logic(Box<redpoll_logic::Error>),
    /// Data that is not a valid tensor.
    #[error(transparent)]
    Storage(Box<redpoll_storage::Error>),
}

impl ArrayError {
    /// Returns the error of an operation that the caller's program applied at `location`.
    pub(crate) fn at(operation: &'static str, location: &'static Location<'static>, cause: Cause) -> Error {
        Error::Array(Arc::new(ArrayError { operation, location, cause }))
    }

    /// Returns the error for values that are requested in a type other than their dtype.
    #[track_caller]
    pub(crate) fn dtype(operation: &'static str, dtype: &DType, requested: Prim) -> Error {
        ArrayError::at(operation, Location::caller(), Cause::DType { dtype: dtype.clone(), requested })
    }

    /// Returns the error for shapes or values that an operation does not accept.
    #[track_caller]
    pub(crate) fn shape(operation: &'static str, message: String) -> Error {
        ArrayError::at(operation, Location::caller(), Cause::Shape(message))
    }
}

impl From<redpoll_logic::Error> for Cause {
    fn from(error: redpoll_logic::Error) -> Cause {
        Cause::Logic(Box::new(error))
    }
}

impl From<redpoll_storage::Error> for Cause {
    fn from(error: redpoll_storage::Error) -> Cause {
        Cause::Storage(Box::new(error))
    }
}

fn shape_list(shapes: &[Vec<u64>]) -> String {
    let texts: Vec<String> = shapes.iter().map(|s| format!("{s:?}")).collect();
    texts.join(", ")
}

pub(super) fn name_list(names: &[Field]) -> String {
    names.iter().map(Field::as_str).collect::<Vec<_>>().join(", ")
}

fn known_modes(names: &[Field]) -> String {
    match names {
        [] => "the array has no named modes; name its modes with `at`".to_owned(),
        names => format!("the modes are named {}", name_list(names)),
    }
}
