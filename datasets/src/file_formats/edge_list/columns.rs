//! Roles of the columns of an edge list.

use super::sniff::RecordSample;
use super::{Column, EdgeListOptions, Ids, Vertices, Weight};
use crate::content::MAX_RANK;
use crate::error::{Count, Fault};
use crate::file_formats::frostt::DIMS;
use crate::text::{parse_real, quote};
use redpoll_logic::{Error, plural};
use std::borrow::Cow;

/// Names of columns of coordinates, in lower case without `_`, `-` and spaces.
pub(super) const COORDINATE_NAMES: &str = "source target src dst dest destination from to fromnodeid tonodeid fromid \
    toid sourceid targetid head tail row column col rows columns i j k l u v x y z node vertex node1 node2 nodea nodeb \
    vertex1 vertex2 id1 id2 user item userid itemid movieid";

/// Names of columns of values, in the form of [`COORDINATE_NAMES`].
pub(super) const VALUE_NAMES: &str = "value val values weight w rating score count distance cost capacity length";

/// Returns whether the name of a column is in a list, ignoring case, `_`, `-` and spaces. `i0`,
/// `i1`, .. also belong to [`COORDINATE_NAMES`].
pub(super) fn is_listed(names: &str, name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    let numbered = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    names.split(' ').any(|name| name == plain)
        || names == COORDINATE_NAMES && plain.strip_prefix('i').is_some_and(numbered)
}

/// Returns whether a field is a number.
pub(super) fn is_number(field: &[u8]) -> bool {
    parse_real(field).is_some()
}

/// Role of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnRole {
    /// Not read.
    Unread,
    /// Coordinates of a mode.
    Coordinate(usize),
    /// Values.
    Value,
}

/// The roles of all columns.
pub(super) struct ColumnLayout {
    /// One role per column.
    pub(super) roles: Vec<ColumnRole>,
    /// The index of the dictionary of each mode, if the mode has names.
    pub(super) dictionaries: Vec<Option<usize>>,
    /// True if two modes share one set of vertices, so that the matrix is square.
    pub(super) one_set: bool,
}

impl ColumnLayout {
    /// Returns the number of modes.
    pub(super) fn rank(&self) -> usize {
        self.dictionaries.len()
    }

    /// Returns the column with a role, counted from 0.
    pub(super) fn column(&self, role: ColumnRole) -> Option<usize> {
        self.roles.iter().position(|&other| other == role)
    }

    /// Returns the names of the columns of coordinates, mode by mode, and of the column of values;
    /// an empty list if the header lacks one of them.
    pub(super) fn names(&self, header: &[Cow<'_, [u8]>]) -> Vec<String> {
        let coordinates = (0..self.rank()).map(ColumnRole::Coordinate);
        let columns = coordinates.chain([ColumnRole::Value]).filter_map(|role| self.column(role));
        let name = |column: usize| header.get(column).map(|name| String::from_utf8_lossy(name).into_owned());
        columns.map(name).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns whether there is a column of values.
    pub(super) fn has_values(&self) -> bool {
        self.roles.contains(&ColumnRole::Value)
    }
}

/// Determines the roles of columns, by the options or by the names and number of columns.
pub(super) fn detect_columns(
    sample: &RecordSample<'_>,
    options: &EdgeListOptions,
    dims: Option<&[u64]>,
) -> Result<ColumnLayout, Fault> {
    let requested: Vec<usize> = options.coordinates.iter().map(|c| find_column(c, sample)).collect::<Result<_, _>>()?;
    let value = match &options.weight {
        Weight::None => None,
        Weight::Column(column) => Some(find_column(column, sample)?),
        Weight::Detected => detect_value(sample, &requested),
    };
    let coordinates = match requested.is_empty() {
        false => requested,
        true => detect_coordinates(sample, value),
    };
    if coordinates.is_empty() {
        let found = "none; name the columns of coordinates (`--coordinates` on the command line, `columns` in Python \
                     and Rust)";
        return Err(Fault::malformed("a column of coordinates before the column of values", found));
    }
    if coordinates.len() > MAX_RANK {
        let size = Count(Some(coordinates.len() as u64));
        return Err(Fault::TooLarge { quantity: "the rank", size, limit: MAX_RANK as u64 });
    }
    let mut roles = vec![ColumnRole::Unread; sample.columns];
    for (mode, &column) in coordinates.iter().enumerate() {
        if roles[column] != ColumnRole::Unread || Some(column) == value {
            let found = format!("column {} twice; name each column once", sample.column_text(column));
            return Err(Fault::malformed("distinct columns of coordinates and values", found));
        }
        roles[column] = ColumnRole::Coordinate(mode);
    }
    if let Some(column) = value {
        roles[column] = ColumnRole::Value;
    }
    let rank = coordinates.len();
    if let Some(dims) = dims
        && dims.len() != rank
    {
        let (count, dimensions) = (dims.len(), plural(dims.len() as u64, "dimension", "dimensions"));
        let found = format!("a comment of {count} {dimensions}; correct the comment `# {DIMS}`");
        let columns = plural(rank as u64, "column", "columns");
        return Err(Fault::malformed(format!("the dimensions of {rank} {columns} of coordinates"), found));
    }
    let square = dims.is_none_or(|dims| dims.first() == dims.last());
    let one_set = rank == 2 && options.vertices == Vertices::OneSet && square;
    let has_names = |mode: usize| options.names.get(mode).is_some_and(Option::is_some);
    if options.names.len() > rank {
        let found = format!("names of {} modes", options.names.len());
        return Err(Fault::malformed(format!("names of at most {rank} modes, one per column of coordinates"), found));
    }
    let named = |(mode, column): (usize, &usize)| {
        // A stray `-1` or `1.5` is mostly a mistake, so only fields other than numbers make a
        // column of names.
        let name = |field: &Cow<'_, [u8]>| !field.is_empty() && !is_number(field);
        options.ids == Ids::Names
            || has_names(mode)
            || sample.records.iter().filter_map(|(_, fields)| fields.get(*column)).any(name)
    };
    let mut named: Vec<bool> = coordinates.iter().enumerate().map(named).collect();
    if one_set && named.contains(&true) {
        named.fill(true);
    }
    let dictionary = |(mode, named): (usize, bool)| named.then_some(if one_set { 0 } else { mode });
    Ok(ColumnLayout { roles, dictionaries: named.into_iter().enumerate().map(dictionary).collect(), one_set })
}

/// Determines the column of values by names, or else by position: the column after the last column
/// of coordinates. Returns `None` if there is no such column, or if all names in the header are
/// names of coordinates.
fn detect_value(sample: &RecordSample<'_>, coordinates: &[usize]) -> Option<usize> {
    let free = |column: &usize| !coordinates.contains(column);
    if let Some(header) = &sample.header {
        let named = (0..header.len()).filter(free).find(|&column| is_listed(VALUE_NAMES, &header[column]));
        if named.is_some() || header.iter().all(|name| is_listed(COORDINATE_NAMES, name)) {
            return named;
        }
    }
    match coordinates {
        [] => (sample.columns >= 3).then_some(2),
        // Values follow the last column of coordinates. If the options give no columns of
        // coordinates, two are expected, so values are in the third column.
        _ => coordinates.iter().max().map(|last| last + 1).filter(|&column| column < sample.columns),
    }
}

/// Determines the columns of coordinates by names, or else by position: the columns before the
/// values, or the first two columns if there are no values.
fn detect_coordinates(sample: &RecordSample<'_>, value: Option<usize>) -> Vec<usize> {
    let end = value.unwrap_or(sample.columns);
    if let Some(header) = &sample.header {
        let named: Vec<usize> = (0..end).filter(|&column| is_listed(COORDINATE_NAMES, &header[column])).collect();
        if named.len() >= 2 || named.len() == sample.columns {
            return named;
        }
    }
    (0..value.unwrap_or(end.min(2))).collect()
}

/// Returns the index of a column, counted from 0.
fn find_column(column: &Column, sample: &RecordSample<'_>) -> Result<usize, Fault> {
    match column {
        Column::Number(number) if (1..=sample.columns).contains(number) => Ok(number - 1),
        Column::Number(number) => {
            Err(Fault::malformed(format!("a column from 1 to {}", sample.columns), number.to_string()))
        }
        Column::Name(name) => {
            let header = sample.header.as_deref().unwrap_or_default();
            let found = header.iter().position(|field| **field == *name.as_bytes());
            found.ok_or_else(|| unknown_column(name, header))
        }
    }
}

/// Returns the fault of a name that is not in the header, with the names that are similar to it.
fn unknown_column(name: &str, header: &[Cow<'_, [u8]>]) -> Fault {
    let expected = format!("a column named `{name}`");
    if header.is_empty() {
        let found = "no header; if the first record is the header, say so (`--header true` on the command line, \
                     `header` in Rust)";
        return Fault::malformed(expected, found);
    }
    let names: Vec<Cow<'_, str>> = header.iter().map(|field| String::from_utf8_lossy(field)).collect();
    let mut found = header.iter().map(|field| quote(field)).collect::<Vec<_>>().join(", ");
    if let Error::Unknown { similar, .. } = Error::unknown("column", name, names.iter().map(|name| &**name))
        && !similar.is_empty()
    {
        let similar: Vec<String> = similar.iter().map(|name| quote(name.as_bytes())).collect();
        found = format!("{found}; did you mean {}?", similar.join(" or "));
    }
    Fault::malformed(expected, found)
}
