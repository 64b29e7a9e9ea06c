//! Edge lists, `.csv` and `.tsv`: tensors as delimited text, one entry per line with its
//! coordinates and usually a value.
//!
//! Edge lists have no standard, so the form of a file is detected from its first records, or given
//! by [`EdgeListOptions`]:
//!
//! - Lines that begin with `#` or `%` are comments, and blank lines are skipped. A record is one
//!   line. Fields may be in double quotes, in which a doubled quote stands for one quote. Blanks
//!   around fields are ignored.
//! - **Delimiter**: the first of tab, semicolon, comma and space that splits each of the first 16
//!   records into the same number of fields, at least two. If no delimiter does, the first
//!   delimiter that occurs in the first record is used, or else a comma. Consecutive spaces count
//!   as one. A semicolon is tried before a comma, because a comma may be a decimal comma.
//! - **Header**: the first record is the header in three cases. First, one of its fields is neither
//!   empty nor a number, while the field below is a number. Second, all its fields are known names
//!   of coordinates or values (`source`, `target`, `weight`, ..). Third, one of its fields is a
//!   column name that the options request. Vertices may also be named by single letters (`u`, `v`):
//!   fields that are all single letters do not count as known names if one of them occurs again in
//!   the first 16 records. In other cases, a guess is made if the first record has at least two
//!   fields, which are all different, and none of which begins like a number. These fields are
//!   searched in all other records. If one of them occurs again, the first record is an entry,
//!   because most vertices have several edges; otherwise, it is the header, as in pandas and
//!   DuckDB. If there is no other record, the first record is an entry.
//!   [`Info::header_guess`](crate::Info) reports the guess. In all remaining cases, the first
//!   record is an entry.
//! - **Columns**: values are in the first column with a name such as `value`, `weight` or `rating`.
//!   Without such a name, they are in the third column, if there is one, unless every name in the
//!   header is a name of coordinates. If the options give the columns of coordinates, the column
//!   after the last of these takes the place of the third. Entries of files without a column of
//!   values are `true`. Coordinates are the columns before the values: the columns with known names
//!   if there are at least two, otherwise all. Without a column of values, coordinates are all
//!   columns with known names if there are at least two, otherwise the first two columns. Other
//!   columns are not read.
//! - **Coordinates** are integers from 0, also written as `2.0`, or names. A column holds names if
//!   one of its fields in the first 16 records is neither empty nor a number. If the two columns of
//!   a square matrix share one set of vertices, and one of them holds names, both hold names. In
//!   columns without names, negative numbers and fractions are errors. Names are numbered in order
//!   of appearance and returned as a [`Dictionary`].
//! - **Shape**: a comment such as `# dims 3 4` before the first record gives the shape. The writer
//!   adds the comment if the coordinates do not determine the shape, or if there are names. Without
//!   the comment, or if it gives a square shape, two columns of coordinates are the ends of edges
//!   in one set of vertices: the matrix is square, and names have one dictionary. With
//!   [`Vertices::PerMode`], or another number of columns, the size of each mode is determined by
//!   its coordinates. [`Info::separate_names`](crate::Info) reports two columns of one set that
//!   share no name, unless a comment gives the shape. The comment `# names per mode` says that the
//!   columns are different sets; the writer adds it to square matrices with different names in each
//!   mode.
//! - **Values** are `i64` if all are written as integers that fit. They are `u64` if all are
//!   nonnegative integers below 2^64 and some exceed `i64`, and otherwise `f64`. A column of values
//!   without entries is `f64`.

mod columns;
mod header;
mod options;
mod read;
mod sniff;
mod write;

pub use options::{
    Column, Delimiter, Dictionary, EdgeListOptions, HeaderEvidence, HeaderGuess, Ids, SeparateNames, Vertices, Weight,
};

use crate::file_format::FileFormat;

/// The comment of a file whose columns name vertices of different sets.
const NAMES_PER_MODE: &str = "names per mode";

pub(crate) static CSV: FileFormat = FileFormat {
    name: "CSV edge list",
    extension: "csv",
    summary: "entries as delimited text: coordinates from 0, or names, and optional values",
    has_header: false,
    sniff: |start| sniff::edge_list_columns(start, &[Delimiter::Comma, Delimiter::Semicolon]).is_some(),
    read: |bytes, options| read::read(&CSV, bytes, &options.edge_list, &options.memory),
    info: |stream, memory| read::info(&CSV, stream, memory),
    write: |content, options, out| write::write(content, options, Delimiter::Comma, out),
    stored: None,
};

pub(crate) static TSV: FileFormat = FileFormat {
    name: "TSV edge list",
    extension: "tsv",
    summary: "the same content as .csv, separated by tabs",
    has_header: false,
    // Three columns with spaces may as well be FROSTT, whose last column has the values.
    sniff: |start| {
        sniff::edge_list_columns(start, &[Delimiter::Tab]).is_some()
            || sniff::edge_list_columns(start, &[Delimiter::Space]) == Some(2)
    },
    read: |bytes, options| read::read(&TSV, bytes, &options.edge_list, &options.memory),
    info: |stream, memory| read::info(&TSV, stream, memory),
    write: |content, options, out| write::write(content, options, Delimiter::Tab, out),
    stored: None,
};
