//! Detection of the header of an edge list: whether the first record names the columns.

use super::columns::{COORDINATE_NAMES, VALUE_NAMES, is_listed, is_number};
use super::sniff::{Fields, Records, SampledRecord};
use super::{Column, Delimiter, EdgeListOptions, HeaderEvidence, HeaderGuess, Weight};
use crate::text::quote;
use std::borrow::Cow;
use std::collections::HashSet;

/// The fields of a record.
type Record<'a> = [Cow<'a, [u8]>];

/// Decides whether the first record is a header. Also returns a guess, if the decision depends only
/// on whether a field of the first record occurs again in the file. `sample` has the first records
/// of `bytes`, at least one.
pub(super) fn detect_header(
    bytes: &[u8],
    delimiter: Delimiter,
    sample: &[SampledRecord<'_>],
    options: &EdgeListOptions,
) -> (bool, Option<HeaderGuess>) {
    if let Some(header) = options.header {
        return (header, None);
    }
    let (first, below) = (&sample[0].1[..], &sample[1..]);
    let names: HashSet<&[u8]> = first.iter().map(|field| &**field).collect();
    let is_repeated = |field: &[u8]| !field.is_empty() && names.contains(field);
    let labels_numbers = below.first().is_some_and(|(_, second)| labels_number(first, second));
    if labels_numbers || has_requested_name(first, options) {
        return (true, None);
    }
    // Letters such as `u` and `v` are also names of vertices.
    let are_letters = first.iter().all(|field| field.len() == 1);
    let is_repeated_soon = || below.iter().flat_map(|(_, fields)| fields).any(|field| is_repeated(field));
    if first.iter().all(|field| is_known(field)) && !(are_letters && is_repeated_soon()) {
        return (true, None);
    }
    let may_be_header = first.len() >= 2 && names.len() == first.len() && first.iter().all(|field| is_text(field));
    if !may_be_header {
        return (false, None);
    }
    let mut records = Records::new(bytes).map(|(_, record)| record);
    let record = quote(records.next().unwrap_or_default());
    let mut fields = records.flat_map(|record| Fields::new(record, delimiter)).filter_map(Result::ok);
    let evidence = match fields.find(|field| is_repeated(field)) {
        _ if below.is_empty() => HeaderEvidence::OnlyRecord,
        Some(field) => HeaderEvidence::Repetition(quote(&field)),
        None => HeaderEvidence::NoRepetition,
    };
    let guess = HeaderGuess { record, evidence };
    (guess.is_header(), Some(guess))
}

/// Returns whether a text in the first record is above a number in the second record.
fn labels_number(first: &Record<'_>, second: &Record<'_>) -> bool {
    first.iter().zip(second).any(|(a, b)| !a.is_empty() && !is_number(a) && is_number(b))
}

/// Returns whether the options request a column by a name that the record contains.
fn has_requested_name(first: &Record<'_>, options: &EdgeListOptions) -> bool {
    let value = if let Weight::Column(column) = &options.weight { Some(column) } else { None };
    let mut requested = options.coordinates.iter().chain(value);
    requested.any(|column| matches!(column, Column::Name(name) if first.iter().any(|f| **f == *name.as_bytes())))
}

fn is_known(field: &[u8]) -> bool {
    is_listed(COORDINATE_NAMES, field) || is_listed(VALUE_NAMES, field)
}

/// Returns whether a field is neither a number nor text that begins like a number, such as a date.
fn is_text(field: &[u8]) -> bool {
    let begins_number = field.first().is_some_and(|b| b.is_ascii_digit() || b"+-.".contains(b));
    !begins_number && !is_number(field)
}
