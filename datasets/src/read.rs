//! Reading a file: bytes, without compression, by the functions of its format.

use crate::compression::Compression;
use crate::content::{Data, Info};
use crate::error::{At, Error, Fault, Located, StreamError};
use crate::file_formats::edge_list::{Dictionary, EdgeListOptions};
use crate::file_formats::{FILE_FORMATS, FileFormat, Parsed};
use redpoll_logic::Prim;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The file format, whatever the name and the first bytes tell.
    pub file_format: Option<&'static FileFormat>,
    /// The dtype of the values; else the natural one of the file. A value that does not fit is an error.
    pub dtype: Option<Prim>,
    /// How to read an edge list where it does not tell; other formats do not look at it.
    pub edge_list: EdgeListOptions,
}

/// What was read: a tensor that is not stored in any format yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// What its header says, the dtype being that of the values as read.
    pub info: Info,
    /// All entries, those included that symmetry leaves out of the file.
    pub data: Data,
    /// The names of the coordinates of each mode, where an edge list has names; else empty.
    pub dictionaries: Vec<Option<Arc<Dictionary>>>,
}

/// Reads a file. Its format is told by its extension, or else by its first bytes; its compression by its first bytes.
///
/// # Errors
/// When the file is missing, of no known format, damaged or not what its format asks for.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Loaded, Error> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| Error::Io { path: path.into(), source })?;
    read_bytes(path, &bytes, options)
}

/// Reads a file whose bytes are at hand; `name` tells the format and stands in errors.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: impl AsRef<Path>, bytes: &[u8], options: &ReadOptions) -> Result<Loaded, Error> {
    let path = name.as_ref();
    let (by_name, named) = named_format(path);
    let compression = compression(path, named, bytes)?;
    let unpacked = match compression {
        Compression::None => None,
        _ => {
            let mut unpacked = Vec::new();
            let decoder = compression.decoder(bytes);
            decoder
                .and_then(|mut d| d.read_to_end(&mut unpacked))
                .map_err(|source| compression.stream_error(path, source))?;
            Some(unpacked)
        }
    };
    let bytes = unpacked.as_deref().unwrap_or(bytes);
    let file_format = options
        .file_format
        .or(by_name)
        .or_else(|| FileFormat::of_content(bytes))
        .ok_or_else(|| Error::unknown_format(path))?;
    let parsed = (file_format.read)(bytes, options).map_err(|located| located.into_error(path))?;
    let Parsed { mut info, data, dictionaries } = parsed;
    info.compression = compression;
    let data = match options.dtype {
        None => data,
        Some(dtype) => {
            info.dtype = dtype;
            convert(data, dtype).map_err(|located| located.into_error(path))?
        }
    };
    Ok(Loaded { path: path.into(), info, data, dictionaries })
}

/// Reads what the header of a file says, and no more of it than that takes.
///
/// # Errors
/// As [`read`], for what is read.
pub fn info(path: impl AsRef<Path>) -> Result<Info, Error> {
    let path = path.as_ref();
    let io_error = |source| Error::Io { path: path.into(), source };
    let mut file = BufReader::new(File::open(path).map_err(io_error)?);
    let (by_name, named) = named_format(path);
    let mut start = Vec::new();
    file.by_ref().take(SNIFFED).read_to_end(&mut start).map_err(io_error)?;
    let compression = compression(path, named, &start)?;
    let stream_error = |source| compression.stream_error(path, source);
    let mut stream = compression.decoder(io::Cursor::new(start).chain(file)).map_err(stream_error)?;
    let mut start = Vec::new();
    stream.by_ref().take(SNIFFED).read_to_end(&mut start).map_err(stream_error)?;
    let file_format = by_name.or_else(|| FileFormat::of_content(&start)).ok_or_else(|| Error::unknown_format(path))?;
    let mut stream = io::Cursor::new(start).chain(stream);
    let info = (file_format.info)(&mut stream).map_err(|e| match e {
        StreamError::Io(source) => stream_error(source),
        StreamError::Located(located) => located.into_error(path),
    })?;
    Ok(Info { compression, ..info })
}

/// Bytes that are enough to tell every format by.
const SNIFFED: u64 = 4096;

/// The file format and the compression that a name tells: `a.mtx.gz` is Matrix Market in gzip.
pub(crate) fn named_format(path: &Path) -> (Option<&'static FileFormat>, Compression) {
    let extension = |p: &Path| p.extension().and_then(|e| e.to_str()).unwrap_or_default().to_owned();
    let last = extension(path);
    match Compression::of_extension(&last) {
        Compression::None => (FileFormat::of_extension(&last), Compression::None),
        compression => {
            let inner = path.file_stem().map(Path::new).map(extension).unwrap_or_default();
            (FileFormat::of_extension(&inner), compression)
        }
    }
}

/// The compression that the content has; that the name promises it is not enough.
fn compression(path: &Path, named: Compression, start: &[u8]) -> Result<Compression, Error> {
    let found = Compression::of_content(start);
    if named != Compression::None && named != found {
        let found = if found == Compression::None { "something else" } else { found.name() };
        let fault = Fault::malformed(format!("a {named} stream as the name says"), found);
        return Err(fault.at(At::File).into_error(path));
    }
    Ok(found)
}

fn convert(data: Data, dtype: Prim) -> Result<Data, Located> {
    let converted = |values: crate::Values| {
        values.convert(dtype).map_err(|(entry, value)| {
            let hint = "read the file as a wider dtype";
            Fault::Overflow { value: value.to_string(), dtype, hint }.at(At::Entry("values".into(), entry as u64))
        })
    };
    Ok(match data {
        Data::Dense(values) => Data::Dense(converted(values)?),
        Data::Triples { coordinates, values } => Data::Triples { coordinates, values: converted(values)? },
    })
}

impl Error {
    pub(crate) fn unknown_format(path: &Path) -> Error {
        let known = FILE_FORMATS.map(|f| format!(".{}", f.extension)).join(", ");
        Error::UnknownFormat { path: path.into(), known }
    }
}
