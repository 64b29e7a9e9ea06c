//! Runs kernels on the first CUDA device: checks them against the CPU on two sets of random data,
//! and times them by the device's clock.
//!
//! Without a device, the program reports that nothing was measured and succeeds. `--out FOLDER`
//! writes inputs and times for `peers/gpu_peer.py`. With `--dry`, the interpreter of grids replaces
//! the device, and `--out` also writes results. This tests everything except the device.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::Result;
use clap::Parser;
use redpoll::{Config, Session, Target};
use redpoll_bench::gpu::{GpuData, Handover, KERNELS, KernelProblem, ProblemTimes, STRUCTURES, measure, results};
use redpoll_devices::cuda::Cuda;
use serde_json::json;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Checks and times kernels on a CUDA device
#[derive(Parser)]
#[command(name = "gpu", version, about)]
struct Cli {
    /// Run only kernels whose names contain this
    #[arg(long, value_name = "PART", default_value = "")]
    only: String,
    /// Number of entries of each matrix and tensor; 100000000 entries take 1.2 GB as CSR. The
    /// kernels `spgemm` and `triangles` use fewer
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    entries: u64,
    /// Number of timed rounds
    #[arg(long, value_name = "N", default_value_t = 9)]
    rounds: usize,
    /// Seed of the random numbers; taken from the clock by default
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the inputs, and the times as JSON lines, to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Interpret the kernels instead of running them on a device; times are meaningless, so use few
    /// entries
    #[arg(long)]
    dry: bool,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if let (Err(error), false) = (Cuda::open(0), cli.dry) {
        println!("nothing was measured: {error}");
        return Ok(());
    }
    let target = if cli.dry { Target::GRID } else { Target::cuda(0) };
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seed = cli.seed.unwrap_or_else(clock);
    println!("{} entries, seed {seed}; milliseconds, medians of {}.\n", cli.entries, cli.rounds);
    println!("| kernel | data | MB | kernels | GB/s | run | CPU |\n|---|---|---|---|---|---|---|");
    let handover = cli.out.as_deref().map(Handover::new).transpose()?;
    let mut failed = 0;
    for (structure, name) in STRUCTURES {
        let mut data = [seed, seed + 100].map(|seed| GpuData::new(structure, cli.entries, seed));
        for (kernel, _) in KERNELS.iter().filter(|(name, _)| name.contains(&cli.only)) {
            let problems = data.iter_mut().map(|data| data.problem(kernel));
            let Some(problems) = problems.collect::<Result<Option<Vec<KernelProblem>>>>()? else { continue };
            let found = measure(&problems, target, cli.rounds);
            println!("{}", row(kernel, name, &found));
            failed += u32::from(found.is_err());
            if let (Ok(found), Some(handover)) = (found, &handover) {
                let session = Session::new(Config { target, ..Config::default() });
                // On a device, results were already compared with those of the CPU.
                let results = if cli.dry { results(&session, &problems[0])? } else { Vec::new() };
                let ms = 1e3 * found.kernels.as_secs_f64();
                let line = json!({ "kernel": kernel, "data": name, "ms": ms, "bytes": found.bytes });
                handover.write_problem(name, line.as_object().cloned().unwrap_or_default(), &problems[0], &results)?;
            }
        }
    }
    anyhow::ensure!(failed == 0, "{failed} problems failed");
    Ok(())
}

/// Returns a row of the table.
fn row(kernel: &str, data: &str, found: &Result<ProblemTimes>) -> String {
    match found {
        Ok(m) => {
            let [kernels, run, cpu] = [m.kernels, m.run, m.cpu].map(|t| 1e3 * t.as_secs_f64());
            let (mb, rate) = (m.bytes as f64 / 1e6, m.bytes as f64 / 1e6 / kernels);
            format!("| {kernel} | {data} | {mb:.0} | {kernels:.3} | {rate:.0} | {run:.3} | {cpu:.1} |")
        }
        Err(error) => format!("| {kernel} | {data} | failed: {error:#} |"),
    }
}
