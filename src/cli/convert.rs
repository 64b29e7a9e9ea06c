//! `redpoll convert`: conversion of a file to another format, with notes on lost properties.

use super::bar::Bar;
use super::failure::Failure;
use super::out::{check_extension, check_size, file_format};
use super::plan::note;
use crate::datasets::file_formats::FileFormat;
use crate::datasets::file_formats::edge_list::{Column, Delimiter, EdgeListOptions, Ids, Vertices, Weight};
use crate::datasets::{Content, Info, Memory, ReadOptions, Symmetry, WriteOptions, info_within, read, write_content};
use clap::ValueEnum;
use std::io::Write;
use std::path::PathBuf;

/// Convert a file to another format
#[derive(clap::Args)]
#[command(after_help = "\
What the format of OUT cannot keep is said on standard error. Repeated coordinates are added up.

Examples:
  redpoll convert graph.mtx.gz graph.npz
  redpoll convert ratings.csv ratings.mtx --bipartite --coordinates userId,movieId --value rating
  redpoll convert soc-Epinions1.txt.gz epinions.mtx --delimiter tab

Exit codes: 0 success, 1 failure, 2 wrong command line.")]
pub(super) struct Args {
    /// A file of a known format, compressed or not; see `redpoll formats`
    #[arg(value_name = "IN")]
    from: PathBuf,

    /// The file to write, in the format of its extension
    #[arg(value_name = "OUT")]
    to: PathBuf,

    #[command(flatten)]
    edge_list: EdgeListArgs,
}

/// Options of reading edge lists.
#[derive(clap::Args)]
#[command(next_help_heading = "Edge lists, where their first records do not tell")]
struct EdgeListArgs {
    /// The delimiter of fields; with this option, IN is read as an edge list regardless of its name
    #[arg(long, value_enum)]
    delimiter: Option<DelimiterArg>,

    /// Set to true if the first record names the columns, or to false if it does not
    #[arg(long, value_name = "BOOL")]
    header: Option<bool>,

    /// The columns of the coordinates, by name or number from 1
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    coordinates: Vec<String>,

    /// The column of the values, by name or number from 1, or `none`
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,

    /// The smallest coordinate in the file
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,

    /// Read coordinates as names, even numbers
    #[arg(long)]
    names: bool,

    /// Treat rows and columns as different sets, so that the matrix need not be square
    #[arg(long)]
    bipartite: bool,
}

/// Delimiter of fields.
#[derive(Clone, Copy, ValueEnum)]
enum DelimiterArg {
    Tab,
    Semicolon,
    Comma,
    Space,
}

impl From<DelimiterArg> for Delimiter {
    fn from(arg: DelimiterArg) -> Delimiter {
        match arg {
            DelimiterArg::Tab => Delimiter::Tab,
            DelimiterArg::Semicolon => Delimiter::Semicolon,
            DelimiterArg::Comma => Delimiter::Comma,
            DelimiterArg::Space => Delimiter::Space,
        }
    }
}

fn column(text: &str) -> Column {
    text.parse().map_or_else(|_| Column::Name(text.into()), Column::Number)
}

impl EdgeListArgs {
    fn read_options(&self) -> ReadOptions {
        let weight = match self.value.as_deref() {
            None => Weight::Told,
            Some("none") => Weight::Absent,
            Some(name) => Weight::In(column(name)),
        };
        let edge_list = EdgeListOptions {
            delimiter: self.delimiter.map(Into::into),
            header: self.header,
            coordinates: self.coordinates.iter().map(|c| column(c)).collect(),
            weight,
            first: self.first,
            ids: if self.names { Ids::Names } else { Ids::Told },
            vertices: if self.bipartite { Vertices::PerMode } else { Vertices::OneSet },
        };
        let asked = edge_list != EdgeListOptions::default();
        let file_format = if asked { FileFormat::of_extension("csv") } else { None };
        ReadOptions { file_format, edge_list, ..ReadOptions::default() }
    }
}

pub(super) fn convert(args: &Args, memory: &Memory, out: &mut impl Write) -> Result<(), Failure> {
    check_extension("", &args.to)?;
    let bar = Bar::new();
    bar.wait("reading");
    let loaded = read(&args.from, &ReadOptions { memory: memory.clone(), ..args.edge_list.read_options() })?;
    let (before, dictionaries) = (loaded.info.clone(), loaded.dictionaries.clone());
    let held = loaded.held();
    let (content, repeated) = loaded.into_content()?;
    let mut options = WriteOptions { memory: memory.clone(), ..WriteOptions::default() };
    let format = file_format(&args.to).expect("the extension was checked");
    if matches!(format.extension, "csv" | "tsv") {
        options.dictionaries.clone_from(&dictionaries);
    }
    if before.symmetry != Symmetry::General && format.extension == "mtx" {
        options.symmetry = before.symmetry;
    }
    check_size(&args.to, &content.shape, content.prim())?;
    bar.wait("writing");
    write_content(&args.to, &content, &options)?;
    drop(held);
    bar.wait("checking");
    let after = info_within(&args.to, memory)?;
    bar.clear();
    if repeated > 0 {
        note(&format!("{}: {repeated} entries repeat coordinates; they were added up", args.from.display()));
    }
    let names_lost = !dictionaries.is_empty() && options.dictionaries.is_empty();
    for lost in not_kept(&before, &after, names_lost, &content) {
        note(&format!("{}: {lost}", args.to.display()));
    }
    let shape: Vec<String> = after.shape.iter().map(u64::to_string).collect();
    writeln!(out, "{}    {} {}, {} entries", args.to.display(), shape.join(" x "), after.dtype, after.stored)?;
    Ok(())
}

/// Returns the properties that a file does not preserve, by comparison of the headers.
fn not_kept(before: &Info, after: &Info, names_lost: bool, content: &Content) -> Vec<String> {
    let to = format!(".{} files", after.file_format.extension);
    let mut lost = Vec::new();
    if names_lost {
        lost.push(format!("{to} do not keep the names of coordinates; .csv and .tsv files do"));
    }
    if before.dtype != after.dtype {
        lost.push(format!("{to} do not keep the dtype {}: values are read back as {}", before.dtype, after.dtype));
    }
    if before.symmetry != after.symmetry {
        lost.push(format!("{to} do not keep that the matrix is {}: both triangles are written", before.symmetry));
    }
    if before.layout != after.layout {
        lost.push(format!("the layout {} becomes {}", before.layout, after.layout));
    }
    if matches!(after.file_format.extension, "tns" | "csv" | "tsv") && !content.reaches_shape() {
        let shape = before.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        lost.push(format!("{to} keep the shape in a comment, `# dims {shape}`, which other readers skip"));
    }
    lost
}
