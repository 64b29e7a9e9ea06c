//! Reading of files: decompression, detection of the format, and its reader.

use crate::compression::Compression;
use crate::content::{Data, Info};
use crate::error::{At, Error, Fault, Located, StreamError};
use crate::file_formats::edge_list::{Dictionary, EdgeListOptions};
use crate::file_formats::{FILE_FORMATS, FileFormat, Parsed};
use crate::memory::{Memory, ReadError, Scope, read_all, read_expected};
use crate::values::Values;
use redpoll_logic::{Prim, Scalar};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of reading.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The file format, which overrides the name and the first bytes.
    pub file_format: Option<&'static FileFormat>,
    /// The dtype of the values, by default that of the file. A value that does not fit is an error.
    pub dtype: Option<Prim>,
    /// Options of edge lists; other formats ignore them.
    pub edge_list: EdgeListOptions,
    /// The memory limit for the file, and for its entries while they live and are stored.
    pub memory: Memory,
}

/// Content of a file that is not yet stored in a format.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// The header, with the dtype of the values as read.
    pub info: Info,
    /// All entries, including those that the file omits by symmetry.
    pub data: Data,
    /// The names of the coordinates of each mode if an edge list has names, otherwise empty.
    pub dictionaries: Vec<Option<Arc<Dictionary>>>,
    /// The memory of the entries.
    pub(crate) held: Held,
}

impl Loaded {
    /// Returns the memory of the entries, which counts as used while the returned value lives, even
    /// if the entries are moved.
    pub fn held(&self) -> Held {
        self.held.clone()
    }
}

/// Memory that counts as used while entries live.
#[derive(Clone, Debug)]
pub struct Held {
    /// The memory that is charged.
    pub(crate) memory: Memory,
    _scope: Arc<Scope>,
}

impl PartialEq for Held {
    fn eq(&self, _: &Held) -> bool {
        // The memory of entries does not affect their equality.
        true
    }
}

/// Reads a file. Its extension determines the format, or else its first bytes do. Its first bytes
/// determine the compression.
///
/// # Errors
/// Fails if the file is missing, of an unknown format, damaged or invalid, or the memory limit is
/// exceeded.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Loaded, Error> {
    let path = path.as_ref();
    let scope = Scope::within(&options.memory);
    let bytes = file_bytes(path, scope.memory())?;
    read_bytes(path, &bytes, options)
}

/// Reads a file from its bytes. `name` determines the format and is reported in errors.
///
/// # Errors
/// The errors of [`read`].
pub fn read_bytes(name: impl AsRef<Path>, bytes: &[u8], options: &ReadOptions) -> Result<Loaded, Error> {
    let path = name.as_ref();
    let invalid = |located: Located| located.into_error(path);
    let scope = Scope::within(&options.memory);
    let within = ReadOptions { memory: scope.memory().clone(), ..options.clone() };
    let (by_name, named) = named_format(path);
    let compression = compression(path, named, bytes)?;
    let unpacked = match compression {
        Compression::None => None,
        _ => Some(unpacked(bytes, compression, &within.memory).map_err(|e| match e {
            ReadError::Io(source) => compression.stream_error(path, source),
            ReadError::Fault(fault) => invalid(fault.at(At::File)),
        })?),
    };
    let bytes = unpacked.as_deref().unwrap_or(bytes);
    let bytes = &bytes[text_start(bytes).map_err(invalid)?..];
    let file_format = options
        .file_format
        .or(by_name)
        .or_else(|| FileFormat::of_content(bytes))
        .ok_or_else(|| Error::unknown_format(path))?;
    let Parsed { mut info, data, dictionaries } = (file_format.read)(bytes, &within).map_err(invalid)?;
    info.compression = compression;
    let data = match options.dtype {
        None => data,
        Some(dtype) => {
            within.memory.ask("values of another dtype", data.bytes()).map_err(|fault| invalid(fault.at(At::File)))?;
            let converted = converted_fill(&info.fill, dtype).and_then(|fill| Ok((fill, convert(data, dtype)?)));
            let (fill, data) = converted.map_err(invalid)?;
            (info.dtype, info.fill) = (dtype, fill);
            data
        }
    };
    drop(within);
    drop(scope);
    let held = Scope::within(&options.memory);
    held.memory().ask("entries", data.bytes()).map_err(|fault| invalid(fault.at(At::File)))?;
    let held = Held { memory: options.memory.clone(), _scope: Arc::new(held) };
    Ok(Loaded { path: path.into(), info, data, dictionaries, held })
}

/// Returns the decompressed bytes of a file. Its first bytes determine the compression.
///
/// # Errors
/// Fails if the file cannot be read or decompressed, or the memory limit is exceeded.
pub fn unpack(path: impl AsRef<Path>, memory: &Memory) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    let scope = Scope::within(memory);
    let bytes = file_bytes(path, scope.memory())?;
    match compression(path, named_format(path).1, &bytes)? {
        Compression::None => Ok(bytes),
        compression => unpacked(&bytes, compression, scope.memory()).map_err(|e| match e {
            ReadError::Io(source) => compression.stream_error(path, source),
            ReadError::Fault(fault) => fault.at(At::File).into_error(path),
        }),
    }
}

fn file_bytes(path: &Path, memory: &Memory) -> Result<Vec<u8>, Error> {
    let io_error = |source| Error::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io_error)?;
    let length = file.metadata().map_err(io_error)?.len();
    let below = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1);
    read_expected(&mut file, "the file", memory, below).map_err(|e| match e {
        ReadError::Io(source) => io_error(source),
        ReadError::Fault(fault) => fault.at(At::File).into_error(path),
    })
}

/// Decompresses a stream.
fn unpacked(bytes: &[u8], compression: Compression, memory: &Memory) -> Result<Vec<u8>, ReadError> {
    let mut decoder = compression.decoder(bytes).map_err(ReadError::Io)?;
    read_all(&mut decoder, "the decompressed file", memory)
}

/// Reads the header of a file, and only the needed part of the file.
///
/// # Errors
/// The errors of [`read`], for the part that is read.
pub fn info(path: impl AsRef<Path>) -> Result<Info, Error> {
    info_within(path, &Memory::default())
}

/// Reads the header of a file like [`info`], within a memory limit: formats without a header are
/// read as a whole.
///
/// # Errors
/// The errors of [`info`]; also if the memory limit is exceeded.
pub fn info_within(path: impl AsRef<Path>, memory: &Memory) -> Result<Info, Error> {
    let path = path.as_ref();
    let scope = Scope::within(memory);
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
    start.drain(..text_start(&start).map_err(|located| located.into_error(path))?);
    let file_format = by_name.or_else(|| FileFormat::of_content(&start)).ok_or_else(|| Error::unknown_format(path))?;
    let mut stream = io::Cursor::new(start).chain(stream);
    let info = (file_format.info)(&mut stream, scope.memory()).map_err(|e| match e {
        StreamError::Io(source) => stream_error(source),
        StreamError::Located(located) => located.into_error(path),
    })?;
    Ok(Info { compression, ..info })
}

/// Number of bytes that suffice to detect every format.
const SNIFFED: u64 = 4096;

/// Returns the length of the byte order mark of UTF-8, if there is one. Binary formats do not begin
/// with such a mark.
///
/// # Errors
/// Rejects UTF-16 text, which would be read as names instead of numbers.
fn text_start(bytes: &[u8]) -> Result<usize, Located> {
    const UTF_8: &[u8] = b"\xef\xbb\xbf";
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Err(Fault::unsupported("text in UTF-16", "save it as UTF-8").at(At::File))
        }
        _ if bytes.starts_with(UTF_8) => Ok(UTF_8.len()),
        _ => Ok(0),
    }
}

/// Returns the file format and the compression of a file name: `a.mtx.gz` is Matrix Market in gzip.
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

/// Detects the compression of the content, and checks that it agrees with the name.
fn compression(path: &Path, named: Compression, start: &[u8]) -> Result<Compression, Error> {
    let found = Compression::of_content(start);
    if named != Compression::None && named != found {
        let found = if found == Compression::None { "something else" } else { found.name() };
        let fault = Fault::malformed(format!("a {named} stream as the name says"), found);
        return Err(fault.at(At::File).into_error(path));
    }
    Ok(found)
}

/// Returns the fault of a value that does not fit the requested dtype.
fn too_wide(value: &Scalar, dtype: Prim) -> Fault {
    Fault::Overflow { value: value.to_string(), dtype, hint: "read the file as a wider dtype" }
}

fn converted_fill(fill: &Scalar, dtype: Prim) -> Result<Scalar, Located> {
    let converted = Values::of(fill).convert(dtype);
    converted
        .map(|values| values.get(0))
        .map_err(|(_, value)| too_wide(&value, dtype).at(At::Array("fill_value".into())))
}

fn convert(data: Data, dtype: Prim) -> Result<Data, Located> {
    let converted = |values: Values| {
        values
            .convert(dtype)
            .map_err(|(entry, value)| too_wide(&value, dtype).at(At::Entry("values".into(), entry as u64)))
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
