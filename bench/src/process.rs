//! Facts about processes from the system: their peak memory, and whether they are idle.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Resets the peak memory of a process, on systems that support it.
pub fn reset_peak_memory(process: u32) {
    // If the reset fails, the peak also covers earlier times, so it is an upper bound.
    let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
}

/// Returns the peak memory of a process in bytes; 0 if the system does not report it.
pub fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    1024 * kibibytes.unwrap_or(0)
}

/// Waits until no thread of a process runs, at most for `limit`, and returns whether the process
/// is idle. Does not wait if the system does not report threads. Threads of OpenMP spin after their
/// work, by default for 0.2 s in Intel's runtime.
pub fn wait_until_idle(process: u32, limit: Duration) -> bool {
    let start = Instant::now();
    while is_busy(process) {
        if start.elapsed() >= limit {
            return false;
        }
        sleep(Duration::from_millis(1));
    }
    true
}

/// Returns whether a thread of a process runs or waits for a core or the disk.
fn is_busy(process: u32) -> bool {
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

    /// A process that spins is not idle within the limit; a process that sleeps is idle.
    #[test]
    #[cfg(target_os = "linux")]
    fn spinning_processes_are_not_idle() {
        let shell = ["-c", "echo ready; while :; do :; done"];
        let mut spinning = Command::new("sh").args(shell).stdout(Stdio::piped()).spawn().unwrap();
        spinning.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
        let is_idle = wait_until_idle(spinning.id(), Duration::from_millis(50));
        spinning.kill().and(spinning.wait()).unwrap();
        assert!(!is_idle);
        let mut idle = Command::new("sleep").arg("60").spawn().unwrap();
        let is_idle = wait_until_idle(idle.id(), Duration::from_secs(30));
        idle.kill().and(idle.wait()).unwrap();
        assert!(is_idle);
    }
}
