//! Reader of edge lists.

use super::columns::{Layout as Columns, Role, is_number, layout};
use super::sniff::{Fields, Records, Sample, sample};
use super::{Dictionary, EdgeListOptions};
use crate::compression::Compression;
use crate::content::{Data, Info, Layout, MAX_DIMENSION, Symmetry};
use crate::error::{At, Fault, Located, StreamError};
use crate::file_formats::frostt::{DIMS, comments, dims};
use crate::file_formats::{FileFormat, Parsed};
use crate::memory::{Growth, Memory, read_all};
use crate::text::{parse_real, quoted, whole};
use crate::values::Values;
use redpoll_logic::{Prim, Scalar};
use std::io::Read;
use std::sync::Arc;

pub(super) fn info(
    file_format: &'static FileFormat,
    stream: &mut dyn Read,
    memory: &Memory,
) -> Result<Info, StreamError> {
    let bytes = read_all(stream, "the file", memory)?;
    Ok(read(file_format, &bytes, &EdgeListOptions::default(), memory)?.info)
}

pub(super) fn read(
    file_format: &'static FileFormat,
    bytes: &[u8],
    options: &EdgeListOptions,
    memory: &Memory,
) -> Result<Parsed, Located> {
    if !bytes.contains(&b'\n') && bytes.trim_ascii_end().contains(&b'\r') {
        let fault = Fault::unsupported("text whose lines end with a carriage return alone", "save it with line feeds");
        return Err(fault.at(At::File));
    }
    let dims = comments(bytes).find_map(dims);
    let first_line = Records::new(bytes).next().map_or(At::File, |(line, _)| At::Line(line));
    let Some(sample) = sample(bytes, options)? else {
        let expected = format!("a record, or a comment `# {DIMS} ..` and a header");
        return Err(Fault::malformed(expected, "a file without records, which has no shape").at(At::File));
    };
    if sample.columns == 1 && sample.header.is_none() && options.coordinates.is_empty() {
        let found = quoted(Records::new(bytes).next().map_or(b"", |(_, record)| record));
        let expected = "fields with tabs, semicolons, commas or spaces between them";
        return Err(Fault::malformed(expected, found).at(first_line));
    }
    let columns = layout(&sample, options, dims.as_deref()).map_err(|fault| fault.at(first_line))?;
    let table = Table { columns: &columns, dims: dims.as_deref(), first: options.first, count: sample.columns, memory };
    let entries = table.read(bytes, &sample)?;
    let shape = match dims {
        Some(shape) => shape,
        None if columns.one_set => vec![entries.needed.iter().copied().max().unwrap_or(0); 2],
        None => entries.needed,
    };
    let stored = entries.coordinates[0].len();
    let values = match columns.has_values() {
        true => entries.values.into_values(),
        false => Values::Bool(vec![true; stored]),
    };
    let dictionaries: Vec<Arc<Dictionary>> = entries.dictionaries.into_iter().map(Arc::new).collect();
    let named = columns.dictionaries.iter().any(Option::is_some);
    let of_mode = columns.dictionaries.iter().map(|d| d.map(|d| dictionaries[d].clone()));
    Ok(Parsed {
        info: Info {
            file_format,
            compression: Compression::None,
            layout: Layout::Coordinate,
            shape,
            dtype: values.prim(),
            fill: Scalar::zero(values.prim()),
            symmetry: Symmetry::General,
            stored: stored as u64,
        },
        data: Data::Triples { coordinates: entries.coordinates, values },
        dictionaries: if named { of_mode.collect() } else { Vec::new() },
    })
}

/// The form of the records, determined before they are read.
struct Table<'a> {
    columns: &'a Columns,
    dims: Option<&'a [u64]>,
    /// The smallest coordinate.
    first: u64,
    /// The number of columns.
    count: usize,
    memory: &'a Memory,
}

/// Bytes of a name in addition to its characters: in the list of names and the table of codes,
/// which reserve up to twice their size.
const NAME_BYTES: usize = 128;

/// The entries read so far.
struct Entries {
    coordinates: Vec<Vec<u64>>,
    values: Numbers,
    dictionaries: Vec<Dictionary>,
    /// The minimum size of each mode.
    needed: Vec<u64>,
}

impl Table<'_> {
    fn read(&self, bytes: &[u8], sample: &Sample<'_>) -> Result<Entries, Located> {
        let rank = self.columns.rank();
        let mut entries = Entries {
            coordinates: vec![Vec::new(); rank],
            values: Numbers::I64(Vec::new()),
            dictionaries: vec![Dictionary::default(); rank],
            needed: vec![0; rank],
        };
        let header = usize::from(sample.header.is_some());
        // Integers are copied when the values turn out to be real.
        let mut growth = Growth::new(self.memory, "entries", (rank + 2) * size_of::<u64>());
        for (line, record) in Records::new(bytes).skip(header) {
            let stored = entries.coordinates[0].len();
            if let Some(more) = growth.for_one_more(stored).map_err(|fault| fault.at(At::File))? {
                let lists = entries.coordinates.iter_mut().try_for_each(|list| growth.reserve(list, more));
                lists.map_err(|fault| fault.at(At::File))?;
            }
            self.record(record, sample, &mut entries).map_err(|fault| fault.at(At::Line(line)))?;
        }
        Ok(entries)
    }

    #[inline]
    fn record(&self, record: &[u8], sample: &Sample<'_>, entries: &mut Entries) -> Result<(), Fault> {
        let mut found = 0;
        for field in Fields::new(record, sample.delimiter) {
            let field = field?;
            match self.columns.roles.get(found) {
                Some(&Role::Coordinate(mode)) => {
                    let coordinate = self.coordinate(mode, &field, entries)?;
                    entries.coordinates[mode].push(coordinate);
                    entries.needed[mode] = entries.needed[mode].max(coordinate + 1);
                }
                Some(Role::Value) => entries.values.push(&field)?,
                Some(Role::Unread) | None => {}
            }
            found += 1;
        }
        if found != self.count {
            let expected = format!("{} fields as in the first record", self.count);
            return Err(Fault::malformed(expected, format!("{found}: {}", quoted(record))));
        }
        Ok(())
    }

    #[inline]
    fn coordinate(&self, mode: usize, field: &[u8], entries: &mut Entries) -> Result<u64, Fault> {
        let dimension = self.dims.map_or(MAX_DIMENSION, |dims| dims[mode]);
        if let Some(dictionary) = self.columns.dictionaries[mode] {
            let name = std::str::from_utf8(field).map_err(|_| Fault::malformed("a name in UTF-8", quoted(field)))?;
            let dictionary = &mut entries.dictionaries[dictionary];
            let coordinate = match dictionary.coordinate(name) {
                Some(coordinate) => coordinate,
                None => {
                    self.memory.ask("names", (name.len() + NAME_BYTES) as u64)?;
                    dictionary.encode(name)
                }
            };
            if coordinate >= dimension {
                let expected = format!("at most {dimension} names in mode {mode}, as its dimension says");
                return Err(Fault::malformed(expected, format!("another: `{name}`")));
            }
            return Ok(coordinate);
        }
        let number = natural(field).or_else(|| whole(field).and_then(|n| n.try_into().ok()));
        let number = number.ok_or_else(|| no_coordinate(field))?;
        match number.checked_sub(self.first).filter(|&i| i < dimension) {
            Some(coordinate) => Ok(coordinate),
            None => Err(Fault::OutOfRange { mode, coordinate: number, first: self.first, dimension }),
        }
    }
}

#[cold]
fn no_coordinate(field: &[u8]) -> Fault {
    let expected = match is_number(field) {
        true => "a coordinate, which is a whole number and not negative (or ask for names)",
        false => "a number, as the first records have in this column (or ask for names)",
    };
    Fault::malformed(expected, if field.is_empty() { "an empty field".into() } else { quoted(field) })
}

/// Parses an unsigned integer.
#[inline]
fn natural(field: &[u8]) -> Option<u64> {
    let digit = |n: u64, b: &u8| {
        let digit = b.wrapping_sub(b'0');
        if digit < 10 { n.checked_mul(10)?.checked_add(u64::from(digit)) } else { None }
    };
    if field.is_empty() { None } else { field.iter().try_fold(0, digit) }
}

/// Numbers in the narrowest dtype that represents all of them.
enum Numbers {
    I64(Vec<i64>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl Numbers {
    #[inline]
    fn push(&mut self, field: &[u8]) -> Result<(), Fault> {
        if let Numbers::F64(all) = self {
            all.push(real(field)?);
            return Ok(());
        }
        match (integer(field), &mut *self) {
            (Some(x), Numbers::I64(all)) if let Ok(x) = i64::try_from(x) => all.push(x),
            (Some(x), Numbers::U64(all)) if let Ok(x) = u64::try_from(x) => all.push(x),
            (Some(x), Numbers::I64(all)) if u64::try_from(x).is_ok() && all.iter().all(|&x| x >= 0) => {
                let mut wide: Vec<u64> = all.iter().map(|&x| x as u64).collect();
                wide.push(x as u64);
                *self = Numbers::U64(wide);
            }
            (_, Numbers::I64(all)) => {
                let last = real(field)?;
                *self = Numbers::F64(all.iter().map(|&x| x as f64).chain([last]).collect());
            }
            (_, Numbers::U64(all)) => {
                let last = real(field)?;
                *self = Numbers::F64(all.iter().map(|&x| x as f64).chain([last]).collect());
            }
            (_, Numbers::F64(_)) => unreachable!("real numbers were pushed before"),
        }
        Ok(())
    }

    fn into_values(self) -> Values {
        match self {
            // Without values, there is no evidence of integers.
            Numbers::I64(all) if all.is_empty() => Values::F64(Vec::new()),
            Numbers::I64(all) => Values::I64(all),
            Numbers::U64(all) => Values::U64(all),
            Numbers::F64(all) => Values::F64(all),
        }
    }
}

#[inline]
fn integer(field: &[u8]) -> Option<i128> {
    let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
    let magnitude = i128::from(natural(digits)?);
    Some(if field[0] == b'-' { -magnitude } else { magnitude })
}

#[inline]
fn real(field: &[u8]) -> Result<f64, Fault> {
    let Some(value) = parse_real(field) else {
        let found = if field.is_empty() { "an empty field".into() } else { quoted(field) };
        return Err(Fault::malformed("a number", found));
    };
    if value.is_infinite() && !field.iter().any(|b| matches!(b, b'i' | b'I')) {
        let hint = "write inf if infinity is meant";
        return Err(Fault::Overflow { value: quoted(field), dtype: Prim::F64, hint });
    }
    Ok(value)
}
