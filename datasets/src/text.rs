//! A cursor over the bytes of a numeric text file, which tracks the line number; and functions that
//! parse or quote one token.
//!
//! Files have millions of lines, so the cursor avoids extra passes over the bytes. It tokenizes
//! without splitting the text into lines first, and computes coordinates while it scans their
//! digits.

use crate::error::{Fault, LocatedFault, Location};
use redpoll_logic::Prim;

/// Hint for a finite value that exceeds `f64`.
pub(crate) const F64_LIMIT: &str = "the largest f64 is about 1.8e308, and infinity is written as inf";

/// A position in a text, within line `line` or at its start.
pub(crate) struct TextCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
    /// The byte that begins a comment, which extends to the end of the line.
    comment: u8,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

impl<'a> TextCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], comment: u8) -> TextCursor<'a> {
        TextCursor { bytes, at: 0, line: 1, comment }
    }

    /// Returns the whole text.
    pub(crate) fn text(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the number of remaining bytes.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns the current line as a position.
    pub(crate) fn location(&self) -> Location {
        Location::Line(self.line)
    }

    /// Returns a fault in the current line.
    pub(crate) fn fault(&self, fault: Fault) -> LocatedFault {
        fault.at(self.location())
    }

    /// Skips blanks, line ends and comments, and returns whether a token follows.
    #[inline]
    pub(crate) fn next_record(&mut self) -> bool {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\n' {
                self.line += 1;
                self.at += 1;
            } else if is_blank(byte) {
                self.at += 1;
            } else if byte == self.comment {
                self.take_line();
            } else {
                return true;
            }
        }
        false
    }

    /// Returns the bytes up to the end of the line and moves the cursor there.
    pub(crate) fn take_line(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Returns the next token of this line, or `None` at the end of the line.
    #[inline]
    pub(crate) fn token(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n' || is_blank(b)).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// Reads an unsigned integer.
    #[inline]
    pub(crate) fn unsigned(&mut self, expected: &str) -> Result<u64, LocatedFault> {
        self.skip_blanks();
        let start = self.at;
        let mut number = 0u64;
        while let Some(digit) = self.bytes.get(self.at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
            let Some(next) = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit))) else {
                self.at = start;
                return Err(self.unexpected(&format!("{expected}, an integer below 2^64")));
            };
            number = next;
            self.at += 1;
        }
        let is_complete = self.bytes.get(self.at).is_none_or(|&b| b == b'\n' || is_blank(b));
        if self.at == start || !is_complete {
            self.at = start;
            return Err(self.unexpected(expected));
        }
        Ok(number)
    }

    /// Reads a coordinate counted from 1, checks it against the size of its mode, and returns it
    /// counted from 0.
    #[inline]
    pub(crate) fn coordinate(&mut self, mode: usize, dimension: u64) -> Result<u64, LocatedFault> {
        let coordinate = self.unsigned("a coordinate")?;
        if coordinate == 0 || coordinate > dimension {
            return Err(self.fault(Fault::OutOfRange { mode, coordinate, first: 1, dimension }));
        }
        Ok(coordinate - 1)
    }

    /// Reads an integer of the given type, which may be written as a real number such as `3.0`.
    #[inline]
    pub(crate) fn integer<T: TryFrom<i128>>(&mut self, dtype: Prim) -> Result<T, LocatedFault> {
        let Some(token) = self.token() else { return Err(self.unexpected("an integer")) };
        let digits = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
        let value = if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
            magnitude(digits).map(|n| if token[0] == b'-' { -n } else { n })
        } else {
            Some(parse_integral(token).ok_or_else(|| self.fault(Fault::malformed("an integer", quote(token))))?)
        };
        value
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| self.overflow(token, dtype, "declare another field in the banner, such as real"))
    }

    /// Reads a real number; Fortran's exponent letters `d` and `D` are accepted.
    #[inline]
    pub(crate) fn real(&mut self) -> Result<f64, LocatedFault> {
        let Some(token) = self.token() else { return Err(self.unexpected("a number")) };
        let value = parse_real(token).ok_or_else(|| self.fault(Fault::malformed("a number", quote(token))))?;
        let is_infinity = token.iter().any(|b| matches!(b, b'i' | b'I'));
        if value.is_infinite() && !is_infinity {
            return Err(self.overflow(token, Prim::F64, F64_LIMIT));
        }
        Ok(value)
    }

    /// Skips blanks and a comment, and returns whether the cursor is at the end of the line.
    #[inline]
    pub(crate) fn at_line_end(&mut self) -> bool {
        self.skip_blanks();
        if self.bytes.get(self.at) == Some(&self.comment) {
            self.take_line();
        }
        self.bytes.get(self.at).is_none_or(|&b| b == b'\n')
    }

    /// Checks that only blanks and a comment remain in this line.
    #[inline]
    pub(crate) fn end_of_record(&mut self, expected: &str) -> Result<(), LocatedFault> {
        if self.at_line_end() { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Skips the next token, and returns the fault that the token, or the end of the line or of the
    /// file, was found instead of `expected`.
    #[cold]
    pub(crate) fn unexpected(&mut self, expected: &str) -> LocatedFault {
        let location = self.location();
        let found = match self.token() {
            Some(token) => quote(token),
            None if self.at == self.bytes.len() => "the end of the file".to_owned(),
            None => "the end of the line".to_owned(),
        };
        Fault::malformed(expected, found).at(location)
    }

    #[cold]
    fn overflow(&self, token: &[u8], dtype: Prim, hint: &'static str) -> LocatedFault {
        self.fault(Fault::Overflow { value: quote(token), dtype, hint })
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(|&b| is_blank(b)) {
            self.at += 1;
        }
    }
}

fn magnitude(digits: &[u8]) -> Option<i128> {
    digits.iter().try_fold(0i128, |n, &d| n.checked_mul(10)?.checked_add(i128::from(d - b'0')))
}

/// Parses an integer, which may be written as a real number such as `3.0`, `1e3` or `150e-1`.
/// Returns `None` for other texts, and for integers outside the range of `i128`.
pub(crate) fn parse_integral(token: &[u8]) -> Option<i128> {
    let unsigned = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    let (mantissa, exponent) = match unsigned.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&unsigned[..at], std::str::from_utf8(&unsigned[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let point = mantissa.iter().position(|&b| b == b'.');
    let (integer, fraction) = point.map_or((mantissa, &b""[..]), |at| (&mantissa[..at], &mantissa[at + 1..]));
    let digits = [integer, fraction].concat();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // The number is `digits` times a power of ten.
    let power = i64::from(exponent) - fraction.len() as i64;
    let magnitude = if digits.iter().all(|&b| b == b'0') {
        0
    } else if power >= 0 {
        magnitude(&digits)?.checked_mul(10i128.checked_pow(u32::try_from(power).ok()?)?)?
    } else {
        let end = digits.len().checked_sub(usize::try_from(-power).ok()?)?;
        let (integral, rest) = digits.split_at(end);
        rest.iter().all(|&b| b == b'0').then(|| magnitude(integral))??
    };
    Some(if token[0] == b'-' { -magnitude } else { magnitude })
}

pub(crate) fn parse_real(token: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?;
    text.parse().ok().or_else(|| {
        let digit_first = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
        digit_first.then(|| text.replace(['d', 'D'], "e").parse().ok()).flatten()
    })
}

/// Formats a token for messages: quoted, truncated, control characters escaped.
pub(crate) fn quote(token: &[u8]) -> String {
    const MAX_LENGTH: usize = 40;
    let mut text = String::new();
    for c in String::from_utf8_lossy(&token[..token.len().min(MAX_LENGTH)]).chars() {
        if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
    }
    let ellipsis = if token.len() > MAX_LENGTH { ".." } else { "" };
    format!("`{text}{ellipsis}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_numbers() {
        let parse = |text: &str| TextCursor::new(text.as_bytes(), b'%').real().map_err(|e| e.fault.to_string());
        for (text, value) in [
            ("1", 1.0),
            ("-1.5e3", -1500.0),
            ("1.0D+3", 1000.0),
            ("2d-1", 0.2),
            (".5", 0.5),
            ("5.", 5.0),
            ("+7", 7.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e-400", 0.0),
            ("0.1", 0.1),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
        assert!(parse("NaN").unwrap().is_nan());
        assert_eq!(parse("1e400").unwrap_err(), format!("value `1e400` does not fit f64; {F64_LIMIT}"));
        for text in ["", "x", "0x10", "1_0", "1,5", "--1", "nad", "1d", "d1", "1e"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn integers() {
        let parse = |text: &str| TextCursor::new(text.as_bytes(), b'%').integer::<i64>(Prim::I64).map_err(|e| e.fault);
        assert_eq!(parse("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse("+12"), Ok(12));
        assert!(matches!(parse("9223372036854775808"), Err(Fault::Overflow { .. })));
        assert!(matches!(parse(&"9".repeat(100)), Err(Fault::Overflow { .. })));
        for (text, value) in [
            ("3.0", 3),
            ("-3.", -3),
            ("1e3", 1000),
            ("0.5e1", 5),
            ("1e17", 100_000_000_000_000_000),
            ("9007199254740993.00", 9007199254740993),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
        assert!(matches!(parse("9223372036854775808.0"), Err(Fault::Overflow { .. })));
        assert_eq!(parse_integral(b"+9007199254740993"), Some(9007199254740993));
        for (text, value) in [("-1.50e1", Some(-15)), ("150e-1", Some(15)), (".5E+1", Some(5)), ("0e-400", Some(0))] {
            assert_eq!(parse_integral(text.as_bytes()), value, "{text}");
        }
        for text in ["1e-400", "0.99999999999999999999", "1.5", "15e-2", "1e40", "1e999999999999", ".", "", "-", "inf"]
        {
            assert_eq!(parse_integral(text.as_bytes()), None, "{text}");
        }
        for text in ["", "-", "1.5", "1e-3", "nan", "inf", "a", "-.", "1.0.0"] {
            assert!(matches!(parse(text), Err(Fault::Malformed { .. })), "{text}");
        }
    }

    #[test]
    fn records_and_lines() {
        let mut cursor = TextCursor::new(b"% c\r\n\r\n \t\n 1  2\r\n%x\n3 % y\n", b'%');
        assert!(cursor.next_record());
        assert_eq!((cursor.unsigned("").unwrap(), cursor.unsigned("").unwrap()), (1, 2));
        assert!(cursor.end_of_record("").is_ok());
        assert_eq!(cursor.location(), Location::Line(4));
        assert!(cursor.next_record());
        assert_eq!((cursor.unsigned("").unwrap(), cursor.location()), (3, Location::Line(6)));
        assert!(cursor.end_of_record("").is_ok());
        assert!(!cursor.next_record());
    }
}
