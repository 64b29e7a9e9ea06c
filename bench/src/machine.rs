//! Reference speeds of the machine, as bounds for memory-bound kernels.

use crate::hand;
use crate::results::MachineInfo;
use redpoll::datasets::generate::random::Random;
use redpoll_kernels::c::Toolchain;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Returns the best time of `calls` calls.
pub fn best_time(calls: usize, mut call: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    (0..calls).map(time).min().unwrap_or_default()
}

/// Returns the bytes read and written per second by a copy of an array larger than the caches.
pub fn copy_bandwidth() -> f64 {
    let from = vec![1u8; 256 << 20];
    let mut to = vec![0u8; from.len()];
    let time = best_time(8, || black_box(&mut to).copy_from_slice(black_box(&from)));
    2.0 * from.len() as f64 / time.as_secs_f64()
}

/// Returns the bytes read per second by a sum over an array of `f64` larger than the caches.
pub fn read_bandwidth() -> f64 {
    let from = vec![1f64; 32 << 20];
    let time = best_time(8, || {
        let mut sums = [0.0; 16];
        for chunk in black_box(&from).as_chunks::<16>().0 {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += value;
            }
        }
        black_box(sums);
    });
    8.0 * from.len() as f64 / time.as_secs_f64()
}

/// Returns the name, architecture and number of cores of the processor.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} ({}), {cores} cores", name.unwrap_or("unknown processor"), std::env::consts::ARCH)
}

/// Returns the number of elements per second that a loop gathers, at uniform indices into an array
/// of `f64`. The parameter `array` is the length of this array.
pub fn gathers(array: usize) -> f64 {
    let mut random = Random::new(1, 0);
    let indices: Vec<u32> = (0..1 << 22).map(|_| random.below(array as u64) as u32).collect();
    let from = vec![1.0; array];
    let time = best_time(5, || {
        black_box(hand::gather(black_box(&indices), &from));
    });
    indices.len() as f64 / time.as_secs_f64()
}

/// Describes the machine, its reference speeds and the date.
pub fn describe() -> MachineInfo {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let rustc = Command::new("rustc").arg("--version").output().ok();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let compiler = Toolchain::host().compiler().map_or_else(|error| error.to_string(), str::to_owned);
    MachineInfo {
        processor: processor(),
        system: format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease")),
        date: date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())),
        compilers: rustc.into_iter().chain([compiler]).collect(),
        copy_bandwidth: copy_bandwidth(),
        read_bandwidth: read_bandwidth(),
        gathers: [gathers(1 << 11), gathers(1 << 25)],
        load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
    }
}

/// Returns the UTC date of a number of seconds since 1970, as `YYYY-MM-DD`. Source: Howard Hinnant,
/// "chrono-compatible low-level date algorithms", `civil_from_days`.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Up to here, years begin in March.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", year_of_era + 400 * era + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let days = [0, 951_782_400, 1_709_164_800, 1_795_219_200, 4_102_444_799];
        assert_eq!(days.map(date), ["1970-01-01", "2000-02-29", "2024-02-29", "2026-11-21", "2099-12-31"]);
    }
}
