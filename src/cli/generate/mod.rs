//! `redpoll generate`: generates data; equal options and seeds give equal data on every machine.

mod kinds;

use super::bar::Bar;
use super::failure::CommandFailure;
use super::memory::memory;
use super::out::{check_file, check_size, dtype_note};
use super::plan::note;
use super::values::{dtype, whole};
use crate::datasets::generate::{Distribution, GenerateOptions, generate as generate_content};
use crate::datasets::{WriteOptions, write_content};
use crate::logic::Prim;
use kinds::GeneratorKind;
use std::io::Write;
use std::path::PathBuf;

/// Generate a graph, matrix, tensor or image
#[derive(clap::Args)]
#[command(after_help = "\
The same options and seed give the same file on every machine.
Entries may take as much memory as `--memory-limit` allows.

Examples:
  redpoll generate rmat --scale 16 --edges 1000000 --out graph.mtx.zst
  redpoll generate grid --extents 100,100 --out laplacian.npz
  redpoll generate uniform --shape 1000,1000,500 --entries 1000000 --values normal:0:1 --seed 7 --out tensor.tns.gz
  redpoll generate ratings --users 5000 --items 2000 --ratings 200000 --stars 5 --dtype u8 --out ratings.csv

`redpoll generate KIND --help` lists the options of a kind.")]
pub(super) struct Args {
    #[command(subcommand)]
    kind: GeneratorKind,
}

/// The options that every kind of data has.
#[derive(clap::Args)]
pub(super) struct CommonArgs {
    /// Write to FILE, in the format of its extension, such as .rpt, .mtx, .tns, .npz, .csv or .pgm,
    /// optionally followed by .gz or .zst
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>)]
    seed: u64,

    /// The dtype of the values: bool, i8 to i64, u8 to u64, f32 or f64; by default, a dtype that
    /// suits the values
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    dtype: Option<Prim>,

    /// The distribution of values: one, integer:LOW:HIGH (never 0), uniform:LOW:HIGH or
    /// normal:MEAN:DEVIATION; by default, the distribution of the kind of data
    #[arg(long, value_name = "DISTRIBUTION", allow_hyphen_values = true)]
    values: Option<Distribution>,
}

pub(super) fn generate(args: &Args, limit: Option<usize>, out: &mut impl Write) -> Result<(), CommandFailure> {
    let memory = memory(limit);
    let (generator, common) = args.kind.generator()?;
    check_file("--out ", &common.out)?;
    let options = GenerateOptions {
        seed: common.seed,
        dtype: common.dtype,
        values: common.values,
        memory: limit.map_or(GenerateOptions::default().memory, |bytes| bytes as u64),
    };
    let bar = Bar::new();
    let content = generate_content(&*generator, &options, &mut |p| bar.show(p.step, p.done, p.total))?;
    check_size(&common.out, &content.shape, content.prim())?;
    bar.wait("writing");
    write_content(&common.out, &content, &WriteOptions { memory: memory.clone(), ..WriteOptions::default() })?;
    bar.wait("checking");
    let lost = dtype_note(&common.out, &content.prim().into(), &memory)?;
    bar.clear();
    lost.iter().for_each(|text| note(text));
    let shape: Vec<String> = content.shape.iter().map(u64::to_string).collect();
    let (shape, entries) = (shape.join(" x "), content.data.values().len());
    let what = if matches!(content.data, crate::datasets::Data::Dense(_)) { "elements" } else { "entries" };
    writeln!(out, "{}    {shape} {}, {entries} {what}", common.out.display(), content.prim())?;
    Ok(())
}
