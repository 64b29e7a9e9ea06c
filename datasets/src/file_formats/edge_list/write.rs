//! Writer of edge lists: the comments that the reader needs, a header, then a line for each entry.
//! The line has the coordinates, as numbers from 0 or as names, and the value, unless the values
//! are booleans.

use super::{Delimiter, Dictionary, NAMES_PER_MODE};
use crate::content::{Content, Layout};
use crate::error::{Fault, WriteError};
use crate::file_format::WriteOptions;
use crate::file_formats::frostt::DIMS;
use crate::file_formats::shared::{self, NumberText};
use crate::values::{Values, match_values};
use redpoll_logic::plural;
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

pub(super) fn write(
    content: &Content,
    options: &WriteOptions,
    delimiter: Delimiter,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let shape = &content.shape;
    if shape.is_empty() {
        return Err(Fault::unsupported("a single value in an edge list", "write it as .npy").into());
    }
    if let Some(other) = options.layout.filter(|&l| l != Layout::Coordinate) {
        return Err(Fault::unsupported(format!("the layout {other} in an edge list"), "choose coordinate").into());
    }
    options.check_general("an edge list")?;
    let (coordinates, values) = shared::entries(content, "edge list", &options.memory)?;
    let min_shape: Vec<u64> = coordinates.iter().map(|c| c.iter().max().map_or(0, |last| last + 1)).collect();
    // Unless a comment gives the shape, the reader makes a matrix square.
    let detected = if let [rows, columns] = min_shape[..] { vec![rows.max(columns); 2] } else { min_shape };
    let names = names(shape.len(), delimiter, &options.dictionaries)?;
    // Names are numbered in order of appearance, so they do not determine the shape.
    if detected != *shape || names.iter().any(Option::is_some) {
        let dimensions = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        writeln!(out, "# {DIMS} {dimensions}")?;
    }
    // Without this comment, the reader numbers the row names and the column names of a square
    // matrix as one set.
    if let ([rows, columns], [row_names, column_names]) = (&shape[..], &options.dictionaries[..])
        && rows == columns
        && row_names != column_names
    {
        writeln!(out, "# {NAMES_PER_MODE}")?;
    }
    let mut header: Vec<String> = match shape.len() {
        2 => vec!["row".into(), "column".into()],
        rank => (0..rank).map(|mode| format!("i{mode}")).collect(),
    };
    let pattern = matches!(*values, Values::Bool(_));
    if !pattern {
        header.push("value".into());
    }
    let between = char::from(delimiter.byte());
    writeln!(out, "{}", header.join(&between.to_string()))?;
    match_values!(&*values, v => for (k, x) in v.iter().enumerate() {
        for (mode, coordinates) in coordinates.iter().enumerate() {
            if mode > 0 {
                write!(out, "{between}")?;
            }
            match &names[mode] {
                None => write!(out, "{}", coordinates[k])?,
                Some(names) => out.write_all(name(names, mode, coordinates[k])?.as_bytes())?,
            }
        }
        if pattern { writeln!(out)? } else { writeln!(out, "{between}{}", NumberText(*x))? }
    });
    Ok(())
}

/// The names of the coordinates of each mode, formatted as fields.
type ModeNames<'a> = Vec<Option<Vec<Cow<'a, str>>>>;

fn names<'a>(
    rank: usize,
    delimiter: Delimiter,
    dictionaries: &'a [Option<Arc<Dictionary>>],
) -> Result<ModeNames<'a>, Fault> {
    if dictionaries.is_empty() {
        return Ok(vec![None; rank]);
    }
    if dictionaries.len() != rank {
        let expected = format!("{rank} {}, one for each mode", plural(rank as u64, "dictionary", "dictionaries"));
        return Err(Fault::malformed(expected, dictionaries.len().to_string()));
    }
    let of_mode = |d: &'a Option<Arc<Dictionary>>| {
        d.as_ref().map(|d| d.names().map(|name| field(name, delimiter)).collect()).transpose()
    };
    dictionaries.iter().map(of_mode).collect()
}

/// Formats a name as a field.
fn field(name: &str, delimiter: Delimiter) -> Result<Cow<'_, str>, Fault> {
    if name.contains(['\n', '\r']) {
        return Err(Fault::unsupported("a name with a line break in an edge list", "remove the line break"));
    }
    let special = name.contains([char::from(delimiter.byte()), '"']) || name.starts_with(['#', '%']);
    Ok(if special || name.is_empty() || name.trim() != name {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    })
}

fn name<'a>(names: &'a [Cow<'_, str>], mode: usize, coordinate: u64) -> Result<&'a str, Fault> {
    names.get(coordinate as usize).map(|name| &**name).ok_or_else(|| {
        let expected = format!("a name for each coordinate of mode {mode}");
        let count = names.len() as u64;
        let found = format!("{count} {} and the coordinate {coordinate}", plural(count, "name", "names"));
        Fault::malformed(expected, found)
    })
}
