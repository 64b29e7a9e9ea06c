//! The error type of this crate.

use crate::Status;
use redpoll_logic::{DType, FormatError, plural};

/// Errors of the construction, conversion and exchange of tensors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays or dense values given for a tensor do not form a valid tensor, or the number of
    /// its modes does not suit the request. The caller's fault.
    #[error("invalid tensor: {0}")]
    InvalidTensor(String),
    /// The arrays given for one level of a tensor do not form a valid level. The caller's fault.
    #[error("invalid tensor: level {level} ({kind}): {reason}")]
    InvalidLevel {
        /// The level, 0 outermost.
        level: usize,
        /// The name of the level's kind.
        kind: &'static str,
        /// The fault of the arrays.
        reason: String,
    },
    /// A format is invalid, or does not fit the shape, dtype or fill value. The caller's fault.
    #[error("invalid format: {0}")]
    InvalidFormat(#[from] FormatError),
    /// The lists of coordinates and the columns of values of triples do not fit each other, the
    /// dtype or the shape. The caller's fault.
    #[error("invalid triples: {0}")]
    InvalidTriples(String),
    /// Coordinates that the caller asked for do not exist. The caller's fault.
    #[error("{0}")]
    InvalidCoordinates(String),
    /// A coordinate lies outside of its dimension. The data's fault.
    #[error("entry {entry}: coordinate {coordinate} of mode {mode} is out of range, its dimension is {dimension}")]
    CoordinateOutOfRange {
        /// The index of the entry.
        entry: usize,
        /// The tensor mode.
        mode: usize,
        /// The coordinate.
        coordinate: u64,
        /// The dimension of the mode.
        dimension: u64,
    },
    /// Coordinates occur more than once, and the caller did not choose how to combine their values.
    /// The data's fault.
    #[error(
        "{count} {} the coordinates of an earlier entry, {} {coordinates:?}; choose how to combine them: add them, keep \
         the first or keep the last",
        plural(*.count as u64, "entry repeats", "entries repeat"),
        plural(*.count as u64, "at", "the first at")
    )]
    DuplicateCoordinates {
        /// The tensor coordinates of the first repetition in storage order.
        coordinates: Vec<u64>,
        /// The number of entries minus the number of distinct coordinates.
        count: usize,
    },
    /// An interval level would store more than one run of coordinates below one position. The
    /// caller's fault.
    #[error(
        "level {level} is an interval level, which stores one run per fiber, but a second run begins at {coordinates:?}, \
         which is not adjacent to the first run or has other children; use a sparse-run-length level"
    )]
    SecondRun {
        /// The level, 0 outermost.
        level: usize,
        /// The first coordinates of the second run.
        coordinates: Vec<u64>,
    },
    /// A pinpoint level would store more than one coordinate below one position. The caller's
    /// fault.
    #[error(
        "level {level} is a pinpoint level, which stores one coordinate per fiber, but {coordinates:?} is a second one; use \
         a sparse-list level"
    )]
    SecondEntry {
        /// The level, 0 outermost.
        level: usize,
        /// The coordinates of the second entry.
        coordinates: Vec<u64>,
    },
    /// An operator cannot combine the values of repeated coordinates. The caller's fault.
    #[error("the values of repeated coordinates cannot be combined: {0}")]
    Combine(#[from] redpoll_logic::op::OpError),
    /// A value has another dtype than expected. The caller's fault.
    #[error("{what}: expected dtype {expected}, found {found}")]
    DTypeMismatch {
        /// The value with the wrong dtype.
        what: String,
        /// The expected dtype.
        expected: DType,
        /// The dtype found.
        found: DType,
    },
    /// A fill value cannot change because elements that are not stored have this value. The
    /// caller's fault.
    #[error("cannot change the fill value: {0}")]
    FillInUse(String),
    /// An array would exceed the memory of the machine. The fault of the dimensions or the format.
    #[error("{elements} elements of {bytes} bytes do not fit into memory; use a sparser format or smaller dimensions")]
    TooLarge {
        /// The number of elements.
        elements: u64,
        /// Bytes of one element.
        bytes: usize,
    },
    /// The positions of a level exceed `i64::MAX`. The fault of the dimensions or the format.
    #[error("{parents} fibers of dimension {dimension} exceed the {max} positions of a level; use a sparse-list level", max = i64::MAX)]
    TooManyPositions {
        /// The number of fibers.
        parents: u64,
        /// The dimension of each fiber, or the width of a fixed-width level.
        dimension: u64,
    },
    /// A column of a record batch, or of a run-end encoded array, cannot be read or written. The
    /// caller's fault.
    #[error("column '{column}': {reason}")]
    InvalidColumn {
        /// The name of the column.
        column: String,
        /// The fault of the column.
        reason: String,
    },
    /// A column has an Arrow NULL where none is allowed. The data's fault.
    #[error("column '{column}' is null in row {row}: {hint}")]
    Null {
        /// The name of the column.
        column: String,
        /// The first row with a NULL.
        row: usize,
        /// A remedy.
        hint: &'static str,
    },
    /// Arrow rejected arrays that this crate built. Our fault.
    #[error("arrow: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// A computation stopped early, for the reason in the status. Nobody's fault, or the caller's.
    #[error("the computation stopped: {}", .0.reason())]
    Stopped(Status),
    /// The file of an array has changed, is lost or cannot be read. The fault of another program,
    /// or of the storage device.
    #[error(transparent)]
    InFile(Box<dyn std::error::Error + Send + Sync>),
    /// The bytes of an array cannot be copied from the device that has them. The fault of the
    /// device.
    #[error(transparent)]
    OnDevice(Box<dyn std::error::Error + Send + Sync>),
}
