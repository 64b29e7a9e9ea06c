//! Opening of files on disk: arrays of aligned floats are mapped into memory on systems that
//! support this, and all other arrays are loaded.
//!
//! Kernels compute addresses from positions, coordinates, flags and integers, so they must see only
//! validated elements of such arrays, even if another process changes the file. These arrays are
//! therefore loaded into the memory of this process. Without a record of the file, they are loaded
//! and validated when the file is opened. With a record, each array is loaded when it is first
//! read, and its hash must equal the hash in the record.
//!
//! Floats are mapped: their pages are loaded when kernels read them. If the file is cut or changed,
//! floats may have other values, and the check after each run returns an error.

use super::hashed::{hash_of, read_hashed};
use super::message::check_end;
use super::read::{ArrayPlace, FileHeader, check_ends, read_file_header, split_arrays, tensor_of_arrays};
use crate::content::Info;
use crate::error::{Error, Fault, Location, StreamError};
use crate::file_format::OpenContext;
use crate::memory::Memory;
use crate::records::{FileRecord, RecordFolder};
use arrow_buffer::Buffer;
use bytes::Bytes;
use redpoll_files::{FileChange, FileIdentity, MappedFile, read_exact_at};
use redpoll_storage::{
    Account, Array, ArrayLoader, DeferredBytes, Error as StorageError, SourceFile, Status, Tensor, charge_buffer,
};
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file.
#[derive(Debug)]
struct TensorFile {
    path: PathBuf,
    file: File,
    /// The mapping of the file, on systems that support mappings.
    map: Option<Arc<MappedFile>>,
}

/// Opens a file as a tensor.
pub(super) fn open(path: &Path, mut file: File, context: &OpenContext<'_>) -> Result<(Info, Tensor), Error> {
    let io_error = |source| Error::Io { path: path.into(), source };
    let invalid = |fault: Fault| fault.at(Location::File).into_error(path);
    let metadata = file.metadata().map_err(io_error)?;
    let header = read_file_header(&mut BufReader::new(&file), context.scope).map_err(|e| match e {
        StreamError::Io(source) => io_error(source),
        StreamError::Fault(fault) => fault.into_error(path),
    })?;
    file.rewind().map_err(io_error)?;
    let load_error = |e: LoadError| match e {
        LoadError::Io(source) => io_error(source),
        LoadError::Fault(fault) => invalid(fault),
    };
    check_marks(&file, metadata.len(), &header).map_err(load_error)?;
    let map = MappedFile::open(file.try_clone().map_err(io_error)?).map_err(io_error)?;
    let identity = map.as_ref().map(|map| *map.identity()).or_else(|| FileIdentity::of(&metadata));
    // Records are stored by the canonical path, so that any path to the file finds its record.
    let path_of_record = path.canonicalize().map_err(io_error)?;
    let file = Arc::new(TensorFile { path: path.into(), file, map });
    let identity = identity.map(|identity| identity.to_text());
    let record = identity.as_ref().and_then(|_| context.records.find(&path_of_record));
    if let Some(record) = record.filter(|record| Some(&record.identity) == identity.as_ref())
        && let Some(tensor) = recorded_tensor(&file, &header, &record, context.memory)
    {
        return Ok((header.info(), tensor));
    }
    let (tensor, arrays) = validated_tensor(&file, &header, context.scope).map_err(load_error)?;
    let special = tensor.special();
    file.check().map_err(|source| Error::Storage { path: path.into(), source: source.into() })?;
    if let Some(identity) = identity {
        context.records.store(&path_of_record, &FileRecord { identity, header: header.hash, special, arrays });
    }
    Ok((header.info(), tensor))
}

/// Records a file that was written from a valid tensor. Failures are ignored, because a file
/// without a record is validated when it is opened.
pub(super) fn record_written(path: &Path, file: &mut File, tensor: &Tensor, records: &RecordFolder) {
    let mut record = || {
        file.rewind().ok()?;
        let header = read_file_header(&mut BufReader::new(&*file), &Memory::default()).ok()?;
        let identity = FileIdentity::of(&file.metadata().ok()?)?.to_text();
        let hash = |(place, array): (&ArrayPlace, &Array)| (!is_mappable(place)).then(|| hash_of(array.buffer()));
        let arrays = header.arrays.iter().zip(tensor.arrays()).map(hash).collect();
        let record = FileRecord { identity, header: header.hash, special: tensor.special(), arrays };
        Some((path.canonicalize().ok()?, record))
    };
    if let Some((path, record)) = record() {
        records.store(&path, &record);
    }
}

/// Checks the marks at the end of the data and at the end of the file, and the bounds of the lists.
fn check_marks(file: &File, size: u64, header: &FileHeader) -> Result<(), LoadError> {
    check_end(size, header.body_end, |buffer, offset| Ok::<_, LoadError>(read_exact_at(file, buffer, offset)?))?;
    for place in &header.arrays {
        let mut ends = [0; 16];
        read_exact_at(file, &mut ends, place.ends)?;
        check_ends(&ends, place.len)?;
    }
    Ok(())
}

/// Returns whether an array may be mapped. The comment at the top of this file gives the reason.
fn is_mappable(place: &ArrayPlace) -> bool {
    MappedFile::IS_SUPPORTED && place.prim.is_float() && place.offset.is_multiple_of(place.prim.bytes() as u64)
}

/// Returns the tensor of a file that was validated earlier; `None` if the header has changed, or if
/// an array that was mapped before cannot be mapped now.
fn recorded_tensor(
    file: &Arc<TensorFile>,
    header: &FileHeader,
    record: &FileRecord,
    memory: &Memory,
) -> Option<Tensor> {
    if record.header != header.hash || record.arrays.len() != header.arrays.len() {
        return None;
    }
    let array = |(place, hash): (&ArrayPlace, &Option<blake3::Hash>)| match hash {
        None => mapped_array(file, place),
        Some(hash) => {
            let loader = HashedLoader { file: file.clone(), place: *place, hash: *hash, memory: memory.clone() };
            Some(Array::deferred(place.prim, Arc::new(DeferredBytes::new(Box::new(loader)))))
        }
    };
    let arrays = header.arrays.iter().zip(&record.arrays).map(array).collect::<Option<Vec<Array>>>()?;
    let (levels, leaf) = split_arrays(header, arrays);
    let tensor = Tensor::of_validated_file(Arc::new(header.tensor.ty.clone()), levels, leaf);
    Some(tensor.with_special(record.special))
}

fn mapped_array(file: &Arc<TensorFile>, place: &ArrayPlace) -> Option<Array> {
    let end = place.offset.checked_add(place.bytes())?;
    let range = file.map.as_ref().filter(|_| is_mappable(place))?.range(place.offset..end)?;
    Array::mapped(place.prim, Bytes::from_owner(range).into(), usize::try_from(place.len).ok()?, file.clone())
}

/// Error of loading arrays when a file is opened.
enum LoadError {
    Io(io::Error),
    Fault(Fault),
}

impl From<io::Error> for LoadError {
    fn from(e: io::Error) -> LoadError {
        LoadError::Io(e)
    }
}

impl From<Fault> for LoadError {
    fn from(fault: Fault) -> LoadError {
        LoadError::Fault(fault)
    }
}

/// A valid tensor with the hash of each array; `None` for arrays that are mapped.
type ValidatedTensor = (Tensor, Vec<Option<blake3::Hash>>);

/// Maps or loads all arrays, and validates the tensor.
fn validated_tensor(
    file: &Arc<TensorFile>,
    header: &FileHeader,
    memory: &Memory,
) -> Result<ValidatedTensor, LoadError> {
    let (mut arrays, mut hashes) = (Vec::new(), Vec::new());
    for place in &header.arrays {
        if let Some(array) = mapped_array(file, place) {
            arrays.push(array);
            hashes.push(None);
            continue;
        }
        memory.charge("an array", place.bytes())?;
        let (buffer, hash) = read_hashed(&file.file, place.offset, place.bytes() as usize)?;
        arrays.push(super::read::array_of_buffer(place, buffer));
        hashes.push(Some(hash));
    }
    Ok((tensor_of_arrays(header, arrays, memory)?, hashes))
}

impl TensorFile {
    fn error(&self, change: FileChange) -> StorageError {
        let path = self.path.clone();
        StorageError::InFile(Box::new(match change {
            FileChange::Lost => Error::LostFile { path },
            FileChange::Changed => Error::ChangedFile { path },
        }))
    }
}

impl SourceFile for TensorFile {
    fn check(&self) -> Result<(), StorageError> {
        self.map.as_ref().map_or(Ok(()), |map| map.check()).map_err(|change| self.error(change))
    }
}

/// The loader of an array whose hash is known.
#[derive(Debug)]
struct HashedLoader {
    file: Arc<TensorFile>,
    place: ArrayPlace,
    hash: blake3::Hash,
    memory: Memory,
}

impl ArrayLoader for HashedLoader {
    fn bytes(&self) -> usize {
        self.place.bytes() as usize
    }

    fn load(&self) -> Result<Buffer, StorageError> {
        let (bytes, budget) = (self.bytes(), self.memory.budget());
        let exceeded = || StorageError::Stopped(Status::OutOfMemory);
        if !budget.charge(bytes) {
            return Err(exceeded());
        }
        let read = read_hashed(&self.file.file, self.place.offset, bytes);
        budget.release(bytes);
        match read {
            Ok((buffer, hash)) if hash == self.hash => charge_buffer(buffer, budget).ok_or_else(exceeded),
            Ok(_) => Err(self.file.error(FileChange::Changed)),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => Err(exceeded()),
            Err(_) => Err(self.file.error(FileChange::Lost)),
        }
    }
}
