//! Measures a group in its own process, which is killed if a plan takes too long and cannot be
//! cancelled.
//!
//! The process announces on its standard output when a candidate starts its first run, with the
//! time limit of this run. At the end it prints the outcome. A killed process is started again
//! without the candidate that took too long.

use super::measure::{GroupOutcome, ProgressMessage};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A function that returns the arguments with which this program measures a group. Its parameter
/// lists the candidates to leave out.
pub type GroupArguments<'a> = &'a dyn Fn(&[usize]) -> Vec<String>;

/// Measures a group in watched processes.
///
/// # Errors
/// If the group cannot be measured.
pub fn measure_watched(arguments: GroupArguments) -> Result<GroupOutcome> {
    let mut without = Vec::new();
    loop {
        match attempt(&arguments(&without))? {
            Attempt::Finished(outcome) => return Ok(*outcome),
            Attempt::TimedOut(candidate) if without.contains(&candidate) => {
                bail!("candidate {candidate} ran although it was excluded");
            }
            Attempt::TimedOut(candidate) => without.push(candidate),
        }
    }
}

enum Attempt {
    Finished(Box<GroupOutcome>),
    TimedOut(usize),
}

fn attempt(arguments: &[String]) -> Result<Attempt> {
    let program = std::env::current_exe()?;
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("the output of the process is not piped")?;
    let (sender, lines) = channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let (mut running, mut result) = (None, None);
    loop {
        let line = match running {
            Some((_, limit)) => lines.recv_timeout(limit),
            None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let line = match line {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                result = running.map(|(candidate, _)| Attempt::TimedOut(candidate));
                break;
            }
        };
        match serde_json::from_str(&line).with_context(|| format!("unexpected line `{line}` from the process"))? {
            ProgressMessage::Started { candidate, seconds } => {
                running = Some((candidate, Duration::from_secs_f64(seconds + 1.0)));
            }
            ProgressMessage::Finished => running = None,
            ProgressMessage::Complete(outcome) => result = Some(Attempt::Finished(outcome)),
        }
    }
    child.wait()?;
    reader.join().ok().context("the output of the process cannot be read")?;
    result.context("the process ended without an outcome")
}
