//! The error type of this crate.

use redpoll_compiler::OutOfBounds;
use redpoll_storage::Status;

/// Errors of compiling a lowered program and of running it over tensors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a tensor.
    #[error(transparent)]
    Storage(redpoll_storage::Error),
    /// An error of a program or its function.
    #[error(transparent)]
    Compiler(Box<redpoll_compiler::Error>),
    /// A kernel, or a computation before or after it, stopped early, for the reason that the status
    /// gives. The fault of the data, of the limits, or nobody's.
    #[error("the computation stopped: {}", .0.reason())]
    KernelStopped(Status),
    /// A code generator failed on a valid function. Our fault, or the machine does not support the
    /// function.
    #[error("compiling `{function}`: {message}")]
    Compile {
        /// The function's name.
        function: String,
        /// The message of the generator.
        message: String,
    },
    /// The optimizing tier found no C compiler, or none that it can use. Nobody's fault; the
    /// instant tier needs no C compiler.
    #[error(
        "no usable C compiler: {0}; install gcc or clang, or name one in the environment variable CC, or use the instant tier"
    )]
    NoCompiler(String),
    /// The C compiler rejected the text of kernels, or could not be run. Our fault, or the fault of
    /// the person who edited the text, or of the system.
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
    /// The text of kernels could not be written, or their library could not be loaded or lacks a
    /// kernel. The fault of the disk or of the system's settings, or of the person who edited the
    /// text.
    #[error("kernels cannot be written to, or loaded from, {}: {message}", .path.display())]
    LoadLibrary {
        /// The file, the folder, or the exported name.
        path: std::path::PathBuf,
        /// The message of the system.
        message: String,
    },
    /// An edited text of kernels was made for other kernels, or for another calling convention. The
    /// fault of the user who passes the text.
    #[error(
        "the edited kernels were made for other buffers or parameters, or for another calling convention (line `{0}` is missing); dump the kernels again and edit that text"
    )]
    InterfaceMismatch(String),
    /// A kernel returned a number that is not a [`Status`](redpoll_storage::Status). The fault of
    /// the author of the kernel's text.
    #[error("the kernel returned {0}, which is not a status")]
    UnknownStatus(i32),
    /// The inputs, buffers or parameters of a run do not fit the kernel, or the code cannot be
    /// called in this way. The caller's fault.
    #[error("invalid invocation: {0}")]
    InvalidInvocation(String),
    /// A program used a coordinate out of bounds. The fault of the author of the program, or of the
    /// data.
    #[error(transparent)]
    OutOfBounds(Box<OutOfBounds>),
    /// A device is missing, or it failed. Another target may run the plan.
    #[error(transparent)]
    Device(Box<dyn std::error::Error + Send + Sync>),
    /// An error of a backend in another crate, caused by a fault in that crate. Other targets are
    /// not tried.
    #[error(transparent)]
    Target(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns the status, if the error says that a run stopped early.
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::KernelStopped(status) => Some(*status),
            _ => None,
        }
    }

    /// Returns whether another target may run the plan: a device is missing, failed or lost an
    /// array, or a code generator does not support the plan.
    pub fn runs_elsewhere(&self) -> bool {
        matches!(self, Error::Device(_) | Error::Storage(redpoll_storage::Error::OnDevice(_)) | Error::Compile { .. })
    }
}

impl From<redpoll_storage::Error> for Error {
    fn from(error: redpoll_storage::Error) -> Error {
        match error {
            redpoll_storage::Error::Stopped(status) => Error::KernelStopped(status),
            other => Error::Storage(other),
        }
    }
}

impl From<redpoll_compiler::Error> for Error {
    fn from(error: redpoll_compiler::Error) -> Error {
        match error {
            redpoll_compiler::Error::OutOfBounds(at) => Error::OutOfBounds(at),
            redpoll_compiler::Error::InvalidInvocation(reason) => Error::InvalidInvocation(reason),
            other => Error::Compiler(Box::new(other)),
        }
    }
}
