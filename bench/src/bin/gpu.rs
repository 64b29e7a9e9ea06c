//! Kernels on the first CUDA device: checked against the CPU on two sets of random data, and timed by the device's clock.
//!
//! Where there is no device it says so, and that is no failure. `--out FOLDER` leaves inputs and times for `peers/gpu_peer.py`.
//! With `--dry` the interpreter of grids takes the place of the device, and results are left, too, so that all that there is
//! around a device can be tried without one.
#![allow(clippy::print_stdout, reason = "the table is what the binary is for")]

use anyhow::{Context, Result};
use clap::Parser;
use redpoll::datasets::Content;
use redpoll::{Config, Engine, Session};
use redpoll_bench::gpu::{KERNELS, Problem, SHAPES, measure, problem, results};
use redpoll_bench::npy::write_input;
use redpoll_physical::emit::cuda::Cuda;
use redpoll_physical::storage::Tensor;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// That of the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Kernels on a CUDA device
#[derive(Parser)]
#[command(name = "gpu", version, about)]
struct Cli {
    /// Only kernels whose names contain this
    #[arg(long, value_name = "PART", default_value = "")]
    only: String,
    /// The entries of each matrix and tensor; 100000000 are 1.2 GB as CSR
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    entries: u64,
    /// The rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 9)]
    rounds: usize,
    /// Where the random numbers begin; else the clock says
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the inputs, and the times as JSON lines, into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Interpret the kernels in place of a device: times mean nothing, so take few entries
    #[arg(long)]
    dry: bool,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if let (Err(error), false) = (Cuda::first(), cli.dry) {
        println!("nothing was measured: {error}");
        return Ok(());
    }
    let engine = if cli.dry { Engine::GridInterpreter } else { Engine::Cuda(0) };
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seed = cli.seed.unwrap_or_else(clock);
    println!("{} entries, seed {seed}; milliseconds, medians of {}.\n", cli.entries, cli.rounds);
    println!("| kernel | data | MB | kernels | GB/s | run | CPU |\n|---|---|---|---|---|---|---|");
    let mut lines = String::new();
    let mut failed = 0;
    for (kernel, _) in KERNELS.iter().filter(|(name, _)| name.contains(&cli.only)) {
        for (structure, data) in SHAPES {
            // Squares of matrices have many more entries than these.
            let entries = if *kernel == "spgemm" { cli.entries / 10 } else { cli.entries };
            let made = [seed, seed + 100].into_iter().map(|seed| problem(kernel, structure, entries, seed));
            let Some(problems) = made.collect::<Result<Option<Vec<Problem>>>>()? else { continue };
            if let Some(folder) = &cli.out {
                let folder = folder.join(format!("{kernel}-{data}"));
                leave(&folder, problems[0].inputs.iter().map(|(name, tensor)| (name.to_string(), tensor)))?;
                if cli.dry {
                    let found = results(&Session::new(Config { engine, ..Config::default() }), &problems[0])?;
                    leave(
                        &folder.join("results"),
                        found.iter().enumerate().map(|(k, tensor)| (k.to_string(), tensor)),
                    )?;
                }
            }
            match measure(&problems, engine, cli.rounds) {
                Ok(m) => {
                    let [kernels, run, cpu] = [m.kernels, m.run, m.cpu].map(|t| 1e3 * t.as_secs_f64());
                    let (mb, rate) = (m.bytes as f64 / 1e6, m.bytes as f64 / 1e6 / kernels);
                    println!("| {kernel} | {data} | {mb:.0} | {kernels:.3} | {rate:.0} | {run:.3} | {cpu:.1} |");
                    let line = serde_json::json!({ "kernel": kernel, "data": data, "ms": kernels, "bytes": m.bytes });
                    let _ = writeln!(lines, "{line}");
                }
                Err(error) => {
                    failed += 1;
                    println!("| {kernel} | {data} | failed: {error:#} |");
                }
            }
        }
    }
    if let Some(folder) = &cli.out {
        std::fs::write(folder.join("redpoll.jsonl"), lines).context("writing the times")?;
    }
    anyhow::ensure!(failed == 0, "{failed} problems failed");
    Ok(())
}

/// Writes tensors for peers: arrays of NumPy, and the shapes of all by name.
fn leave<'t>(folder: &Path, tensors: impl Iterator<Item = (String, &'t Tensor)>) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut shapes = serde_json::Map::new();
    for (name, tensor) in tensors {
        write_input(folder, &name, &Content::of_tensor(folder.join(&name), tensor)?)?;
        shapes.insert(name, tensor.ty().shape.clone().into());
    }
    std::fs::write(folder.join("shapes.json"), serde_json::Value::from(shapes).to_string())?;
    Ok(())
}
