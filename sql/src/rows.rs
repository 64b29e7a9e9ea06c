//! Files of rows: which they are, by their names and first lines.

use redpoll_datasets::Compression;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A kind of file whose rows are a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rows {
    /// Delimited text.
    Text(Text),
    /// JSON: an object a line, or one array of objects.
    Json {
        /// Whether it is one array.
        array: bool,
    },
    /// Parquet.
    Parquet,
    /// Arrow's own format.
    Arrow,
}

/// What delimited text looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Text {
    /// What stands between values.
    pub(crate) delimiter: u8,
    /// Whether the first line has the names of columns.
    pub(crate) header: bool,
    /// What begins a line that is none of the table.
    pub(crate) comment: Option<u8>,
}

impl Text {
    /// Text with that delimiter, below a line of names.
    const fn headed(delimiter: u8) -> Text {
        Text { delimiter, header: true, comment: None }
    }
}

/// Bytes that are enough to tell a kind by.
const SNIFFED: u64 = 1 << 16;

impl Rows {
    /// The kind of file that has that extension, in capitals or not; `None` where it says nothing of rows. Where several look
    /// alike, `file` is looked into.
    ///
    /// # Errors
    /// When the file cannot be read.
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

/// The first bytes of a file, without its compression.
fn start(file: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let mut start = Vec::new();
    file.by_ref().take(SNIFFED).read_to_end(&mut start)?;
    let compression = Compression::of_content(&start);
    let mut unpacked = Vec::new();
    compression.decoder(io::Cursor::new(start).chain(file))?.take(SNIFFED).read_to_end(&mut unpacked)?;
    Ok(unpacked.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(unpacked))
}

/// What the first lines of a text tell: the delimiter is the first that splits all of them into the same number of values;
/// the first line has names if it has no number and the second one has; lines that start with `#` are comments. `None` for
/// matrices in text.
fn text(start: &[u8]) -> Option<Text> {
    const LINES: usize = 16;
    const DELIMITERS: [u8; 5] = [b'\t', b';', b',', b'|', b' '];
    if start.starts_with(b"%%MatrixMarket") {
        return None;
    }
    // The last line may be cut.
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

/// The values of a line; a delimiter between double quotes is none.
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

    /// Protects delimiter, header and comments of text that tells neither by its name.
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
