//! Edge lists, `.csv` and `.tsv`: tensors as delimited text, one entry per line with its
//! coordinates and usually a value.
//!
//! There is no standard, so the form of a file is detected from its first records, or given by
//! [`EdgeListOptions`]:
//!
//! - Lines that begin with `#` or `%` are comments, and blank lines are skipped. A record is one
//!   line. Fields may be in double quotes, in which a doubled quote stands for one. Blanks around
//!   fields are ignored.
//! - **Delimiter**: the first of tab, semicolon, comma and space that splits each of the first 16
//!   records into the same number of fields, at least two. Consecutive spaces count as one. (A
//!   semicolon precedes a comma, which may be a decimal comma.)
//! - **Header**: the first record, if one of its fields is not a number while the field below is,
//!   or if all its fields are known names of coordinates or values (`source`, `target`, `weight`,
//!   ..).
//! - **Columns**: values are in the first column with a name such as `value`, `weight` or `rating`.
//!   Without such a name, they are in the third column, if it exists and not all names are those of
//!   coordinates. Files of two columns have no values (`bool`). Coordinates are the columns before
//!   the values: those with known names if there are at least two, otherwise all. Other columns are
//!   not read.
//! - **Coordinates** are integers from 0, also written as `2.0`, or names. A column holds names if
//!   one of its first 16 fields is not a number. Negative numbers and fractions are errors, unless
//!   names are requested. Names are numbered in order of appearance and returned as a
//!   [`Dictionary`].
//! - **Shape**: a comment `# dims 3 4` before the first record gives it; the writer adds the
//!   comment if the coordinates do not determine the shape. Otherwise, two columns of coordinates
//!   are edges of one set of vertices: the matrix is square, and names have one dictionary. With
//!   [`Vertices::PerMode`], or another number of columns, the size of each mode is determined by
//!   its coordinates.
//! - **Values** are `i64` if all are integers (`u64` beyond 2^63), otherwise `f64`.

mod columns;
mod read;
mod sniff;
mod write;

use super::FileFormat;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) static CSV: FileFormat = FileFormat {
    name: "CSV edge list",
    extension: "csv",
    summary: "entries as delimited text: coordinates from 0, or names, and optional values",
    sniff: |start| sniff::is_edge_list(start, &[Delimiter::Comma, Delimiter::Semicolon]),
    read: |bytes, options| read::read(&CSV, bytes, &options.edge_list, &options.memory),
    info: |stream, memory| read::info(&CSV, stream, memory),
    write: |content, options, out| write::write(content, options, Delimiter::Comma, out),
};

pub(crate) static TSV: FileFormat = FileFormat {
    name: "TSV edge list",
    extension: "tsv",
    summary: "the same content as .csv, separated by tabs",
    sniff: |start| sniff::is_edge_list(start, &[Delimiter::Tab]),
    read: |bytes, options| read::read(&TSV, bytes, &options.edge_list, &options.memory),
    info: |stream, memory| read::info(&TSV, stream, memory),
    write: |content, options, out| write::write(content, options, Delimiter::Tab, out),
};

/// Options of reading edge lists, which override the detection by the first records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EdgeListOptions {
    /// The delimiter of fields.
    pub delimiter: Option<Delimiter>,
    /// True if the first record names the columns, or `None` to detect the header.
    pub header: Option<bool>,
    /// The columns of coordinates, mode by mode; by default those before the values.
    pub coordinates: Vec<Column>,
    /// The column of values.
    pub weight: Weight,
    /// The smallest coordinate in the file, usually 0 or 1.
    pub first: u64,
    /// Kind of coordinates: detected by the first records, or always names.
    pub ids: Ids,
    /// Set of vertices of two columns of coordinates.
    pub vertices: Vertices,
}

/// Delimiter of fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delimiter {
    /// `\t`
    Tab,
    /// `;`
    Semicolon,
    /// `,`
    Comma,
    /// One or more spaces.
    Space,
}

impl Delimiter {
    /// All delimiters, in the order of detection.
    pub(crate) const ALL: [Delimiter; 4] = [Delimiter::Tab, Delimiter::Semicolon, Delimiter::Comma, Delimiter::Space];

    pub(crate) fn byte(self) -> u8 {
        match self {
            Delimiter::Tab => b'\t',
            Delimiter::Semicolon => b';',
            Delimiter::Comma => b',',
            Delimiter::Space => b' ',
        }
    }
}

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Column {
    /// The number of the column, counted from 1.
    Number(usize),
    /// The name of the column in the header.
    Name(String),
}

/// Column of the values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Weight {
    /// Detected by names or the number of columns.
    #[default]
    Detected,
    /// No values: entries are `true`.
    None,
    /// The given column.
    Column(Column),
}

/// Kind of coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ids {
    /// Numbers if the first records have numbers, otherwise names.
    #[default]
    Detected,
    /// Names.
    Names,
}

/// Set of vertices of two columns of coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vertices {
    /// One set for both columns: the matrix is square, unless the file gives its shape.
    #[default]
    OneSet,
    /// A set per column, such as users and items.
    PerMode,
}

/// The names of the coordinates of a mode, numbered from 0 in order of appearance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dictionary {
    names: Vec<Arc<str>>,
    codes: HashMap<Arc<str>, u64>,
}

impl Dictionary {
    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the name of a coordinate.
    pub fn name(&self, coordinate: u64) -> Option<&str> {
        self.names.get(usize::try_from(coordinate).ok()?).map(|name| &**name)
    }

    /// Returns the coordinate of a name.
    pub fn coordinate(&self, name: &str) -> Option<u64> {
        self.codes.get(name).copied()
    }

    /// Iterates over all names, in the order of their coordinates.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Returns the coordinate of a name, which is added if it is new.
    fn encode(&mut self, name: &str) -> u64 {
        if let Some(&code) = self.codes.get(name) {
            return code;
        }
        let (name, code): (Arc<str>, u64) = (name.into(), self.names.len() as u64);
        self.names.push(name.clone());
        self.codes.insert(name, code);
        code
    }
}

impl<S: AsRef<str>> FromIterator<S> for Dictionary {
    /// Numbers the names; a repeated name keeps its first number.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Dictionary {
        let mut dictionary = Dictionary::default();
        names.into_iter().for_each(|name| {
            dictionary.encode(name.as_ref());
        });
        dictionary
    }
}
