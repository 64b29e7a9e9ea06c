//! Supervision: the process that the user starts runs the cases in a second process. If a case ends
//! the second process (by a stack overflow, a memory fault or an abort), the first process reports
//! the seed of the case.

use crate::report::Failures;
use crate::watch::parse_journal;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Environment variable with the path of the journal, in which the second process records the
/// current step of each thread.
const JOURNAL: &str = "REDPOLL_SOAK_JOURNAL";

/// Returns the path of the journal in the process that runs the cases, and `None` in its
/// supervisor.
pub(crate) fn journal() -> Option<PathBuf> {
    std::env::var_os(JOURNAL).map(PathBuf::from)
}

/// Runs the cases in a second process and returns its status; a signal that ends the process is
/// reported as a failure.
pub(crate) fn supervise(failures: &Failures) -> Result<ExitCode> {
    let journal = tempfile::NamedTempFile::new().context("cannot create the journal of the soak")?;
    // This process ignores Ctrl-C: the second process receives Ctrl-C as well, finishes the blocks
    // of cases that its threads have begun, and reports the counts.
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)))?;
    let program = std::env::current_exe()?;
    let status = Command::new(program).args(std::env::args_os().skip(1)).env(JOURNAL, journal.path()).status()?;
    if let Some(code) = status.code() {
        return Ok(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from));
    }
    let running = parse_journal(&std::fs::read_to_string(journal.path())?);
    let seeds: Vec<String> = running.iter().map(|(kind, seed)| format!("{}, seed {seed}", kind.name())).collect();
    let texts: Vec<String> = running.iter().map(|(kind, seed)| kind.text(*seed)).collect();
    let text = format!("the process ended with {status}\n{}", texts.join("\n"));
    failures.print(&format!("crash in {}", seeds.join(" or ")), &text);
    Ok(ExitCode::FAILURE)
}
