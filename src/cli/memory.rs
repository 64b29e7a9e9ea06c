//! `--memory-limit`, and the limits of the system.

use crate::datasets::Memory;
use sysinfo::{MemoryRefreshKind, System};

/// Parses a number of bytes such as `512M`, `1.5G` or `100000000`. K, M, G and T are powers of 1024
/// and may be followed by `B` or `iB`.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let expected = || format!("expected a number of bytes such as 512M or 2G, found `{text}`");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit);
    let power = ["", "k", "m", "g", "t"].iter().position(|prefix| *prefix == unit).ok_or_else(expected)?;
    let bytes = number * f64::from(1u32 << 10).powi(power as i32);
    if bytes < 1.0 || bytes >= isize::MAX as f64 {
        return Err(format!("expected a number of bytes from 1 to the size of the address space, found `{text}`"));
    }
    Ok(bytes as usize)
}

/// Returns the memory limit of a command in bytes: the requested limit, by default most of the
/// machine's memory, capped by the available address space. `None` means no limit.
pub(super) fn limit(requested: Option<usize>) -> Option<usize> {
    [requested.or_else(most_of_machine), address_space()].into_iter().flatten().min()
}

/// Returns nine tenths of the memory of the machine or of the container, in bytes; `None` if the
/// system does not report it.
fn most_of_machine() -> Option<usize> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let total = system.cgroup_limits().map_or(system.total_memory(), |limits| limits.total_memory);
    usize::try_from(total / 10 * 9).ok().filter(|bytes| *bytes > 0)
}

/// Creates a memory account with the given limit, for commands without a session.
pub(super) fn memory(limit: Option<usize>) -> Memory {
    limit.map_or_else(Memory::default, Memory::limited)
}

/// Returns the number of bytes that the process can still map under the limit of `ulimit -v`, less
/// a reserve for allocators and threads. The reserve is at most three quarters of these bytes.
/// Returns `None` if `ulimit -v` sets no limit.
#[cfg(unix)]
fn address_space() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    const RESERVE: u64 = 64 << 20;
    let limit = getrlimit(Resource::As).current?;
    let available = limit.saturating_sub(mapped());
    Some(usize::try_from(available.saturating_sub(RESERVE).max(available / 4)).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn address_space() -> Option<usize> {
    None
}

/// Returns the bytes of mapped address space, or 0 if the system does not report them.
#[cfg(unix)]
fn mapped() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    kibibytes.and_then(|size| size.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes_are_read() {
        let cases =
            [("100", 100), ("2k", 2048), ("1.5M", 3 << 19), ("2G", 2 << 30), ("2GiB", 2 << 30), ("3 MB", 3 << 20)];
        for (text, expected) in cases {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for wrong in ["", "G", "-1", "0", "1X", "1e3", "99999999T", "1.2.3M", "nan"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
