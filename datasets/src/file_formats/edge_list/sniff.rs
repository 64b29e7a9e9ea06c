//! Records and fields of delimited text, and detection of their form by the first records.

use super::columns::{COORDINATE_NAMES, is_listed};
use super::header::detect_header;
use super::{Delimiter, EdgeListOptions, HeaderGuess};
use crate::error::{Fault, LocatedFault, Location};
use crate::text::quote;
use std::borrow::Cow;

/// Number of records used for detection.
const SAMPLE_SIZE: usize = 16;

/// Iterator over the records of a text (lines other than comments and blank lines), with their line
/// numbers.
#[derive(Clone)]
pub(super) struct Records<'a> {
    rest: &'a [u8],
    line: u64,
}

impl<'a> Records<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Records<'a> {
        Records { rest: bytes, line: 0 }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&b| b == b'\n').unwrap_or(self.rest.len());
            let line = &self.rest[..end];
            self.rest = &self.rest[(end + 1).min(self.rest.len())..];
            self.line += 1;
            let record = line.strip_suffix(b"\r").unwrap_or(line);
            match record.trim_ascii_start().first() {
                None | Some(b'#' | b'%') => {}
                Some(_) => return Some((self.line, record)),
            }
        }
        None
    }
}

/// Iterator over the fields of a record.
pub(super) struct Fields<'a> {
    /// The rest of the record, or `None` after the last field.
    rest: Option<&'a [u8]>,
    delimiter: Delimiter,
}

impl<'a> Fields<'a> {
    pub(super) fn new(record: &'a [u8], delimiter: Delimiter) -> Fields<'a> {
        let record = if delimiter == Delimiter::Space { record.trim_ascii() } else { record };
        Fields { rest: Some(record), delimiter }
    }
}

impl<'a> Iterator for Fields<'a> {
    /// A field without surrounding quotes and blanks, or a fault of its quotes.
    type Item = Result<Cow<'a, [u8]>, Fault>;

    #[inline]
    fn next(&mut self) -> Option<Result<Cow<'a, [u8]>, Fault>> {
        let rest = self.rest?;
        let delimiter = self.delimiter.byte();
        // Tabs are blanks unless they are the delimiter.
        let start = rest.iter().position(|&b| b == delimiter || !b.is_ascii_whitespace()).unwrap_or(rest.len());
        if rest.get(start) == Some(&b'"') {
            return Some(self.take_quoted(&rest[start + 1..]));
        }
        let end = rest[start..].iter().position(|&b| b == delimiter).map_or(rest.len(), |end| start + end);
        self.skip_delimiter(&rest[end..]);
        Some(Ok(Cow::Borrowed(rest[start..end].trim_ascii_end())))
    }
}

impl<'a> Fields<'a> {
    /// Moves to the next field. `after` begins with the delimiter, or is empty at the end of the
    /// record.
    #[inline]
    fn skip_delimiter(&mut self, after: &'a [u8]) {
        let Some((_, mut rest)) = after.split_first() else {
            self.rest = None;
            return;
        };
        if self.delimiter == Delimiter::Space {
            rest = rest.trim_ascii_start();
        }
        self.rest = Some(rest);
    }

    fn take_quoted(&mut self, inside: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        let mut at = 0;
        let mut doubled = false;
        let end = loop {
            match inside[at..].iter().position(|&b| b == b'"') {
                None => {
                    self.rest = None;
                    let found = "the end of the line; join the lines of the field, or add the quote";
                    return Err(Fault::malformed("a closing quote in the same line", found));
                }
                Some(quote) if inside.get(at + quote + 1) == Some(&b'"') => {
                    doubled = true;
                    at += quote + 2;
                }
                Some(quote) => break at + quote,
            }
        };
        let after = &inside[end + 1..];
        let delimiter = self.delimiter.byte();
        let blanks = after.iter().position(|&b| b == delimiter || !b.is_ascii_whitespace()).unwrap_or(after.len());
        if after.get(blanks).is_some_and(|&b| b != delimiter) {
            self.rest = None;
            let found = quote(&after[blanks..]);
            let found = format!("{found}; write a quote within a field as two quotes");
            return Err(Fault::malformed("a delimiter after the closing quote", found));
        }
        self.skip_delimiter(&after[blanks..]);
        let field = &inside[..end];
        Ok(if doubled {
            String::from_utf8_lossy(field).replace("\"\"", "\"").into_bytes().into()
        } else {
            field.into()
        })
    }
}

/// The line number and the fields of a record.
pub(super) type SampledRecord<'a> = (u64, Vec<Cow<'a, [u8]>>);

/// The form of a file, detected from its first records.
pub(super) struct RecordSample<'a> {
    pub(super) delimiter: Delimiter,
    /// The names of the columns, if there is a header.
    pub(super) header: Option<Vec<Cow<'a, [u8]>>>,
    /// The guess whether there is a header; `None` if the decision is not a guess.
    pub(super) guess: Option<HeaderGuess>,
    /// The first records below the header.
    pub(super) records: Vec<SampledRecord<'a>>,
    /// The number of columns.
    pub(super) columns: usize,
}

impl RecordSample<'_> {
    /// Returns the position of a field in a line; the column is counted from 0.
    pub(super) fn location(&self, line: u64, column: usize) -> Location {
        Location::Field(line, self.column_text(column).into())
    }

    /// Returns the quoted name of a column, or its number, counted from 1. `column` is counted from
    /// 0.
    pub(super) fn column_text(&self, column: usize) -> String {
        let name = self.header.as_ref().and_then(|header| header.get(column)).filter(|name| !name.is_empty());
        name.map_or_else(|| (column + 1).to_string(), |name| quote(name))
    }
}

/// Reads the first records and detects their form; returns `None` if there are no records.
///
/// # Errors
/// Fails if a quoted field is not closed in its line, or is followed by other text than a
/// delimiter.
pub(super) fn sample_records<'a>(
    bytes: &'a [u8],
    options: &EdgeListOptions,
) -> Result<Option<RecordSample<'a>>, LocatedFault> {
    let first: Vec<(u64, &[u8])> = Records::new(bytes).take(SAMPLE_SIZE).collect();
    if first.is_empty() {
        return Ok(None);
    }
    let delimiter = options.delimiter.unwrap_or_else(|| delimiter(&first));
    let fields = |&(line, record): &(u64, &'a [u8])| {
        let fields: Result<Vec<_>, Fault> = Fields::new(record, delimiter).collect();
        fields.map(|fields| (line, fields)).map_err(|fault| fault.at(Location::Line(line)))
    };
    let mut records: Vec<SampledRecord<'a>> = first.iter().map(fields).collect::<Result<_, _>>()?;
    let columns = records[0].1.len();
    let (is_header, guess) = detect_header(bytes, delimiter, &records, options);
    let header = is_header.then(|| records.remove(0).1);
    Ok(Some(RecordSample { delimiter, header, guess, records, columns }))
}

/// Returns the delimiter of the records: the first delimiter that splits all records into the same
/// number of fields, at least two; or else the first delimiter that occurs in the first record; or
/// else a comma.
fn delimiter(records: &[(u64, &[u8])]) -> Delimiter {
    let counts = |d: Delimiter| records.iter().map(move |(_, record)| Fields::new(record, d).count());
    let agrees = |&d: &Delimiter| counts(d).next() > Some(1) && counts(d).min() == counts(d).max();
    let occurs = |&d: &Delimiter| counts(d).next() > Some(1);
    let all = || Delimiter::ALL.into_iter();
    all().find(agrees).or_else(|| all().find(occurs)).unwrap_or(Delimiter::Comma)
}

/// Returns the number of columns if the first bytes of a file look like an edge list with one of
/// the delimiters; otherwise returns `None`. All records must have the same number of fields. In
/// addition, the first name of the header must be a known name of coordinates, or the first two
/// fields of all records must be unsigned integers. Names of vertices do not suffice, because any
/// text with commas would match.
pub(super) fn edge_list_columns(start: &[u8], delimiters: &[Delimiter]) -> Option<usize> {
    // The last line may be incomplete.
    let end = start.iter().rposition(|&b| b == b'\n').map_or(start.len(), |end| end + 1);
    let sample = sample_records(&start[..end], &EdgeListOptions::default()).ok()??;
    let header = sample.header.as_ref().filter(|_| sample.guess.is_none());
    let has_listed_names = header.is_some_and(|header| is_listed(COORDINATE_NAMES, &header[0]));
    let natural = |field: &Cow<'_, [u8]>| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let shape = |(_, fields): &SampledRecord<'_>| fields.len() == sample.columns;
    let pairs = |(_, fields): &SampledRecord<'_>| natural(&fields[0]) && fields.get(1).is_some_and(natural);
    let one_column = sample.columns == 1 && has_listed_names && delimiters.contains(&Delimiter::Comma);
    let is_edge_list = (one_column || sample.columns > 1 && delimiters.contains(&sample.delimiter))
        && sample.records.iter().all(shape)
        && (has_listed_names || !sample.records.is_empty() && sample.records.iter().all(pairs));
    is_edge_list.then_some(sample.columns)
}
