//! Failures of commands: the message on standard error, and the exit codes of all commands.

use super::style::TerminalStyle;
use crate::error::table_list;
use crate::{Error, datasets, logic};
use std::error::Error as Cause;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit codes, as the help of each command states them.
pub(super) const EXIT_CODES: &str =
    "Exit codes: 0 success; 1 failure of a file, a plan or a run; 2 wrong arguments, alone or for this plan.";

/// The exit code of a command.
#[derive(Clone, Copy)]
pub(super) enum Exit {
    Success = 0,
    /// A file, a plan, a statement or a run is at fault.
    Failure = 1,
    /// The arguments are at fault, whatever the files contain: an argument is missing, unknown or
    /// malformed, contradicts another one, or does not fit the plan.
    Usage = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Cause of an early end of a command.
pub(super) enum CommandFailure {
    /// An error of a file, a plan, a statement or a run.
    Error {
        /// The error.
        error: Box<dyn Cause + Send + Sync>,
        /// The next step for the user.
        hint: Option<String>,
    },
    /// An error of the arguments: [`Exit::Usage`].
    Usage {
        /// The message.
        message: String,
        /// The next step for the user, in place of a reference to `--help`.
        hint: Option<String>,
    },
    /// The reader of standard output has closed it. Nothing is reported.
    ClosedPipe,
    /// A failure that has been reported.
    #[cfg(feature = "sql")]
    Reported,
}

impl CommandFailure {
    /// Creates a failure of the arguments.
    pub(super) fn usage(message: impl Into<String>) -> CommandFailure {
        CommandFailure::Usage { message: message.into(), hint: None }
    }

    /// Creates a failure of the arguments with a hint.
    pub(super) fn usage_with_hint(message: impl Into<String>, hint: impl Into<String>) -> CommandFailure {
        CommandFailure::Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// Creates an error with a message and a hint.
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> CommandFailure {
        CommandFailure::Error { error: message.into().into(), hint: Some(hint.into()) }
    }

    /// Reports the failure on standard error, and returns the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let mut err = io::stderr().lock();
        let style = TerminalStyle::of(&err);
        let (exit, written) = match self {
            CommandFailure::ClosedPipe => (Exit::Success, Ok(())),
            #[cfg(feature = "sql")]
            CommandFailure::Reported => (Exit::Failure, Ok(())),
            CommandFailure::Usage { message, hint: None } => {
                let help = "For more information, try '--help'.";
                (Exit::Usage, writeln!(err, "{} {message}\n\n{help}", style.error("error:")))
            }
            CommandFailure::Usage { message, hint: Some(hint) } => {
                (Exit::Usage, writeln!(err, "{} {message}\n{} {hint}", style.error("error:"), style.hint("hint:")))
            }
            CommandFailure::Error { error, hint } => {
                (Exit::Failure, write_failure(&mut err, style, &**error, hint.as_deref()))
            }
        };
        // If standard error cannot be written, the exit code alone reports the failure.
        let _ = written;
        exit.into()
    }
}

fn write_failure(err: &mut impl Write, style: TerminalStyle, error: &dyn Cause, hint: Option<&str>) -> io::Result<()> {
    let mut printed = error.to_string();
    writeln!(err, "{} {printed}", style.error("error:"))?;
    let mut cause = error.source();
    while let Some(c) = cause {
        let message = c.to_string();
        // The messages of many errors include the message of the cause, which is not repeated.
        if !printed.contains(&message) {
            writeln!(err, "  caused by: {message}")?;
            printed = message;
        }
        cause = c.source();
    }
    match hint {
        Some(hint) => writeln!(err, "{} {hint}", style.hint("hint:")),
        None => Ok(()),
    }
}

/// Hint for a lack of memory.
const MORE_MEMORY: &str = "raise the limit with `--memory-limit` or, for the system's limit, `ulimit -v`";

impl From<Error> for CommandFailure {
    fn from(error: Error) -> CommandFailure {
        let hint = match &error {
            Error::UnboundTables(tables) => {
                let binds =
                    tables.iter().map(|t| format!("--bind {}={}", t.table, if t.rank == 0 { "VALUE" } else { "FILE" }));
                let hint = format!("bind each table: {}", binds.collect::<Vec<_>>().join(" "));
                return CommandFailure::usage_with_hint(format!("no data for {}", table_list(tables)), hint);
            }
            // The options name a target or an output that programs do not have.
            Error::NoPlan | Error::NoLogic => return CommandFailure::usage(error.to_string()),
            error => is_out_of_memory(error).then(|| MORE_MEMORY.to_owned()),
        };
        CommandFailure::Error { error: error.into(), hint }
    }
}

/// Returns whether an error, or one of its causes, reports that the memory limit was reached.
fn is_out_of_memory(error: &(dyn Cause + 'static)) -> bool {
    use crate::kernels;
    use crate::storage::{self, Status};
    let kernel = error.downcast_ref::<kernels::Error>();
    let kernel = kernel.or(error.downcast_ref::<Box<kernels::Error>>().map(|boxed| &**boxed));
    kernel.is_some_and(|error| error.status() == Some(Status::OutOfMemory))
        || matches!(error.downcast_ref(), Some(storage::Error::Stopped(Status::OutOfMemory)))
        || error.source().is_some_and(is_out_of_memory)
}

impl From<datasets::Error> for CommandFailure {
    fn from(error: datasets::Error) -> CommandFailure {
        if error.is_out_of_memory() {
            return CommandFailure::Error { error: Error::from(error).into(), hint: Some(MORE_MEMORY.into()) };
        }
        // The parameters of a generator are options.
        if let datasets::Error::Generate { .. } = &error {
            return CommandFailure::usage(error.to_string());
        }
        let hint = match &error {
            datasets::Error::Io { path, source } if source.kind() == io::ErrorKind::NotFound => similar_file(path),
            _ => None,
        };
        CommandFailure::Error { error: Error::from(error).into(), hint }
    }
}

/// Returns the hint for a file that does not exist, if its folder has files of similar names or
/// does not exist either.
pub(super) fn similar_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = match folder.read_dir() {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(format!("there is no folder `{}`", folder.display()));
        }
        Err(_) => return None,
    };
    let mut names = files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect::<Vec<_>>();
    names.sort_unstable();
    let name = path.file_name()?.to_str()?;
    // The user may have left out the extension.
    let is_longer = |other: &&String| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let mut similar: Vec<String> = names.iter().filter(is_longer).take(3).cloned().collect();
    if similar.is_empty() {
        similar = similar_names(name, names.iter().map(String::as_str));
    }
    question(similar.iter().map(|name| path.with_file_name(name).display().to_string()))
}

/// Returns the known names that are similar to a name.
pub(super) fn similar_names<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let logic::Error::Unknown { similar, .. } = logic::Error::unknown("name", name, known) else { return Vec::new() };
    similar
}

/// Returns a question such as "did you mean `csr`?", or `None` if no known name is similar to
/// `name`.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    question(similar_names(name, known))
}

fn question(names: impl IntoIterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => None,
        [name] => Some(format!("did you mean {name}?")),
        [others @ .., last] => Some(format!("did you mean {} or {last}?", others.join(", "))),
    }
}

impl From<crate::storage::Error> for CommandFailure {
    fn from(error: crate::storage::Error) -> CommandFailure {
        Error::from(error).into()
    }
}

impl From<crate::kernels::Error> for CommandFailure {
    fn from(error: crate::kernels::Error) -> CommandFailure {
        Error::from(error).into()
    }
}

impl From<io::Error> for CommandFailure {
    /// Converts an error of standard output; files have their own errors.
    fn from(error: io::Error) -> CommandFailure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CommandFailure::ClosedPipe,
            _ => {
                CommandFailure::Error { error: format!("cannot write to standard output: {error}").into(), hint: None }
            }
        }
    }
}
