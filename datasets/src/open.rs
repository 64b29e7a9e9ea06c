//! Opening of files as tensors. If a file contains the arrays of a tensor, the tensor keeps its
//! storage format by default; the entries of other files are stored in a given or default format.

use crate::content::Info;
use crate::error::{Error, Fault, Location};
use crate::file_format::{FileFormat, OpenContext, ReadOptions, StoredFormat};
use crate::file_formats::edge_list::Dictionary;
use crate::memory::{Memory, MemoryScope};
use crate::read::{DETECTION_BYTES, FileContent, file_bytes, parse_file_name, read_bytes};
use redpoll_logic::Format;
use redpoll_storage::{Tensor, convert_within};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

/// A tensor from a file.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    /// The header of the file.
    pub info: Info,
    /// The tensor.
    pub tensor: Tensor,
    /// The number of entries that repeated the coordinates of another entry and were added to it.
    pub repeated: usize,
    /// The names of the coordinates of each mode if an edge list has names, otherwise empty.
    pub dictionaries: Vec<Option<Arc<Dictionary>>>,
}

/// Opens a file as a tensor, in the given storage format or else in the format closest to the file.
/// The name and the first bytes determine the file format, as for [`read`](crate::read()).
///
/// # Errors
/// The errors of [`read`](crate::read()); also if the storage format does not match the shape or
/// cannot store the entries, or if a file with the arrays of a tensor changes while it is opened.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions, format: Option<Format>) -> Result<OpenedFile, Error> {
    open_as(path, options, |_| Ok(format))
}

/// Opens a file like [`open`], in the storage format that `format` chooses from the header.
///
/// # Errors
/// The errors of [`open`], and those of `format`.
pub fn open_as<E: From<Error>>(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    format: impl FnOnce(&Info) -> Result<Option<Format>, E>,
) -> Result<OpenedFile, E> {
    let path = path.as_ref();
    let scope = MemoryScope::new(&options.memory);
    if let Some((file, stored)) =
        stored_file(path, options).map_err(|source| Error::Io { path: path.into(), source })?
    {
        let context = OpenContext { scope: scope.memory(), memory: &options.memory, records: &options.records };
        let (info, tensor) = (stored.open)(path, file, &context)?;
        drop(scope);
        let opened = OpenedFile { info, tensor, repeated: 0, dictionaries: Vec::new() };
        let format = format(&opened.info)?;
        return Ok(opened.charged(path, format.as_ref(), &options.memory)?);
    }
    let bytes = file_bytes(path, scope.memory())?;
    open_bytes_as(path, &bytes, options, format)
}

/// Returns a file that contains the arrays of a tensor and is not compressed; `None` for other
/// files, and if a dtype is requested.
fn stored_file(path: &Path, options: &ReadOptions) -> io::Result<Option<(File, &'static StoredFormat)>> {
    // Values are converted to another dtype entry by entry. A pipe cannot be read again after
    // detection.
    if options.dtype.is_some() || !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(DETECTION_BYTES).read_to_end(&mut start)?;
    file.rewind()?;
    let file_format = options.file_format.or(parse_file_name(path).0).or_else(|| FileFormat::of_content(&start));
    let stored = file_format.filter(|format| (format.sniff)(&start)).and_then(|format| format.stored.as_ref());
    Ok(stored.map(|stored| (file, stored)))
}

/// Opens a file like [`open`], from its bytes. `name` determines the format like the name of a
/// file, and appears in errors.
///
/// # Errors
/// The errors of [`open`].
pub fn open_bytes(
    name: impl AsRef<Path>,
    bytes: &[u8],
    options: &ReadOptions,
    format: Option<Format>,
) -> Result<OpenedFile, Error> {
    open_bytes_as(name.as_ref(), bytes, options, |_| Ok(format))
}

fn open_bytes_as<E: From<Error>>(
    path: &Path,
    bytes: &[u8],
    options: &ReadOptions,
    format: impl FnOnce(&Info) -> Result<Option<Format>, E>,
) -> Result<OpenedFile, E> {
    let scope = MemoryScope::new(&options.memory);
    let content = FileContent::detect(path, bytes, options, scope.memory())?;
    // Values of another dtype are converted entry by entry.
    if let (Some(stored), None) = (&content.file_format.stored, options.dtype) {
        let opened = open_stored(path, &content, stored, scope.memory())?;
        drop((content, scope));
        let format = format(&opened.info)?;
        return Ok(opened.charged(path, format.as_ref(), &options.memory)?);
    }
    drop((content, scope));
    let loaded = read_bytes(path, bytes, options)?;
    let (info, dictionaries) = (loaded.info.clone(), loaded.dictionaries.clone());
    let format = format(&info)?;
    let (tensor, repeated) = loaded.into_tensor(format)?;
    Ok(OpenedFile { info, tensor, repeated, dictionaries })
}

fn open_stored(
    path: &Path,
    content: &FileContent<'_>,
    stored: &StoredFormat,
    memory: &Memory,
) -> Result<OpenedFile, Error> {
    let read = (stored.read)(content.bytes(), memory);
    let (info, tensor) = read.map_err(|fault| content.reader_error(path, fault))?;
    let info = Info { compression: content.compression, ..info };
    Ok(OpenedFile { info, tensor, repeated: 0, dictionaries: Vec::new() })
}

impl OpenedFile {
    /// Charges the tensor to the memory, and converts the tensor if a format is given.
    fn charged(self, path: &Path, format: Option<&Format>, memory: &Memory) -> Result<OpenedFile, Error> {
        let (bytes, budget) = (self.tensor.bytes(), memory.budget());
        let tensor = self.tensor.charged(budget).ok_or_else(|| {
            let (used, limit) = (budget.used() as u64, budget.limit() as u64);
            Fault::MemoryLimit { purpose: "the tensor", bytes, used, limit }.at(Location::File).into_error(path)
        })?;
        let tensor = match format {
            None => tensor,
            Some(format) => convert_within(&tensor, format, budget)
                .map_err(|source| Error::Storage { path: path.into(), source: source.into() })?,
        };
        Ok(OpenedFile { tensor, ..self })
    }
}
