//! What the machine can do: the yardsticks of memory-bound kernels.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The best time of so many calls.
pub fn best_of(calls: usize, mut call: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    (0..calls).map(time).min().unwrap_or_default()
}

/// Bytes read and written a second by a copy of an array that no cache holds.
pub fn copy_bandwidth() -> f64 {
    let from = vec![1u8; 256 << 20];
    let mut to = vec![0u8; from.len()];
    let time = best_of(8, || black_box(&mut to).copy_from_slice(black_box(&from)));
    2.0 * from.len() as f64 / time.as_secs_f64()
}

/// Bytes a second of a sum over an array of `f64` that no cache holds.
pub fn read_bandwidth() -> f64 {
    let from = vec![1f64; 32 << 20];
    let time = best_of(8, || {
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

/// The name of the processor, where the system tells it.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} ({}), {cores} cores", name.unwrap_or("unknown processor"), std::env::consts::ARCH)
}
