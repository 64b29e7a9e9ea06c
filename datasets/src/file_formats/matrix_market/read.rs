//! Reader of the entries, which adds the omitted triangle of a symmetric file.

use super::header::{COMMENT, header, missing_sizes};
use crate::content::{Data, Info, Layout, Symmetry, places};
use crate::error::{At, Count, Fault, Located};
use crate::memory::Memory;
use crate::text::Cursor;
use crate::values::Values;
use redpoll_logic::Prim;

pub(super) fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Data), Located> {
    let mut cursor = Cursor::new(bytes, COMMENT);
    let Some(info) = header(&mut cursor)? else { return Err(missing_sizes(&cursor)) };
    let data = match info.dtype {
        Prim::Bool => entries::<bool>(&mut cursor, &info, memory),
        Prim::I64 => entries::<i64>(&mut cursor, &info, memory),
        Prim::U64 => entries::<u64>(&mut cursor, &info, memory),
        _ => entries::<f64>(&mut cursor, &info, memory),
    }?;
    Ok((info, data))
}

/// A type of values for the field of the header.
trait Field: Copy + Default {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Located>;
    fn negated(self) -> Option<Self>;
    fn is_zero(self) -> bool;
    fn values(all: Vec<Self>) -> Values;
}

impl Field for bool {
    fn read(cursor: &mut Cursor<'_>) -> Result<bool, Located> {
        // A pattern has no values; those that some writers add are ignored.
        if !cursor.at_line_end() {
            cursor.real()?;
        }
        Ok(true)
    }
    fn negated(self) -> Option<bool> {
        None
    }
    fn is_zero(self) -> bool {
        !self
    }
    fn values(all: Vec<bool>) -> Values {
        Values::Bool(all)
    }
}

impl Field for i64 {
    fn read(cursor: &mut Cursor<'_>) -> Result<i64, Located> {
        cursor.integer(Prim::I64)
    }
    fn negated(self) -> Option<i64> {
        self.checked_neg()
    }
    fn is_zero(self) -> bool {
        self == 0
    }
    fn values(all: Vec<i64>) -> Values {
        Values::I64(all)
    }
}

impl Field for u64 {
    fn read(cursor: &mut Cursor<'_>) -> Result<u64, Located> {
        cursor.integer(Prim::U64)
    }
    fn negated(self) -> Option<u64> {
        None
    }
    fn is_zero(self) -> bool {
        self == 0
    }
    fn values(all: Vec<u64>) -> Values {
        Values::U64(all)
    }
}

impl Field for f64 {
    fn read(cursor: &mut Cursor<'_>) -> Result<f64, Located> {
        cursor.real()
    }
    fn negated(self) -> Option<f64> {
        // Unlike `-self`, this maps 0.0 to 0.0.
        Some(0.0 - self)
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn values(all: Vec<f64>) -> Values {
        Values::F64(all)
    }
}

fn entries<T: Field>(cursor: &mut Cursor<'_>, info: &Info, memory: &Memory) -> Result<Data, Located> {
    match info.layout {
        Layout::Coordinate => coordinate_entries::<T>(cursor, info, memory),
        _ => array_entries::<T>(cursor, info, memory),
    }
}

/// Returns the value of the mirrored entry.
fn mirrored<T: Field>(cursor: &Cursor<'_>, symmetry: Symmetry, value: T, dtype: Prim) -> Result<T, Located> {
    if symmetry == Symmetry::Symmetric {
        return Ok(value);
    }
    let hint = "its negative at the mirrored place does not either";
    value.negated().ok_or_else(|| cursor.fault(Fault::Overflow { value: "-(-2^63)".into(), dtype, hint }))
}

/// Returns the capacity for the announced entries, limited by the size of the rest of the file,
/// because a header may announce any number.
fn capacity(cursor: &Cursor<'_>, announced: u64, bytes_per_entry: usize) -> usize {
    usize::try_from(announced).unwrap_or(usize::MAX).min(cursor.remaining() / bytes_per_entry + 1)
}

fn coordinate_entries<T: Field>(cursor: &mut Cursor<'_>, info: &Info, memory: &Memory) -> Result<Data, Located> {
    let (rows, columns) = (info.shape[0], info.shape[1]);
    let general = info.symmetry == Symmetry::General;
    // The shortest entry is `1 1` and a line end.
    let capacity = capacity(cursor, info.stored, 4) * if general { 1 } else { 2 };
    let no_room = |fault: Fault| fault.at(At::File);
    let mut i = memory.room("rows", capacity).map_err(no_room)?;
    let mut j = memory.room("columns", capacity).map_err(no_room)?;
    let mut values = memory.room("values", capacity).map_err(no_room)?;
    let mut found = 0;
    while cursor.next_record() {
        if found == info.stored {
            return Err(surplus(cursor, info.stored));
        }
        found += 1;
        let row = cursor.coordinate(0, rows)?;
        let column = cursor.coordinate(1, columns)?;
        let value = T::read(cursor)?;
        cursor.end_of_record("the end of the entry's line")?;
        i.push(row);
        j.push(column);
        values.push(value);
        if general {
            continue;
        }
        if row != column {
            i.push(column);
            j.push(row);
            values.push(mirrored(cursor, info.symmetry, value, info.dtype)?);
        } else if info.symmetry == Symmetry::SkewSymmetric && !value.is_zero() {
            let found = format!("another value at row and column {}", row + 1);
            return Err(
                cursor.fault(Fault::malformed("nothing but 0 on the diagonal, as the matrix is skew-symmetric", found))
            );
        }
    }
    check_count(cursor, info.stored, found)?;
    Ok(Data::Triples { coordinates: vec![i, j], values: T::values(values) })
}

/// Reads an array file, which is column-major and, if symmetric, has only the lower triangle, into
/// row-major dense data.
fn array_entries<T: Field>(cursor: &mut Cursor<'_>, info: &Info, memory: &Memory) -> Result<Data, Located> {
    let no_room = |fault: Fault| fault.at(At::File);
    let mut packed = memory.room("values", capacity(cursor, info.stored, 2)).map_err(no_room)?;
    while cursor.next_record() {
        if packed.len() as u64 == info.stored {
            return Err(surplus(cursor, info.stored));
        }
        packed.push(T::read(cursor)?);
    }
    check_count(cursor, info.stored, packed.len() as u64)?;
    // The file has a value for each element or for about half of them, so this size is bounded by
    // about twice the values read. The exception is a skew-symmetric matrix of one element.
    let count = places(&info.shape).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        cursor.fault(Fault::TooLarge { what: "the number of places", size: Count(None), limit: usize::MAX as u64 })
    })?;
    let (rows, columns) = (info.shape[0] as usize, info.shape[1] as usize);
    let mut dense = memory.room("all places", count).map_err(no_room)?;
    dense.resize(count, T::default());
    let mut packed = packed.into_iter();
    // A matrix without elements may still have 2^63 columns.
    for column in 0..if count == 0 { 0 } else { columns } {
        let first = match info.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric => column,
            Symmetry::SkewSymmetric => column + 1,
        };
        for row in first..rows {
            let value = packed.next().expect("the values were counted");
            dense[row * columns + column] = value;
            if info.symmetry != Symmetry::General && row != column {
                dense[column * columns + row] = mirrored(cursor, info.symmetry, value, info.dtype)?;
            }
        }
    }
    Ok(Data::Dense(T::values(dense)))
}

fn surplus(cursor: &mut Cursor<'_>, announced: u64) -> Located {
    cursor.unexpected(&format!("the end of the file after the {announced} entries that the header announces"))
}

fn check_count(cursor: &Cursor<'_>, expected: u64, found: u64) -> Result<(), Located> {
    if found == expected { Ok(()) } else { Err(cursor.fault(Fault::EntryCount { expected, found })) }
}
