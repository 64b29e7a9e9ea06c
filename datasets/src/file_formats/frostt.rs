//! FROSTT, `.tns`: tensors of any rank as text, one entry per line with coordinates from 1 and a
//! value.
//!
//! The format of <http://frostt.io> has no header. The first entry determines the rank, and the
//! largest coordinates determine the shape. Values are `f64`; integers beyond 2^53 are rounded. `#`
//! begins a comment, also after an entry. Two additions give the shape, which is necessary if a
//! mode has no entry at its last coordinate:
//! - A comment such as `# dims 14541 237 14541` before the first entry. Other readers skip
//!   comments. The writer adds the comment if the largest coordinates do not determine the shape.
//! - MLIR's extended format, marked by a comment with the text `extended FROSTT format`: a header
//!   of rank and number of entries, followed by the dimensions.

use super::shared::{self, NumberText};
use crate::content::{Content, Data, Info, Layout, MAX_DIMENSION, MAX_RANK};
use crate::error::{Count, Fault, LocatedFault, Location, StreamError, WriteError};
use crate::file_format::{FileFormat, WriteOptions};
use crate::memory::{Growth, Memory, read_all};
use crate::text::{TextCursor, quote};
use crate::values::{Values, match_values};
use redpoll_logic::{Scalar, plural};
use std::io::{Read, Write};

pub(crate) static FROSTT: FileFormat = FileFormat {
    name: "FROSTT",
    extension: "tns",
    summary: "tensors as text: coordinates from 1 and a value per line; plain, or extended with a header",
    has_header: false,
    sniff,
    read: |bytes, options| read(bytes, &options.memory).map(Into::into),
    info,
    write,
    stored: None,
};

const EXTENDED: &str = "extended FROSTT format";
pub(super) const DIMS: &str = "dims";
const COMMENT: u8 = b'#';

/// Returns whether the file begins with a comment or a coordinate.
fn sniff(start: &[u8]) -> bool {
    let mut cursor = TextCursor::new(start, COMMENT);
    start.first() == Some(&COMMENT) || (cursor.next_record() && cursor.unsigned("").is_ok())
}

/// Reads the whole file, because a plain file has no header.
fn info(stream: &mut dyn Read, memory: &Memory) -> Result<Info, StreamError> {
    let bytes = read_all(stream, "the file", memory)?;
    Ok(read(&bytes, memory)?.0)
}

/// The shape, and the number of entries if a header announces it.
struct FrosttHeader {
    stored: Option<u64>,
    shape: Vec<u64>,
}

fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let mut cursor = TextCursor::new(bytes, COMMENT);
    let header = if comments(bytes, &[COMMENT]).any(is_extended) {
        Some(extended_header(&mut cursor)?)
    } else {
        comments(bytes, &[COMMENT]).find_map(parse_dims).map(|shape| FrosttHeader { stored: None, shape })
    };
    let rank = match &header {
        Some(header) => header.shape.len(),
        None => plain_rank(bytes)?,
    };
    let limits = header.as_ref().map_or_else(|| vec![MAX_DIMENSION; rank], |h| h.shape.clone());
    let mut coordinates = vec![Vec::new(); rank];
    let mut min_shape = vec![0; rank];
    let mut values = Vec::new();
    let mut growth = Growth::new(memory, "entries", (rank + 1) * size_of::<u64>());
    let entry = format!("an entry of {rank} coordinates and a value");
    while cursor.next_record() {
        let found = values.len() as u64;
        if let Some(more) = growth.charge_entry(values.len()).map_err(|fault| fault.at(Location::File))? {
            let lists = coordinates.iter_mut().try_for_each(|list| growth.reserve(list, more));
            lists.and_then(|()| growth.reserve(&mut values, more)).map_err(|fault| fault.at(Location::File))?;
        }
        if header.as_ref().is_some_and(|h| h.stored == Some(found)) {
            let entries = plural(found, "entry", "entries");
            return Err(cursor
                .unexpected(&format!("the end of the file after the {found} {entries} that the header announces")));
        }
        for mode in 0..rank {
            if cursor.at_line_end() {
                return Err(cursor.unexpected(&entry));
            }
            let coordinate = cursor.coordinate(mode, limits[mode])?;
            coordinates[mode].push(coordinate);
            min_shape[mode] = min_shape[mode].max(coordinate + 1);
        }
        if cursor.at_line_end() {
            return Err(cursor.unexpected(&entry));
        }
        values.push(cursor.real()?);
        cursor.end_of_record(&format!("the end of the line after {rank} coordinates and a value"))?;
    }
    let found = values.len() as u64;
    let has_shape_comment = header.as_ref().is_some_and(|header| header.stored.is_none());
    let shape = match header {
        Some(FrosttHeader { stored: Some(expected), .. }) if expected != found => {
            return Err(cursor.fault(Fault::EntryCount { expected, found }));
        }
        Some(FrosttHeader { shape, .. }) => shape,
        None => min_shape,
    };
    let info = Info::of_entries(&FROSTT, Layout::Coordinate, (shape, found), Scalar::F64(0.0));
    let info = Info { has_shape_comment, ..info };
    Ok((info, Data::Triples { coordinates, values: Values::F64(values) }))
}

/// Returns the comments before the first entry, without the characters that begin them.
pub(super) fn comments<'b>(bytes: &'b [u8], begin: &'static [u8]) -> impl Iterator<Item = &'b [u8]> {
    let lines = bytes.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    lines.take_while(|line| line.first().is_none_or(|first| begin.contains(first))).filter_map(|line| line.get(1..))
}

fn is_extended(comment: &[u8]) -> bool {
    comment.windows(EXTENDED.len()).any(|part| part.eq_ignore_ascii_case(EXTENDED.as_bytes()))
}

/// Parses the shape of a comment `dims 2 3`.
pub(super) fn parse_dims(comment: &[u8]) -> Option<Vec<u64>> {
    let text = std::str::from_utf8(comment).ok()?;
    let mut words = text.split_ascii_whitespace();
    let sizes = words.next().filter(|&word| word == DIMS).map(|_| words)?;
    let shape: Vec<u64> = sizes.map(|word| word.parse().ok().filter(|&d| d <= MAX_DIMENSION)).collect::<Option<_>>()?;
    (1..=MAX_RANK).contains(&shape.len()).then_some(shape)
}

fn extended_header(cursor: &mut TextCursor<'_>) -> Result<FrosttHeader, LocatedFault> {
    if !cursor.next_record() {
        return Err(cursor.unexpected("the line of rank and number of entries"));
    }
    let rank = cursor.unsigned("the rank")?;
    let rank = check_rank(rank).map_err(|fault| cursor.fault(fault))?;
    let stored = cursor.unsigned("the number of entries")?;
    cursor.end_of_record("the end of the line of rank and number of entries")?;
    if !cursor.next_record() {
        return Err(cursor.unexpected("the line of dimensions"));
    }
    let mut shape = Vec::with_capacity(rank);
    for _ in 0..rank {
        let dimension = cursor.unsigned("a dimension")?;
        if dimension > MAX_DIMENSION {
            let size = Count(Some(dimension));
            return Err(cursor.fault(Fault::TooLarge { quantity: "a dimension", size, limit: MAX_DIMENSION }));
        }
        shape.push(dimension);
    }
    cursor.end_of_record("the end of the line of dimensions")?;
    Ok(FrosttHeader { stored: Some(stored), shape })
}

/// Returns the number of coordinates of the first entry.
fn plain_rank(bytes: &[u8]) -> Result<usize, LocatedFault> {
    let mut cursor = TextCursor::new(bytes, COMMENT);
    if !cursor.next_record() {
        let expected = format!("an entry, or a comment `# {DIMS} ..` that gives the shape");
        return Err(Fault::malformed(expected, "a file without entries, which has no shape").at(Location::File));
    }
    let location = cursor.location();
    let (mut tokens, mut last) = (0u64, None);
    while !cursor.at_line_end() {
        last = cursor.token();
        tokens += 1;
    }
    if tokens == 1 {
        let found = format!("only {}", quote(last.unwrap_or_default()));
        return Err(Fault::malformed("coordinates and a value, separated by spaces", found).at(location));
    }
    check_rank(tokens - 1).map_err(|fault| fault.at(location))
}

fn check_rank(rank: u64) -> Result<usize, Fault> {
    match usize::try_from(rank) {
        Ok(rank) if (1..=MAX_RANK).contains(&rank) => Ok(rank),
        Ok(0) => Err(Fault::malformed("a rank of at least 1", "0")),
        _ => Err(Fault::TooLarge { quantity: "the rank", size: Count(Some(rank)), limit: MAX_RANK as u64 }),
    }
}

fn write(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    let shape = &content.shape;
    if shape.is_empty() {
        return Err(Fault::unsupported("a single value in a .tns file", "write it as .npy").into());
    }
    if let Some(other) = options.layout.filter(|&l| l != Layout::Coordinate) {
        return Err(Fault::unsupported(format!("the layout {other} in a .tns file"), "choose coordinate").into());
    }
    options.check_general("a .tns file")?;
    let (coordinates, values) = shared::entries(content, "FROSTT", &options.memory)?;
    if !shared::determines_shape(&coordinates, shape) {
        let dimensions = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        writeln!(out, "# {DIMS} {dimensions}")?;
    }
    match_values!(&*values, v => for (k, x) in v.iter().enumerate() {
        for mode in coordinates.iter() {
            write!(out, "{} ", mode[k] + 1)?;
        }
        writeln!(out, "{}", NumberText(*x))?;
    });
    Ok(())
}
