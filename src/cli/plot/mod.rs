//! `redpoll plot`: a picture of the entries of a file, as PNG or SVG.
//!
//! `pattern.rs` draws the entries at their coordinates, and `bars.rs` draws histograms over the
//! bins of `bins.rs`. Both draw a scene of rectangles, texts and images (`scene.rs`) with axes
//! (`axis.rs`). `svg.rs` and `png.rs` encode the scene as a file; `font.rs` draws the texts of PNG
//! images.

mod axis;
mod bars;
mod bins;
mod font;
mod pattern;
mod png;
mod scene;
mod svg;
#[cfg(test)]
mod tests;

use super::bar::Bar;
use super::edge_list::EdgeListArgs;
use super::failure::CommandFailure;
use super::plan::{edge_list_notes, note, repetition_note};
use super::values::mode;
use crate::datasets::{Memory, ReadOptions, open, write_file};
use crate::storage::{Histogram, Tensor};
use bars::{Series, Titles};
use clap::ValueEnum;
use indicatif::HumanCount;
use pattern::PatternModes;
use scene::Scene;
use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Draw the entries of a file as a picture
#[derive(clap::Args)]
#[command(after_help = "\
A pattern shows where the entries are, with the first mode from top to bottom and the second from left to right; a
vector is one row. If a pixel has several entries, its shade is darker by the logarithm of their number. A tensor with
more modes is projected onto the two drawn modes: all entries with the same two coordinates fall on one point.

The degree of a coordinate is its number of entries, such as the number of entries of a row. Runs are adjacent entries
with equal values along the last mode, blocks are adjacent entries with any values, as in `redpoll info`. Histograms of
a range of more than 32 numbers have a bin for each power of two.

Examples:
  redpoll plot datasets/data/davis.mtx
  redpoll plot graph.mtx.zst --kind degrees --out degrees.svg
  redpoll plot datasets/data/berkeley.tns --modes 2,0")]
pub(super) struct Args {
    /// A file of a known format, compressed or not; see `redpoll formats`
    file: PathBuf,

    /// The picture to write, a .png or .svg file; by default, the name of FILE with the kind, in
    /// the current folder
    #[arg(long, value_name = "PICTURE")]
    out: Option<PathBuf>,

    /// The kind of the picture
    #[arg(long, value_enum, default_value_t = PlotKind::Pattern)]
    kind: PlotKind,

    /// The approximate length of the longer side of the drawn area, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(64..=4096))]
    size: u32,

    /// The modes to draw, counted from 0; by default, the first two modes for a pattern, and all
    /// modes for degrees
    #[arg(long, value_name = "MODE,..", value_delimiter = ',', value_parser = mode)]
    modes: Vec<usize>,

    #[command(
        flatten,
        next_help_heading = "Edge lists (detected by default; any of these options reads FILE as an edge list)"
    )]
    edge_list: EdgeListArgs,
}

/// Kind of a picture.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlotKind {
    /// The entries at their coordinates
    Pattern,
    /// A histogram of the numbers of entries of each row, column, ..
    Degrees,
    /// A histogram of the lengths of runs: adjacent entries with equal values
    Runs,
    /// A histogram of the lengths of blocks: adjacent entries
    Blocks,
}

impl fmt::Display for PlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("every kind can be chosen");
        f.write_str(value.get_name())
    }
}

/// File format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PictureFormat {
    Png,
    Svg,
}

impl PictureFormat {
    fn of(file: &Path) -> Result<PictureFormat, CommandFailure> {
        match file.extension().map(OsStr::to_ascii_lowercase) {
            Some(extension) if extension == "png" => Ok(PictureFormat::Png),
            Some(extension) if extension == "svg" => Ok(PictureFormat::Svg),
            _ => {
                let message = format!("--out {}: the extension is not that of a picture", file.display());
                Err(CommandFailure::usage_with_hint(message, "pictures are .png or .svg files"))
            }
        }
    }

    /// Returns the bytes of a scene in this format.
    fn encode(self, scene: &Scene) -> Vec<u8> {
        match self {
            PictureFormat::Png => png::encode(&png::paint(scene)),
            PictureFormat::Svg => svg::encode(scene),
        }
    }
}

/// Texts around a picture.
#[derive(Clone, Copy)]
struct Caption<'a> {
    /// The name of the file.
    name: &'a str,
    /// The shape of the tensor.
    shape: &'a str,
}

/// Space around a picture in pixels.
const MARGIN: u32 = 16;

pub(super) fn plot(args: &Args, memory: &Memory, out: &mut impl Write) -> Result<(), CommandFailure> {
    let file = args.out.clone().unwrap_or_else(|| default_name(&args.file, args.kind));
    let format = PictureFormat::of(&file)?;
    let bar = Bar::new();
    bar.wait("reading");
    let options = ReadOptions { memory: memory.clone(), ..args.edge_list.read_options() };
    let opened = open(&args.file, &options, None)?;
    bar.wait("drawing");
    let shape = shape_text(&opened.tensor);
    let name = args.file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let scene = draw(&opened.tensor, args, Caption { name: &name, shape: &shape })?;
    write_file(&file, &format.encode(&scene))?;
    bar.clear();
    edge_list_notes(&args.file, &opened.info).iter().for_each(|text| note(text));
    repetition_note(&args.file, opened.repeated, &opened.info).iter().for_each(|text| note(text));
    Ok(writeln!(out, "{}    {} of {shape} {}", file.display(), args.kind, opened.tensor.ty().dtype)?)
}

/// Returns the default name of a picture: the name of the data file with the kind and `.png` in
/// place of its extension, and without the extension of a compression. For `graph.mtx.gz`, the
/// default is `graph-pattern.png`.
fn default_name(file: &Path, kind: PlotKind) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-{kind}.png").into()
}

fn shape_text(tensor: &Tensor) -> String {
    let shape: Vec<String> = tensor.ty().shape.iter().map(u64::to_string).collect();
    if shape.is_empty() { "scalar".to_owned() } else { shape.join(" x ") }
}

/// Draws the picture that the options choose.
fn draw(tensor: &Tensor, args: &Args, caption: Caption<'_>) -> Result<Scene, CommandFailure> {
    let rank = tensor.ty().shape.len();
    if let Some(mode) = args.modes.iter().find(|mode| **mode >= rank) {
        let message = format!("--modes: the tensor has no mode {mode}");
        return Err(CommandFailure::new(message, format!("it has {rank} modes, counted from 0")));
    }
    match args.kind {
        PlotKind::Pattern => {
            let modes = pattern_modes(&args.modes, rank)?;
            Ok(pattern::draw(tensor, modes, caption, args.size)?)
        }
        PlotKind::Degrees => draw_degrees(tensor, &args.modes, caption, args.size),
        PlotKind::Runs | PlotKind::Blocks if !args.modes.is_empty() => Err(CommandFailure::usage(format!(
            "--modes does not apply to --kind {}: {0} are counted along the last mode",
            args.kind
        ))),
        PlotKind::Runs | PlotKind::Blocks => draw_lengths(tensor, args.kind, caption, args.size),
    }
}

/// Returns the modes of a pattern: the modes of the option, or else the first modes, at most two.
fn pattern_modes(modes: &[usize], rank: usize) -> Result<PatternModes, CommandFailure> {
    match (modes, rank) {
        ([], 0) => Ok(PatternModes { vertical: None, horizontal: None }),
        ([], 1) | ([_], _) => Ok(PatternModes { vertical: None, horizontal: modes.first().copied().or(Some(0)) }),
        ([], _) => Ok(PatternModes { vertical: Some(0), horizontal: Some(1) }),
        ([vertical, horizontal], _) if vertical != horizontal => {
            Ok(PatternModes { vertical: Some(*vertical), horizontal: Some(*horizontal) })
        }
        _ => {
            Err(CommandFailure::usage("--modes of a pattern takes one mode, or two different ones, as in --modes 0,2"))
        }
    }
}

/// Draws a histogram of the degrees of each given mode, or of each mode of the tensor if none is
/// given.
fn draw_degrees(tensor: &Tensor, modes: &[usize], caption: Caption<'_>, size: u32) -> Result<Scene, CommandFailure> {
    let rank = tensor.ty().shape.len();
    let modes: Vec<usize> = if modes.is_empty() { (0..rank).collect() } else { modes.to_vec() };
    if modes.is_empty() {
        return Err(CommandFailure::new(
            "a scalar has no degrees",
            "plot the degrees of a tensor that has at least one mode",
        ));
    }
    // The name of the coordinates of a mode, in the plural and in the singular.
    let names = |mode: usize| match (rank, mode) {
        (1, _) => ("coordinates".to_owned(), "coordinate"),
        (2, 0) => ("rows".to_owned(), "row"),
        (2, _) => ("columns".to_owned(), "column"),
        _ => (format!("coordinates of mode {mode}"), "coordinate"),
    };
    let series = |mode: &usize| Ok(Series { name: names(*mode).0, histogram: tensor.degrees(*mode)? });
    let series = modes.iter().map(series).collect::<Result<Vec<_>, CommandFailure>>()?;
    let titles = match (&series[..], rank) {
        ([_], _) => Titles { bins: format!("entries of a {}", names(modes[0]).1), counts: series[0].name.clone() },
        (_, 2) => Titles { bins: "entries of a row or column".to_owned(), counts: "rows and columns".to_owned() },
        _ => Titles { bins: "entries of a coordinate".to_owned(), counts: "coordinates".to_owned() },
    };
    let entries = total(&series[0].histogram);
    let details = format!("degrees of {}, {} entries", caption.shape, HumanCount(entries));
    Ok(bars::draw(&series, &titles, caption, &details, size))
}

/// Draws a histogram of the lengths of runs or blocks.
fn draw_lengths(tensor: &Tensor, kind: PlotKind, caption: Caption<'_>, size: u32) -> Result<Scene, CommandFailure> {
    let lengths = tensor.sequence_lengths()?;
    let histogram = if kind == PlotKind::Runs { lengths.runs } else { lengths.blocks };
    let (entries, count) = (total(&histogram), histogram.values().sum());
    let details = format!("{kind} of {}: {} with {} entries", caption.shape, HumanCount(count), HumanCount(entries));
    let what = if kind == PlotKind::Runs { "of equal values" } else { "of adjacent entries" };
    let titles = Titles { bins: format!("length of {kind} {what}"), counts: kind.to_string() };
    Ok(bars::draw(&[Series { name: kind.to_string(), histogram }], &titles, caption, &details, size))
}

/// Returns the sum of the numbers in a histogram, each multiplied by its count.
fn total(histogram: &Histogram) -> u64 {
    histogram.iter().map(|(number, count)| number * count).sum()
}
