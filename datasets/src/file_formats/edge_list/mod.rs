//! Edge lists, `.csv` and `.tsv`: tensors as delimited text, one entry a line: its coordinates and, mostly, its value.
//!
//! There is no standard, so what files out there look like is told from their first records, or by [`EdgeListOptions`]:
//!
//! - Lines that begin with `#` or `%` are comments; blank lines are skipped; a record is one line. Fields may stand in
//!   double quotes, in which a doubled quote is one; blanks around fields do not count.
//! - **Delimiter**: the first of tab, semicolon, comma and space that splits each of the first 16 records into the same
//!   number of fields, two at least; many spaces are one. (A semicolon goes before a comma, which may be a decimal one.)
//! - **Header**: the first record is one if some field of it is no number while the field below it is one, or if all its
//!   fields are names of coordinates or values that the tables of this crate know (`source`, `target`, `weight`, ..).
//! - **Columns**: the value is in the first column called `value`, `weight`, `rating` or alike; without such a name, and
//!   unless all names are those of coordinates, in the third column where there are three or more; files of two have no
//!   values (`bool`). Coordinates are the columns before the value: those of known names where there are two at least,
//!   else all. Other columns are not read.
//! - **Coordinates** are whole numbers from 0, `2.0` among them, or names. A column holds names if one of its first 16
//!   fields is no number; a negative number or a fraction is no name but an error, unless names are asked for. Names are numbered in the order in which they come, and handed back as a [`Dictionary`].
//! - **Shape**: a comment `# dims 3 4` before the first record tells it, which the writer adds where the coordinates do
//!   not. Else two columns of coordinates are the ends of edges between vertices of one set: the matrix is square and
//!   names have one dictionary. With [`Vertices::PerMode`], or with other than two columns, each mode is as large as its
//!   coordinates need.
//! - **Values** are `i64` if all are integers (`u64` beyond 2^63), else `f64`.

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
    summary: "entries as delimited text: coordinates from 0, or names, and values where there are any",
    sniff: |start| sniff::is_edge_list(start, &[Delimiter::Comma, Delimiter::Semicolon]),
    read: |bytes, options| read::read(&CSV, bytes, &options.edge_list, &options.memory),
    info: |stream, memory| read::info(&CSV, stream, memory),
    write: |content, options, out| write::write(content, options, Delimiter::Comma, out),
};

pub(crate) static TSV: FileFormat = FileFormat {
    name: "TSV edge list",
    extension: "tsv",
    summary: "the same, written with tabs",
    sniff: |start| sniff::is_edge_list(start, &[Delimiter::Tab]),
    read: |bytes, options| read::read(&TSV, bytes, &options.edge_list, &options.memory),
    info: |stream, memory| read::info(&TSV, stream, memory),
    write: |content, options, out| write::write(content, options, Delimiter::Tab, out),
};

/// How to read an edge list where its first records do not tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EdgeListOptions {
    /// What stands between fields.
    pub delimiter: Option<Delimiter>,
    /// Whether the first record names the columns.
    pub header: Option<bool>,
    /// The columns of the coordinates, mode by mode; else those before the value.
    pub coordinates: Vec<Column>,
    /// Where the values are.
    pub weight: Weight,
    /// The smallest coordinate in the file: mostly 0 or 1.
    pub first: u64,
    /// Whether coordinates are names even if they look like numbers.
    pub ids: Ids,
    /// Whether two columns of coordinates number the same vertices.
    pub vertices: Vertices,
}

/// What stands between fields.
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
    /// In the order in which they are tried.
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
    /// By number, from 1.
    Number(usize),
    /// By its name in the header.
    Name(String),
}

/// Where the values are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Weight {
    /// Where names or the number of columns tell.
    #[default]
    Told,
    /// Nowhere: entries are `true`.
    Absent,
    /// In that column.
    In(Column),
}

/// What coordinates are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ids {
    /// Numbers where the first records have numbers, else names.
    #[default]
    Told,
    /// Names.
    Names,
}

/// Whether two columns of coordinates number the same vertices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vertices {
    /// They do, in a matrix without a shape of its own: it is square.
    #[default]
    OneSet,
    /// Each numbers its own, as users and items are.
    PerMode,
}

/// The names of the coordinates of a mode, numbered from 0 in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dictionary {
    names: Vec<Arc<str>>,
    codes: HashMap<Arc<str>, u64>,
}

impl Dictionary {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a coordinate.
    pub fn name(&self, coordinate: u64) -> Option<&str> {
        self.names.get(usize::try_from(coordinate).ok()?).map(|name| &**name)
    }

    /// The coordinate that has that name.
    pub fn coordinate(&self, name: &str) -> Option<u64> {
        self.codes.get(name).copied()
    }

    /// All names in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The coordinate of a name, a new one if need be.
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
    /// Numbers the names; a repeated one keeps its first number.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Dictionary {
        let mut dictionary = Dictionary::default();
        names.into_iter().for_each(|name| {
            dictionary.encode(name.as_ref());
        });
        dictionary
    }
}
