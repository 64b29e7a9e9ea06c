//! The error type of this crate: what is wrong, in which file, where in it, and what to do.

use crate::memory::ReadError;
use redpoll_logic::Prim;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, read, created or renamed. The environment's fault.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The compressed stream ends early or does not decompress. The file's fault.
    #[error("{}: the {compression} stream is truncated or damaged ({source}); fetch or compress the file again", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// Which compression: `gzip` or `zstd`.
        compression: &'static str,
        /// What the decoder said.
        source: io::Error,
    },
    /// Neither the extension nor the first bytes tell the file format. The caller's fault.
    #[error("{}: unknown file format; known extensions are {known}, each with .gz or .zst or neither", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The extensions that are known.
        known: String,
    },
    /// The content is not what the format asks for. The file's fault.
    #[error("{}{at}: {fault}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where in it.
        at: At,
        /// What is wrong there.
        fault: Fault,
    },
    /// The tensor has no exact form in the file format. The caller's fault.
    #[error("{}: cannot write this tensor: {fault}", path.display())]
    Unwritable {
        /// The file that was to be written; it was not touched.
        path: PathBuf,
        /// What stands in the way.
        fault: Fault,
    },
    /// A generator was asked for something that cannot be. The caller's fault.
    #[error("cannot generate {generator}: {fault}")]
    Generate {
        /// The generator.
        generator: &'static str,
        /// What stands in the way.
        fault: Fault,
    },
    /// Entries that come from no file cannot be stored in the format that was asked for.
    #[error(transparent)]
    Unstorable {
        /// What storage said.
        source: Box<redpoll_physical::Error>,
    },
    /// The content of a file cannot be stored in the format that was asked for.
    #[error("{}: {source}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// What storage said.
        source: Box<redpoll_physical::Error>,
    },
}

impl Error {
    /// Whether memory is what was missing.
    pub fn is_of_memory(&self) -> bool {
        match self {
            Error::Invalid { fault, .. } | Error::Unwritable { fault, .. } | Error::Generate { fault, .. } => {
                fault.is_of_memory()
            }
            Error::Io { source, .. } | Error::Compressed { source, .. } => source.kind() == io::ErrorKind::OutOfMemory,
            _ => false,
        }
    }
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum At {
    /// The file as a whole.
    File,
    /// A line of text, from 1; of the decompressed text where the file is compressed.
    Line(u64),
    /// An array of an archive, by name.
    Array(String),
    /// An entry of an array, from 0.
    Entry(String, u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::File => Ok(()),
            At::Line(line) => write!(f, ":{line}"),
            At::Array(name) => write!(f, ", array `{name}`"),
            At::Entry(name, entry) => write!(f, ", array `{name}`, entry {entry}"),
        }
    }
}

/// What is wrong with content.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Something else stands where the format asks for something.
    #[error("expected {expected}, found {found}")]
    Malformed {
        /// What the format asks for.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A coordinate outside its mode.
    #[error(
        "coordinate {coordinate} of mode {mode} is out of range: the dimension is {dimension}, counted from {first}"
    )]
    OutOfRange {
        /// The mode, from 0.
        mode: usize,
        /// The coordinate as written.
        coordinate: u64,
        /// The first coordinate of the file format: 0 or 1.
        first: u64,
        /// The size of the mode.
        dimension: u64,
    },
    /// A value that its dtype cannot hold.
    #[error("value {value} does not fit {dtype}; {hint}")]
    Overflow {
        /// The value as written.
        value: String,
        /// The dtype.
        dtype: Prim,
        /// What to do.
        hint: &'static str,
    },
    /// Fewer entries than announced.
    #[error("expected {expected} entries as the header says, found {found}; the file is truncated or its header wrong")]
    EntryCount {
        /// How many the header announces.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// Fewer bytes than announced.
    #[error("expected {expected} bytes of {what}, found {found}; the file is truncated or its header wrong")]
    Truncated {
        /// What the bytes are.
        what: &'static str,
        /// How many the header announces.
        expected: Count,
        /// How many there are.
        found: u64,
    },
    /// A size beyond what can be addressed.
    #[error("{what} is too large: {size}, and at most {limit} can be handled")]
    TooLarge {
        /// What has the size.
        what: &'static str,
        /// The size.
        size: Count,
        /// The largest size.
        limit: u64,
    },
    /// More entries than the memory that was allowed for them.
    #[error("{entries} entries take {bytes} bytes, and at most {limit} are allowed; ask for fewer, or allow more")]
    Memory {
        /// How many entries.
        entries: Count,
        /// How much memory they take.
        bytes: Count,
        /// How much is allowed.
        limit: u64,
    },
    /// More memory than was allowed. The caller's fault, or nobody's.
    #[error(
        "{what} would take {bytes} bytes of memory where {used} of at most {limit} are in use; allow more, or take less at a time"
    )]
    MemoryLimit {
        /// What the memory is for.
        what: &'static str,
        /// The bytes that were asked for.
        bytes: u64,
        /// The bytes in use.
        used: u64,
        /// The bytes that may be in use.
        limit: u64,
    },
    /// More memory than the system gives.
    #[error("{what} would take {bytes} bytes of memory, and the system does not give them")]
    NoMemory {
        /// What the memory is for.
        what: &'static str,
        /// The bytes that were asked for.
        bytes: u64,
    },
    /// Legal content that redpoll has no use for.
    #[error("{what} is not supported; {hint}")]
    Unsupported {
        /// What it is.
        what: String,
        /// What to do.
        hint: String,
    },
}

/// A count that may have overflowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count(pub Option<u64>);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("more than 2^64"),
        }
    }
}

/// A fault and its place; the file's name is added by who opened the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Located {
    pub(crate) at: At,
    pub(crate) fault: Fault,
}

impl Located {
    pub(crate) fn into_error(self, path: impl Into<PathBuf>) -> Error {
        Error::Invalid { path: path.into(), at: self.at, fault: self.fault }
    }
}

/// What can go wrong while a stream is read.
#[derive(Debug)]
pub(crate) enum StreamError {
    Io(io::Error),
    Located(Located),
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
            ReadError::Fault(fault) => StreamError::Located(fault.at(At::File)),
        }
    }
}

impl From<Located> for StreamError {
    fn from(e: Located) -> StreamError {
        StreamError::Located(e)
    }
}

/// What can go wrong while a tensor is written.
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
    /// Whether memory is what was missing.
    pub fn is_of_memory(&self) -> bool {
        matches!(self, Fault::Memory { .. } | Fault::MemoryLimit { .. } | Fault::NoMemory { .. })
    }

    pub(crate) fn at(self, at: At) -> Located {
        Located { at, fault: self }
    }

    pub(crate) fn malformed(expected: impl Into<String>, found: impl Into<String>) -> Fault {
        Fault::Malformed { expected: expected.into(), found: found.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault::Unsupported { what: what.into(), hint: hint.into() }
    }
}
