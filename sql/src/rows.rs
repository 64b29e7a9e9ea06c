//! Kinds of files of rows, recognized by their extensions and first lines.

use redpoll_datasets::Compression;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A kind of file that is read as a table of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rows {
    /// Delimited text.
    Text(Text),
    /// JSON: one object per line, or one array of objects.
    Json {
        /// True if the file is one array.
        array: bool,
    },
    /// Parquet.
    Parquet,
    /// The Arrow IPC file format.
    Arrow,
}

/// The format of delimited text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Text {
    /// The byte between values.
    pub(crate) delimiter: u8,
    /// True if the first line names the columns.
    pub(crate) header: bool,
    /// The first byte of lines that are comments.
    pub(crate) comment: Option<u8>,
}

impl Text {
    /// Returns the format of text with a header and the given delimiter.
    const fn headed(delimiter: u8) -> Text {
        Text { delimiter, header: true, comment: None }
    }
}

/// Number of bytes read to recognize a kind.
const SNIFFED: u64 = 1 << 16;

impl Rows {
    /// Returns the kind of files with this extension, in any case; `None` if it is not an extension
    /// of rows. The start of `file` decides if several kinds have the extension.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn of(extension: &str, file: &Path) -> io::Result<Option<Rows>> {
        Ok(Some(match extension.to_ascii_lowercase().as_str() {
            "csv" => Rows::Text(Text::headed(b',')),
            "tsv" | "tab" => Rows::Text(Text::headed(b'\t')),
            "psv" => Rows::Text(Text::headed(b'|')),
            "txt" => match text(&start(file)?) {
                Some(text) => Rows::Text(text),
                None => return Ok(None),
            },
            "ndjson" | "jsonl" => Rows::Json { array: false },
            "json" => Rows::Json { array: start(file)?.trim_ascii_start().first() == Some(&b'[') },
            "parquet" => Rows::Parquet,
            "arrow" => Rows::Arrow,
            _ => return Ok(None),
        }))
    }
}

/// Returns the first bytes of a file, decompressed.
fn start(file: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let mut start = Vec::new();
    file.by_ref().take(SNIFFED).read_to_end(&mut start)?;
    let compression = Compression::of_content(&start);
    let mut unpacked = Vec::new();
    compression.decoder(io::Cursor::new(start).chain(file))?.take(SNIFFED).read_to_end(&mut unpacked)?;
    Ok(unpacked.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(unpacked))
}

/// Recognizes the format of a text by its first lines. The delimiter is the first that splits all
/// lines into the same number of values. The first line is a header if no value is a number; lines
/// that start with `#` are comments if the first one does. Returns `None` for Matrix Market files.
fn text(start: &[u8]) -> Option<Text> {
    const LINES: usize = 16;
    const DELIMITERS: [u8; 5] = [b'\t', b';', b',', b'|', b' '];
    if start.starts_with(b"%%MatrixMarket") {
        return None;
    }
    // The last line may be incomplete.
    let whole = start.iter().rposition(|&b| b == b'\n').map_or(start, |end| &start[..end]);
    let commented = whole.first() == Some(&b'#');
    let lines = whole.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines: Vec<&[u8]> =
        lines.filter(|line| !(line.is_empty() || commented && line[0] == b'#')).take(LINES).collect();
    let splits = |&delimiter: &u8| {
        let mut counts = lines.iter().map(|line| values(line, delimiter).len());
        let first = counts.next().unwrap_or(1);
        first > 1 && counts.all(|count| count == first)
    };
    let delimiter = DELIMITERS.into_iter().find(splits).unwrap_or(b',');
    let numbers = |line: &&[u8]| values(line, delimiter).iter().any(|value| is_number(value));
    let header = lines.first().is_none_or(|line| !numbers(line));
    Some(Text { delimiter, header, comment: commented.then_some(b'#') })
}

/// Splits a line into values; delimiters between double quotes do not count.
fn values(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let mut quoted = false;
    let between = |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == delimiter && !quoted
    };
    line.split(between).collect()
}

fn is_number(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| text.trim().trim_matches('"').parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delimiter, header and comments of `.txt` files are found in the first lines.
    #[test]
    fn the_first_lines_tell() {
        let told =
            |lines: &str| text(lines.as_bytes()).map(|t| (char::from(t.delimiter), t.header, t.comment.is_some()));
        assert_eq!(told("id;name\n1;\"a;b\"\n2;c, d\n"), Some((';', true, false)));
        assert_eq!(told("# FromNodeId\tToNodeId\n0\t1\r\n2\t3\r\n"), Some(('\t', false, true)));
        assert_eq!(told("a|b\n1|2\n"), Some(('|', true, false)));
        assert_eq!(told("word\nother\n"), Some((',', true, false)));
        assert_eq!(told("1 2.5\n3 4"), Some((' ', false, false)));
        assert_eq!(told(""), Some((',', true, false)));
        assert_eq!(told("%%MatrixMarket matrix coordinate real general\n"), None);
    }
}
