//! `redpoll info`: what a file holds, from its header.

use super::failure::Failure;
use crate::datasets::{Compression, Symmetry, info as read_info};
use std::io::Write;
use std::path::PathBuf;

/// Show what a file holds
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  redpoll info datasets/data/davis.mtx")]
pub(super) struct Args {
    /// A file of a known format, compressed or not; see `redpoll formats`
    file: PathBuf,
}

pub(super) fn info(args: &Args, out: &mut impl Write) -> Result<(), Failure> {
    let info = read_info(&args.file)?;
    let shape: Vec<String> = info.shape.iter().map(u64::to_string).collect();
    let format = match info.compression {
        Compression::None => info.file_format.to_string(),
        compression => format!("{}, {}", info.file_format, compression.name()),
    };
    writeln!(out, "file      {}", args.file.display())?;
    writeln!(out, "format    {format}")?;
    writeln!(out, "layout    {}", info.layout)?;
    writeln!(out, "shape     {}", if shape.is_empty() { "scalar".into() } else { shape.join(" x ") })?;
    writeln!(out, "dtype     {}", info.dtype)?;
    writeln!(out, "entries   {}", info.stored)?;
    if info.symmetry != Symmetry::General {
        writeln!(out, "symmetry  {}, one triangle is in the file", info.symmetry)?;
    }
    Ok(())
}
