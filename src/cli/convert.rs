//! `redpoll convert`: conversion of a file to another format, with notes on lost properties.

use super::bar::Bar;
use super::bind::storage_format;
use super::edge_list::EdgeListArgs;
use super::failure::CommandFailure;
use super::out::{check_file, check_not_input, check_size, lost_dtype};
use super::plan::{edge_list_notes, note, repetition_note};
use super::values::dtype;
use crate::datasets::file_formats::FileFormat;
use crate::datasets::{
    Info, Memory, ReadOptions, Symmetry, WriteOptions, info_within, open_as, read, write, write_content,
};
use crate::logic::Prim;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Convert a file to another format
#[derive(clap::Args)]
#[command(after_help = "\
Notes on standard error list the properties that the format of OUT cannot represent. Values at repeated coordinates are
added.

Examples:
  redpoll convert graph.mtx.gz graph.npz
  redpoll convert ratings.csv ratings.mtx --bipartite --coordinates userId,movieId --value rating
  redpoll convert ratings.csv ratings.rpt --dtype u8
  redpoll convert soc-Epinions1.txt.gz epinions.mtx --delimiter tab
  redpoll convert graph.mtx.gz graph.rpt --format csc")]
pub(super) struct Args {
    /// A file of a known format, compressed or not; see `redpoll formats`
    #[arg(value_name = "IN")]
    from: PathBuf,

    /// The file to write, in the format of its extension
    #[arg(value_name = "OUT")]
    to: PathBuf,

    /// The storage format of the tensor, by default the one closest to IN; see `redpoll formats`. A
    /// .rpt file can have any format; a .npz or .bsp.npz file gets the layout that is closest to
    /// the format
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// Read the values as DTYPE: bool, i8 to i64, u8 to u64, f32 or f64; by default, as the dtype
    /// of IN. A value that does not fit is an error; only 0 and 1 fit bool
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    dtype: Option<Prim>,

    #[command(
        flatten,
        next_help_heading = "Edge lists (detected by default; any of these options reads IN as an edge list)"
    )]
    edge_list: EdgeListArgs,
}

impl Args {
    fn read_options(&self, memory: &Memory) -> ReadOptions {
        ReadOptions { dtype: self.dtype, memory: memory.clone(), ..self.edge_list.read_options() }
    }
}

pub(super) fn convert(args: &Args, memory: &Memory, out: &mut impl Write) -> Result<(), CommandFailure> {
    check_output(&args.from, &args.to)?;
    let to = FileFormat::of_file_name(&args.to).expect("the extension was checked");
    if to.stores_arrays() || args.format.is_some() && matches!(to.extension, "npz" | "bsp.npz") {
        return convert_tensor(args, memory, out);
    }
    if args.format.is_some() {
        let message = format!("--format: a .{} file has no storage format", to.extension);
        return Err(CommandFailure::usage_with_hint(message, "write a .rpt, .npz or .bsp.npz file"));
    }
    let bar = Bar::new();
    bar.wait("reading");
    let loaded = read(&args.from, &args.read_options(memory))?;
    let (before, dictionaries) = (loaded.info.clone(), loaded.dictionaries.clone());
    let entry_memory = loaded.entry_memory();
    let (content, repeated) = loaded.into_content()?;
    let mut options = WriteOptions { memory: memory.clone(), ..WriteOptions::default() };
    if matches!(to.extension, "csv" | "tsv") {
        options.dictionaries.clone_from(&dictionaries);
    }
    if before.symmetry != Symmetry::General && to.extension == "mtx" {
        options.symmetry = before.symmetry;
    }
    check_size(&args.to, &content.shape, content.prim())?;
    bar.wait("writing");
    write_content(&args.to, &content, &options)?;
    drop(entry_memory);
    bar.wait("checking");
    let after = info_within(&args.to, memory)?;
    bar.clear();
    edge_list_notes(&args.from, &before).iter().for_each(|text| note(text));
    repetition_note(&args.from, repeated, &before).iter().for_each(|text| note(text));
    let has_lost_names = !dictionaries.is_empty() && options.dictionaries.is_empty();
    for loss in find_losses(&before, &after, has_lost_names) {
        note(&format!("{}: {loss}", args.to.display()));
    }
    write_summary(args, &after, out)
}

/// Rejects an output that is a folder, the input file (whose column names and coordinate names
/// could be lost), or a file that [`check_file`] rejects.
fn check_output(from: &Path, to: &Path) -> Result<(), CommandFailure> {
    if to.is_dir() {
        let example = to.join("tensor.npz");
        let hint = format!("name a file in the folder, such as {}", example.display());
        return Err(CommandFailure::usage_with_hint(format!("{}: is a folder", to.display()), hint));
    }
    check_not_input("", to, &[from])?;
    check_file("", to)
}

/// Converts the file as a tensor, in the storage format of `--format`, or else the storage format
/// closest to the file.
fn convert_tensor(args: &Args, memory: &Memory, out: &mut impl Write) -> Result<(), CommandFailure> {
    let bar = Bar::new();
    bar.wait("reading");
    let options = args.read_options(memory);
    let format = |info: &Info| {
        let parse = |text: &String| storage_format(text, info.shape.len(), || format!("--format {text}"));
        args.format.as_ref().map(parse).transpose()
    };
    let opened = open_as(&args.from, &options, format)?;
    bar.wait("writing");
    write(&args.to, &opened.tensor, &WriteOptions { memory: memory.clone(), ..WriteOptions::default() })?;
    bar.wait("checking");
    let after = info_within(&args.to, memory)?;
    bar.clear();
    edge_list_notes(&args.from, &opened.info).iter().for_each(|text| note(text));
    repetition_note(&args.from, opened.repeated, &opened.info).iter().for_each(|text| note(text));
    // The storage format determines the layout, so another layout is not a loss.
    let before = Info { layout: after.layout, ..opened.info };
    for loss in find_losses(&before, &after, !opened.dictionaries.is_empty()) {
        note(&format!("{}: {loss}", args.to.display()));
    }
    write_summary(args, &after, out)
}

/// Writes a line with the shape, the dtype and the number of entries of the written file.
fn write_summary(args: &Args, after: &Info, out: &mut impl Write) -> Result<(), CommandFailure> {
    let shape: Vec<String> = after.shape.iter().map(u64::to_string).collect();
    writeln!(out, "{}    {} {}, {} entries", args.to.display(), shape.join(" x "), after.dtype, after.stored)?;
    Ok(())
}

/// Describes the properties that the written file has lost, and a comment that was added to store
/// the shape. `before` is the header of the file that was read, `after` the header of the written
/// file.
fn find_losses(before: &Info, after: &Info, has_lost_names: bool) -> Vec<String> {
    let to = format!(".{} files", after.file_format.extension);
    let mut losses = Vec::new();
    if has_lost_names {
        losses.push(format!("{to} cannot store names of coordinates; .csv and .tsv files can"));
    }
    losses.extend(lost_dtype(&before.dtype, after));
    if before.symmetry != after.symmetry {
        losses.push(format!("{to} cannot store that the matrix is {}; both triangles are written", before.symmetry));
    }
    if before.layout != after.layout {
        losses.push(format!("the layout changes from {} to {}", before.layout, after.layout));
    }
    if after.has_shape_comment {
        let shape = before.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let comment = format!("the first line, `# dims {shape}`, is a comment with the shape");
        losses.push(match after.file_format.extension {
            "tns" => format!("{comment}, which other programs ignore"),
            _ => format!("{comment}; `pandas.read_csv(FILE, comment='#')` and DuckDB skip it"),
        });
    }
    if !before.columns.is_empty() && !after.columns.is_empty() && before.columns != after.columns {
        let (from, to) = (before.columns.join(","), after.columns.join(","));
        losses.push(format!("the header is `{to}`, and the column names `{from}` are lost"));
    }
    losses
}
