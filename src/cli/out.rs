//! `--out NAME=FILE`: the file of a result.

use super::bind::named_file;
use super::failure::Failure;
use super::runnable::Runnable;
use crate::Run;
use crate::datasets::file_formats::{FILE_FORMATS, FileFormat};
use crate::datasets::{Compression, Memory, WriteOptions, write};
use crate::logic::{Alias, Prim};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The file of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Out {
    name: String,
    file: PathBuf,
}

impl FromStr for Out {
    type Err = String;

    fn from_str(text: &str) -> Result<Out, String> {
        let (name, file) = named_file(text, "NAME=FILE")?;
        Ok(Out { name: name.to_owned(), file: file.into() })
    }
}

impl Out {
    /// Rejects an invalid output before anything is computed.
    pub(super) fn check(&self, prepared: &Runnable) -> Result<(), Failure> {
        let names: Vec<&str> = prepared.produces().iter().map(Alias::as_str).collect();
        if !names.contains(&self.name.as_str()) {
            let message = format!("--out {}={}: the plan produces no `{0}`", self.name, self.file.display());
            return Err(Failure::new(message, format!("it produces {}", names.join(", "))));
        }
        check_extension(&format!("--out {}=", self.name), &self.file)
    }

    /// Writes the result atomically.
    pub(super) fn write(&self, run: &Run, memory: &Memory) -> Result<(), Failure> {
        let tensor = run.get(&self.name).expect("names were checked before the run");
        Ok(write(&self.file, tensor, &WriteOptions { memory: memory.clone(), ..WriteOptions::default() })?)
    }
}

/// Rejects several results for one file.
pub(super) fn check_files(all: &[Out]) -> Result<(), Failure> {
    for (k, out) in all.iter().enumerate() {
        if let Some(other) = all[..k].iter().find(|other| place(&other.file) == place(&out.file)) {
            let file = out.file.display();
            return Err(Failure::Usage(format!(
                "--out writes `{}` and `{}` into one file, {file}",
                other.name, out.name
            )));
        }
    }
    Ok(())
}

/// Returns a canonical path of a file, which need not exist.
fn place(file: &Path) -> PathBuf {
    let whole = file.canonicalize().ok().or_else(|| {
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(file.file_name()?))
    });
    whole.unwrap_or_else(|| file.to_owned())
}

/// Rejects a file name without a known extension; `option` precedes the name in the message.
pub(super) fn check_extension(option: &str, file: &Path) -> Result<(), Failure> {
    if file_format(file).is_some() {
        return Ok(());
    }
    let known = FILE_FORMATS.map(|f| format!(".{}", f.extension)).join(", ");
    let message = format!("{option}{}: the extension tells no file format", file.display());
    Err(Failure::new(message, format!("known extensions are {known}, each with .gz or .zst or neither")))
}

/// Rejects dense files of excessive size, which sparse tensors easily produce.
pub(super) fn check_size(file: &Path, shape: &[u64], prim: Prim) -> Result<(), Failure> {
    const LARGEST: u64 = 64 << 30;
    let bytes = shape.iter().try_fold(prim.bytes() as u64, |n, &d| n.checked_mul(d));
    if file_format(file).is_none_or(|f| f.extension != "npy") || bytes.is_some_and(|n| n <= LARGEST) {
        return Ok(());
    }
    let (shape, file) = (shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "), file.display());
    let message = format!("{file}: all places of {shape} {prim} would be written, which is more than 64 GiB");
    Err(Failure::new(message, "write it as .npz, .mtx, .tns or .csv, which hold the entries alone"))
}

/// Returns the file format of a name, ignoring the extension of compression.
pub(super) fn file_format(path: &Path) -> Option<&'static FileFormat> {
    let extension = path.extension()?.to_str()?;
    match Compression::of_extension(extension) {
        Compression::None => FileFormat::of_extension(extension),
        _ => FileFormat::of_extension(Path::new(path.file_stem()?).extension()?.to_str()?),
    }
}
