//! Runs programs with a time limit, so that a hanging compiler does not block its caller forever.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Ids of the processes that this module has started and that have not ended.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Runs a program to its end and returns its output. A program that exceeds `time` is killed; on
/// Unix, the processes that the program has started in its group are killed too.
///
/// # Errors
/// The error of the system; of kind [`io::ErrorKind::TimedOut`] if the program exceeded `time`.
pub(super) fn output(command: &mut Command, time: Duration) -> io::Result<Output> {
    let deadline = Instant::now() + time;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn()?;
    let number = child.id();
    running_processes().push(number);
    let output = wait_for_output(&mut child, deadline);
    if output.is_err() {
        kill(number);
        let _ = child.kill();
        let _ = child.wait();
    }
    running_processes().retain(|other| *other != number);
    output
}

/// Kills the compilers that this module runs, with the children in their process groups, for a
/// process that is about to end. Has no effect on systems other than Unix.
pub fn stop_compilers() {
    running_processes().drain(..).for_each(kill);
}

fn running_processes() -> std::sync::MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_for_output(child: &mut Child, deadline: Instant) -> io::Result<Output> {
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let in_time = |stream: &mpsc::Receiver<io::Result<Vec<u8>>>| {
        let remaining = deadline.saturating_duration_since(Instant::now());
        stream.recv_timeout(remaining).map_err(|_| io::ErrorKind::TimedOut)?
    };
    let (stdout, stderr) = (in_time(&out)?, in_time(&err)?);
    Ok(Output { status: wait_for_exit(child, deadline)?, stdout, stderr })
}

/// Waits for a program that has closed its output, usually by ending.
fn wait_for_exit(child: &mut Child, deadline: Instant) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Reads a stream to its end on a thread, since a full pipe would block its writer.
fn drain(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.map_or(Ok(0), |mut stream| stream.read_to_end(&mut bytes));
        // The receiver may have timed out.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

/// Kills a process and its process group.
#[cfg(unix)]
fn kill(number: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(number).ok().and_then(Pid::from_raw) {
        // The process may have ended already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(_: u32) {}
