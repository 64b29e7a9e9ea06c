//! Signals that end the process: what it has begun and not finished is taken away first.

use crate::datasets::remove_unfinished;
use crate::physical::emit::c::stop_compilers;

/// What Ctrl-C does to a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CtrlC {
    /// It ends the process.
    Ends,
    /// The command has something of its own to end, and goes on.
    IsHeard,
}

/// Removes half-written files and ends compilers that nobody waits for any more.
pub(super) fn clean_up() {
    remove_unfinished();
    stop_compilers();
}

/// From now on a signal that ends the process has it clean up before. Signals that the process was started to ignore, as
/// `nohup` does, stay ignored.
#[cfg(unix)]
pub(super) fn clean_up_on_signals(ctrl_c: CtrlC) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&s| s != SIGINT || ctrl_c == CtrlC::Ends);
    let Ok(mut signals) = signal_hook::iterator::Signals::new(heard.filter(|&s| !is_ignored(s))) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            clean_up();
            // It ends the process the way that nobody had listened.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    // Without a thread signals end the process as they do anyway.
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(1 << 16).spawn(wait);
}

#[cfg(not(unix))]
pub(super) fn clean_up_on_signals(_: CtrlC) {}

/// Whether the process was started to ignore a signal, as far as the system tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
