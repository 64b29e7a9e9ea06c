//! What the system tells of processes: the memory that they took, and whether they are at rest.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Lets the peak of a process's memory begin anew, where the system does that.
pub fn reset_peak(process: u32) {
    // Where it is refused, the peak covers what was before as well, which is more than is asked for.
    let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
}

/// The most bytes of memory that a process held; 0 where the system does not tell.
pub fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    1024 * kibibytes.unwrap_or(0)
}

/// Waits until no thread of a process runs, at most as long as said; not at all where the system does not tell. Threads of
/// OpenMP go on spinning when their work is done, for 0.2 s by default in Intel's runtime.
pub fn wait_for_rest(process: u32, longest: Duration) {
    let start = Instant::now();
    while runs(process) && start.elapsed() < longest {
        sleep(Duration::from_millis(1));
    }
}

/// Whether a thread of a process runs or waits for a core.
fn runs(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    let state = |stat: String| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    let stats = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(state).any(|state| state == 'R')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects who is next from threads that spin: a loop is waited for as long as said, a sleep is not.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_spins_is_waited_for() {
        let mut spinning = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let short = Duration::from_millis(50);
        let start = Instant::now();
        wait_for_rest(spinning.id(), short);
        assert!(start.elapsed() >= short);
        spinning.kill().unwrap();
        let mut resting = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let long = Duration::from_secs(30);
        let start = Instant::now();
        wait_for_rest(resting.id(), long);
        assert!(start.elapsed() < long);
        resting.kill().unwrap();
        spinning.wait().and(resting.wait()).unwrap();
    }
}
