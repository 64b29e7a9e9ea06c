//! Checks for quoted values of delimited text that the CSV reader would misread.
//!
//! If a quoted value never ends, the reader takes the rest of the file for one value, and the table
//! lacks rows without an error. A file that is read in parts may be cut at a line break within a
//! quoted value, and then its rows are wrong.

mod quoting;
mod rows;

pub(crate) use quoting::Quoting;
pub(crate) use rows::{TextFiles, checked_rows, without_parts};

use crate::error::{Error, Result};
use quoting::State;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Number of bytes that are searched for a quote at once.
const BLOCK_BYTES: usize = 1 << 10;

/// The mark that the reader skips at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of bytes at the start of a file that are searched for line breaks within values.
const SAMPLE_BYTES: u64 = 1 << 20;

/// The unit in which the CSV reader reads a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// The whole file.
    Whole,
    /// One of several parts, which begin and end at line breaks.
    InParts,
}

/// Checks that each quoted value of a file ends, and that no value contains a line break if the
/// file is read in parts. Stops early, without an error, when `is_cancelled` returns true.
///
/// # Errors
/// If the check fails, or the file cannot be read.
pub(crate) fn check(path: &Path, quoting: Quoting, reading: Reading, is_cancelled: impl Fn() -> bool) -> Result<()> {
    let io_error = |source| Error::from(redpoll_datasets::Error::Io { path: path.into(), source });
    let open = || File::open(path).map_err(io_error);
    let places = QuotePlaces::of(open()?, quoting, is_cancelled).map_err(io_error)?;
    let line = |offset: u64| line_of(open()?.take(offset)).map_err(io_error);
    let file = path.display().to_string();
    match (places.open, places.line_break.filter(|_| reading == Reading::InParts)) {
        (Some(offset), _) => Err(Error::OpenQuote { file, line: line(offset)? }),
        (None, Some(offset)) => Err(Error::BrokenLine { file, line: line(offset)? }),
        (None, None) => Ok(()),
    }
}

/// Checks that each quoted value of a text ends; `name` is the name of its file.
///
/// # Errors
/// If a quoted value never ends.
pub(crate) fn check_text(name: &Path, text: &[u8], quoting: Quoting) -> Result<()> {
    let io_error = |source| Error::from(redpoll_datasets::Error::Io { path: name.into(), source });
    match QuotePlaces::of(text, quoting, || false).map_err(io_error)?.open {
        None => Ok(()),
        Some(offset) => {
            let line = line_of(text.take(offset)).map_err(io_error)?;
            Err(Error::OpenQuote { file: name.display().to_string(), line })
        }
    }
}

/// Returns whether a quoted value at the start of a file contains a line break.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn has_line_breaks(path: &Path, quoting: Quoting) -> io::Result<bool> {
    let start = File::open(path)?.take(SAMPLE_BYTES);
    Ok(QuotePlaces::of(start, quoting, || false)?.line_break.is_some())
}

/// The offsets of quotes in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct QuotePlaces {
    /// The opening quote of the value that does not end within the text.
    open: Option<u64>,
    /// The opening quote of the first value with a line break.
    line_break: Option<u64>,
}

impl QuotePlaces {
    /// Finds the quotes of a text. Stops early, and returns no quotes, when `is_cancelled` returns
    /// true.
    fn of(mut reader: impl Read, quoting: Quoting, is_cancelled: impl Fn() -> bool) -> io::Result<QuotePlaces> {
        let (mut state, mut opened, mut offset, mut line_break) = (State::RecordStart, 0, 0, None);
        let mut buffer = vec![0; 1 << 18];
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) if is_cancelled() => return Ok(QuotePlaces::default()),
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let mut text = &buffer[..count];
            if let Some(after) = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| offset == 0) {
                offset = BYTE_ORDER_MARK.len() as u64;
                text = after;
            }
            for block in text.chunks(BLOCK_BYTES) {
                let skipped = if block.contains(&quoting.quote) { None } else { quoting.skip(state, block) };
                match skipped {
                    Some(next) => {
                        if state == State::Quoted && block.contains(&quoting.line_break()) {
                            line_break = line_break.or(Some(opened));
                        }
                        state = next;
                    }
                    None => {
                        for (at, byte) in (offset..).zip(block) {
                            let next = quoting.next_state(state, *byte);
                            if next == State::Quoted && matches!(state, State::RecordStart | State::ValueStart) {
                                opened = at;
                            }
                            if state == State::Quoted && *byte == quoting.line_break() {
                                line_break = line_break.or(Some(opened));
                            }
                            state = next;
                        }
                    }
                }
                offset += block.len() as u64;
            }
        }
        let open = matches!(state, State::Quoted | State::Escaped).then_some(opened);
        Ok(QuotePlaces { open, line_break })
    }
}

/// Returns the line on which a text ends, counted from 1.
fn line_of(mut text: impl Read) -> io::Result<u64> {
    let (mut line, mut buffer) = (1, vec![0; 1 << 16]);
    loop {
        match text.read(&mut buffer) {
            Ok(0) => return Ok(line),
            Ok(count) => line += buffer[..count].iter().filter(|byte| **byte == b'\n').count() as u64,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str, quoting: Quoting) -> QuotePlaces {
        QuotePlaces::of(text.as_bytes(), quoting, || false).unwrap()
    }

    /// Returns the line of the open quote.
    fn open_line(text: &str, quoting: Quoting) -> Option<u64> {
        places(text, quoting).open.map(|offset| line_of(text.as_bytes().take(offset)).unwrap())
    }

    /// A quote opens a value only at the start of the value, and comments have no quotes.
    #[test]
    fn open_quotes_are_found() {
        let plain = Quoting::new(b',', None);
        for closed in [
            "",
            "a,b\n1,2\n",
            "\"a\"\n",
            "\"a\nb\",1\n",
            "a\"b,5\"\n",
            "\"a\"\"\"",
            "\"a\" \"b\n1\n",
            "\u{feff}\"a,\"\n",
        ] {
            assert_eq!(open_line(closed, plain), None, "{closed}");
        }
        assert_eq!(open_line("a,b\n1,2\n3,\"4\n5,6\n", plain), Some(3));
        assert_eq!(open_line("\"", plain), Some(1));
        assert_eq!(open_line("a\r\n\"b\"\"\r\n", plain), Some(2));
        assert_eq!(open_line("# a \"\nb\n", Quoting::new(b',', Some(b'#'))), None);
        assert_eq!(open_line("# \"\n\"# \"\n\"\n", Quoting::new(b',', Some(b'#'))), Some(3));
        assert_eq!(open_line("a;\"b", Quoting::new(b';', None)), Some(1));
        assert_eq!(open_line("a;\"b", plain), None);
        assert_eq!(open_line("\"a\\\"\n", Quoting { escape: Some(b'\\'), ..plain }), Some(1));
        assert_eq!(open_line("'a\n", Quoting { quote: b'\'', ..plain }), Some(1));
        assert_eq!(open_line("a|\"b\nc", Quoting { terminator: Some(b'|'), ..plain }), Some(1));
    }

    /// Skipping blocks does not change the result.
    #[test]
    fn long_texts_are_searched_in_blocks() {
        let (plain, rows) = (Quoting::new(b',', None), "1234567,89\n".repeat(100_000));
        assert_eq!(open_line(&rows, plain), None);
        assert_eq!(open_line(&format!("{rows}\"{rows}"), plain), Some(100_001));
        assert_eq!(open_line(&format!("{rows}\"{rows}\"\n{rows}"), plain), None);
        assert_eq!(open_line(&format!("{rows}a\"{rows}"), plain), None);
    }

    /// Line breaks count only within quotes; line breaks in skipped blocks are found, too.
    #[test]
    fn line_breaks_of_values_are_found() {
        let (plain, long) = (Quoting::new(b',', None), "word\n".repeat(1000));
        for without in ["a\nb\n", "\"a\"\n\"b\"\n", "a\"\nb\"\n", &long, "\"\"\n"] {
            assert_eq!(places(without, plain).line_break, None, "{without}");
        }
        assert_eq!(places("a,\"b\n\"", plain).line_break, Some(2));
        assert_eq!(places("\"a\",\"\"\"\n\"\n", plain).line_break, Some(4));
        assert_eq!(places(&format!("{long}\"{long}\""), plain).line_break, Some(5000));
    }
}
