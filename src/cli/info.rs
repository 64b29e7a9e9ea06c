//! `redpoll info`: the content of a file, its structure, and its size in each format.

use super::bar::Bar;
use super::failure::CommandFailure;
use super::json::scalar;
use super::plan::{edge_list_notes, note, repetition_note};
use super::structure::FormatReport;
use crate::datasets::{Compression, Info, Memory, ReadOptions, Symmetry, info_within, open};
use crate::logic::Scalar;
use crate::logic::text::format_to_sexpr;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Show the content of a file, its structure, and its size in each format
#[derive(clap::Args)]
#[command(after_help = "\
Fibers run along the last mode, such as the rows of a matrix. A run is a sequence of adjacent entries of a fiber with
equal values; a block is a sequence of adjacent entries with any values. Bytes count all arrays of a tensor in memory.

Examples:
  redpoll info datasets/data/davis.mtx
  redpoll info graph.mtx.zst --header
  redpoll info graph.mtx.zst --json")]
pub(super) struct Args {
    /// A file of a known format, compressed or not; see `redpoll formats`
    file: PathBuf,

    /// Read only the header, without the structure
    #[arg(long)]
    header: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn info(args: &Args, memory: &Memory, out: &mut impl Write) -> Result<(), CommandFailure> {
    let header = info_within(&args.file, memory)?;
    let report = if args.header { None } else { Some(report(&args.file, memory)?) };
    edge_list_notes(&args.file, &header).iter().for_each(|text| note(text));
    if args.json {
        let mut members = header_json(&args.file, &header);
        members.extend(report.iter().flat_map(FormatReport::to_json));
        return Ok(writeln!(out, "{}", Value::Object(members))?);
    }
    header_text(&args.file, &header, out)?;
    report.map_or(Ok(()), |report| Ok(report.write(out)?))
}

/// Reads the whole file and analyzes its entries.
fn report(file: &Path, memory: &Memory) -> Result<FormatReport, CommandFailure> {
    let bar = Bar::new();
    bar.wait("reading");
    let options = ReadOptions { memory: memory.clone(), ..ReadOptions::default() };
    let opened = open(file, &options, None)?;
    bar.wait("counting");
    let (report, repeated) = (FormatReport::of(&opened.tensor)?, opened.repeated);
    bar.clear();
    repetition_note(file, repeated, &opened.info).iter().for_each(|text| note(text));
    Ok(report)
}

fn header_text(file: &Path, info: &Info, out: &mut impl Write) -> std::io::Result<()> {
    let shape: Vec<String> = info.shape.iter().map(u64::to_string).collect();
    let format = match info.compression {
        Compression::None => info.file_format.to_string(),
        compression => format!("{}, {}", info.file_format, compression.name()),
    };
    writeln!(out, "file      {}", file.display())?;
    writeln!(out, "format    {format}")?;
    writeln!(out, "layout    {}", info.layout)?;
    writeln!(out, "shape     {}", if shape.is_empty() { "scalar".into() } else { shape.join(" x ") })?;
    writeln!(out, "dtype     {}", info.dtype)?;
    writeln!(out, "entries   {}", info.stored)?;
    if let Some(storage) = &info.storage {
        writeln!(out, "storage   {}", format_to_sexpr(storage))?;
    }
    if info.dtype.prim().is_none_or(|prim| info.fill != Scalar::zero(prim)) {
        writeln!(out, "fill      {}", info.fill)?;
    }
    if info.symmetry != Symmetry::General {
        writeln!(out, "symmetry  {}, the file stores one triangle", info.symmetry)?;
    }
    Ok(())
}

fn header_json(file: &Path, info: &Info) -> Map<String, Value> {
    let members = [
        ("file", json!(file.display().to_string())),
        ("file_format", json!(info.file_format.to_string())),
        ("compression", json!(info.compression.name())),
        ("layout", json!(info.layout.to_string())),
        ("shape", json!(info.shape)),
        ("dtype", json!(info.dtype.to_string())),
        ("entries_in_file", json!(info.stored)),
        ("storage", json!(info.storage.as_ref().map(|format| format_to_sexpr(format).to_string()))),
        ("fill", scalar(&info.fill)),
        ("symmetry_of_file", json!(info.symmetry.to_string())),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}
