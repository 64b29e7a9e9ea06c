//! Atomic writing of files: tensors in any format, and other bytes. Other functions return the
//! bytes of a file without writing it, or remove files that are not complete.

use crate::compression::Compression;
use crate::content::Content;
use crate::error::{Error, Fault, WriteError};
use crate::file_format::{FileFormat, WriteOptions};
use crate::file_formats::edge_list::{CSV, TSV};
use crate::memory::MemoryScope;
use crate::read::parse_file_name;
use redpoll_storage::Tensor;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes the content to a file. The name of the file determines the compression, and the format
/// unless the options give one.
///
/// The file appears under its name when it is complete. On errors, an existing file is not changed.
///
/// # Errors
/// Fails in five cases:
/// - Neither the options nor the name determine a format.
/// - The format cannot represent the tensor exactly.
/// - The format does not support the options.
/// - The memory limit is exceeded.
/// - The system refuses an operation.
pub fn write_content(path: impl AsRef<Path>, content: &Content, options: &WriteOptions) -> Result<(), Error> {
    write_data(path.as_ref(), &WrittenData::Entries(content), options)
}

/// The data of a file to be written.
pub(crate) enum WrittenData<'a> {
    /// The entries of a tensor, for any format.
    Entries(&'a Content),
    /// A tensor, for formats whose files contain its arrays.
    Arrays(&'a Tensor),
}

/// Writes data to a file like [`write_content`].
pub(crate) fn write_data(path: &Path, data: &WrittenData<'_>, options: &WriteOptions) -> Result<(), Error> {
    let (by_name, compression) = parse_file_name(path);
    let file_format = options.file_format.or(by_name).ok_or_else(|| Error::unknown_format(path))?;
    let mut file = replace_file(path, |temporary| {
        write_stream(temporary, file_format, compression, data, options).map_err(|e| match e {
            WriteError::Io(source) => Error::Io { path: path.into(), source },
            WriteError::Fault(fault) => Error::Unwritable { path: path.into(), fault },
        })?;
        match data {
            WrittenData::Arrays(tensor) => check_files(path, tensor),
            WrittenData::Entries(_) => Ok(()),
        }
    })?;
    if let (WrittenData::Arrays(tensor), Compression::None, Some(stored)) = (data, compression, &file_format.stored) {
        (stored.record_written)(path, &mut file, tensor, &options.records);
    }
    Ok(())
}

/// Writes the bytes of a file of any kind, such as a picture, atomically like [`write_content`].
///
/// # Errors
/// Fails if the system refuses an operation.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let path = path.as_ref();
    let write = |file: &mut File| file.write_all(bytes).map_err(|source| Error::Io { path: path.into(), source });
    replace_file(path, write).map(drop)
}

/// Writes a temporary file, which replaces the file at `path` once it is complete, and returns the
/// file.
fn replace_file(path: &Path, write: impl FnOnce(&mut File) -> Result<(), Error>) -> Result<File, Error> {
    let (_unfinished, mut temporary) = temporary_file_for(path, folder_of(path))?;
    write(temporary.as_file_mut())?;
    temporary.persist(path).map_err(|e| Error::Io { path: path.into(), source: e.error })
}

/// Checks that a file can be created in a folder, which is `path` or else the folder of `path`:
/// creates a temporary file, and removes it.
///
/// # Errors
/// Fails if the system refuses to create the file.
pub fn check_folder(path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    temporary_file_for(path, if path.is_dir() { path } else { folder_of(path) }).map(drop)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a temporary file in a folder; `path` appears in errors.
fn temporary_file_for(path: &Path, folder: &Path) -> Result<(UnfinishedFile, tempfile::NamedTempFile), Error> {
    temporary_file(folder).map_err(|e| {
        // The text of the error ends with the name of the temporary file.
        let text = e.to_string();
        let reason = text.split_once(" at path ").map_or(&*text, |(reason, _)| reason);
        let message = format!("cannot create a file in the folder {}: {reason}", folder.display());
        Error::Io { path: path.into(), source: io::Error::new(e.kind(), message) }
    })
}

/// Returns the bytes that [`write_content`] would write to a file of the given name.
///
/// # Errors
/// The errors of [`write_content`].
pub fn write_bytes(name: impl AsRef<Path>, content: &Content, options: &WriteOptions) -> Result<Vec<u8>, Error> {
    bytes_of_data(name.as_ref(), &WrittenData::Entries(content), options)
}

/// Returns the bytes that [`write`](crate::write()) would write to a file of the given name.
///
/// # Errors
/// The errors of [`write`](crate::write()).
pub fn write_tensor_bytes(name: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let path = name.as_ref();
    let file_format = options.file_format.or(parse_file_name(path).0);
    match file_format.is_some_and(FileFormat::stores_arrays) {
        true => {
            let bytes = bytes_of_data(path, &WrittenData::Arrays(tensor), options)?;
            check_files(path, tensor)?;
            Ok(bytes)
        }
        false => {
            let scope = MemoryScope::new(&options.memory);
            write_bytes(path, &Content::from_tensor_within(path, tensor, scope.memory())?, options)
        }
    }
}

/// Checks that the files that a tensor maps did not change while its arrays were written to `path`.
fn check_files(path: &Path, tensor: &Tensor) -> Result<(), Error> {
    tensor.check_files().map_err(|source| Error::Storage { path: path.into(), source: source.into() })
}

fn bytes_of_data(path: &Path, data: &WrittenData<'_>, options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let (by_name, compression) = parse_file_name(path);
    let file_format = options.file_format.or(by_name).ok_or_else(|| Error::unknown_format(path))?;
    let mut bytes = Vec::new();
    match write_stream(&mut bytes, file_format, compression, data, options) {
        Ok(()) => Ok(bytes),
        Err(WriteError::Io(source)) => Err(Error::Io { path: path.into(), source }),
        Err(WriteError::Fault(fault)) => Err(Error::Unwritable { path: path.into(), fault }),
    }
}

fn write_stream(
    sink: &mut dyn Write,
    file_format: &FileFormat,
    compression: Compression,
    data: &WrittenData<'_>,
    options: &WriteOptions,
) -> Result<(), WriteError> {
    if !options.dictionaries.is_empty() && ![&CSV, &TSV].contains(&file_format) {
        let content = format!("a dictionary of names in a .{} file", file_format.extension);
        return Err(Fault::unsupported(content, "write it as .csv or .tsv").into());
    }
    let scope = MemoryScope::new(&options.memory);
    let options = &WriteOptions { memory: scope.memory().clone(), ..options.clone() };
    let mut sink = BufWriter::with_capacity(1 << 16, sink);
    compression.encode(&mut sink, |stream| {
        let mut stream = BufWriter::with_capacity(1 << 16, stream);
        match (data, &file_format.stored) {
            (WrittenData::Entries(content), _) => (file_format.write)(content, options, &mut stream)?,
            (WrittenData::Arrays(tensor), Some(stored)) => (stored.write)(tensor, options, &mut stream)?,
            (WrittenData::Arrays(_), None) => unreachable!("files of this format have no arrays"),
        }
        stream.flush().map_err(WriteError::from)
    })?;
    sink.flush().map_err(WriteError::from)
}

/// The files that are being written, for [`remove_unfinished`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Guard of a file that is being written.
struct UnfinishedFile(PathBuf);

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        lock_unfinished().retain(|path| *path != self.0);
    }
}

fn lock_unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished files of this process. After this call, every thread that begins or
/// completes the writing of a file waits forever. Call this function only when the process is about
/// to exit, for example on a signal.
pub fn remove_unfinished() {
    let files = lock_unfinished();
    for file in &*files {
        // A file that was completed in the meantime has been renamed, so the removal fails.
        let _ = std::fs::remove_file(file);
    }
    std::mem::forget(files);
}

/// Creates a file in the target folder, so that the final rename stays within one file system. The
/// file has the permissions of a regular new file, not those of a private temporary file.
fn temporary_file(folder: &Path) -> io::Result<(UnfinishedFile, tempfile::NamedTempFile)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".redpoll-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut files = lock_unfinished();
    let file = builder.tempfile_in(folder)?;
    files.push(file.path().to_owned());
    let unfinished = UnfinishedFile(file.path().to_owned());
    Ok((unfinished, file))
}
