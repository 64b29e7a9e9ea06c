//! `--out NAME=FILE[:FORMAT]`: the file of a result, and its storage format. Also the checks and
//! the notes of other commands that write files.

use super::bind::{storage_format, stored_file};
use super::edge_list::may_be_edge_list;
use super::failure::CommandFailure;
use super::names::IndexNames;
use super::result_format::{ResultFormat, Unsettable};
use crate::datasets::file_formats::edge_list::Dictionary;
use crate::datasets::file_formats::{FileFormat, extensions};
use crate::datasets::{Info, Memory, WriteOptions, info_within, write};
use crate::logic::{Alias, DType, Field, Prim, TensorType};
use crate::storage::{MemoryBudget, Tensor, convert_within};
use crate::{Prepared, Run};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// The file of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OutArg {
    name: String,
    file: PathBuf,
    /// The storage format as text. Without this format, the result is written as it is stored.
    format: Option<String>,
}

impl FromStr for OutArg {
    type Err = String;

    fn from_str(text: &str) -> Result<OutArg, String> {
        let (name, file, format) = stored_file(text)?;
        Ok(OutArg { name: name.to_owned(), file: file.into(), format: format.map(str::to_owned) })
    }
}

/// Minimum number of elements of a dense result for which [`OutArg::density_note`] counts the
/// elements that differ from the fill value.
const MIN_ELEMENTS: u64 = 1000;

impl OutArg {
    /// Rejects an invalid output before anything is computed. The storage format of a result of a
    /// program is checked only when the result is written.
    pub(super) fn check(&self, prepared: &Prepared) -> Result<(), CommandFailure> {
        let names: Vec<&str> = prepared.produces().iter().map(Alias::as_str).collect();
        if !names.contains(&self.name.as_str()) {
            let message = format!("--out {}={}: the plan does not produce `{0}`", self.name, self.file.display());
            return Err(CommandFailure::usage_with_hint(message, format!("it produces {}", names.join(", "))));
        }
        check_file(&format!("--out {}=", self.name), &self.file)?;
        let query = prepared.plan().and_then(|plan| plan.queries.iter().find(|q| q.alias.as_str() == self.name));
        if let (Some(text), Some(query)) = (&self.format, query) {
            storage_format(text, query.expr.info().fields.len(), || self.option(text))?;
        }
        Ok(())
    }

    /// Returns the storage format of the result, in which a plan computes the result.
    pub(super) fn result_format(&self) -> Option<ResultFormat> {
        let format = self.format.as_ref()?;
        let (name, option) = (self.name.clone(), self.option(format));
        Some(ResultFormat { name, format: format.clone(), option, unsettable: Unsettable::Ignore })
    }

    /// Writes the result atomically. A result that is not stored in the requested format, because a
    /// program or another query determines its format, is converted first. Returns the notes of
    /// [`dtype_note`] and [`OutArg::density_note`].
    pub(super) fn write(
        &self,
        (prepared, run): (&Prepared, &Run),
        names: &IndexNames,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Vec<String>, CommandFailure> {
        let result = run.get(&self.name).expect("names are checked before the run");
        let tensor = match &self.format {
            Some(text) => {
                let format = storage_format(text, result.ty().shape.len(), || self.option(text))?;
                convert_within(result, &format, budget)?
            }
            None => result.clone(),
        };
        let memory = Memory::of(budget.clone());
        let dictionaries = self.dictionaries(prepared, tensor.ty(), names);
        write(&self.file, &tensor, &WriteOptions { memory: memory.clone(), dictionaries, ..WriteOptions::default() })?;
        let notes = [dtype_note(&self.file, &tensor.ty().dtype, &memory)?, self.density_note(&tensor)?];
        Ok(notes.into_iter().flatten().collect())
    }

    /// Returns the names of the coordinates of a result in each mode, or an empty list if the file
    /// cannot have names or no mode has names.
    fn dictionaries(&self, prepared: &Prepared, ty: &TensorType, names: &IndexNames) -> Vec<Option<Arc<Dictionary>>> {
        let query = prepared.plan().and_then(|plan| plan.queries.iter().find(|q| q.alias.as_str() == self.name));
        let Some(query) = query.filter(|_| may_be_edge_list(&self.file)) else { return Vec::new() };
        let of_mode = |(field, size): (&Field, &u64)| names.get(field.as_str()).filter(|d| d.len() as u64 == *size);
        let modes = query.expr.info().fields.iter().zip(&ty.shape);
        let dictionaries: Vec<_> = modes.map(|mode| of_mode(mode).cloned()).collect();
        if dictionaries.iter().any(Option::is_some) { dictionaries } else { Vec::new() }
    }

    /// Returns a note if a large dense result is written without a storage format, fewer than a
    /// quarter of its elements differ from the fill value, and the file format could store only
    /// these elements.
    fn density_note(&self, tensor: &Tensor) -> Result<Option<String>, CommandFailure> {
        let elements = tensor.element_count();
        let may_be_sparse = |file: &FileFormat| matches!(file.extension, "mtx" | "npz" | "bsp.npz" | "rpt");
        let is_choice = self.format.is_none() && FileFormat::of_file_name(&self.file).is_some_and(may_be_sparse);
        if !is_choice || elements < MIN_ELEMENTS || !tensor.ty().format.is_dense() {
            return Ok(None);
        }
        let nonfill = tensor.count_differing_from_fill()?;
        let (file, fill) = (self.file.display(), &tensor.ty().fill);
        let option = self.option(if tensor.ty().shape.len() == 2 { "csr" } else { "csf" });
        Ok((nonfill < elements / 4).then(|| {
            format!(
                "{file}: the result is dense, but only {nonfill} of {elements} elements differ from the fill value \
                 {fill}; `{option}` stores only these"
            )
        }))
    }

    /// Returns the text of this option with the given storage format.
    fn option(&self, format: &str) -> String {
        format!("--out {}={}:{format}", self.name, self.file.display())
    }
}

/// Rejects options that write several results to one file, or a result to one of the input files.
pub(super) fn check_files(all: &[OutArg], inputs: &[&Path]) -> Result<(), CommandFailure> {
    for (k, out) in all.iter().enumerate() {
        check_not_input(&format!("--out {}=", out.name), &out.file, inputs)?;
        if let Some(other) = all[..k].iter().find(|other| canonical_path(&other.file) == canonical_path(&out.file)) {
            let file = out.file.display();
            return Err(CommandFailure::usage(format!(
                "--out writes both `{}` and `{}` to the file {file}",
                other.name, out.name
            )));
        }
    }
    Ok(())
}

/// Rejects an output that is one of the input files. Such an output could not be written again from
/// the same input, and could lose properties of the input, such as names of columns. `option`
/// precedes the name in the message.
pub(super) fn check_not_input(option: &str, file: &Path, inputs: &[&Path]) -> Result<(), CommandFailure> {
    let output = canonical_path(file);
    if inputs.iter().all(|input| canonical_path(input) != output) {
        return Ok(());
    }
    let message = format!("{option}{}: the output is an input", file.display());
    Err(CommandFailure::usage_with_hint(message, "choose another name for the output"))
}

/// Returns a canonical path of a file, which need not exist.
fn canonical_path(file: &Path) -> PathBuf {
    let path = file.canonicalize().ok().or_else(|| {
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(file.file_name()?))
    });
    path.unwrap_or_else(|| file.to_owned())
}

/// Rejects a file without a known extension, or in a folder that does not exist; `option` precedes
/// the name in the message.
pub(super) fn check_file(option: &str, file: &Path) -> Result<(), CommandFailure> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        let message = format!("{option}{}: there is no folder {}", file.display(), folder.display());
        return Err(CommandFailure::new(message, "create the folder first"));
    }
    if FileFormat::of_file_name(file).is_some() {
        return Ok(());
    }
    let message = format!("{option}{}: the extension is not that of a file format", file.display());
    Err(CommandFailure::usage_with_hint(
        message,
        format!("known extensions are {}, optionally followed by .gz or .zst", extensions()),
    ))
}

/// Returns a note if reading the file gives another dtype than the dtype of the written values.
pub(super) fn dtype_note(file: &Path, written: &DType, memory: &Memory) -> Result<Option<String>, CommandFailure> {
    let after = info_within(file, memory)?;
    let lost = lost_dtype(written, &after);
    Ok(lost.map(|loss| format!("{}: {loss}", file.display())))
}

/// Describes the loss of the dtype of the written values, or returns `None` if the header of the
/// file has the same dtype.
pub(super) fn lost_dtype(written: &DType, after: &Info) -> Option<String> {
    let (read, extension) = (&after.dtype, after.file_format.extension);
    let option = format!("`redpoll convert --dtype {written}`");
    let detects_dtype = matches!(extension, "csv" | "tsv");
    (read != written).then(|| match detects_dtype && after.stored == 0 {
        true => format!("there are no values, so the dtype will be read as {read}, unless {option} reads the file"),
        false => format!(
            ".{extension} files cannot store dtype {written}; values will be read as {read}, unless {option} reads them"
        ),
    })
}

/// Rejects a dense `.npy` file of more than 64 GiB, to which a sparse tensor easily expands.
pub(super) fn check_size(file: &Path, shape: &[u64], prim: Prim) -> Result<(), CommandFailure> {
    const MAX_BYTES: u64 = 64 << 30;
    let bytes = shape.iter().try_fold(prim.bytes() as u64, |n, &d| n.checked_mul(d));
    if FileFormat::of_file_name(file).is_none_or(|f| f.extension != "npy") || bytes.is_some_and(|n| n <= MAX_BYTES) {
        return Ok(());
    }
    let (shape, file) = (shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "), file.display());
    let message = format!("{file}: a dense file of shape {shape} and dtype {prim} would exceed 64 GiB");
    Err(CommandFailure::new(message, "write to .npz, .mtx, .tns or .csv, which store only the entries"))
}
