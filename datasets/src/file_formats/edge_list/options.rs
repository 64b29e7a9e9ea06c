//! Options of reading edge lists, and the names of coordinates.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Options of reading edge lists, which override the detection by the first records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EdgeListOptions {
    /// The delimiter of fields.
    pub delimiter: Option<Delimiter>,
    /// True if the first record names the columns; `None` to detect this.
    pub header: Option<bool>,
    /// The columns of coordinates, mode by mode; by default, they are detected.
    pub coordinates: Vec<Column>,
    /// The column of values.
    pub weight: Weight,
    /// The smallest coordinate in the file, usually 0 or 1.
    pub first: u64,
    /// The form of coordinates: detected from the first records, or always names.
    pub ids: Ids,
    /// The sets that the vertices in two columns of coordinates belong to.
    pub vertices: Vertices,
    /// The names that coordinates have already, mode by mode, for instance from another file whose
    /// tensor is joined with this one. Further names in the file are numbered after these names,
    /// and each mode is as large as its number of names. A mode with `None`, or without an element,
    /// has no such names. If two columns have one set of vertices, names of either mode are names
    /// of the set.
    pub names: Vec<Option<Arc<Dictionary>>>,
}

/// A guess whether the first record of an edge list is the header, for files in which the fields of
/// this record may be names of columns or names of vertices. The record is the header unless one of
/// its fields occurs again in the file, or there is no other record. [`EdgeListOptions::header`]
/// overrides the guess.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderGuess {
    /// The first record, quoted and shortened for messages.
    pub record: String,
    /// The evidence.
    pub evidence: HeaderEvidence,
}

/// The evidence of a [`HeaderGuess`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeaderEvidence {
    /// No field of the first record occurs again: the record is the header.
    NoRepetition,
    /// A field of the first record, quoted for messages, occurs again: the record is an entry.
    Repetition(String),
    /// There is no other record: the record is an entry.
    OnlyRecord,
}

impl HeaderGuess {
    /// Returns whether the first record is read as the header.
    pub fn is_header(&self) -> bool {
        self.evidence == HeaderEvidence::NoRepetition
    }
}

impl fmt::Display for HeaderGuess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = &self.record;
        write!(f, "the first record, {record}, is read as ")?;
        match &self.evidence {
            HeaderEvidence::NoRepetition => f.write_str("the header, because none of its names occurs again"),
            HeaderEvidence::Repetition(name) => write!(f, "an entry, because {name} occurs again"),
            HeaderEvidence::OnlyRecord => f.write_str("an entry, because there is no other record"),
        }
    }
}

/// Two columns of names that are numbered as one set of vertices, although no name occurs in both.
/// They are probably two sets, such as users and items; [`Vertices::PerMode`] separates them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeparateNames {
    /// The names of the columns, quoted for messages, or their numbers, counted from 1.
    pub columns: [String; 2],
    /// The number of different names in the two columns together.
    pub names: usize,
}

impl fmt::Display for SeparateNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SeparateNames { columns: [first, second], names } = self;
        write!(f, "columns {first} and {second} share no name, but are numbered as one set of {names} names")
    }
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

/// Form of coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ids {
    /// Detected for each column: names if one of the first records has a name, otherwise numbers.
    /// If one of two columns with the same set of vertices holds names, both do.
    #[default]
    Detected,
    /// Names.
    Names,
}

/// The sets that the vertices in two columns of coordinates belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vertices {
    /// One set for both columns: the matrix is square. If a comment in the file gives a shape that
    /// is not square, or says `names per mode`, each column has its own set.
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

    /// Returns the coordinate of a name; adds the name if it is new.
    pub(super) fn encode(&mut self, name: &str) -> u64 {
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
