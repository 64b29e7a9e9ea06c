//! The options for reading edge lists, which every command that reads files has.

use crate::datasets::ReadOptions;
use crate::datasets::file_formats::FileFormat;
use crate::datasets::file_formats::edge_list::{Column, Delimiter, EdgeListOptions, Ids, Vertices, Weight};
use clap::ValueEnum;
use std::path::Path;

/// Options for reading edge lists.
#[derive(clap::Args)]
pub(super) struct EdgeListArgs {
    /// The delimiter of fields
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

    /// Read coordinates as names, even if they are numbers
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
    let text = text.trim();
    text.parse().map_or_else(|_| Column::Name(text.into()), Column::Number)
}

impl EdgeListArgs {
    /// Returns whether an option is given.
    pub(super) fn is_given(&self) -> bool {
        self.options() != EdgeListOptions::default()
    }

    /// Returns the options for reading a file. If an option is given, the file is read as an edge
    /// list, whatever its extension.
    pub(super) fn read_options(&self) -> ReadOptions {
        let edge_list = self.options();
        let file_format = if self.is_given() { FileFormat::of_extension("csv") } else { None };
        ReadOptions { file_format, edge_list, ..ReadOptions::default() }
    }

    fn options(&self) -> EdgeListOptions {
        let weight = match self.value.as_deref() {
            None => Weight::Detected,
            Some("none") => Weight::None,
            Some(name) => Weight::Column(column(name)),
        };
        EdgeListOptions {
            delimiter: self.delimiter.map(Into::into),
            header: self.header,
            coordinates: self.coordinates.iter().map(|c| column(c)).collect(),
            weight,
            first: self.first,
            ids: if self.names { Ids::Names } else { Ids::Detected },
            vertices: if self.bipartite { Vertices::PerMode } else { Vertices::OneSet },
            names: Vec::new(),
        }
    }
}

/// Returns whether a file may be an edge list: its extension is that of edge lists, or of no file
/// format.
pub(super) fn may_be_edge_list(file: &Path) -> bool {
    FileFormat::of_file_name(file).is_none_or(|format| matches!(format.extension, "csv" | "tsv"))
}
