//! The quotes of delimited text, as Arrow's CSV reader interprets them.

use datafusion::datasource::physical_plan::CsvSource;

/// The bytes that delimit values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quoting {
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) escape: Option<u8>,
    /// The first byte of lines that are comments.
    pub(super) comment: Option<u8>,
    /// The byte that ends a row; `None` if line breaks end rows.
    pub(super) terminator: Option<u8>,
}

impl Quoting {
    /// Returns the quoting of text with double quotes.
    pub(crate) fn new(delimiter: u8, comment: Option<u8>) -> Quoting {
        Quoting { delimiter, quote: b'"', escape: None, comment, terminator: None }
    }

    /// Returns the quoting of a scan.
    pub(crate) fn of_scan(source: &CsvSource) -> Quoting {
        Quoting {
            delimiter: source.delimiter(),
            quote: source.quote(),
            escape: source.escape(),
            comment: source.comment(),
            terminator: source.terminator(),
        }
    }

    /// Returns the byte at which a file is cut into parts.
    pub(super) fn line_break(&self) -> u8 {
        self.terminator.unwrap_or(b'\n')
    }

    fn is_terminator(&self, byte: u8) -> bool {
        match self.terminator {
            Some(terminator) => byte == terminator,
            None => matches!(byte, b'\n' | b'\r'),
        }
    }

    /// Returns the state after a byte, like `csv_core::Reader`.
    pub(super) fn next_state(&self, state: State, byte: u8) -> State {
        match state {
            State::RecordStart if self.comment == Some(byte) => State::Comment,
            State::RecordStart | State::ValueStart if byte == self.quote => State::Quoted,
            State::Quoted if byte == self.quote => State::QuoteEnd,
            State::QuoteEnd if byte == self.quote => State::Quoted,
            State::Quoted if self.escape == Some(byte) => State::Escaped,
            State::Quoted | State::Escaped => State::Quoted,
            State::Comment if byte == b'\n' => State::RecordStart,
            State::Comment => State::Comment,
            _ if byte == self.delimiter => State::ValueStart,
            _ if self.is_terminator(byte) => State::RecordStart,
            _ => State::Value,
        }
    }

    /// Returns the state after bytes that have no quote, if it is known without reading them all.
    pub(super) fn skip(&self, state: State, bytes: &[u8]) -> Option<State> {
        let last = *bytes.last()?;
        match state {
            State::Quoted if self.escape.is_none() => Some(State::Quoted),
            State::RecordStart | State::ValueStart | State::Value if self.comment.is_none() => {
                Some(self.next_state(State::Value, last))
            }
            _ => None,
        }
    }
}

/// The state of the CSV reader between two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    RecordStart,
    ValueStart,
    /// Within a value without quotes, or after the quotes of a value.
    Value,
    Quoted,
    /// After the escape character.
    Escaped,
    /// After a quote within quotes: the end of the quotes, or the first half of a doubled quote.
    QuoteEnd,
    Comment,
}
