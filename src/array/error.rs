//! Why an array could not be made.

use redpoll_logic::Field;
use std::panic::Location;

/// An operation on arrays that cannot be applied, and the line that asked for it.
#[derive(Debug, thiserror::Error)]
#[error("`{operation}` at {location}: {cause}")]
pub struct ArrayError {
    /// The operation.
    pub operation: &'static str,
    /// The line of the program that called it.
    pub location: &'static Location<'static>,
    /// What is wrong.
    #[source]
    pub cause: Cause,
}

/// What is wrong with an operation on arrays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// Shapes that cannot be aligned.
    #[error(
        "shapes {} do not align: sizes {found:?} meet at mode {mode} from the end; sizes must be equal or 1",
        all(.shapes)
    )]
    Broadcast {
        /// The shapes.
        shapes: Vec<Vec<u64>>,
        /// The mode, counted from the end, from 1.
        mode: usize,
        /// The sizes there.
        found: Vec<u64>,
    },
    /// Arrays with named and with numbered modes.
    #[error("an array with modes named {} meets one with numbered modes of shape {shape:?}; name its modes with `at`", words(.names))]
    Styles {
        /// The names of the one.
        names: Vec<Field>,
        /// The shape of the other.
        shape: Vec<u64>,
    },
    /// An axis that there is not.
    #[error("axis {axis} of an array of {rank} modes; axes are {}..{rank}", -(*.rank as i64))]
    Axis {
        /// The axis.
        axis: i64,
        /// The number of modes.
        rank: usize,
    },
    /// An axis that is given twice.
    #[error("axis {0} is given twice")]
    Repeated(i64),
    /// A name that there is not.
    #[error("there is no mode `{name}`; the modes are named {}", words(.names))]
    Name {
        /// The name.
        name: Field,
        /// The names that there are.
        names: Vec<Field>,
    },
    /// Shapes that an operation cannot take.
    #[error("{0}")]
    Shape(String),
    /// An operation that needs numbered modes.
    #[error("it goes by position, but the modes are named {}; use `by_position`", words(.0))]
    Named(Vec<Field>),
    /// An expression that is not well-formed.
    #[error(transparent)]
    Logic(Box<redpoll_logic::Error>),
    /// Data that is not a tensor.
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
