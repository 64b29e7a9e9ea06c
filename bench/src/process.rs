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

/// Waits until no thread of a process runs, at most as long as said; not at all where the system does not tell. Whether it
/// rests then. Threads of OpenMP go on spinning when their work is done, for 0.2 s by default in Intel's runtime.
pub fn wait_for_rest(process: u32, longest: Duration) -> bool {
    let start = Instant::now();
    while runs(process) {
        if start.elapsed() >= longest {
            return false;
        }
        sleep(Duration::from_millis(1));
    }
    true
}

/// Whether a thread of a process runs, or waits for a core or for the disk: what is read for it comes at any moment.
fn runs(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    let state = |stat: String| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    let stats = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(state).any(|state| matches!(state, 'R' | 'D'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    /// Protects who is next from threads that spin: a loop never rests, a sleep does.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_spins_is_waited_for() {
        let shell = ["-c", "echo ready; while :; do :; done"];
        let mut spinning = Command::new("sh").args(shell).stdout(Stdio::piped()).spawn().unwrap();
        spinning.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
        let rests = wait_for_rest(spinning.id(), Duration::from_millis(50));
        spinning.kill().and(spinning.wait()).unwrap();
        assert!(!rests);
        let mut resting = Command::new("sleep").arg("60").spawn().unwrap();
        let rests = wait_for_rest(resting.id(), Duration::from_secs(30));
        resting.kill().and(resting.wait()).unwrap();
        assert!(rests);
    }
}
