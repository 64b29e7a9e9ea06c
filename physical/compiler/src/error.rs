//! The error type of this crate.

use crate::assembly::{InterpFault, RuleViolation};
use crate::notation::{ProgramRule, Site, StopCause};
use redpoll_logic::cursor::TextPosition;

/// Errors of programs in Notation and of functions of Assembly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A function of Assembly breaks rules of the verifier. The fault of lowering, or of the author
    /// of a hand-written function.
    #[error("function `{function}` of assembly is invalid: {faults}")]
    InvalidAssembly {
        /// The function's name.
        function: String,
        /// All faults, each with its location in the function.
        faults: String,
    },
    /// A text is not a function of Assembly. The author's fault.
    #[error("assembly text, line {}, column {}: {message}", .at.line, .at.column)]
    AssemblyText {
        /// The position of the fault.
        at: TextPosition,
        /// The fault; in most cases the expected and the found text.
        message: String,
    },
    /// The interpreter of Assembly found a fault, or exceeded its limit of rounds. The caller's
    /// fault if an input of dtype `bool` has a byte other than 0 and 1, or if the limit is too low;
    /// otherwise the fault of lowering, or of the author of a hand-written function.
    #[error("interpreting assembly: {0}")]
    Interp(#[from] InterpFault),
    /// The buffers or parameters given for a kernel do not fit its signature. The caller's fault.
    #[error("invalid invocation: {0}")]
    InvalidInvocation(String),
    /// The text of a program does not parse. The author's fault.
    #[error("program text: {0}")]
    ProgramText(redpoll_logic::Error),
    /// A program breaks a rule of Notation. The author's fault.
    #[error("invalid program, at `{at}`: {what}")]
    InvalidProgram {
        /// The broken rule.
        rule: ProgramRule,
        /// The location: the enclosing statements and the statement, a transformation of the
        /// schedule, or `program` for the whole program.
        at: String,
        /// The fault and its remedy.
        what: String,
    },
    /// Two accesses imply different extents of a loop, or an access is out of bounds in a loop with
    /// an explicit extent. The program's fault.
    #[error(
        "the extent of loop `{index}` is {expected} according to {expected_by}, but {found} according to {found_by}; \
         {remedy}"
    )]
    DimensionMismatch {
        /// The loop's index.
        index: Box<str>,
        /// The extent that `expected_by` implies or states.
        expected: Box<str>,
        /// The mode that implies `expected`, or the range that states it.
        expected_by: Box<str>,
        /// The extent that `found_by` implies.
        found: Box<str>,
        /// The mode that implies `found`, with its tensor and size.
        found_by: Box<str>,
        /// A remedy.
        remedy: &'static str,
    },
    /// No access implies the extent of a loop, or the size of an output or local. The program's
    /// fault.
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
    /// A program used a coordinate out of bounds. The fault of the program's author, or of the
    /// data.
    #[error(transparent)]
    OutOfBounds(Box<OutOfBounds>),
    /// The interpreter of Notation stopped. The caller's fault if an input does not fit, the
    /// program is not normalized or a limit is too low; otherwise the fault of the program's
    /// author.
    #[error("stopped at `{at}`: {cause}")]
    ProgramStopped {
        /// The loops with the values of their indices, and the statement; `inputs` before the first
        /// statement.
        at: String,
        /// The cause.
        cause: StopCause,
    },
}

/// A coordinate out of bounds, found while a program ran.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{}`{} is out of bounds: `{}` has coordinate {coordinate} in storage mode {mode} of `{}`, whose size is {size}; \
     test the coordinate with an `if`, or give a read an `outside`",
    .site.access, position(.site), .site.subscript, .site.tensor
)]
pub struct OutOfBounds {
    /// The subscript in the text of the program.
    pub site: Site,
    /// The number of the storage mode.
    pub mode: usize,
    /// The coordinate.
    pub coordinate: i64,
    /// The size of the storage mode.
    pub size: u64,
}

/// Returns the position of the access in the text as a phrase; empty if the program has no text.
fn position(site: &Site) -> String {
    match site.at.line {
        0 => String::new(),
        line => format!(", line {line}, column {},", site.at.column),
    }
}

impl Error {
    /// Returns the error for the faults of a function.
    pub fn invalid_assembly(function: &str, faults: &[RuleViolation]) -> Error {
        let faults: Vec<String> = faults.iter().map(RuleViolation::to_string).collect();
        Error::InvalidAssembly { function: function.into(), faults: faults.join("; ") }
    }
}
