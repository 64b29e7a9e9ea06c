//! Random tensors in place of tables without a file, so that a plan can be explained without data.
//! Also the formats of results that `--format` sets.

use super::bind::{RequiredInput, storage_format};
use super::failure::CommandFailure;
use super::plan::note;
use crate::compiler::notation::is_program;
use crate::logic::{DType, Format, Plan, Prim};
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

    /// The size of an index, or a named size of a program, in all tables without a file
    #[arg(long, value_name = "INDEX=N")]
    size: Vec<Named<u64>>,
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
                return Err(CommandFailure::Usage(format!("{option} names `{}` twice", names[k])));
            }
        }
        Ok(())
    }

    /// Returns the formats that `--format` sets for names that may be results: names that occur in
    /// the text of a plan and are not in `tables`. The list is empty for a program.
    pub(super) fn result_formats(&self, text: &str, tables: &[RequiredInput]) -> Vec<Named<String>> {
        let is_table = |name: &str| tables.iter().any(|table| table.name == name);
        let is_result = |named: &&Named<String>| occurs(&named.name, text) && !is_table(&named.name);
        self.format.iter().filter(is_result).filter(|_| !is_program(text)).cloned().collect()
    }

    /// Rejects formats of names that are neither in `tables` nor in `results`, and sizes of names
    /// that do not occur in the text, are numbers, or name a table but no index.
    pub(super) fn check_names(
        &self,
        text: &str,
        tables: &[&RequiredInput],
        results: &[Named<String>],
    ) -> Result<(), CommandFailure> {
        let names: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let fields = tables.iter().flat_map(|table| &table.fields).map(String::as_str);
        let indices: BTreeSet<&str> =
            fields.filter(|field| !field.is_empty() && written_size(field).is_none()).collect();
        let unknown = |message: String, known: &BTreeSet<&str>| {
            let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            Err(CommandFailure::Usage(format!("{message}; there are {known}")))
        };
        let is_known = |name: &str| names.contains(name) || results.iter().any(|result| result.name == name);
        if let Some(Named { name, .. }) = self.format.iter().find(|format| !is_known(&format.name)) {
            return unknown(
                format!("--format {name}: no result of the plan and no table without a file has this name"),
                &names,
            );
        }
        let is_table = |name: &str| names.contains(name) && !indices.contains(name);
        let is_unknown = |name: &str| !occurs(name, text) || written_size(name).is_some() || is_table(name);
        if let Some(Named { name, .. }) = self.size.iter().find(|size| is_unknown(&size.name)) {
            return unknown(format!("--size {name}: the plan has no index or size of this name"), &indices);
        }
        Ok(())
    }

    /// Returns a random tensor for a table or an input, the number 1 for a table without indices,
    /// or `None` for an input of a program that is a number. `sizes` has the sizes of the indices
    /// of bound tables.
    pub(super) fn tensor(
        &self,
        input: &RequiredInput,
        sizes: &HashMap<String, u64>,
        session: &Session,
    ) -> Result<Option<Tensor>, CommandFailure> {
        if input.number.is_some() {
            return Ok(None);
        }
        if input.fields.is_empty() {
            return Ok(Some(Tensor::scalar(&1.0.into()).map_err(Error::from)?));
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
        let rows = shape.first().map_or(1, |rows| rows.saturating_mul(ENTRIES_PER_COORDINATE));
        let entries = match format.is_dense() {
            true if elements > MAX_ENTRIES => {
                let message = format!("table `{name}` has no file, and {extents} random numbers are too many");
                return Err(CommandFailure::new(message, "choose a smaller --size, or a sparse --format"));
            }
            true => elements,
            false => elements.min(rows).min(MAX_ENTRIES),
        };
        note(&format!("table `{name}` has no file: {entries} random numbers in {extents}"));
        let random = session.random(shape).entries(entries).format(format);
        let random = match &input.dtype {
            Some(DType::Prim(Prim::Bool)) => random.integers(1, 1).dtype(Prim::Bool),
            Some(DType::Prim(prim)) if prim.is_float() => random.dtype(*prim),
            Some(DType::Prim(prim)) => random.integers(1, MAX_INTEGER).dtype(*prim),
            _ => random,
        };
        Ok(Some(random.array()?.collect()?))
    }
}

/// Returns a plan whose results are stored in the given formats.
pub(super) fn with_result_formats(mut plan: Plan, formats: &[Named<String>]) -> Result<Plan, CommandFailure> {
    for Named { name, value: text } in formats {
        let is_read = plan.queries.iter().any(|query| query.expr.tables().iter().any(|table| table.as_str() == name));
        let Some(query) = plan.queries.iter_mut().find(|query| query.alias.as_str() == name) else {
            let message = format!("--format {name}: no table without a file and no result has this name");
            return Err(CommandFailure::Usage(message));
        };
        if is_read {
            let message = format!("--format {name}: other queries read `{name}`");
            return Err(CommandFailure::new(message, "write (reformat FORMAT EXPR) in the plan"));
        }
        let rank = query.expr.info().fields.len();
        let format = storage_format(text, rank, || format!("--format {name}={text}"))?;
        query.expr = query.expr.clone().reformat(format).map_err(Error::Verify)?;
    }
    Ok(plan)
}

/// Returns the size that a program declares for a mode, or `None` if the size has a name.
fn written_size(field: &str) -> Option<u64> {
    field.parse().ok()
}

/// Returns whether a word occurs in a text.
fn occurs(word: &str, text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}
