//! Finds, identifies and runs the C compiler of this machine.

use super::compiler_note::CompilerNote;
use super::{cpu, process};
use crate::Error;
use crate::cache::DiskCache;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use std::{io, thread};

/// Flags for kernels. The second half makes results equal to the results of other backends, bit for
/// bit, or permits optimizations that do not change results: `errno` and the floating-point
/// exception flags are never read.
const FLAGS: &[&str] =
    &["-std=c11", "-O3", "-fPIC", "-shared", "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"];

/// Flags for the host processor; its features are part of the key of cached kernels.
const NATIVE: &[&str] = if cfg!(target_arch = "x86_64") { &["-march=native"] } else { &[] };

/// The library with rounding functions, for machines without rounding instructions.
const LIBRARIES: &[&str] = &["-lm"];

/// A C compiler with its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Compiler {
    pub(super) path: PathBuf,
    /// Arguments that the crate `cc` would pass, such as those in `CC` and `CFLAGS`, without its
    /// default flags. A wrapper in `CC`, such as `ccache`, is left out.
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) version: String,
}

impl Compiler {
    /// Finds the named compiler. Without a name, finds the compiler that the crate `cc` chooses:
    /// the value of `CC` or of a variant of this variable, or the usual compiler of the target.
    /// Starts no compiler if an earlier process has noted the compiler on disk, and the compiler
    /// has not changed since. Otherwise the compiler must answer each call within `time`.
    ///
    /// # Errors
    /// The reason why no compiler can be used.
    pub(super) fn find(command: Option<&Path>, disk: Option<&DiskCache>, time: Duration) -> Result<Compiler, String> {
        let Some(disk) = disk else { return Compiler::query(command, time) };
        let note = CompilerNote::for_command(command);
        if let Some(compiler) = note.find(disk) {
            return Ok(compiler);
        }
        let compiler = Compiler::query(command, time)?;
        note.write(disk, &compiler);
        Ok(compiler)
    }

    fn query(command: Option<&Path>, time: Duration) -> Result<Compiler, String> {
        // The crate `cc` also starts the compiler, without a time limit, so its command is tried
        // first.
        let words = command.map_or_else(usual_command, |command| vec![command.into()]);
        let name = Path::new(&words[0]).display();
        let timeout = || format!("`{name}` does not answer within {time:?}");
        let mut trial = Command::new(&words[0]);
        trial.args(&words[1..]).args(["-E", "-x", "c", "/dev/null"]);
        if process::output(&mut trial, time).is_err_and(|e| e.kind() == io::ErrorKind::TimedOut) {
            return Err(timeout());
        }
        let (sender, receiver) = mpsc::channel();
        let command = command.map(Path::to_owned);
        thread::spawn(move || drop(sender.send(Compiler::find_with_cc(command.as_deref()))));
        let mut compiler = receiver.recv_timeout(time).map_err(|_| timeout())??;
        let error = |e: io::Error| match e.kind() {
            io::ErrorKind::TimedOut => timeout(),
            _ => format!("`{}`: {e}", compiler.path.display()),
        };
        let reply = process::output(compiler.command().arg("--version"), time).map_err(error)?;
        if !reply.status.success() {
            let (path, status) = (compiler.path.display(), reply.status);
            return Err(format!("`{path} --version` failed with {status}: {}", first_lines(&reply.stderr)));
        }
        compiler.version = String::from_utf8_lossy(&reply.stdout).into_owned();
        Ok(compiler)
    }

    /// Finds the compiler through the crate `cc`, which does not report the version of the
    /// compiler.
    fn find_with_cc(command: Option<&Path>) -> Result<Compiler, String> {
        let folder = tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"))?;
        let mut build = cc::Build::new();
        build.target(env!("REDPOLL_TARGET")).host(env!("REDPOLL_TARGET")).opt_level(0).out_dir(folder.path());
        build.no_default_flags(true).warnings(false).cargo_metadata(false).cargo_output(false).cargo_warnings(false);
        if let Some(command) = command {
            build.compiler(command);
        }
        let tool = build.try_get_compiler().map_err(|e| e.to_string())?;
        if tool.is_like_msvc() {
            return Err(format!("{} does not accept the flags of gcc and clang", tool.path().display()));
        }
        Ok(Compiler {
            path: tool.path().into(),
            args: tool.args().into(),
            env: tool.get_envs().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            version: String::new(),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }

    fn flags() -> impl Iterator<Item = &'static str> {
        [FLAGS, NATIVE].into_iter().flatten().copied()
    }

    /// Returns the text that identifies the compiler in the keys of kernels: its path, arguments
    /// and version, the flags, and the features of the processor if the flags depend on them.
    pub(super) fn identity(&self) -> String {
        let flags: Vec<&str> = Compiler::flags().chain(LIBRARIES.iter().copied()).collect();
        let (path, args, version) = (self.path.display(), &self.args, &self.version);
        format!(
            "{path}\n{args:?}\n{version}\n{}\n{}",
            flags.join(" "),
            if NATIVE.is_empty() { "" } else { cpu::features() }
        )
    }

    /// Returns the first line of the version.
    pub(super) fn name(&self) -> &str {
        self.version.lines().next().unwrap_or_default()
    }

    /// Compiles a C file into a shared library.
    ///
    /// # Errors
    /// [`Error::CompileC`] with the messages of the compiler, or with the reason why it does not
    /// start; [`Error::CompilerTimeout`] if the compiler exceeds `time`.
    pub(super) fn compile(&self, source: &Path, library: &Path, time: Duration) -> Result<(), Error> {
        let error = |message: String| Error::CompileC {
            compiler: self.path.display().to_string(),
            source_file: source.to_owned(),
            message,
        };
        let mut command = self.command();
        command.args(Compiler::flags()).arg("-o").arg(library).arg(source).args(LIBRARIES);
        // Temporary files of the compiler go to a folder that is cleaned up.
        if let Some(folder) = library.parent() {
            command.env("TMPDIR", folder);
        }
        let run = process::output(&mut command, time).map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => Error::CompilerTimeout { compiler: self.path.display().to_string(), time },
            _ => error(e.to_string()),
        })?;
        if run.status.success() { Ok(()) } else { Err(error(format!("{}\n{}", run.status, first_lines(&run.stderr)))) }
    }
}

/// Returns the command that the crate `cc` starts if no compiler is named: the command in the
/// environment, with its arguments, or `cc`.
fn usual_command() -> Vec<OsString> {
    let target = env!("REDPOLL_TARGET");
    let variables = [format!("CC_{target}"), format!("CC_{}", target.replace('-', "_")), "HOST_CC".into(), "CC".into()];
    let command = variables.iter().find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
    let Some(command) = command else { return vec!["cc".into()] };
    match command.to_str() {
        Some(words) if !Path::new(words).exists() => words.split_whitespace().map(Into::into).collect(),
        _ => vec![command],
    }
}

/// Returns the first lines of a program's output.
fn first_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines().take(20).collect::<Vec<_>>().join("\n")
}
