//! Reader of edge lists.

use super::columns::{ColumnLayout, ColumnRole, detect_columns, is_number};
use super::sniff::{Fields, RecordSample, Records, sample_records};
use super::{Dictionary, EdgeListOptions, HeaderEvidence, HeaderGuess, NAMES_PER_MODE, SeparateNames, Vertices};
use crate::content::{Data, Info, Layout, MAX_DIMENSION};
use crate::error::{Fault, LocatedFault, Location, StreamError};
use crate::file_format::{FileFormat, ParsedFile};
use crate::file_formats::frostt::{DIMS, comments, parse_dims};
use crate::file_formats::matrix_market::MATRIX_MARKET;
use crate::memory::{Growth, Memory, read_all};
use crate::read::DETECTION_BYTES;
use crate::text::{F64_LIMIT, parse_integral, parse_real, quote};
use crate::values::Values;
use redpoll_logic::{Prim, Scalar, plural};
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
) -> Result<ParsedFile, LocatedFault> {
    // Without this check, the banner would be skipped as a comment.
    if (MATRIX_MARKET.sniff)(bytes) {
        return Err(Fault::malformed("an edge list", "the banner of a Matrix Market file").at(Location::File));
    }
    if bytes[..bytes.len().min(DETECTION_BYTES as usize)].contains(&0) {
        return Err(Fault::malformed("text", "zero bytes, as in binary files").at(Location::File));
    }
    if !bytes.contains(&b'\n') && bytes.trim_ascii_end().contains(&b'\r') {
        let fault = Fault::unsupported("text whose lines end with a carriage return alone", "save it with line feeds");
        return Err(fault.at(Location::File));
    }
    let dims = comments(bytes, b"#%").find_map(parse_dims);
    let is_per_mode = comments(bytes, b"#%").any(|comment| comment.trim_ascii() == NAMES_PER_MODE.as_bytes());
    let vertices = if is_per_mode { Vertices::PerMode } else { options.vertices };
    let options = &EdgeListOptions { vertices, ..options.clone() };
    let first_line = Records::new(bytes).next().map_or(Location::File, |(line, _)| Location::Line(line));
    let Some(sample) = sample_records(bytes, options)? else {
        let expected = format!("a record, or a comment `# {DIMS} ..` and a header");
        return Err(Fault::malformed(expected, "a file without records, which has no shape").at(Location::File));
    };
    if sample.columns == 1 && sample.header.is_none() && options.coordinates.is_empty() {
        let found = quote(Records::new(bytes).next().map_or(b"", |(_, record)| record));
        let found = format!("{found}; replace the delimiters in the file by one of these");
        let expected = "at least two fields, separated by tabs, semicolons, commas or spaces";
        return Err(Fault::malformed(expected, found).at(first_line));
    }
    let columns = detect_columns(&sample, options, dims.as_deref()).map_err(|fault| fault.at(first_line.clone()))?;
    let reader = RecordReader {
        columns: &columns,
        names: &options.names,
        dims: dims.as_deref(),
        first: options.first,
        count: sample.columns,
        memory,
    };
    let entries = reader.read(bytes, &sample).map_err(|fault| match &sample.guess {
        Some(HeaderGuess { record, evidence: HeaderEvidence::OnlyRecord }) if is_malformed(&fault.fault) => {
            let found = format!(
                "only the record {record}; if it is the header, say so (`--header true` on the command line, `header` \
                 in Rust)"
            );
            Fault::malformed("an entry", found).at(first_line.clone())
        }
        _ => fault,
    })?;
    let separate_names = match dims {
        None if options.names.is_empty() => {
            separate_names(&columns, &sample, &entries, memory).map_err(|fault| fault.at(Location::File))?
        }
        _ => None,
    };
    let has_shape_comment = dims.is_some();
    let shape = match dims {
        Some(shape) => shape,
        None if columns.one_set => vec![entries.min_shape.iter().copied().max().unwrap_or(0); 2],
        None => entries.min_shape,
    };
    let stored = entries.coordinates[0].len();
    let values = match columns.has_values() {
        true => entries.values.into_values(),
        false => Values::Bool(vec![true; stored]),
    };
    let dictionaries: Vec<Arc<Dictionary>> = entries.dictionaries.into_iter().map(Arc::new).collect();
    let named = columns.dictionaries.iter().any(Option::is_some);
    let mode_dictionaries = columns.dictionaries.iter().map(|d| d.map(|d| dictionaries[d].clone()));
    let fill = Scalar::zero(values.prim());
    let info = Info::of_entries(file_format, Layout::Coordinate, (shape, stored as u64), fill);
    Ok(ParsedFile {
        info: Info {
            columns: columns.names(sample.header.as_deref().unwrap_or_default()),
            header_guess: sample.guess,
            separate_names,
            has_shape_comment,
            ..info
        },
        data: Data::Triples { coordinates: entries.coordinates, values },
        dictionaries: if named { mode_dictionaries.collect() } else { Vec::new() },
    })
}

fn is_malformed(fault: &Fault) -> bool {
    matches!(fault, Fault::Malformed { .. })
}

/// Returns the two columns of names that are numbered as one set, if no name occurs in both
/// columns. Returns `None` if a name occurs in both, if the columns hold numbers, or if they belong
/// to different sets.
fn separate_names(
    columns: &ColumnLayout,
    sample: &RecordSample<'_>,
    entries: &ParsedEntries,
    memory: &Memory,
) -> Result<Option<SeparateNames>, Fault> {
    let ([Some(first), Some(second)], [rows, others]) = (&columns.dictionaries[..], &entries.coordinates[..]) else {
        return Ok(None);
    };
    let names = entries.dictionaries[*first].len();
    if first != second || names == 0 {
        return Ok(None);
    }
    memory.charge("names", names as u64)?;
    let mut is_row = vec![false; names];
    rows.iter().for_each(|&row| is_row[row as usize] = true);
    if others.iter().any(|&column| is_row[column as usize]) {
        return Ok(None);
    }
    let column =
        |mode| sample.column_text(columns.column(ColumnRole::Coordinate(mode)).expect("each mode has a column"));
    Ok(Some(SeparateNames { columns: [column(0), column(1)], names }))
}

/// A reader of records whose form has been detected.
struct RecordReader<'a> {
    columns: &'a ColumnLayout,
    /// The names that coordinates have already; see [`EdgeListOptions::names`].
    names: &'a [Option<Arc<Dictionary>>],
    dims: Option<&'a [u64]>,
    /// The smallest coordinate.
    first: u64,
    /// The number of columns.
    count: usize,
    memory: &'a Memory,
}

/// Bytes charged for a name in addition to its characters. They cover the entry of the name in the
/// list of names, and in the table from names to coordinates. The capacity of both may be twice
/// their length.
const NAME_BYTES: usize = 128;

/// The entries read so far.
struct ParsedEntries {
    coordinates: Vec<Vec<u64>>,
    values: ValueColumn,
    dictionaries: Vec<Dictionary>,
    /// The minimum size of each mode.
    min_shape: Vec<u64>,
}

impl RecordReader<'_> {
    fn read(&self, bytes: &[u8], sample: &RecordSample<'_>) -> Result<ParsedEntries, LocatedFault> {
        let rank = self.columns.rank();
        let mut entries = ParsedEntries {
            coordinates: vec![Vec::new(); rank],
            values: ValueColumn::I64(Vec::new()),
            dictionaries: vec![Dictionary::default(); rank],
            min_shape: vec![0; rank],
        };
        self.number_given_names(&mut entries).map_err(|fault| fault.at(Location::File))?;
        let header = usize::from(sample.header.is_some());
        // A value is charged twice, because all values are copied when a value of a wider type
        // follows.
        let mut growth = Growth::new(self.memory, "entries", (rank + 2) * size_of::<u64>());
        for (line, record) in Records::new(bytes).skip(header) {
            let stored = entries.coordinates[0].len();
            if let Some(more) = growth.charge_entry(stored).map_err(|fault| fault.at(Location::File))? {
                let lists = entries.coordinates.iter_mut().try_for_each(|list| growth.reserve(list, more));
                lists.map_err(|fault| fault.at(Location::File))?;
            }
            self.record((line, record), sample, &mut entries)?;
        }
        Ok(entries)
    }

    /// Gives the first coordinates to the names that coordinates have already.
    fn number_given_names(&self, entries: &mut ParsedEntries) -> Result<(), Fault> {
        for (names, dictionary) in self.names.iter().zip(&self.columns.dictionaries) {
            let (Some(names), Some(dictionary)) = (names, *dictionary) else { continue };
            let bytes: usize = names.names().map(|name| name.len() + NAME_BYTES).sum();
            self.memory.charge("names", bytes as u64)?;
            names.names().for_each(|name| _ = entries.dictionaries[dictionary].encode(name));
        }
        for (size, dictionary) in entries.min_shape.iter_mut().zip(&self.columns.dictionaries) {
            *size = dictionary.map_or(0, |dictionary| entries.dictionaries[dictionary].len() as u64);
        }
        Ok(())
    }

    #[inline]
    fn record(
        &self,
        (line, record): (u64, &[u8]),
        sample: &RecordSample<'_>,
        entries: &mut ParsedEntries,
    ) -> Result<(), LocatedFault> {
        let mut found = 0;
        for field in Fields::new(record, sample.delimiter) {
            let stored = field.and_then(|field| self.field(found, &field, entries));
            stored.map_err(|fault| fault.at(sample.location(line, found)))?;
            found += 1;
        }
        if found != self.count {
            let fields = plural(self.count as u64, "field", "fields");
            let expected = format!("{} {fields} as in the first record", self.count);
            let found = format!(
                "{found}: {}; correct the line, or choose the delimiter (`--delimiter` on the command line, `delimiter` \
                 in Rust)",
                quote(record)
            );
            return Err(Fault::malformed(expected, found).at(Location::Line(line)));
        }
        Ok(())
    }

    #[inline]
    fn field(&self, column: usize, field: &[u8], entries: &mut ParsedEntries) -> Result<(), Fault> {
        match self.columns.roles.get(column) {
            Some(&ColumnRole::Coordinate(mode)) => {
                let coordinate = self.coordinate(mode, field, entries)?;
                entries.coordinates[mode].push(coordinate);
                entries.min_shape[mode] = entries.min_shape[mode].max(coordinate + 1);
            }
            Some(ColumnRole::Value) => entries.values.push(field)?,
            Some(ColumnRole::Unread) | None => {}
        }
        Ok(())
    }

    #[inline]
    fn coordinate(&self, mode: usize, field: &[u8], entries: &mut ParsedEntries) -> Result<u64, Fault> {
        let dimension = self.dims.map_or(MAX_DIMENSION, |dims| dims[mode]);
        if let Some(dictionary) = self.columns.dictionaries[mode] {
            let name = std::str::from_utf8(field).map_err(|_| {
                let found = format!("{}; save the file as UTF-8", quote(field));
                Fault::malformed("a name in UTF-8", found)
            })?;
            let dictionary = &mut entries.dictionaries[dictionary];
            let coordinate = match dictionary.coordinate(name) {
                Some(coordinate) => coordinate,
                None => {
                    self.memory.charge("names", (name.len() + NAME_BYTES) as u64)?;
                    dictionary.encode(name)
                }
            };
            if coordinate >= dimension {
                let names = plural(dimension, "name", "names");
                let expected = format!("at most {dimension} {names} in mode {mode}, as its dimension is {dimension}");
                let found = format!("the further name `{name}`; correct the comment `# {DIMS}`, or remove it");
                return Err(Fault::malformed(expected, found));
            }
            return Ok(coordinate);
        }
        let number = natural(field).or_else(|| parse_integral(field).and_then(|n| n.try_into().ok()));
        let number = number.ok_or_else(|| coordinate_fault(field))?;
        match number.checked_sub(self.first).filter(|&i| i < dimension) {
            Some(coordinate) => Ok(coordinate),
            None => Err(Fault::OutOfRange { mode, coordinate: number, first: self.first, dimension }),
        }
    }
}

#[cold]
fn coordinate_fault(field: &[u8]) -> Fault {
    let expected = if !field.is_empty() && field.iter().all(u8::is_ascii_digit) {
        "a coordinate below 2^63 - 1"
    } else if is_number(field) {
        "a coordinate, which is a nonnegative integer"
    } else {
        "a number, as in the first records of this column"
    };
    let step = "correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)";
    Fault::malformed(expected, format!("{}; {step}", quote_field(field)))
}

/// Quotes a field for messages.
fn quote_field(field: &[u8]) -> String {
    if field.is_empty() { "an empty field".into() } else { quote(field) }
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

/// Values as `i64`, as `u64` if all are nonnegative integers and some exceed `i64`, or else as
/// `f64`.
enum ValueColumn {
    I64(Vec<i64>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl ValueColumn {
    #[inline]
    fn push(&mut self, field: &[u8]) -> Result<(), Fault> {
        if let ValueColumn::F64(all) = self {
            all.push(real(field)?);
            return Ok(());
        }
        match (integer(field), &mut *self) {
            (Some(x), ValueColumn::I64(all)) if let Ok(x) = i64::try_from(x) => all.push(x),
            (Some(x), ValueColumn::U64(all)) if let Ok(x) = u64::try_from(x) => all.push(x),
            (Some(x), ValueColumn::I64(all)) if u64::try_from(x).is_ok() && all.iter().all(|&x| x >= 0) => {
                let mut wide: Vec<u64> = all.iter().map(|&x| x as u64).collect();
                wide.push(x as u64);
                *self = ValueColumn::U64(wide);
            }
            (_, ValueColumn::I64(all)) => {
                let last = real(field)?;
                *self = ValueColumn::F64(all.iter().map(|&x| x as f64).chain([last]).collect());
            }
            (_, ValueColumn::U64(all)) => {
                let last = real(field)?;
                *self = ValueColumn::F64(all.iter().map(|&x| x as f64).chain([last]).collect());
            }
            (_, ValueColumn::F64(_)) => unreachable!("real numbers were pushed before"),
        }
        Ok(())
    }

    fn into_values(self) -> Values {
        match self {
            // Without values, there is no evidence of integers.
            ValueColumn::I64(all) if all.is_empty() => Values::F64(Vec::new()),
            ValueColumn::I64(all) => Values::I64(all),
            ValueColumn::U64(all) => Values::U64(all),
            ValueColumn::F64(all) => Values::F64(all),
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
    let value = parse_real(field).ok_or_else(|| value_fault(field))?;
    if value.is_infinite() && !field.iter().any(|b| matches!(b, b'i' | b'I')) {
        return Err(Fault::Overflow { value: quote(field), dtype: Prim::F64, hint: F64_LIMIT });
    }
    Ok(value)
}

#[cold]
fn value_fault(field: &[u8]) -> Fault {
    let point: Vec<u8> = field.iter().map(|&b| if b == b',' { b'.' } else { b }).collect();
    let step = match is_number(&point) {
        true => "write a decimal point",
        false => {
            "choose another column of values (`--value` on the command line, `values` in Python and Rust), or none"
        }
    };
    Fault::malformed("a number", format!("{}; {step}", quote_field(field)))
}
