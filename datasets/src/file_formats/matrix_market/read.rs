//! Reader of the entries, which adds the omitted triangle of a symmetric file.

use super::header::{COMMENT, header, missing_size_line};
use crate::content::{Data, Info, Layout, Symmetry, element_count};
use crate::error::{Count, Fault, LocatedFault, Location};
use crate::memory::Memory;
use crate::text::TextCursor;
use crate::values::Values;
use redpoll_logic::{Prim, plural};

pub(super) fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let mut cursor = TextCursor::new(bytes, COMMENT);
    let Some(info) = header(&mut cursor)? else { return Err(missing_size_line(&cursor)) };
    let data = match info.prim() {
        Prim::Bool => entries::<bool>(&mut cursor, &info, memory),
        Prim::I64 => entries::<i64>(&mut cursor, &info, memory),
        Prim::U64 => entries::<u64>(&mut cursor, &info, memory),
        _ => entries::<f64>(&mut cursor, &info, memory),
    }?;
    Ok((info, data))
}

/// The type of the values, which the field in the header determines.
trait FieldValue: Copy + Default {
    fn read(cursor: &mut TextCursor<'_>) -> Result<Self, LocatedFault>;
    fn negate(self) -> Option<Self>;
    fn is_zero(self) -> bool;
    fn into_values(all: Vec<Self>) -> Values;
}

impl FieldValue for bool {
    fn read(cursor: &mut TextCursor<'_>) -> Result<bool, LocatedFault> {
        // A pattern has no values; values that some writers add are ignored.
        if !cursor.at_line_end() {
            cursor.real()?;
        }
        Ok(true)
    }
    fn negate(self) -> Option<bool> {
        None
    }
    fn is_zero(self) -> bool {
        !self
    }
    fn into_values(all: Vec<bool>) -> Values {
        Values::Bool(all)
    }
}

impl FieldValue for i64 {
    fn read(cursor: &mut TextCursor<'_>) -> Result<i64, LocatedFault> {
        cursor.integer(Prim::I64)
    }
    fn negate(self) -> Option<i64> {
        self.checked_neg()
    }
    fn is_zero(self) -> bool {
        self == 0
    }
    fn into_values(all: Vec<i64>) -> Values {
        Values::I64(all)
    }
}

impl FieldValue for u64 {
    fn read(cursor: &mut TextCursor<'_>) -> Result<u64, LocatedFault> {
        cursor.integer(Prim::U64)
    }
    fn negate(self) -> Option<u64> {
        None
    }
    fn is_zero(self) -> bool {
        self == 0
    }
    fn into_values(all: Vec<u64>) -> Values {
        Values::U64(all)
    }
}

impl FieldValue for f64 {
    fn read(cursor: &mut TextCursor<'_>) -> Result<f64, LocatedFault> {
        cursor.real()
    }
    fn negate(self) -> Option<f64> {
        // Unlike `-self`, this maps 0.0 to 0.0.
        Some(0.0 - self)
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn into_values(all: Vec<f64>) -> Values {
        Values::F64(all)
    }
}

fn entries<T: FieldValue>(cursor: &mut TextCursor<'_>, info: &Info, memory: &Memory) -> Result<Data, LocatedFault> {
    match info.layout {
        Layout::Coordinate => coordinate_entries::<T>(cursor, info, memory),
        _ => array_entries::<T>(cursor, info, memory),
    }
}

/// Returns the value of the mirrored entry.
fn mirror_value<T: FieldValue>(
    cursor: &TextCursor<'_>,
    symmetry: Symmetry,
    value: T,
    dtype: Prim,
) -> Result<T, LocatedFault> {
    if symmetry == Symmetry::Symmetric {
        return Ok(value);
    }
    let hint = "the mirrored entry has the negated value; write the matrix as general";
    value.negate().ok_or_else(|| cursor.fault(Fault::Overflow { value: "-(-2^63)".into(), dtype, hint }))
}

/// Returns the line of the value of an element in an array file; `None` if the file has no value
/// for the element.
pub(crate) fn element_line(bytes: &[u8], element: &[u64]) -> Option<u64> {
    let mut cursor = TextCursor::new(bytes, COMMENT);
    let info = header(&mut cursor).ok()??;
    let (rows, [row, column]) = (info.shape[0], element.try_into().ok()?);
    // The columns follow each other. A symmetric file has the part of each column from the diagonal
    // on, or below the diagonal.
    let (row, column): (u64, u64) = match info.symmetry {
        Symmetry::General => (row, column),
        _ => (row.max(column), row.min(column)),
    };
    let before = match info.symmetry {
        Symmetry::General => column * rows + row,
        Symmetry::Symmetric => column * rows - column * column.saturating_sub(1) / 2 + (row - column),
        Symmetry::SkewSymmetric if row == column => return None,
        Symmetry::SkewSymmetric => column * rows - column * (column + 1) / 2 + (row - column - 1),
    };
    for _ in 0..=before {
        if !cursor.next_record() {
            return None;
        }
        cursor.token();
    }
    let Location::Line(line) = cursor.location() else { return None };
    Some(line)
}

/// Returns the capacity for the announced entries, limited by the size of the rest of the file,
/// because a header may announce any number.
fn capacity(cursor: &TextCursor<'_>, announced: u64, bytes_per_entry: usize) -> usize {
    usize::try_from(announced).unwrap_or(usize::MAX).min(cursor.remaining() / bytes_per_entry + 1)
}

fn coordinate_entries<T: FieldValue>(
    cursor: &mut TextCursor<'_>,
    info: &Info,
    memory: &Memory,
) -> Result<Data, LocatedFault> {
    let (rows, columns) = (info.shape[0], info.shape[1]);
    let general = info.symmetry == Symmetry::General;
    // The shortest entry is `1 1` and a line end.
    let capacity = capacity(cursor, info.stored, 4) * if general { 1 } else { 2 };
    let at_file = |fault: Fault| fault.at(Location::File);
    let mut i = memory.allocate("rows", capacity).map_err(at_file)?;
    let mut j = memory.allocate("columns", capacity).map_err(at_file)?;
    let mut values = memory.allocate("values", capacity).map_err(at_file)?;
    let mut found = 0;
    while cursor.next_record() {
        if found == info.stored {
            return Err(surplus_fault(cursor, info.stored));
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
            values.push(mirror_value(cursor, info.symmetry, value, info.prim())?);
        } else if info.symmetry == Symmetry::SkewSymmetric && !value.is_zero() {
            let found = format!("a nonzero value at row and column {}", row + 1);
            return Err(cursor.fault(Fault::malformed("zeros on the diagonal of a skew-symmetric matrix", found)));
        }
    }
    check_count(cursor, info.stored, found)?;
    Ok(Data::Triples { coordinates: vec![i, j], values: T::into_values(values) })
}

/// Reads an array file, which is column-major and, if symmetric, has only the lower triangle, into
/// row-major dense data.
fn array_entries<T: FieldValue>(
    cursor: &mut TextCursor<'_>,
    info: &Info,
    memory: &Memory,
) -> Result<Data, LocatedFault> {
    let at_file = |fault: Fault| fault.at(Location::File);
    let mut packed = memory.allocate("values", capacity(cursor, info.stored, 2)).map_err(at_file)?;
    while cursor.next_record() {
        if packed.len() as u64 == info.stored {
            return Err(surplus_fault(cursor, info.stored));
        }
        packed.push(T::read(cursor)?);
    }
    check_count(cursor, info.stored, packed.len() as u64)?;
    // The file has a value for each element, or for the elements of one triangle, so this count is
    // at most four times the number of values read. The exception is a skew-symmetric matrix of one
    // element.
    let count = element_count(&info.shape).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        cursor.fault(Fault::TooLarge {
            quantity: "the number of elements",
            size: Count(None),
            limit: usize::MAX as u64,
        })
    })?;
    let (rows, columns) = (info.shape[0] as usize, info.shape[1] as usize);
    let mut dense = memory.allocate("all elements", count).map_err(at_file)?;
    dense.resize(count, T::default());
    let mut packed = packed.into_iter();
    // A matrix without elements may still have up to 2^63 - 1 columns.
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
                let mirrored = mirror_value(cursor, info.symmetry, value, info.prim());
                dense[column * columns + row] = mirrored.map_err(|fault| {
                    let line = element_line(cursor.text(), &[row as u64, column as u64]);
                    LocatedFault { location: line.map_or(Location::File, Location::Line), ..fault }
                })?;
            }
        }
    }
    Ok(Data::Dense(T::into_values(dense)))
}

fn surplus_fault(cursor: &mut TextCursor<'_>, announced: u64) -> LocatedFault {
    let entries = plural(announced, "entry", "entries");
    cursor.unexpected(&format!("the end of the file after the {announced} {entries} that the header announces"))
}

fn check_count(cursor: &TextCursor<'_>, expected: u64, found: u64) -> Result<(), LocatedFault> {
    if found == expected { Ok(()) } else { Err(cursor.fault(Fault::EntryCount { expected, found })) }
}
