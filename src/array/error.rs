//! Errors of operations on arrays.

use redpoll_logic::Field;
use std::panic::Location;

/// An operation on arrays that cannot be applied, and the line of the caller's program.
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
        "shapes {} do not align: sizes {found:?} meet at mode {mode} from the end; sizes must be equal or 1",
        all(.shapes)
    )]
    Broadcast {
        /// The shapes of the operands.
        shapes: Vec<Vec<u64>>,
        /// The mode whose sizes differ, counted from 1 at the last mode.
        mode: usize,
        /// The sizes of that mode.
        found: Vec<u64>,
    },
    /// An array with named modes combined with one with numbered modes.
    #[error("an array with modes named {} meets one with numbered modes of shape {shape:?}; name its modes with `at`", words(.names))]
    Styles {
        /// The names of the modes of one array.
        names: Vec<Field>,
        /// The shape of the other array.
        shape: Vec<u64>,
    },
    /// An axis out of range.
    #[error("axis {axis} of an array of {rank} modes; axes are {}..{rank}", -(*.rank as i64))]
    Axis {
        /// The axis, negative if counted from the end.
        axis: i64,
        /// The number of modes of the array.
        rank: usize,
    },
    /// An axis given twice.
    #[error("axis {0} is given twice")]
    Repeated(i64),
    /// An unknown name of a mode.
    #[error("there is no mode `{name}`; the modes are named {}", words(.names))]
    Name {
        /// The unknown name.
        name: Field,
        /// The names of the modes of the array.
        names: Vec<Field>,
    },
    /// Shapes that the operation does not accept.
    #[error("{0}")]
    Shape(String),
    /// An operation by position on an array with named modes.
    #[error("it goes by position, but the modes are named {}; use `by_position`", words(.0))]
    Named(Vec<Field>),
    /// An expression that is not well-formed.
    #[error(transparent)]
    Logic(Box<redpoll_logic::Error>),
    /// Data that is not a valid tensor.
    #[error(transparent)]
    Storage(Box<redpoll_physical::Error>),
}

impl From<redpoll_logic::Error> for Cause {
    fn from(error: redpoll_logic::Error) -> Cause {
        Cause::Logic(Box::new(error))
    }
}

impl From<redpoll_physical::Error> for Cause {
    fn from(error: redpoll_physical::Error) -> Cause {
        Cause::Storage(Box::new(error))
    }
}

fn all(shapes: &[Vec<u64>]) -> String {
    let texts: Vec<String> = shapes.iter().map(|s| format!("{s:?}")).collect();
    texts.join(", ")
}

fn words(names: &[Field]) -> String {
    names.iter().map(Field::as_str).collect::<Vec<_>>().join(", ")
}
