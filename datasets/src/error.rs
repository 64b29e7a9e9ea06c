//! The error type of this crate: the fault, the file, the position, and the next step.

use crate::content::MAX_DIMENSION;
use crate::memory::ReadError;
use crate::text::quote;
use redpoll_logic::{Prim, plural};
use std::path::PathBuf;
use std::{fmt, io};

/// Cause of a failure to read, write or generate a tensor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, read, created, written or renamed. The fault is the
    /// environment's.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The compressed stream ends early or cannot be decompressed. The fault is the file's.
    #[error("{}: the {compression} stream is truncated or damaged ({source}); fetch or compress the file again", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The compression: `gzip` or `zstd`.
        compression: &'static str,
        /// The error of the decoder.
        source: io::Error,
    },
    /// The extension does not identify the file format, nor do the first bytes of a file that is
    /// read. The fault is the caller's.
    #[error("{}: unknown file format; known extensions are {extensions}, each optionally followed by .gz or .zst", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The known extensions.
        extensions: String,
    },
    /// The content violates its format, is not supported, does not fit the options, or needs more
    /// memory than is allowed or available. The fault is the file's, or the caller's in the case of
    /// options and limits.
    #[error("{}{location}: {fault}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        location: Location,
        /// The fault.
        fault: Fault,
    },
    /// The file format cannot represent the tensor exactly, the format does not support the
    /// options, or writing would exceed the memory limit. The fault is the caller's.
    #[error("{}: cannot write this tensor: {fault}", path.display())]
    Unwritable {
        /// The file to be written; it was not touched.
        path: PathBuf,
        /// The fault.
        fault: Fault,
    },
    /// The size or the times of an open file, or the bytes of an array in the file, have changed,
    /// or the metadata of the file cannot be read any longer. The fault is that of the program that
    /// changed the file.
    #[error("{}: the file has changed since it was opened; open it again", path.display())]
    ChangedFile {
        /// The file.
        path: PathBuf,
    },
    /// A part of an open file cannot be read any longer. The fault is that of the program that cut
    /// the file, or of the storage device.
    #[error("{}: a part of the open file is lost: the file was cut, or its device failed; restore the file, and open it again", path.display())]
    LostFile {
        /// The file.
        path: PathBuf,
    },
    /// The parameters of a generator are invalid, or describe more data than the memory limit
    /// allows. The fault is the caller's.
    #[error("cannot generate {generator}: {fault}")]
    Generate {
        /// The generator.
        generator: &'static str,
        /// The fault.
        fault: Fault,
    },
    /// Entries that do not come from a file cannot be stored in the requested format, or in the
    /// default format. The fault is the caller's.
    #[error(transparent)]
    Unstorable {
        /// The error of storage.
        source: Box<redpoll_storage::Error>,
    },
    /// The content of a file cannot be stored in the requested format, which is the caller's fault;
    /// or the arrays of a tensor cannot be read, because a file that contains the arrays was
    /// changed or damaged.
    #[error("{}: {source}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// The error of storage.
        source: Box<redpoll_storage::Error>,
    },
}

impl Error {
    /// Returns whether the cause is a lack of memory.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Invalid { fault, .. } | Error::Unwritable { fault, .. } | Error::Generate { fault, .. } => {
                fault.is_out_of_memory()
            }
            Error::Io { source, .. } | Error::Compressed { source, .. } => source.kind() == io::ErrorKind::OutOfMemory,
            Error::Unstorable { source } | Error::Storage { source, .. } => matches!(
                **source,
                redpoll_storage::Error::Stopped(redpoll_storage::Status::OutOfMemory)
                    | redpoll_storage::Error::TooLarge { .. }
            ),
            _ => false,
        }
    }
}

/// A position in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// The file as a whole.
    File,
    /// A line of the (decompressed) text, counted from 1.
    Line(u64),
    /// A field of an edge list: the line, counted from 1, and the column, as its quoted name or its
    /// number, counted from 1.
    Field(u64, Box<str>),
    /// An array of an archive or of a tensor, by name.
    Array(String),
    /// An entry of an array: the name of the array, and the index of the entry, counted from 0.
    Entry(String, u64),
    /// An element of the tensor, by its coordinates, counted from 0.
    Element(Vec<u64>),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File => Ok(()),
            Location::Line(line) => write!(f, ":{line}"),
            Location::Field(line, column) => write!(f, ":{line}, column {column}"),
            Location::Array(name) => write!(f, ", array {}", quote(name.as_bytes())),
            Location::Entry(name, entry) => write!(f, ", array `{name}`, entry {entry}"),
            Location::Element(coordinates) => write!(f, ", element {coordinates:?}"),
        }
    }
}

/// A fault of the content of a file, of a tensor to be written, of parameters, or of an allocation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Content that differs from the expected content.
    #[error("expected {expected}, found {found}")]
    Malformed {
        /// The expected content.
        expected: String,
        /// The actual content.
        found: String,
    },
    /// A coordinate outside of its mode.
    #[error(
        "coordinate {coordinate} of mode {mode} is out of range: {}, and coordinates start at {first}",
        dimension_text(*.dimension)
    )]
    OutOfRange {
        /// The mode, counted from 0.
        mode: usize,
        /// The coordinate as written.
        coordinate: u64,
        /// The smallest coordinate of the file: 0 or 1, unless the options of an edge list give
        /// another number.
        first: u64,
        /// The size of the mode.
        dimension: u64,
    },
    /// A value that its dtype cannot represent.
    #[error("value {value} does not fit {dtype}; {hint}")]
    Overflow {
        /// The value as written.
        value: String,
        /// The dtype.
        dtype: Prim,
        /// The next step.
        hint: &'static str,
    },
    /// An archive, or one of its arrays, that is cut or damaged.
    #[error("the {content} is truncated or damaged; fetch or save the file again")]
    Damaged {
        /// The damaged content.
        content: &'static str,
    },
    /// Fewer entries than the header announces.
    #[error(
        "expected {expected} {} as in the header, found {found}; the file is truncated or its header is wrong",
        plural(*.expected, "entry", "entries")
    )]
    EntryCount {
        /// The number in the header.
        expected: u64,
        /// The actual number.
        found: u64,
    },
    /// Fewer bytes than the header announces.
    #[error(
        "expected {expected} {} of {content}, found {found}; the file is truncated or its header is wrong",
        expected.plural("byte", "bytes")
    )]
    Truncated {
        /// The content of the bytes.
        content: &'static str,
        /// The number of bytes that the header announces.
        expected: Count,
        /// The actual number.
        found: u64,
    },
    /// A size beyond a limit.
    #[error("{quantity} is too large: {size}; the maximum is {limit}")]
    TooLarge {
        /// The quantity that is too large.
        quantity: &'static str,
        /// The size.
        size: Count,
        /// The maximum.
        limit: u64,
    },
    /// Entries or other items that exceed the memory allowed for a generator.
    #[error("{count} {items} need {bytes} bytes, and the limit is {limit}; request fewer {items}, or raise the limit")]
    GeneratorMemory {
        /// The kind of the items, in the plural.
        items: &'static str,
        /// The number of items.
        count: Count,
        /// The number of bytes that the items need.
        bytes: Count,
        /// The allowed number of bytes.
        limit: u64,
    },
    /// An allocation beyond the memory limit. The fault is the caller's.
    #[error(
        "cannot allocate {bytes} bytes for {purpose}: {used} of at most {limit} bytes are in use; raise the memory limit, or process less data at a time"
    )]
    MemoryLimit {
        /// The purpose of the memory.
        purpose: &'static str,
        /// The requested number of bytes.
        bytes: u64,
        /// The number of bytes in use.
        used: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// An allocation that the system refuses.
    #[error("cannot allocate {bytes} bytes for {purpose}: the system is out of memory")]
    NoMemory {
        /// The purpose of the memory.
        purpose: &'static str,
        /// The requested number of bytes.
        bytes: u64,
    },
    /// Valid content that redpoll does not support.
    #[error("not supported: {content}; {hint}")]
    Unsupported {
        /// The unsupported content.
        content: String,
        /// The next step.
        hint: String,
    },
}

/// Describes the dimension of a mode, which is [`MAX_DIMENSION`] if the file gives none.
fn dimension_text(dimension: u64) -> String {
    match dimension {
        MAX_DIMENSION => "a dimension is at most 2^63 - 1".into(),
        _ => format!("the dimension is {dimension}"),
    }
}

/// A count, or `None` if it exceeds 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count(pub Option<u64>);

impl Count {
    /// Returns the word for the count: `one` for 1, `many` for other counts.
    fn plural(self, one: &'static str, many: &'static str) -> &'static str {
        plural(self.0.unwrap_or(u64::MAX), one, many)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("at least 2^64"),
        }
    }
}

/// A fault and its position. The caller that opened the file adds the file name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LocatedFault {
    pub(crate) location: Location,
    pub(crate) fault: Fault,
}

impl LocatedFault {
    pub(crate) fn into_error(self, path: impl Into<PathBuf>) -> Error {
        Error::Invalid { path: path.into(), location: self.location, fault: self.fault }
    }
}

/// Error of reading a stream.
#[derive(Debug)]
pub(crate) enum StreamError {
    Io(io::Error),
    Fault(LocatedFault),
}

impl From<io::Error> for StreamError {
    fn from(e: io::Error) -> StreamError {
        StreamError::Io(e)
    }
}

impl From<ReadError> for StreamError {
    fn from(e: ReadError) -> StreamError {
        match e {
            ReadError::Io(e) => StreamError::Io(e),
            ReadError::Fault(fault) => StreamError::Fault(fault.at(Location::File)),
        }
    }
}

impl From<LocatedFault> for StreamError {
    fn from(e: LocatedFault) -> StreamError {
        StreamError::Fault(e)
    }
}

/// Error of writing a tensor.
#[derive(Debug)]
pub(crate) enum WriteError {
    Io(io::Error),
    Fault(Fault),
}

impl From<io::Error> for WriteError {
    fn from(e: io::Error) -> WriteError {
        WriteError::Io(e)
    }
}

impl From<Fault> for WriteError {
    fn from(e: Fault) -> WriteError {
        WriteError::Fault(e)
    }
}

impl Fault {
    /// Returns whether the cause is a lack of memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Fault::GeneratorMemory { .. } | Fault::MemoryLimit { .. } | Fault::NoMemory { .. })
    }

    pub(crate) fn at(self, location: Location) -> LocatedFault {
        LocatedFault { location, fault: self }
    }

    pub(crate) fn malformed(expected: impl Into<String>, found: impl Into<String>) -> Fault {
        Fault::Malformed { expected: expected.into(), found: found.into() }
    }

    pub(crate) fn unsupported(content: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault::Unsupported { content: content.into(), hint: hint.into() }
    }
}
