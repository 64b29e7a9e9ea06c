//! What the system tells of processes: the memory that they took.

use std::fs;

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
