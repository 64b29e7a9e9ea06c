//! Handlers of signals that end the process. The handlers first remove unfinished files and stop
//! compilers.

use crate::datasets::remove_unfinished;
use crate::kernels::c::stop_compilers;

/// Effect of Ctrl-C on a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CtrlC {
    /// The end of the process.
    EndProcess,
    /// An interruption that the command handles itself before it continues.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only SQL statements are interrupted"))]
    InterruptCommand,
}

/// Removes unfinished files and stops compilers.
pub(super) fn clean_up() {
    remove_unfinished();
    stop_compilers();
}

/// Installs handlers that clean up before a signal ends the process. With
/// [`CtrlC::InterruptCommand`], the command handles Ctrl-C, which gets no handler here. Signals
/// that the process ignores from its start, for example by `nohup`, remain ignored.
#[cfg(unix)]
pub(super) fn clean_up_on_signals(ctrl_c: CtrlC) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let handled = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&s| s != SIGINT || ctrl_c == CtrlC::EndProcess);
    let Ok(mut signals) = signal_hook::iterator::Signals::new(handled.filter(|&s| !is_ignored(s))) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            clean_up();
            // Ends the process as if there were no handler.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    // If the thread cannot start, the signals have no effect.
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(1 << 16).spawn(wait);
}

#[cfg(not(unix))]
pub(super) fn clean_up_on_signals(_: CtrlC) {}

/// Returns whether the process ignores a signal; `false` if the system does not report this.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
