//! Reader of the header: the banner and the size line.

use super::MATRIX_MARKET;
use crate::content::{Info, Layout, MAX_DIMENSION, Symmetry};
use crate::error::{Count, Fault, LocatedFault, Location, StreamError};
use crate::text::{TextCursor, quote};
use redpoll_logic::{Prim, Scalar};
use std::io::Read;

pub(super) const BANNER: &[u8] = b"%%MatrixMarket";
pub(super) const COMMENT: u8 = b'%';

/// Keywords of fields and the dtypes of their values.
const FIELDS: [(&str, Prim); 5] = [
    ("real", Prim::F64),
    ("double", Prim::F64),
    ("integer", Prim::I64),
    ("unsigned-integer", Prim::U64),
    ("pattern", Prim::Bool),
];

const SYMMETRIES: [(&str, Symmetry); 3] =
    [("general", Symmetry::General), ("symmetric", Symmetry::Symmetric), ("skew-symmetric", Symmetry::SkewSymmetric)];

const LAYOUTS: [(&str, Layout); 2] = [("coordinate", Layout::Coordinate), ("array", Layout::Array)];

/// Reads the header from the start of the stream.
pub(super) fn info(stream: &mut dyn Read) -> Result<Info, StreamError> {
    const CHUNK: u64 = 1 << 14;
    let mut start = Vec::new();
    loop {
        let at_end = stream.take(CHUNK).read_to_end(&mut start)? == 0;
        let whole_lines = start.iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1);
        let complete = if at_end { &start[..] } else { &start[..whole_lines] };
        if let Some(info) = header(&mut TextCursor::new(complete, COMMENT))? {
            return Ok(info);
        }
        if at_end {
            return Err(missing_size_line(&TextCursor::new(&start, COMMENT)).into());
        }
    }
}

/// Reads banner, comments and size line, and moves the cursor past them. Returns `None` if the text
/// ends before the size line.
pub(super) fn header(cursor: &mut TextCursor<'_>) -> Result<Option<Info>, LocatedFault> {
    if cursor.remaining() == 0 {
        return Ok(None);
    }
    let (layout, dtype, symmetry) = banner(cursor)?;
    if !cursor.next_record() {
        return Ok(None);
    }
    let rows = cursor.unsigned("the number of rows")?;
    let columns = cursor.unsigned("the number of columns")?;
    for size in [rows, columns] {
        if size > MAX_DIMENSION {
            let fault =
                Fault::TooLarge { quantity: "a matrix dimension", size: Count(Some(size)), limit: MAX_DIMENSION };
            return Err(cursor.fault(fault));
        }
    }
    if symmetry != Symmetry::General && rows != columns {
        let found = format!("the shape {rows} x {columns}");
        return Err(
            cursor.fault(Fault::malformed(format!("a square matrix, as required by the symmetry {symmetry}"), found))
        );
    }
    let stored = match layout {
        Layout::Coordinate => cursor.unsigned("the number of entries")?,
        _ => array_entries(rows, columns, symmetry).ok_or_else(|| {
            let quantity = "the number of elements";
            cursor.fault(Fault::TooLarge { quantity, size: Count(None), limit: u64::MAX })
        })?,
    };
    cursor.end_of_record("the end of the size line")?;
    let shape = vec![rows, columns];
    Ok(Some(Info { symmetry, ..Info::of_entries(&MATRIX_MARKET, layout, (shape, stored), Scalar::zero(dtype)) }))
}

/// Returns the fault of a file that ends before its size line.
pub(super) fn missing_size_line(cursor: &TextCursor<'_>) -> LocatedFault {
    let fault = Fault::malformed("the size line, after the banner and comments", "the end of the file");
    if cursor.remaining() == 0 { fault.at(Location::File) } else { cursor.fault(fault) }
}

/// Returns the number of values in an array file: all elements of the matrix, or the elements of
/// its lower triangle, without the diagonal if the matrix is skew-symmetric. Returns `None` if the
/// number exceeds `u64`.
fn array_entries(rows: u64, columns: u64, symmetry: Symmetry) -> Option<u64> {
    let (rows, columns) = (u128::from(rows), u128::from(columns));
    let entries = match symmetry {
        Symmetry::General => rows * columns,
        Symmetry::Symmetric => rows * (rows + 1) / 2,
        Symmetry::SkewSymmetric => rows * rows.saturating_sub(1) / 2,
    };
    u64::try_from(entries).ok()
}

fn banner(cursor: &mut TextCursor<'_>) -> Result<(Layout, Prim, Symmetry), LocatedFault> {
    let line = cursor.location();
    let first = cursor.token().unwrap_or_default();
    if !first.eq_ignore_ascii_case(BANNER) {
        return Err(Fault::malformed("the banner `%%MatrixMarket matrix ..`", quote(first)).at(line));
    }
    keyword(cursor, "an object", &[("matrix", ())])?;
    let layout = keyword(cursor, "a layout", &LAYOUTS)?;
    let dtype = keyword(cursor, "a field", &FIELDS)?;
    let symmetry = keyword(cursor, "a symmetry", &SYMMETRIES)?;
    cursor.end_of_record("the end of the banner")?;
    let impossible = match (layout, dtype, symmetry) {
        (Layout::Array, Prim::Bool, _) => Some(("the layout coordinate, as a pattern has no values", "`array`")),
        (_, Prim::Bool, Symmetry::SkewSymmetric) => {
            Some(("the symmetry general or symmetric, as a pattern has no values to negate", "`skew-symmetric`"))
        }
        (_, Prim::U64, Symmetry::SkewSymmetric) => {
            Some(("the symmetry general or symmetric, as unsigned values have no negatives", "`skew-symmetric`"))
        }
        _ => None,
    };
    match impossible {
        Some((expected, found)) => Err(cursor.fault(Fault::malformed(expected, found))),
        None => Ok((layout, dtype, symmetry)),
    }
}

/// Reads the next token, which must be a keyword of the table, and returns the meaning of the
/// keyword.
fn keyword<T: Copy>(cursor: &mut TextCursor<'_>, expected: &str, table: &[(&str, T)]) -> Result<T, LocatedFault> {
    let names = || table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let Some(token) = cursor.token() else {
        return Err(cursor.unexpected(&format!("{expected} ({})", names())));
    };
    if let Some((_, meaning)) = table.iter().find(|(name, _)| token.eq_ignore_ascii_case(name.as_bytes())) {
        return Ok(*meaning);
    }
    let found = quote(token);
    Err(cursor.fault(match token.to_ascii_lowercase().as_slice() {
        b"complex" => {
            Fault::unsupported("the field complex", "write the real and the imaginary part as two real files")
        }
        b"hermitian" => {
            Fault::unsupported("the symmetry hermitian", "write the real and the imaginary part as two real files")
        }
        b"vector" => Fault::unsupported("the object vector", "write it as a matrix of one column"),
        _ => Fault::malformed(format!("{expected} ({})", names()), found),
    }))
}
