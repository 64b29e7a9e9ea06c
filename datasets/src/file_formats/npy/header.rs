//! The header: magic, version, length, and a Python dictionary of three keys.
//!
//! The parser accepts only this dictionary, not general Python expressions. Nothing nests, so no
//! header can exhaust the stack.

use crate::content::{MAX_DIMENSION, MAX_RANK, element_count};
use crate::error::{Count, Fault, StreamError};
use crate::text::quote;
use redpoll_logic::Prim;
use std::io::{self, Read, Write};

pub(in super::super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The content of the header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct NpyHeader {
    pub(in super::super) element: ElementType,
    pub(in super::super) fortran_order: bool,
    pub(in super::super) shape: Vec<u64>,
}

/// A type of elements that redpoll reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum ElementType {
    /// A number or boolean.
    Number(Prim, ByteOrder),
    /// Text: bytes per character and characters per element. SciPy stores the name of a format in
    /// this way.
    Text { width: usize, length: usize, byte_order: ByteOrder },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

impl ElementType {
    /// Returns the element type that the writer uses for a primitive type.
    pub(in super::super) fn native(prim: Prim) -> ElementType {
        ElementType::Number(prim, ByteOrder::Little)
    }

    /// Returns the primitive type and its byte order; fails for text.
    pub(in super::super) fn number(&self) -> Result<(Prim, ByteOrder), Fault> {
        match self {
            ElementType::Number(prim, byte_order) => Ok((*prim, *byte_order)),
            ElementType::Text { .. } => Err(Fault::unsupported("an array of text", "store codes of an integer dtype")),
        }
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            ElementType::Number(prim, _) => Some(prim.bytes() as u64),
            ElementType::Text { width, length, .. } => (*width as u64).checked_mul(*length as u64),
        }
    }
}

impl NpyHeader {
    /// Returns the number of bytes of all elements, or `None` on overflow.
    pub(in super::super) fn payload_bytes(&self) -> Option<u64> {
        element_count(&self.shape)?.checked_mul(self.element.bytes()?)
    }
}

/// Returns the offset and the length of the text of the header.
fn text_range(start: &[u8]) -> Result<(usize, usize), Fault> {
    if !start.starts_with(MAGIC) {
        let found = quote(&start[..start.len().min(MAGIC.len())]);
        return Err(Fault::malformed("the magic string `\\x93NUMPY`", found));
    }
    match start[MAGIC.len()..] {
        [1, _, a, b, ..] => Ok((10, usize::from(u16::from_le_bytes([a, b])))),
        [2 | 3, _, a, b, c, d, ..] => Ok((12, u32::from_le_bytes([a, b, c, d]) as usize)),
        [1..=3, ..] | [] => Err(Fault::malformed("a version and the length of the header", "the end of the file")),
        [version, ..] => {
            Err(Fault::unsupported(format!("version {version} of the .npy format"), "save it as version 1 to 3"))
        }
    }
}

/// Reads exactly the bytes of the header from a stream.
pub(in super::super) fn read(stream: &mut dyn Read) -> Result<Vec<u8>, StreamError> {
    let mut bytes = Vec::new();
    stream.take(12).read_to_end(&mut bytes)?;
    // A fault is reported later, when the bytes are parsed.
    if let Ok((at, length)) = text_range(&bytes) {
        let missing = (at + length).saturating_sub(bytes.len()) as u64;
        stream.take(missing).read_to_end(&mut bytes)?;
        bytes.truncate(at + length);
    }
    Ok(bytes)
}

/// Parses the header of a file, and returns it with the bytes after it.
pub(in super::super) fn parse(bytes: &[u8]) -> Result<(NpyHeader, &[u8]), Fault> {
    let (at, length) = text_range(bytes)?;
    let found = (bytes.len() - at) as u64;
    let expected = Count(Some(length as u64));
    let text = bytes.get(at..at + length).ok_or(Fault::Truncated { content: "the header", expected, found })?;
    Ok((dictionary(text)?, &bytes[at + length..]))
}

/// Writes a header, padded so that the elements begin at a multiple of 64 bytes.
pub(in super::super) fn write(header: &NpyHeader, out: &mut dyn Write) -> io::Result<()> {
    let order = if header.fortran_order { "True" } else { "False" };
    let comma = if header.shape.len() == 1 { "," } else { "" };
    let shape = header.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let descr = descr(&header.element);
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}{comma}), }}");
    let total = (10 + text.len() + 1).next_multiple_of(64);
    let length = u16::try_from(total - 10).expect("at most 64 dimensions of 20 digits each");
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    writeln!(out, "{text:<width$}", width = total - 11)
}

fn descr(element: &ElementType) -> String {
    match element {
        ElementType::Number(prim, order) => {
            let kind = match prim {
                Prim::Bool => 'b',
                Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 => 'i',
                Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64 => 'u',
                Prim::F32 | Prim::F64 => 'f',
            };
            let order = match order {
                _ if prim.bytes() == 1 => '|',
                ByteOrder::Little => '<',
                ByteOrder::Big => '>',
            };
            format!("{order}{kind}{}", prim.bytes())
        }
        ElementType::Text { width: 1, length, .. } => format!("|S{length}"),
        ElementType::Text { length, .. } => format!("<U{length}"),
    }
}

fn dictionary(text: &[u8]) -> Result<NpyHeader, Fault> {
    let mut literal = Literal { text, at: 0 };
    let (mut element, mut fortran_order, mut shape) = (None, None, None);
    literal.expect(b'{')?;
    while !literal.take(b'}') {
        let key = literal.string()?;
        literal.expect(b':')?;
        match key {
            b"descr" => element = Some(literal.descr()?),
            b"fortran_order" => fortran_order = Some(literal.boolean()?),
            b"shape" => shape = Some(literal.shape()?),
            _ => return Err(Fault::malformed("a key `descr`, `fortran_order` or `shape` in the header", quote(key))),
        }
        if !literal.take(b',') {
            literal.expect(b'}')?;
            break;
        }
    }
    match (element, fortran_order, shape) {
        (Some(element), Some(fortran_order), Some(shape)) => Ok(NpyHeader { element, fortran_order, shape }),
        _ => Err(Fault::malformed("the keys `descr`, `fortran_order` and `shape` in the header", quote(text))),
    }
}

/// A cursor in the text of the dictionary.
struct Literal<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Literal<'a> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let rest = &self.text[self.at.min(self.text.len())..];
        let found =
            if rest.is_empty() { "the end of the header".to_owned() } else { quote(&rest[..rest.len().min(20)]) };
        Fault::malformed(format!("{expected} in the header"), found)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected(&format!("`{}`", char::from(byte)))) }
    }

    fn string(&mut self) -> Result<&'a [u8], Fault> {
        let quote = self.peek().filter(|q| matches!(q, b'\'' | b'"')).ok_or_else(|| self.unexpected("a string"))?;
        let rest = &self.text[self.at + 1..];
        let end =
            rest.iter().position(|&b| b == quote).ok_or_else(|| self.unexpected("a string with a closing quote"))?;
        self.at += end + 2;
        Ok(&rest[..end])
    }

    fn word(&mut self) -> &'a [u8] {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn boolean(&mut self) -> Result<bool, Fault> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            other => Err(Fault::malformed("`True` or `False` for `fortran_order`", quote(other))),
        }
    }

    fn descr(&mut self) -> Result<ElementType, Fault> {
        if self.peek() == Some(b'[') {
            return Err(Fault::unsupported("a structured dtype", "save each field as an array of its own"));
        }
        element_type(self.string()?)
    }

    fn shape(&mut self) -> Result<Vec<u64>, Fault> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while !self.take(b')') {
            let word = self.word();
            // Python 2 wrote `3L`.
            let digits = word.strip_suffix(b"L").unwrap_or(word);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(if word.is_empty() {
                    self.unexpected("a dimension")
                } else {
                    Fault::malformed("a dimension", quote(word))
                });
            }
            let size = std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok());
            let Some(dimension) = size.filter(|&d| d <= MAX_DIMENSION) else {
                return Err(Fault::TooLarge { quantity: "a dimension", size: Count(size), limit: MAX_DIMENSION });
            };
            shape.push(dimension);
            if shape.len() > MAX_RANK {
                return Err(Fault::TooLarge {
                    quantity: "the rank",
                    size: Count(Some(shape.len() as u64)),
                    limit: MAX_RANK as u64,
                });
            }
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }
}

/// Parses a type string such as `<f8`.
fn element_type(descr: &[u8]) -> Result<ElementType, Fault> {
    let malformed = || Fault::malformed("a type such as `<f8` for `descr`", quote(descr));
    let (byte_order, rest) = match descr {
        [b'<', rest @ ..] => (ByteOrder::Little, rest),
        [b'>', rest @ ..] => (ByteOrder::Big, rest),
        [b'|' | b'=', rest @ ..] => (ByteOrder::NATIVE, rest),
        _ => return Err(malformed()),
    };
    let (&kind, size) = rest.split_first().ok_or_else(malformed)?;
    let unsupported =
        |content: &str, hint: &str| Err(Fault::unsupported(format!("{content} (dtype {})", quote(descr)), hint));
    match kind {
        b'O' => {
            return unsupported(
                "an array of Python objects, stored as a pickle",
                "convert it with astype and save it again",
            );
        }
        b'V' => return unsupported("raw data", "convert it with view and save it again"),
        b'm' | b'M' => return unsupported("dates and times", "convert it with astype('i8') and save it again"),
        b'c' => return unsupported("complex values", "save the real and the imaginary part as two arrays"),
        _ => {}
    }
    let size: usize = std::str::from_utf8(size).ok().and_then(|s| s.parse().ok()).ok_or_else(malformed)?;
    let number = |prim| Ok(ElementType::Number(prim, byte_order));
    match (kind, size) {
        (b'b', 1) => number(Prim::Bool),
        (b'i', 1) => number(Prim::I8),
        (b'i', 2) => number(Prim::I16),
        (b'i', 4) => number(Prim::I32),
        (b'i', 8) => number(Prim::I64),
        (b'u', 1) => number(Prim::U8),
        (b'u', 2) => number(Prim::U16),
        (b'u', 4) => number(Prim::U32),
        (b'u', 8) => number(Prim::U64),
        (b'f', 4) => number(Prim::F32),
        (b'f', 8) => number(Prim::F64),
        (b'f', _) => unsupported("floats of this width", "convert it with astype('f8') and save it again"),
        (b'S', length) => Ok(ElementType::Text { width: 1, length, byte_order }),
        (b'U', length) => Ok(ElementType::Text { width: 4, length, byte_order }),
        _ => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expect: &Expect) {
        let found = match dictionary(text.as_bytes()) {
            Ok(NpyHeader { element, fortran_order, shape }) => format!("{element:?} {fortran_order} {shape:?}"),
            Err(fault) => fault.to_string(),
        };
        expect.assert_eq(&found);
    }

    #[test]
    fn dictionaries() {
        check(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n",
            &expect!["Number(F64, Little) false [3, 4]"],
        );
        check("{\"shape\":(5L,),\"fortran_order\":True,\"descr\":\">i2\"}", &expect!["Number(I16, Big) true [5]"]);
        check("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", &expect!["Number(Bool, Little) false []"]);
        check(
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}",
            &expect!["not supported: a structured dtype; save each field as an array of its own"],
        );
        check(
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            &expect![
                "not supported: an array of Python objects, stored as a pickle (dtype `|O`); convert it with astype and save it again"
            ],
        );
        check(
            "{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}",
            &expect![
                "not supported: complex values (dtype `<c16`); save the real and the imaginary part as two arrays"
            ],
        );
        check(
            "{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}",
            &expect![
                "not supported: floats of this width (dtype `<f2`); convert it with astype('f8') and save it again"
            ],
        );
        check(
            "{'descr': '<f8', 'fortran_order': False}",
            &expect![
                "expected the keys `descr`, `fortran_order` and `shape` in the header, found `{'descr': '<f8', 'fortran_order': False}`"
            ],
        );
        check(
            "{'descr': '<f8', 'fortran_order': 1, 'shape': ()}",
            &expect!["expected `True` or `False` for `fortran_order`, found `1`"],
        );
        check(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
            &expect!["expected a dimension in the header, found `-1,)}`"],
        );
        check(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            &expect!["a dimension is too large: at least 2^64; the maximum is 9223372036854775807"],
        );
        check(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3",
            &expect!["expected `)` in the header, found the end of the header"],
        );
        check(&"(".repeat(60000), &expect!["expected `{` in the header, found `((((((((((((((((((((`"]);
    }
}
