//! Failures of commands: the message on standard error, and the exit code.

use super::style::Style;
use crate::{Error, datasets};
use std::error::Error as Cause;
use std::io::{self, Write};
use std::process::ExitCode;

/// Cause of an early end of a command.
pub(super) enum Failure {
    /// An error.
    Failed {
        /// The error.
        error: Box<dyn Cause + Send + Sync>,
        /// The next step for the user.
        hint: Option<String>,
    },
    /// An invalid command line.
    Usage(String),
    /// The reader of standard output has closed it. Nothing is reported.
    Gone,
}

impl Failure {
    /// Creates a failure of a message and a hint.
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Failed { error: message.into().into(), hint: Some(hint.into()) }
    }

    /// Reports the failure on standard error, and returns the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let mut err = io::stderr().lock();
        let style = Style::of(&err);
        // Errors of standard error are ignored; the exit code remains.
        let _ = match self {
            Failure::Gone => return ExitCode::SUCCESS,
            Failure::Usage(message) => {
                writeln!(err, "{} {message}\n\nFor more information, try '--help'.", style.error("error:"))
            }
            Failure::Failed { error, hint } => write_failure(&mut err, style, &**error, hint.as_deref()),
        };
        ExitCode::from(if matches!(self, Failure::Usage(_)) { 2 } else { 1 })
    }
}

fn write_failure(err: &mut impl Write, style: Style, error: &dyn Cause, hint: Option<&str>) -> io::Result<()> {
    let mut said = error.to_string();
    writeln!(err, "{} {said}", style.error("error:"))?;
    let mut cause = error.source();
    while let Some(c) = cause {
        let message = c.to_string();
        // Many errors include their cause in their message, so it is not repeated.
        if !said.contains(&message) {
            writeln!(err, "  caused by: {message}")?;
            said = message;
        }
        cause = c.source();
    }
    match hint {
        Some(hint) => writeln!(err, "{} {hint}", style.hint("hint:")),
        None => Ok(()),
    }
}

/// Hint for a lack of memory.
const MORE_MEMORY: &str = "`--memory-limit` says how much may be taken, and `ulimit -v` how much the system gives";

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let hint = match &error {
            Error::Unbound(tables) => {
                let binds =
                    tables.iter().map(|t| format!("--bind {}={}", t.table, if t.rank == 0 { "VALUE" } else { "FILE" }));
                Some(format!("bind each to a file: {}", binds.collect::<Vec<_>>().join(" ")))
            }
            error => is_out_of_memory(error).then(|| MORE_MEMORY.to_owned()),
        };
        Failure::Failed { error: error.into(), hint }
    }
}

/// Returns whether an error, or one of its causes, is a kernel stopped by the memory limit.
fn is_out_of_memory(error: &(dyn Cause + 'static)) -> bool {
    use crate::physical::{Error, assembly::Status};
    let found = error.downcast_ref::<Error>().or(error.downcast_ref::<Box<Error>>().map(|boxed| &**boxed));
    matches!(found, Some(Error::KernelStopped(Status::OutOfMemory))) || error.source().is_some_and(is_out_of_memory)
}

impl From<datasets::Error> for Failure {
    fn from(error: datasets::Error) -> Failure {
        if error.is_of_memory() {
            return Failure::Failed { error: Error::from(error).into(), hint: Some(MORE_MEMORY.into()) };
        }
        Error::from(error).into()
    }
}

impl From<crate::physical::Error> for Failure {
    fn from(error: crate::physical::Error) -> Failure {
        Error::from(error).into()
    }
}

impl From<io::Error> for Failure {
    /// Converts an error of standard output; files have their own errors.
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Gone,
            _ => Failure::Failed { error: format!("writing to standard output: {error}").into(), hint: None },
        }
    }
}
