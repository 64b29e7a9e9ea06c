//! Netpbm images: `.pbm` with one bit per pixel and `.pgm` with a grey level per pixel, plain
//! (`P1`, `P2`) or raw (`P4`, `P5`).
//!
//! Specified in the manual pages pbm(5) and pgm(5) of Netpbm. A pixel of a bitmap is `true` if it
//! is black. Grey levels are `u8`, or `u16` if the maximum is above 255. Only the first image of a
//! file is read.

use super::npy::elements::decode;
use super::npy::header::ByteOrder;
use super::shared;
use crate::content::{Content, Data, Info, Layout, element_count};
use crate::error::{Count, Fault, LocatedFault, Location, StreamError, WriteError};
use crate::file_format::{FileFormat, WriteOptions};
use crate::memory::Memory;
use crate::values::Values;
use redpoll_logic::{Prim, Scalar};
use std::io::{Read, Write};

pub(crate) static PBM: FileFormat = FileFormat {
    name: "Netpbm bitmap",
    extension: "pbm",
    summary: "one image of black and white pixels, plain or raw",
    has_header: true,
    sniff: |start| sniff(start, [b'1', b'4']),
    read: |bytes, options| read(&PBM, bytes, &options.memory).map(Into::into),
    info: |stream, _| info(&PBM, stream),
    write: write_bitmap,
    stored: None,
};

pub(crate) static PGM: FileFormat = FileFormat {
    name: "Netpbm graymap",
    extension: "pgm",
    summary: "one image of grey levels up to 65535, plain or raw",
    has_header: true,
    sniff: |start| sniff(start, [b'2', b'5']),
    read: |bytes, options| read(&PGM, bytes, &options.memory).map(Into::into),
    info: |stream, _| info(&PGM, stream),
    write: write_graymap,
    stored: None,
};

/// Number of bytes in which [`info`] looks for the header, comments included.
const MAX_HEADER_BYTES: u64 = 1 << 16;

fn sniff(start: &[u8], variants: [u8; 2]) -> bool {
    matches!(start, [b'P', variant, space, ..] if variants.contains(variant) && space.is_ascii_whitespace())
}

/// The header before the pixels.
struct NetpbmHeader {
    plain: bool,
    width: u64,
    height: u64,
    /// The maximum grey level; 1 for bitmaps.
    largest: u64,
    /// The offset of the pixels.
    end: usize,
}

impl NetpbmHeader {
    fn parse(format: &'static FileFormat, bytes: &[u8]) -> Result<NetpbmHeader, Fault> {
        let bitmap = *format == PBM;
        let (plain, raw) = if bitmap { (b"P1", b"P4") } else { (b"P2", b"P5") };
        let expected = || format!("`{}` or `{}`", plain.escape_ascii(), raw.escape_ascii());
        let magic = bytes.get(..2).filter(|m| *m == plain || *m == raw);
        let magic = magic.ok_or_else(|| Fault::malformed(expected(), format!("`{}`", first_bytes(bytes))))?;
        let mut at = 2;
        let mut number = |expected: &'static str| number(bytes, &mut at, expected);
        let (width, height) = (number("the width")?, number("the height")?);
        let largest = if bitmap { 1 } else { number("the largest grey level")? };
        if !(1..1 << 16).contains(&largest) {
            return Err(Fault::malformed("a largest grey level from 1 to 65535", largest.to_string()));
        }
        Ok(NetpbmHeader { plain: magic == plain, width, height, largest, end: (at + 1).min(bytes.len()) })
    }

    fn info(&self, format: &'static FileFormat) -> Result<Info, Fault> {
        let shape = vec![self.height, self.width];
        let too_large = Fault::TooLarge { quantity: "the number of pixels", size: Count(None), limit: i64::MAX as u64 };
        let stored = element_count(&shape).filter(|n| *n <= i64::MAX as u64).ok_or(too_large)?;
        let dtype = match self.largest {
            _ if *format == PBM => Prim::Bool,
            1..=255 => Prim::U8,
            _ => Prim::U16,
        };
        Ok(Info::of_entries(format, Layout::Array, (shape, stored), Scalar::zero(dtype)))
    }
}

/// Skips blanks and comments.
fn skip_blanks(bytes: &[u8], at: &mut usize) {
    loop {
        match bytes.get(*at) {
            Some(b'#') => *at += bytes[*at..].iter().take_while(|b| **b != b'\n').count(),
            Some(b) if b.is_ascii_whitespace() => *at += 1,
            _ => break,
        }
    }
}

/// Reads the next number after blanks and comments.
fn number(bytes: &[u8], at: &mut usize, expected: &'static str) -> Result<u64, Fault> {
    skip_blanks(bytes, at);
    let digits = bytes[*at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let text = &bytes[*at..*at + digits];
    let number = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
    let found = || if digits > 0 { text.escape_ascii().to_string() } else { first_bytes(&bytes[*at..]) };
    let number = number.ok_or_else(|| Fault::malformed(expected, format!("`{}`", found())))?;
    *at += digits;
    Ok(number)
}

fn first_bytes(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(8)].escape_ascii().to_string()
}

fn info(format: &'static FileFormat, stream: &mut dyn Read) -> Result<Info, StreamError> {
    let mut start = Vec::new();
    stream.take(MAX_HEADER_BYTES).read_to_end(&mut start)?;
    let header = NetpbmHeader::parse(format, &start).and_then(|header| header.info(format));
    header.map_err(|fault| StreamError::Fault(fault.at(Location::File)))
}

fn read(format: &'static FileFormat, bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let at_file = |fault: Fault| fault.at(Location::File);
    let header = NetpbmHeader::parse(format, bytes).map_err(at_file)?;
    let info = header.info(format).map_err(at_file)?;
    let rest = &bytes[header.end..];
    let values = match (header.plain, info.prim()) {
        (true, _) => plain_pixels(&header, rest, &info, memory),
        (false, Prim::Bool) => packed_pixels(&header, rest, memory),
        (false, prim) => check_length(rest, info.stored.checked_mul(prim.bytes() as u64))
            .and_then(|payload| decode(prim, ByteOrder::Big, payload, memory)),
    };
    Ok((info, Data::Dense(values.map_err(at_file)?)))
}

/// Returns the first `expected` bytes of `rest`, and ignores further images.
fn check_length(rest: &[u8], expected: Option<u64>) -> Result<&[u8], Fault> {
    let truncated = || Fault::Truncated { content: "pixels", expected: Count(expected), found: rest.len() as u64 };
    let length = expected.and_then(|n| usize::try_from(n).ok()).ok_or_else(truncated)?;
    rest.get(..length).ok_or_else(truncated)
}

/// Unpacks eight pixels per byte, the leftmost in the highest bit. Rows are padded to whole bytes.
fn packed_pixels(header: &NetpbmHeader, rest: &[u8], memory: &Memory) -> Result<Values, Fault> {
    let row = header.width.div_ceil(8);
    let packed = check_length(rest, row.checked_mul(header.height))?;
    let width = header.width as usize;
    // A byte has at most eight pixels, so the size of the file bounds the allocation.
    let mut pixels: Vec<bool> = memory.allocate("pixels", width * header.height as usize)?;
    let bits = |row: &'_ [u8]| -> Vec<bool> { (0..width).map(|j| row[j / 8] >> (7 - j % 8) & 1 == 1).collect() };
    packed.chunks_exact((row as usize).max(1)).for_each(|row| pixels.extend(bits(row)));
    Ok(Values::Bool(pixels))
}

/// Parses pixels in text form; the digits of bitmaps need no separators.
fn plain_pixels(header: &NetpbmHeader, rest: &[u8], info: &Info, memory: &Memory) -> Result<Values, Fault> {
    // Each pixel takes at least a byte; growing vectors reserve up to twice their size.
    memory.charge("pixels", info.stored.min(rest.len() as u64).saturating_mul(2 * info.prim().bytes() as u64))?;
    let mut values = Values::empty(info.prim());
    let mut at = 0;
    while (values.len() as u64) < info.stored {
        let pixel = match info.prim() {
            Prim::Bool => {
                skip_blanks(rest, &mut at);
                let digit = rest.get(at).filter(|b| matches!(b, b'0' | b'1'));
                let digit = digit
                    .ok_or_else(|| Fault::malformed("a pixel, 0 or 1", format!("`{}`", first_bytes(&rest[at..]))))?;
                at += 1;
                u64::from(digit - b'0')
            }
            _ => number(rest, &mut at, "a grey level")?,
        };
        if pixel > header.largest {
            return Err(Fault::malformed(format!("grey levels up to {}", header.largest), pixel.to_string()));
        }
        values.push(&Scalar::U64(pixel).cast(info.prim()).expect("numbers are cast to numbers"));
    }
    Ok(values)
}

/// Returns the pixels of a matrix, and its height and width.
fn pixels(format: &FileFormat, content: &Content, options: &WriteOptions) -> Result<(Values, u64, u64), Fault> {
    let file = format!("a .{} file", format.extension);
    if let Some(other) = options.layout.filter(|&l| l != Layout::Array) {
        return Err(Fault::unsupported(format!("the layout {other} in {file}"), "choose array"));
    }
    options.check_general(&file)?;
    let [height, width] = content.shape[..] else {
        let content = format!("a tensor of rank {} in {file}", content.shape.len());
        return Err(Fault::unsupported(content, "write a matrix, or choose another format"));
    };
    Ok((shared::dense(content, &options.memory)?.into_owned(), height, width))
}

fn write_bitmap(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    let (values, height, width) = pixels(&PBM, content, options)?;
    if let Some(other) = (0..values.len()).map(|k| values.get(k)).find(|v| !matches!(v.to_f64(), Some(0.0 | 1.0))) {
        let hint = "bitmaps have only 0 and 1; write a .pgm file";
        return Err(Fault::Overflow { value: other.to_string(), dtype: Prim::Bool, hint }.into());
    }
    let black = |k: usize| values.get(k).to_f64() == Some(1.0);
    write!(out, "P4\n{width} {height}\n")?;
    for row in 0..height as usize {
        for start in (0..width as usize).step_by(8) {
            let end = (start + 8).min(width as usize);
            let bit = |j: usize| u8::from(black(row * width as usize + j)) << (7 - (j - start));
            out.write_all(&[(start..end).map(bit).sum()])?;
        }
    }
    Ok(())
}

fn write_graymap(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    let (values, height, width) = pixels(&PGM, content, options)?;
    let wide = content.prim() == Prim::U16;
    let hint = "grey levels are integers from 0 to 65535; write the matrix in another format";
    let overflow = |(_, value): (usize, Scalar)| Fault::Overflow { value: value.to_string(), dtype: Prim::U16, hint };
    let Values::U16(levels) = values.convert(Prim::U16).map_err(overflow)? else {
        unreachable!("the values were converted to u16")
    };
    let wide = wide || levels.iter().any(|level| *level > 255);
    write!(out, "P5\n{width} {height}\n{}\n", if wide { 65535 } else { 255 })?;
    for level in levels {
        let bytes = level.to_be_bytes();
        out.write_all(if wide { &bytes } else { &bytes[1..] })?;
    }
    Ok(())
}
