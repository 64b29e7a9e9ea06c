//! The error type of this crate.

use crate::assembly::{Fault, InterpError};
use crate::notation::{Rule, Site, Stop};
use redpoll_logic::{DType, FormatError};

/// What can go wrong between a plan with its data and a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays given for a tensor do not make one. The caller's fault.
    #[error("invalid tensor: {0}")]
    InvalidTensor(String),
    /// The arrays given for one level of a tensor do not make one. The caller's fault.
    #[error("invalid tensor: level {level} ({kind}): {reason}")]
    InvalidLevel {
        /// The level, 0 outermost.
        level: usize,
        /// The name of its kind.
        kind: &'static str,
        /// What is wrong with the arrays.
        reason: String,
    },
    /// A format makes no sense, or does not go with shape, dtype or fill value. The caller's fault.
    #[error("invalid format: {0}")]
    InvalidFormat(#[from] FormatError),
    /// Coordinates and values of triples are not of one length, or not one list a mode. The caller's fault.
    #[error("invalid triples: {0}")]
    InvalidTriples(String),
    /// A place that was asked for does not exist. The caller's fault.
    #[error("{0}")]
    InvalidPlace(String),
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
    /// Places occur more than once, and no way to combine their values was asked for. The data's fault.
    #[error(
        "{count} entries repeat the place of another one, the first at {place:?}: say how to combine them (add them, \
         keep the first or the last)"
    )]
    DuplicateCoordinates {
        /// The first repeated place.
        place: Vec<u64>,
        /// The number of entries beyond one a place.
        count: usize,
    },
    /// An interval level was to store more than one run of coordinates below one position. The caller's fault.
    #[error(
        "level {level} is an interval, but in the fiber of {place:?} a second run begins there: coordinates that are not \
         next to each other, or below which other values are stored; use a sparse-run-length level"
    )]
    SecondRun {
        /// The level, 0 outermost.
        level: usize,
        /// The first place of the second run.
        place: Vec<u64>,
    },
    /// A pinpoint level was to store more than one coordinate below one position. The caller's fault.
    #[error(
        "level {level} is a pinpoint, but in the fiber of {place:?} another coordinate is stored before; use a sparse-list \
         level"
    )]
    SecondEntry {
        /// The level, 0 outermost.
        level: usize,
        /// The place of the second coordinate.
        place: Vec<u64>,
    },
    /// An operator cannot combine the values of repeated places. The caller's fault.
    #[error("repeated places cannot be combined: {0}")]
    Combine(#[from] redpoll_logic::op::OpError),
    /// A value has another dtype than was expected. The caller's fault.
    #[error("{what}: expected dtype {expected}, found {found}")]
    DTypeMismatch {
        /// What has the wrong dtype.
        what: String,
        /// The dtype that was expected.
        expected: DType,
        /// The dtype that was found.
        found: DType,
    },
    /// A fill value was to change although places depend on it. The caller's fault.
    #[error("cannot change the fill value: {0}")]
    FillInUse(String),
    /// Something would take more memory than there is.
    #[error("{elements} elements of {bytes} bytes do not fit into memory; use a sparser format or smaller dimensions")]
    TooLarge {
        /// The number of elements.
        elements: u64,
        /// Bytes of one of them.
        bytes: usize,
    },
    /// The positions of a level exceed index arithmetic.
    #[error("{parents} fibers of dimension {dimension} exceed the {max} positions of a full level; use a sparse one", max = i64::MAX)]
    TooManyPositions {
        /// The number of fibers.
        parents: u64,
        /// Their dimension.
        dimension: u64,
    },
    /// A record batch does not hold a tensor as asked. The caller's fault.
    #[error("column '{column}': {reason}")]
    InvalidColumn {
        /// The name of the column.
        column: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A column holds an Arrow NULL where none may be. The data's fault.
    #[error("column '{column}' is null in row {row}: {hint}")]
    Null {
        /// The name of the column.
        column: String,
        /// The first such row.
        row: usize,
        /// What can be done about it.
        hint: &'static str,
    },
    /// Arrow refused arrays that were made here.
    #[error("arrow: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// A kernel did not come to its end: the memory limit, cancellation, a checked operator, or too many positions.
    #[error("the kernel stopped: {}", stop_reason(*.0))]
    KernelStopped(crate::assembly::Status),
    /// A function of Assembly breaks rules of the verifier. Lowering's fault, or of who wrote the function by hand.
    #[error("function `{function}` of assembly is invalid: {faults}")]
    InvalidAssembly {
        /// The function's name.
        function: String,
        /// Every fault with its place.
        faults: String,
    },
    /// A text is no function of Assembly. Its author's fault.
    #[error("assembly text, line {line}: {message}")]
    AssemblyText {
        /// The line, from 1.
        line: usize,
        /// What was expected and found.
        message: String,
    },
    /// The interpreter of Assembly met a fault of the program. Lowering's fault.
    #[error("interpreting assembly: {0}")]
    Interp(#[from] InterpError),
    /// The interpreter of grids met a fault of the program. The mapping's fault.
    #[error("interpreting a grid: {0}")]
    Grid(#[from] crate::grid::Fault),
    /// A device of CUDA, or what it takes to use it, is not there. Nobody's fault; the CPU needs none.
    #[error("CUDA device {ordinal} cannot be used: {why}; run on the CPU, or install what is missing")]
    NoDevice {
        /// The number of the device.
        ordinal: u32,
        /// What is missing.
        why: String,
    },
    /// A device of CUDA did not do what a kernel asked of it. Our fault, or of the device.
    #[error("kernel `{kernel}` on CUDA device {ordinal}: {message}")]
    Device {
        /// The number of the device.
        ordinal: u32,
        /// The kernel.
        kernel: String,
        /// The words of the driver.
        message: String,
    },
    /// A kernel would take more memory of a device than it may. The caller's fault, or nobody's.
    #[error(
        "kernel `{kernel}` on CUDA device {ordinal}: {asked} bytes are asked for, {used} of {limit} are in use by what cannot \
         leave; raise the limit of the device's memory, or run on the CPU"
    )]
    DeviceMemory {
        /// The number of the device.
        ordinal: u32,
        /// The kernel.
        kernel: String,
        /// The bytes that were asked for.
        asked: usize,
        /// The bytes that are in use and cannot leave.
        used: usize,
        /// The bytes that may be in use.
        limit: usize,
    },
    /// The buffers or parameters given for a kernel are not those of its signature. The caller's fault.
    #[error("invalid invocation: {0}")]
    InvalidInvocation(String),
    /// A code generator could not make machine code of a valid function. Our fault, or the machine is not supported.
    #[error("compiling `{function}`: {message}")]
    Compile {
        /// The function's name.
        function: String,
        /// The generator's words.
        message: String,
    },
    /// There is no C compiler that the optimizing tier could use. Nobody's fault; the instant tier needs none.
    #[error(
        "no C compiler: {0}; install gcc or clang, or name one in the environment variable CC, or use the instant tier"
    )]
    NoCompiler(String),
    /// The C compiler did not compile the text of kernels. Our fault, or of who edited the text.
    #[error("the C compiler `{compiler}` failed on {}, which is kept: {message}", .source_file.display())]
    CompileC {
        /// The compiler.
        compiler: String,
        /// The text.
        source_file: std::path::PathBuf,
        /// The words of the compiler.
        message: String,
    },
    /// The C compiler was not done in the time that it may take, and was stopped. The compiler's fault, or the text is long.
    #[error(
        "the C compiler `{compiler}` was not done within {time:?} and was stopped; use the instant tier or another compiler"
    )]
    CompilerTime {
        /// The compiler.
        compiler: String,
        /// The time that it may take.
        time: std::time::Duration,
    },
    /// A compiled library of kernels could not be written or loaded. The fault of the disk or of the system's settings.
    #[error("kernels in {} cannot be loaded: {message}", .path.display())]
    LoadLibrary {
        /// The library, or where it was to be.
        path: std::path::PathBuf,
        /// The words of the system.
        message: String,
    },
    /// An edited text of kernels was made for other ones. The fault of who runs it back.
    #[error("the edited kernels were made for other buffers or parameters; dump them anew (a line `{0}` is missing)")]
    OtherInterface(String),
    /// A kernel returned a number that is no status. The fault of who edited its text.
    #[error("the kernel returned {0}, which is no status")]
    UnknownStatus(i32),
    /// The text of a program does not parse. Its author's fault.
    #[error("program text: {0}")]
    ProgramText(redpoll_logic::Error),
    /// A program breaks a rule of Notation. Its author's fault.
    #[error("invalid program, at `{at}`: {what}")]
    InvalidProgram {
        /// Which rule.
        rule: Rule,
        /// The loops and the statement.
        at: String,
        /// What breaks it, and what to do.
        what: String,
    },
    /// Two accesses, or an access and a written extent, want a loop to run over different coordinates.
    #[error(
        "loop `{index}` runs over {expected} by {expected_by}, but over {found} by {found_by}; give the loop a range and reads that leave it an `outside`"
    )]
    DimensionMismatch {
        /// The loop's index.
        index: String,
        /// The coordinates that one asks for.
        expected: String,
        /// Who asks for it.
        expected_by: String,
        /// The coordinates that the other asks for.
        found: String,
        /// Who asks for it.
        found_by: String,
    },
    /// No access says how far a loop runs, or how large an output is.
    #[error("{what} cannot be inferred; {next}")]
    UnknownDimension {
        /// The loop, or the tensor and its mode.
        what: String,
        /// What to do.
        next: String,
    },
    /// A physical query is not well-formed. The fault of the optimizer, or of who wrote the query.
    #[error("invalid query: {0}")]
    InvalidQuery(String),
    /// A program came to a coordinate out of bounds. Its author's fault, or the data's.
    #[error(transparent)]
    OutOfBounds(Box<OutOfBounds>),
    /// The interpreter of Notation stopped.
    #[error("stopped at `{at}`: {cause}")]
    ProgramStopped {
        /// The loops with their indices' values, and the statement.
        at: String,
        /// Why.
        cause: Stop,
    },
}

/// A coordinate out of bounds, met by a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{}`{} is out of bounds: `{}` is {coordinate}, but mode {mode} of `{}` has size {size}; test the coordinate with an \
     `if`, or give a read an `outside`",
    .site.access, place(.site), .site.subscript, .site.tensor
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

/// Where the text has a subscript, if it is of a text.
fn place(site: &Site) -> String {
    match site.at.line {
        0 => String::new(),
        line => format!(", line {line}, column {},", site.at.column),
    }
}

impl Error {
    /// The faults of a function, as an error.
    pub(crate) fn invalid_assembly(function: &str, faults: &[Fault]) -> Error {
        let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
        Error::InvalidAssembly { function: function.into(), faults: faults.join("; ") }
    }
}

/// What a status says to a user, and what to do next.
fn stop_reason(status: crate::assembly::Status) -> &'static str {
    use crate::assembly::Status;
    match status {
        Status::Done => "it is done",
        Status::OutOfMemory => "a result exceeds the memory limit; raise the limit or ask for a sparser format",
        Status::Cancelled => "it was cancelled",
        Status::SecondRun => {
            "an interval level was to store a second run in a fiber; ask for a result with a sparse-run-length level"
        }
        Status::SecondEntry => {
            "a pinpoint level was to store a second coordinate in a fiber; ask for a result with a sparse-list level"
        }
        Status::OutOfBounds => "a coordinate is out of bounds",
        Status::PositionOverflow => "a result has more positions than its arrays can count",
        Status::CheckedOverflow => "a checked operator overflowed; use a wider dtype or the wrapping operator",
    }
}
