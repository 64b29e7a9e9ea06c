//! Reading a file: bytes, without compression, by the functions of its format.

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

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The file format, whatever the name and the first bytes tell.
    pub file_format: Option<&'static FileFormat>,
    /// The dtype of the values; else the natural one of the file. A value that does not fit is an error.
    pub dtype: Option<Prim>,
    /// How to read an edge list where it does not tell; other formats do not look at it.
    pub edge_list: EdgeListOptions,
    /// How much memory may be taken: by the file, and by its entries as long as they live and while they are stored.
    pub memory: Memory,
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
    /// What was asked for the entries.
    pub(crate) held: Held,
}

impl Loaded {
    /// The memory that was asked for the entries: it counts as long as this lives, wherever the entries go.
    pub fn held(&self) -> Held {
        self.held.clone()
    }
}

/// Memory that counts as taken as long as some entries live.
#[derive(Clone, Debug)]
pub struct Held {
    /// What it was taken of.
    pub(crate) memory: Memory,
    _scope: Arc<Scope>,
}

impl PartialEq for Held {
    fn eq(&self, _: &Held) -> bool {
        // Whatever they take, entries are what they are.
        true
    }
}

/// Reads a file. Its format is told by its extension, or else by its first bytes; its compression by its first bytes.
///
/// # Errors
/// When the file is missing, of no known format, damaged or not what its format asks for, or the memory is exceeded.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Loaded, Error> {
    let path = path.as_ref();
    let scope = Scope::within(&options.memory);
    let bytes = file_bytes(path, scope.memory())?;
    read_bytes(path, &bytes, options)
}

/// Reads a file whose bytes are at hand; `name` tells the format and stands in errors.
///
/// # Errors
/// As [`read`].
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

/// The bytes of a file without its compression, which its first bytes tell.
///
/// # Errors
/// When the file cannot be read, does not decompress, or the memory is exceeded.
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

/// The bytes of a compressed stream.
fn unpacked(bytes: &[u8], compression: Compression, memory: &Memory) -> Result<Vec<u8>, ReadError> {
    let mut decoder = compression.decoder(bytes).map_err(ReadError::Io)?;
    read_all(&mut decoder, "the decompressed file", memory)
}

/// Reads what the header of a file says, and no more of it than that takes.
///
/// # Errors
/// As [`read`], for what is read.
pub fn info(path: impl AsRef<Path>) -> Result<Info, Error> {
    info_within(path, &Memory::default())
}

/// As [`info`], within a limit of memory: formats without a header have to be read as a whole.
///
/// # Errors
/// As [`info`], and when the memory is exceeded.
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

/// Bytes that are enough to tell every format by.
const SNIFFED: u64 = 4096;

/// The length of the mark that some programs write before a text in UTF-8. Binary formats do not begin with any of these.
///
/// # Errors
/// For text in UTF-16, which is no numbers to any reader and would become names.
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

/// The fault of a value that does not fit the dtype that was asked for.
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
