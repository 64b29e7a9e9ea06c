//! The error type of this crate.

use crate::assembly::{InterpFault, RuleViolation};
use crate::notation::{ProgramRule, Site, StopCause};
use redpoll_logic::cursor::TextPosition;
use redpoll_logic::{DType, FormatError};

/// Errors between a plan with its data and a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays given for a tensor do not form a valid tensor. The caller's fault.
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
    /// The lists of coordinates and values of triples differ in length, or there is not one list
    /// per mode. The caller's fault.
    #[error("invalid triples: {0}")]
    InvalidTriples(String),
    /// Coordinates that the caller asked for do not exist. The caller's fault.
    #[error("{0}")]
    InvalidCoordinates(String),
    /// A coordinate lies outside of its dimension. The data's fault.
    #[error("entry {entry}: coordinate {coordinate} of mode {mode} is out of range, its dimension is {dimension}")]
    CoordinateOutOfRange {
        /// The number of the entry.
        entry: usize,
        /// The tensor mode.
        mode: usize,
        /// The coordinate.
        coordinate: u64,
        /// The dimension of the mode.
        dimension: u64,
    },
    /// Coordinates occur more than once, and no way to combine their values was given. The data's
    /// fault.
    #[error(
        "{count} entries repeat the coordinates of an earlier entry, the first at {coordinates:?}; choose how to combine \
         them: add them, keep the first or keep the last"
    )]
    DuplicateCoordinates {
        /// The first repeated coordinates.
        coordinates: Vec<u64>,
        /// The number of surplus entries: all entries less the distinct coordinates.
        count: usize,
    },
    /// An interval level would store more than one run of coordinates below one position. The
    /// caller's fault.
    #[error(
        "level {level} is an interval level, which stores one run per fiber, but a second run begins at {coordinates:?}: its \
         coordinates are not adjacent, or its children differ; use a sparse-run-length level"
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
    /// A fill value cannot change because entries that are not stored depend on it. The caller's
    /// fault.
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
    #[error("{parents} fibers of dimension {dimension} exceed the {max} positions of a full level; use a sparse level", max = i64::MAX)]
    TooManyPositions {
        /// The number of fibers.
        parents: u64,
        /// The dimension of each fiber.
        dimension: u64,
    },
    /// A column of a record batch cannot be read as part of the requested tensor. The caller's
    /// fault.
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
    Arrow(#[from] arrow::error::ArrowError),
    /// A kernel stopped early: the memory limit, cancellation, a checked operator, or too many
    /// positions.
    #[error("the kernel stopped: {}", .0.reason())]
    KernelStopped(crate::storage::Status),
    /// A function of Assembly breaks rules of the verifier. The fault of lowering, or of the author
    /// of a hand-written function.
    #[error("function `{function}` of assembly is invalid: {faults}")]
    InvalidAssembly {
        /// The function's name.
        function: String,
        /// All faults, each with its location in the function.
        faults: String,
    },
    /// A text is not a function of Assembly. Its author's fault.
    #[error("assembly text, line {}, column {}: {message}", .at.line, .at.column)]
    AssemblyText {
        /// The position of the text that was found.
        at: TextPosition,
        /// The expected and the found text.
        message: String,
    },
    /// The interpreter of Assembly found a fault of the program. Lowering's fault.
    #[error("interpreting assembly: {0}")]
    Interp(#[from] InterpFault),
    /// The interpreter of grids found a fault of the program. The mapping's fault.
    #[error("interpreting a grid: {0}")]
    Grid(#[from] crate::grid::GridFault),
    /// A CUDA device, or a library that it needs, is missing. Nobody's fault; the CPU needs none.
    #[error("CUDA device {ordinal} cannot be used: {reason}; run on the CPU, or install what is missing")]
    NoDevice {
        /// The number of the device.
        ordinal: u32,
        /// The missing part.
        reason: String,
    },
    /// A CUDA device failed to run a kernel. The fault of this crate or of the device.
    #[error("kernel `{kernel}` on CUDA device {ordinal}: {message}")]
    Device {
        /// The number of the device.
        ordinal: u32,
        /// The name of the kernel.
        kernel: String,
        /// The message of the driver.
        message: String,
    },
    /// A kernel would exceed the memory limit of a device. The caller's fault, or nobody's.
    #[error(
        "kernel `{kernel}` on CUDA device {ordinal} requests {requested} bytes, but {used} of {limit} bytes are in use and \
         cannot be evicted; raise the limit of the device's memory, or run on the CPU"
    )]
    DeviceMemory {
        /// The number of the device.
        ordinal: u32,
        /// The name of the kernel.
        kernel: String,
        /// The requested bytes.
        requested: usize,
        /// The bytes in use that cannot be evicted.
        used: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The buffers or parameters given for a kernel do not fit its signature. The caller's fault.
    #[error("invalid invocation: {0}")]
    InvalidInvocation(String),
    /// A code generator failed on a valid function. Our fault, or the machine is not supported.
    #[error("compiling `{function}`: {message}")]
    Compile {
        /// The function's name.
        function: String,
        /// The message of the generator.
        message: String,
    },
    /// No C compiler was found for the optimizing tier. Nobody's fault; the instant tier needs
    /// none.
    #[error(
        "no C compiler: {0}; install gcc or clang, or name one in the environment variable CC, or use the instant tier"
    )]
    NoCompiler(String),
    /// The C compiler rejected the text of kernels. Our fault, or that of the person who edited the
    /// text.
    #[error("the C compiler `{compiler}` failed on {} (not deleted): {message}", .source_file.display())]
    CompileC {
        /// The command of the compiler.
        compiler: String,
        /// The file with the text.
        source_file: std::path::PathBuf,
        /// The message of the compiler.
        message: String,
    },
    /// The C compiler exceeded its time limit and was stopped. The compiler's fault, or the text is
    /// long.
    #[error(
        "the C compiler `{compiler}` exceeded its time limit of {time:?} and was stopped; use the instant tier or another compiler"
    )]
    CompilerTimeout {
        /// The command of the compiler.
        compiler: String,
        /// The time limit.
        time: std::time::Duration,
    },
    /// A compiled library of kernels could not be written or loaded. The fault of the disk or of
    /// the system's settings.
    #[error("kernels in {} cannot be loaded: {message}", .path.display())]
    LoadLibrary {
        /// The path of the library.
        path: std::path::PathBuf,
        /// The message of the system.
        message: String,
    },
    /// An edited text of kernels was made for other kernels. The fault of the user who passes it
    /// back.
    #[error("the edited kernels were made for other buffers or parameters (line `{0}` is missing); dump them again")]
    InterfaceMismatch(String),
    /// A kernel returned a number that is not a [`Status`](crate::storage::Status). The fault of
    /// the author of its text.
    #[error("the kernel returned {0}, which is not a status")]
    UnknownStatus(i32),
    /// The text of a program does not parse. Its author's fault.
    #[error("program text: {0}")]
    ProgramText(redpoll_logic::Error),
    /// A program breaks a rule of Notation. Its author's fault.
    #[error("invalid program, at `{at}`: {what}")]
    InvalidProgram {
        /// The broken rule.
        rule: ProgramRule,
        /// The loops around the statement, and the statement.
        at: String,
        /// The fault and its remedy.
        what: String,
    },
    /// Two accesses, or an access and a written extent, imply different extents of a loop. The
    /// program's fault.
    #[error(
        "the extent of loop `{index}` is {expected} according to {expected_by}, but {found} according to {found_by}; give \
         the loop a range, and give an `outside` to reads that are out of bounds there"
    )]
    DimensionMismatch {
        /// The loop's index.
        index: String,
        /// The coordinates that the first one implies.
        expected: String,
        /// The access or range that implies `expected`.
        expected_by: String,
        /// The coordinates that the other one implies.
        found: String,
        /// The access or range that implies `found`.
        found_by: String,
    },
    /// No access implies the extent of a loop, or the size of an output. The program's fault.
    #[error("{what} cannot be inferred; {hint}")]
    UnknownDimension {
        /// The loop, or the tensor and its mode.
        what: String,
        /// A remedy.
        hint: String,
    },
    /// A physical query is malformed. The fault of the optimizer, or of the author of the query.
    #[error("invalid query: {0}")]
    InvalidQuery(String),
    /// A program used a coordinate out of bounds. Its author's fault, or the data's.
    #[error(transparent)]
    OutOfBounds(Box<OutOfBounds>),
    /// The interpreter of Notation stopped.
    #[error("stopped at `{at}`: {cause}")]
    ProgramStopped {
        /// The loops with the values of their indices, and the statement.
        at: String,
        /// The cause.
        cause: StopCause,
    },
}

/// A coordinate out of bounds, found while a program ran.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{}`{} is out of bounds: `{}` is {coordinate}, but mode {mode} of `{}` has size {size}; test the coordinate with an \
     `if`, or give a read an `outside`",
    .site.access, position(.site), .site.subscript, .site.tensor
)]
pub struct OutOfBounds {
    /// The subscript in the text of the program.
    pub site: Site,
    /// The storage mode.
    pub mode: usize,
    /// The coordinate.
    pub coordinate: i64,
    /// The size of the storage mode.
    pub size: u64,
}

/// Returns the position of a subscript in the text as a phrase; empty if the program has no text.
fn position(site: &Site) -> String {
    match site.at.line {
        0 => String::new(),
        line => format!(", line {line}, column {},", site.at.column),
    }
}

impl Error {
    /// Makes an error of the faults of a function.
    pub(crate) fn invalid_assembly(function: &str, faults: &[RuleViolation]) -> Error {
        let faults: Vec<String> = faults.iter().map(RuleViolation::to_string).collect();
        Error::InvalidAssembly { function: function.into(), faults: faults.join("; ") }
    }
}
