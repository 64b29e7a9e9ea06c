//! Formats of files of rows, recognized by their extensions and first lines.

use redpoll_datasets::Compression;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A format of files that are read as tables of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowFormat {
    /// Delimited text.
    Text(TextFormat),
    /// JSON: one object per line, or one array of objects.
    Json {
        /// True if the file is one array.
        array: bool,
    },
    /// Parquet.
    Parquet,
    /// Arrow IPC, in the file format or the stream format.
    Arrow,
}

/// The format of delimited text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextFormat {
    /// The byte between values.
    pub(crate) delimiter: u8,
    /// True if the first line names the columns.
    pub(crate) header: bool,
    /// The first byte of lines that are comments.
    pub(crate) comment: Option<u8>,
}

impl TextFormat {
    /// Returns the format of text with the given delimiter and comments. A text that starts with
    /// the shape of a tensor has comments, even if `comment` is `None`. The first line is a header,
    /// unless it contains numbers and all its other values are empty.
    fn with_delimiter(start: &[u8], delimiter: u8, comment: Option<u8>) -> TextFormat {
        // `redpoll-datasets` writes the shape of a tensor in such a comment.
        let comment = comment.or_else(|| start.starts_with(b"# dims ").then_some(b'#'));
        let header = lines(start, comment).next().is_none_or(|line| {
            let values = split_values(line, delimiter);
            let has_other = values.iter().any(|value| !value.is_empty() && !is_number(value));
            has_other || values.iter().all(|value| value.is_empty())
        });
        TextFormat { delimiter, header, comment }
    }
}

/// The reader that a statement asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowReader {
    /// Delimited text; properties that are not given are recognized.
    Text {
        /// The byte between values.
        delimiter: Option<u8>,
        /// True if the first line names the columns.
        header: Option<bool>,
        /// The first byte of lines that are comments.
        comment: Option<u8>,
    },
    /// JSON.
    Json,
    /// Parquet.
    Parquet,
}

/// Number of bytes read to recognize a format.
const SNIFF_BYTES: u64 = 1 << 16;

impl RowFormat {
    /// The extensions of files that are read as tables of rows.
    pub(crate) const EXTENSIONS: [&str; 10] =
        ["csv", "tsv", "tab", "psv", "txt", "ndjson", "jsonl", "json", "parquet", "arrow"];

    /// Returns the format of files with this extension, in upper or lower case. Returns `None` for
    /// unknown extensions, extensions of tensors, and a `.txt` file in the Matrix Market format. If
    /// several formats share the extension, the start of `file` decides. The start also shows
    /// whether text has a header and comments.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn from_extension(extension: &str, file: &Path) -> io::Result<Option<RowFormat>> {
        let text = |delimiter| {
            Ok::<_, io::Error>(RowFormat::Text(TextFormat::with_delimiter(&read_start(file)?, delimiter, None)))
        };
        Ok(Some(match extension.to_ascii_lowercase().as_str() {
            "csv" => text(b',')?,
            "tsv" | "tab" => text(b'\t')?,
            "psv" => text(b'|')?,
            "txt" => match sniff_text(&read_start(file)?, None, None) {
                Some(text) => RowFormat::Text(text),
                None => return Ok(None),
            },
            "ndjson" | "jsonl" => RowFormat::Json { array: false },
            "json" => RowFormat::Json { array: read_start(file)?.trim_ascii_start().first() == Some(&b'[') },
            "parquet" => RowFormat::Parquet,
            "arrow" => RowFormat::Arrow,
            _ => return Ok(None),
        }))
    }
}

impl RowReader {
    /// Returns the format in which the reader reads a file with this extension.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn format(self, extension: &str, file: &Path) -> io::Result<RowFormat> {
        let of_extension = |extension: &str| RowFormat::from_extension(extension, file);
        match self {
            RowReader::Parquet => Ok(RowFormat::Parquet),
            RowReader::Json => Ok(match of_extension(extension)? {
                Some(format @ RowFormat::Json { .. }) => format,
                _ => of_extension("json")?.unwrap_or(RowFormat::Json { array: false }),
            }),
            RowReader::Text { delimiter, header, comment } => {
                let start = read_start(file)?;
                let mut text = match of_extension(extension)? {
                    Some(RowFormat::Text(text)) if !extension.eq_ignore_ascii_case("txt") => {
                        // Files such as `.csv` often have another delimiter than a comma.
                        let sniffed = sniff_text(&start, delimiter, comment).filter(|_| text.delimiter == b',');
                        let recognized = sniffed.unwrap_or(text);
                        TextFormat::with_delimiter(&start, delimiter.unwrap_or(recognized.delimiter), comment)
                    }
                    _ => sniff_text(&start, delimiter, comment)
                        .unwrap_or_else(|| TextFormat::with_delimiter(b"", b',', None)),
                };
                text.delimiter = delimiter.unwrap_or(text.delimiter);
                text.header = header.unwrap_or(text.header);
                text.comment = comment.or(text.comment);
                Ok(RowFormat::Text(text))
            }
        }
    }
}

/// Returns the first bytes of a file, decompressed and without a byte order mark.
fn read_start(file: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let mut start = Vec::new();
    file.by_ref().take(SNIFF_BYTES).read_to_end(&mut start)?;
    let compression = Compression::of_content(&start);
    let mut unpacked = Vec::new();
    compression.decoder(io::Cursor::new(start).chain(file))?.take(SNIFF_BYTES).read_to_end(&mut unpacked)?;
    Ok(unpacked.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(unpacked))
}

/// Recognizes the format of a text by its first lines. Returns `None` for Matrix Market files.
///
/// - Comments: if no `comment` is given and the text starts with `#`, lines that start with `#` are
///   comments. The next rules read only the first `LINES` other lines.
/// - Delimiter, unless it is given: the first of `DELIMITERS` that splits all these lines into the
///   same number of values, at least two. If there is none, the delimiter is a comma.
/// - Header: the first of these lines, if none of its values is a number.
fn sniff_text(start: &[u8], delimiter: Option<u8>, comment: Option<u8>) -> Option<TextFormat> {
    const LINES: usize = 16;
    const DELIMITERS: [u8; 5] = [b'\t', b';', b',', b'|', b' '];
    if start.starts_with(b"%%MatrixMarket") {
        return None;
    }
    let comment = comment.or_else(|| start.starts_with(b"#").then_some(b'#'));
    let lines: Vec<&[u8]> = lines(start, comment).take(LINES).collect();
    let splits_evenly = |&delimiter: &u8| {
        let mut counts = lines.iter().map(|line| split_values(line, delimiter).len());
        let first = counts.next().unwrap_or(1);
        first > 1 && counts.all(|count| count == first)
    };
    let delimiter = delimiter.or_else(|| DELIMITERS.into_iter().find(splits_evenly)).unwrap_or(b',');
    let has_number = |line: &&[u8]| split_values(line, delimiter).iter().any(|value| is_number(value));
    let header = lines.first().is_none_or(|line| !has_number(line));
    Some(TextFormat { delimiter, header, comment })
}

/// Returns the complete lines of the start of a text, without empty lines and comments. A start
/// without a line break counts as one line.
fn lines(start: &[u8], comment: Option<u8>) -> impl Iterator<Item = &[u8]> {
    // The last line may be incomplete.
    let complete = start.iter().rposition(|&b| b == b'\n').map_or(start, |end| &start[..end]);
    let lines = complete.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(move |line| line.first().is_some_and(|&first| Some(first) != comment))
}

/// Splits a line into values; delimiters between double quotes do not count.
fn split_values(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let mut quoted = false;
    let is_delimiter = |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == delimiter && !quoted
    };
    line.split(is_delimiter).collect()
}

fn is_number(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| text.trim().trim_matches('"').parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every listed extension is recognized.
    #[test]
    fn listed_extensions_are_recognized() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for extension in RowFormat::EXTENSIONS {
            assert!(RowFormat::from_extension(extension, file.path()).unwrap().is_some(), "{extension}");
        }
    }

    /// The delimiter, header and comments of `.txt` files are found in the first lines.
    #[test]
    fn first_lines_decide_the_format() {
        let format = |lines: &str| {
            sniff_text(lines.as_bytes(), None, None).map(|t| (char::from(t.delimiter), t.header, t.comment.is_some()))
        };
        assert_eq!(format("id;name\n1;\"a;b\"\n2;c, d\n"), Some((';', true, false)));
        assert_eq!(format("# FromNodeId\tToNodeId\n0\t1\r\n2\t3\r\n"), Some(('\t', false, true)));
        assert_eq!(format("a|b\n1|2\n"), Some(('|', true, false)));
        assert_eq!(format("word\nother\n"), Some((',', true, false)));
        assert_eq!(format("1 2.5\n3 4"), Some((' ', false, false)));
        assert_eq!(format(""), Some((',', true, false)));
        assert_eq!(format("%%MatrixMarket matrix coordinate real general\n"), None);
    }

    /// The header of `.txt` files and of files with unknown extensions is recognized with the given
    /// delimiter and comments.
    #[test]
    fn given_options_decide_the_header() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "%x;y\n7,a;b\n8,c;d\n").unwrap();
        for (delimiter, header) in [(b',', false), (b';', true)] {
            let comment = Some(b'%');
            let reader = RowReader::Text { delimiter: Some(delimiter), header: None, comment };
            for extension in ["txt", "dat"] {
                let format = reader.format(extension, file.path()).unwrap();
                assert_eq!(format, RowFormat::Text(TextFormat { delimiter, header, comment }), "{extension}");
            }
        }
    }

    /// The first line of a `.csv` file is no header if it has a number, and no other text.
    #[test]
    fn numbers_are_no_header() {
        let header = |text: &str| TextFormat::with_delimiter(text.as_bytes(), b',', None).header;
        assert!(!header("1,2\n3,4\n"));
        assert!(!header("1,,4\n"));
        assert!(!header("# dims 3 4\n1,\"2.5\"\r\n"));
        assert!(header("year,2020\n1,2\n"));
        assert!(header("1;2\n"));
        assert!(header(",\n"));
        assert!(header(""));
    }
}
