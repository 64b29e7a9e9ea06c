//! Random tensors in place of tables without a file, so that a plan can be explained without data.
//! Also the formats of results that `--format` sets, and the checks of the names of both options.

use super::bind::{RequiredInput, storage_format};
use super::failure::CommandFailure;
use super::result_format::{ResultFormat, Unsettable};
use crate::compiler::notation::is_program;
use crate::logic::{DType, Format, Prim};
use crate::storage::Tensor;
use crate::{Error, Session};
use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

/// Options for the tables without a file.
#[derive(clap::Args)]
pub(super) struct StandInArgs {
    /// Store table NAME, which has no file, in FORMAT. By default, an input of a program has its
    /// declared format; otherwise vectors are dense, matrices csr (csf with more than 2^24 rows),
    /// and tensors csf. NAME may also be a result of a plan, whose format redpoll chooses by
    /// default
    #[arg(long, value_name = "NAME=FORMAT")]
    format: Vec<Named<String>>,

    /// The size of an index, or a named size of a program, in all tables without a file. The sizes
    /// of a table with a file are those of the file
    #[arg(long, value_name = "INDEX=N")]
    size: Vec<Named<u64>>,
}

/// The indices of one read of a table of a plan, or the sizes that a program declares for an input.
pub(super) struct TableRead {
    /// The name of the table or input.
    pub(super) table: String,
    /// The index or the text of the size of each mode.
    pub(super) fields: Vec<String>,
}

/// A value with a name.
#[derive(Clone, Debug)]
pub(super) struct Named<T> {
    name: String,
    value: T,
}

impl<T: FromStr> FromStr for Named<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Named<T>, String> {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected NAME=VALUE")?;
        let value = value.parse().map_err(|_| format!("`{value}` is not a whole number"))?;
        Ok(Named { name: name.to_owned(), value })
    }
}

/// The size of an index if no option, declaration or bound table determines the size.
const SIZE: u64 = 1000;
/// Average number of entries for each coordinate of the first mode of a sparse table, unless the
/// table is full or has [`MAX_ENTRIES`].
const ENTRIES_PER_COORDINATE: u64 = 10;
/// The largest random number of a table of integers; the smallest is 1.
const MAX_INTEGER: i64 = 9;
/// Maximum number of random numbers of a table, and of rows of a matrix that is csr by default.
const MAX_ENTRIES: u64 = 1 << 24;

impl StandInArgs {
    /// Rejects a name that is given twice to one option.
    pub(super) fn check(&self) -> Result<(), CommandFailure> {
        let formats: Vec<&str> = self.format.iter().map(|named| named.name.as_str()).collect();
        let sizes: Vec<&str> = self.size.iter().map(|named| named.name.as_str()).collect();
        for (option, names) in [("--format", formats), ("--size", sizes)] {
            if let Some(k) = (1..names.len()).find(|k| names[..*k].contains(&names[*k])) {
                return Err(CommandFailure::usage(format!("{option} names `{}` twice", names[k])));
            }
        }
        Ok(())
    }

    /// Returns the formats that `--format` sets for names that may be results: names that occur in
    /// the text of a plan and are not in `tables`. The list is empty for a program.
    pub(super) fn result_formats(&self, text: &str, tables: &[RequiredInput]) -> Vec<ResultFormat> {
        let is_table = |name: &str| tables.iter().any(|table| table.name == name);
        let is_result = |named: &&Named<String>| occurs(&named.name, text) && !is_table(&named.name);
        let named = self.format.iter().filter(is_result).filter(|_| !is_program(text));
        let format = |Named { name, value }: &Named<String>| ResultFormat {
            name: name.clone(),
            format: value.clone(),
            option: format!("--format {name}={value}"),
            unsettable: Unsettable::Reject,
        };
        named.map(format).collect()
    }

    /// Rejects formats of names that are neither in `tables` nor in `results`.
    pub(super) fn check_formats(
        &self,
        tables: &[&RequiredInput],
        results: &[ResultFormat],
    ) -> Result<(), CommandFailure> {
        let names: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let is_known = |name: &str| names.contains(name) || results.iter().any(|result| result.name == name);
        let unknown = self.format.iter().find(|format| !is_known(&format.name));
        unknown.map_or(Ok(()), |Named { name, .. }| {
            let names = list(&names);
            let message = format!("--format {name}: no result of the plan and no table without a file has this name");
            Err(CommandFailure::usage(format!("{message}; tables without a file: {names}")))
        })
    }

    /// Rejects sizes that no table without a file has. `reads` has the indices of each read of a
    /// table, or the sizes that a program declares for an input; `bound` has the names of the
    /// tables with a file.
    pub(super) fn check_sizes(&self, reads: &[TableRead], bound: &[&str]) -> Result<(), CommandFailure> {
        let is_bound = |read: &TableRead| bound.contains(&read.table.as_str());
        let fields = reads.iter().filter(|read| !is_bound(read)).flat_map(|read| &read.fields).map(String::as_str);
        let indices: BTreeSet<&str> =
            fields.filter(|field| !field.is_empty() && written_size(field).is_none()).collect();
        let Some(Named { name, .. }) = self.size.iter().find(|size| !indices.contains(size.name.as_str())) else {
            return Ok(());
        };
        let owner = reads.iter().find(|read| is_bound(read) && read.fields.contains(name));
        Err(CommandFailure::usage(match owner {
            Some(TableRead { table, .. }) => format!("--size {name}: the file of `{table}` determines this size"),
            None => {
                let indices = list(&indices);
                let message = "no table without a file has an index or size of this name";
                format!("--size {name}: {message}; these tables have {indices}")
            }
        }))
    }

    /// Returns a random tensor for a table or an input, the number 1 for a table without indices,
    /// or `None` for a number that is an input of a program. Random numbers have a note. `sizes`
    /// has the sizes of the indices of bound tables.
    pub(super) fn tensor(
        &self,
        input: &RequiredInput,
        sizes: &HashMap<String, u64>,
        session: &Session,
    ) -> Result<Option<(Tensor, Option<String>)>, CommandFailure> {
        if input.number.is_some() {
            return Ok(None);
        }
        if input.fields.is_empty() {
            return Ok(Some((Tensor::scalar(&1.0.into()).map_err(Error::from)?, None)));
        }
        let name = &input.name;
        let size = |field: &String| {
            let given = self.size.iter().find(|named| named.name == *field).map(|named| named.value);
            given.or(written_size(field)).or(sizes.get(field).copied()).unwrap_or(SIZE)
        };
        let shape: Vec<u64> = input.fields.iter().map(size).collect();
        let text = self.format.iter().find(|named| named.name == *name).map(|named| named.value.as_str());
        let format = match text.or(input.format.as_deref()) {
            Some(text) => storage_format(text, shape.len(), || format!("--format {name}={text}"))?,
            None if shape.len() < 2 => Format::dense(shape.len()),
            None if shape.len() == 2 && shape[0] <= MAX_ENTRIES => Format::csr(),
            None => Format::csf(shape.len()),
        };
        let elements = shape.iter().fold(1, |n, size| u64::saturating_mul(n, *size));
        let extents = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        let sparse_entries = shape.first().map_or(1, |rows| rows.saturating_mul(ENTRIES_PER_COORDINATE));
        let entries = match format.is_dense() {
            true if elements > MAX_ENTRIES => {
                let message = format!("table `{name}` has no file, and {extents} random numbers are too many");
                return Err(CommandFailure::new(message, "choose a smaller --size, or a sparse --format"));
            }
            true => elements,
            false => elements.min(sparse_entries).min(MAX_ENTRIES),
        };
        let note = format!("table `{name}` has no file: {entries} random numbers in {extents}");
        let random = session.random(shape).entries(entries).format(format);
        let random = match &input.dtype {
            Some(DType::Prim(Prim::Bool)) => random.integers(1, 1).dtype(Prim::Bool),
            Some(DType::Prim(prim)) if prim.is_float() => random.dtype(*prim),
            Some(DType::Prim(prim)) => random.integers(1, MAX_INTEGER).dtype(*prim),
            _ => random,
        };
        Ok(Some((random.array()?.collect()?, Some(note))))
    }
}

/// Formats names for a message.
fn list(names: &BTreeSet<&str>) -> String {
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.is_empty() { "none".to_owned() } else { names }
}

/// Returns the size that a program declares for a mode, or `None` if the size has a name.
fn written_size(field: &str) -> Option<u64> {
    field.parse().ok()
}

/// Returns whether a word occurs in a text.
fn occurs(word: &str, text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}
