//! Reading of files and headers: decompression, detection of the format, the reader of that format,
//! and conversion of the values to a requested dtype.

use crate::compression::Compression;
use crate::content::{Data, Info, Symmetry};
use crate::error::{Error, Fault, LocatedFault, Location, StreamError};
use crate::file_format::{FileFormat, ParsedFile, ReadOptions};
use crate::file_formats::edge_list::Dictionary;
use crate::file_formats::extensions;
use crate::file_formats::frostt::FROSTT;
use crate::file_formats::matrix_market::{MATRIX_MARKET, element_line};
use crate::memory::{Memory, MemoryScope, ReadError, read_all, read_expected};
use crate::values::Values;
use redpoll_logic::{Prim, Scalar};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The content of a file, before it is stored in the format of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadedFile {
    /// The file.
    pub path: PathBuf,
    /// The header. If a dtype was requested, the header has this dtype and the converted fill
    /// value.
    pub info: Info,
    /// All entries, including those that the file omits by symmetry.
    pub data: Data,
    /// The names of the coordinates of each mode if an edge list has names, otherwise empty.
    pub dictionaries: Vec<Option<Arc<Dictionary>>>,
    /// The memory of the entries.
    pub(crate) entry_memory: EntryMemory,
}

impl LoadedFile {
    /// Returns the memory of the entries, which counts as used while the returned value lives, even
    /// if the entries are moved.
    pub fn entry_memory(&self) -> EntryMemory {
        self.entry_memory.clone()
    }
}

/// The memory of entries, which counts as used while this value or a clone of it lives.
#[derive(Clone, Debug)]
pub struct EntryMemory {
    /// The memory that is charged.
    pub(crate) memory: Memory,
    _scope: Arc<MemoryScope>,
}

impl PartialEq for EntryMemory {
    fn eq(&self, _: &EntryMemory) -> bool {
        // The memory of entries does not affect their equality.
        true
    }
}

/// Reads a file. The format is the one in the options, if they give one; otherwise the extension
/// determines it. If the extension is unknown, the first bytes of the file determine the format.
/// The first bytes also determine the compression.
///
/// # Errors
/// Fails if the file cannot be read, is of an unknown format, damaged, invalid or not supported, if
/// it does not match the options, if a value does not fit the requested dtype, or if the memory
/// limit is exceeded.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<LoadedFile, Error> {
    let path = path.as_ref();
    let scope = MemoryScope::new(&options.memory);
    let bytes = file_bytes(path, scope.memory())?;
    read_bytes(path, &bytes, options)
}

/// Reads a file like [`read`], from its bytes. `name` determines the format like the name of a
/// file, and appears in errors.
///
/// # Errors
/// The errors of [`read`].
pub fn read_bytes(name: impl AsRef<Path>, bytes: &[u8], options: &ReadOptions) -> Result<LoadedFile, Error> {
    let path = name.as_ref();
    let scope = MemoryScope::new(&options.memory);
    let content = FileContent::detect(path, bytes, options, scope.memory())?;
    let (info, data, dictionaries) = parse(path, &content, options, scope.memory())?;
    drop(content);
    drop(scope);
    let entry_memory = MemoryScope::new(&options.memory);
    let charged = entry_memory.memory().charge("entries", data.bytes());
    charged.map_err(|fault| fault.at(Location::File).into_error(path))?;
    let entry_memory = EntryMemory { memory: options.memory.clone(), _scope: Arc::new(entry_memory) };
    Ok(LoadedFile { path: path.into(), info, data, dictionaries, entry_memory })
}

/// The decompressed bytes of a file, and its format.
pub(crate) struct FileContent<'a> {
    bytes: Cow<'a, [u8]>,
    /// The length of the byte order mark before the content.
    start: usize,
    pub(crate) compression: Compression,
    pub(crate) file_format: &'static FileFormat,
    /// True if the options give the file format.
    is_requested: bool,
}

impl<'a> FileContent<'a> {
    /// Decompresses a file and detects its format.
    pub(crate) fn detect(
        path: &Path,
        bytes: &'a [u8],
        options: &ReadOptions,
        memory: &Memory,
    ) -> Result<FileContent<'a>, Error> {
        let invalid = |fault: LocatedFault| fault.into_error(path);
        let (by_name, named_compression) = parse_file_name(path);
        let compression = detect_compression(path, named_compression, bytes)?;
        let bytes = match compression {
            Compression::None => Cow::Borrowed(bytes),
            _ => Cow::Owned(decompress(bytes, compression, memory).map_err(|e| match e {
                ReadError::Io(source) => compression.stream_error(path, source),
                ReadError::Fault(fault) => invalid(fault.at(Location::File)),
            })?),
        };
        let start = text_offset(&bytes).map_err(invalid)?;
        check_not_empty(&bytes[start..]).map_err(invalid)?;
        let file_format = options
            .file_format
            .or(by_name)
            .or_else(|| FileFormat::of_content(&bytes[start..]))
            .ok_or_else(|| Error::unknown_format(path))?;
        Ok(FileContent { bytes, start, compression, file_format, is_requested: options.file_format.is_some() })
    }

    /// Returns the error of a fault that the reader of the format has found.
    pub(crate) fn reader_error(&self, path: &Path, fault: LocatedFault) -> Error {
        let other = if self.is_requested { None } else { wrong_name_fault(self.file_format, self.bytes(), &fault) };
        other.unwrap_or(fault).into_error(path)
    }

    /// Returns the bytes of the content.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// The header, the entries and the names of coordinates of a file.
type Parsed = (Info, Data, Vec<Option<Arc<Dictionary>>>);

/// Reads the entries of a file, with values of the requested dtype.
fn parse(path: &Path, content: &FileContent<'_>, options: &ReadOptions, memory: &Memory) -> Result<Parsed, Error> {
    let invalid = |fault: LocatedFault| fault.into_error(path);
    let limited = ReadOptions { memory: memory.clone(), ..options.clone() };
    let parsed = (content.file_format.read)(content.bytes(), &limited);
    let parsed = parsed.map_err(|fault| content.reader_error(path, fault))?;
    let ParsedFile { mut info, data, dictionaries } = parsed;
    info.compression = content.compression;
    let Some(dtype) = options.dtype else { return Ok((info, data, dictionaries)) };
    memory.charge("values of another dtype", data.bytes()).map_err(|fault| invalid(fault.at(Location::File)))?;
    let fill = convert_fill(&info.fill, dtype).map_err(invalid)?;
    let data = convert(data, dtype, &|entry, all| value_location(content, &info, all, entry)).map_err(invalid)?;
    (info.dtype, info.fill) = (dtype.into(), fill);
    Ok((info, data, dictionaries))
}

/// Returns the decompressed bytes of a file. The first bytes of the file determine the compression.
///
/// # Errors
/// Fails if the file cannot be read or decompressed, the extension names another compression, or
/// the memory limit is exceeded.
pub fn unpack(path: impl AsRef<Path>, memory: &Memory) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    let scope = MemoryScope::new(memory);
    let bytes = file_bytes(path, scope.memory())?;
    match detect_compression(path, parse_file_name(path).1, &bytes)? {
        Compression::None => Ok(bytes),
        compression => decompress(&bytes, compression, scope.memory()).map_err(|e| match e {
            ReadError::Io(source) => compression.stream_error(path, source),
            ReadError::Fault(fault) => fault.at(Location::File).into_error(path),
        }),
    }
}

/// Opens a file for reading. If the path is a folder, the error says what to do, which the error of
/// the system does not.
fn open_file(path: &Path) -> Result<File, Error> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name a file in the folder")),
        false => Ok(file),
    });
    opened.map_err(|source| Error::Io { path: path.into(), source })
}

pub(crate) fn file_bytes(path: &Path, memory: &Memory) -> Result<Vec<u8>, Error> {
    let io_error = |source| Error::Io { path: path.into(), source };
    let mut file = open_file(path)?;
    let length = file.metadata().map_err(io_error)?.len();
    let capacity = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1);
    read_expected(&mut file, "the file", memory, capacity).map_err(|e| match e {
        ReadError::Io(source) => io_error(source),
        ReadError::Fault(fault) => fault.at(Location::File).into_error(path),
    })
}

/// Decompresses a stream.
fn decompress(bytes: &[u8], compression: Compression, memory: &Memory) -> Result<Vec<u8>, ReadError> {
    let mut decoder = compression.decoder(bytes).map_err(ReadError::Io)?;
    read_all(&mut decoder, "the decompressed file", memory)
}

/// Returns the header of a file. Reads only as much of the file as the header requires.
///
/// # Errors
/// The errors of [`read`], for the part that is read.
pub fn info(path: impl AsRef<Path>) -> Result<Info, Error> {
    info_within(path, &Memory::default())
}

/// Returns the header of a file like [`info`], within a memory limit. The limit matters for
/// archives and for files without a header, which are read as a whole.
///
/// # Errors
/// The errors of [`info`]; also if the memory limit is exceeded.
pub fn info_within(path: impl AsRef<Path>, memory: &Memory) -> Result<Info, Error> {
    let path = path.as_ref();
    let scope = MemoryScope::new(memory);
    let io_error = |source| Error::Io { path: path.into(), source };
    let mut file = BufReader::new(open_file(path)?);
    let (by_name, named_compression) = parse_file_name(path);
    let mut start = Vec::new();
    file.by_ref().take(DETECTION_BYTES).read_to_end(&mut start).map_err(io_error)?;
    let compression = detect_compression(path, named_compression, &start)?;
    let stream_error = |source| compression.stream_error(path, source);
    let mut stream = compression.decoder(io::Cursor::new(start).chain(file)).map_err(stream_error)?;
    let mut start = Vec::new();
    stream.by_ref().take(DETECTION_BYTES).read_to_end(&mut start).map_err(stream_error)?;
    let invalid = |fault: LocatedFault| fault.into_error(path);
    start.drain(..text_offset(&start).map_err(invalid)?);
    check_not_empty(&start).map_err(invalid)?;
    let file_format = by_name.or_else(|| FileFormat::of_content(&start)).ok_or_else(|| Error::unknown_format(path))?;
    let mut stream = io::Cursor::new(&start).chain(stream);
    let info = (file_format.info)(&mut stream, scope.memory()).map_err(|e| match e {
        StreamError::Io(source) => stream_error(source),
        StreamError::Fault(fault) => invalid(wrong_name_fault(file_format, &start, &fault).unwrap_or(fault)),
    })?;
    Ok(Info { compression, ..info })
}

/// Number of bytes at the start of a file that are used to detect its format.
pub(crate) const DETECTION_BYTES: u64 = 4096;

/// Returns the length of the byte order mark of UTF-8, or 0 if there is none. Binary formats do not
/// begin with such a mark.
///
/// # Errors
/// Rejects UTF-16 text, which would be read as names instead of numbers.
fn text_offset(bytes: &[u8]) -> Result<usize, LocatedFault> {
    const UTF_8: &[u8] = b"\xef\xbb\xbf";
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Err(Fault::unsupported("text in UTF-16", "save it as UTF-8").at(Location::File))
        }
        _ if bytes.starts_with(UTF_8) => Ok(UTF_8.len()),
        _ => Ok(0),
    }
}

/// Checks that a file, without its byte order mark, has any content.
fn check_not_empty(content: &[u8]) -> Result<(), LocatedFault> {
    match content.is_empty() {
        true => Err(Fault::malformed("a tensor", "an empty file").at(Location::File)),
        false => Ok(()),
    }
}

/// Returns the fault that replaces `fault` if the file is of another format than its name says;
/// otherwise returns `None`. The file is taken to be of another format under three conditions. The
/// reader of the named format fails at the start of the file, for a reason other than a lack of
/// memory. The first bytes do not look like the named format. They are certainly of another format.
fn wrong_name_fault(named: &FileFormat, content: &[u8], fault: &LocatedFault) -> Option<LocatedFault> {
    let at_start = matches!(fault.location, Location::File | Location::Line(1) | Location::Field(1, _));
    let start = &content[..content.len().min(DETECTION_BYTES as usize)];
    if !at_start || fault.fault.is_out_of_memory() || (named.sniff)(start) {
        return None;
    }
    // Formats without a header are similar to each other, so the detection of one is not certain if
    // the named format has no header either. Any text that begins with a comment looks like FROSTT,
    // so the detection of FROSTT is never certain.
    let found = FileFormat::of_content(start)?;
    let is_certain = found.has_header || (named.has_header && *found != FROSTT);
    // An archive of Binsparse is also an archive of NumPy.
    let is_other = !named.extension.ends_with(found.extension);
    (is_certain && is_other).then(|| {
        let step = format!("{found}; give the file the extension .{}", found.extension);
        Fault::malformed(format!("the format {named}, as the file name indicates"), step).at(Location::File)
    })
}

/// Returns the file format and the compression of a file name: `a.mtx.gz` is Matrix Market in gzip.
pub(crate) fn parse_file_name(path: &Path) -> (Option<&'static FileFormat>, Compression) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    match Compression::of_extension(extension) {
        Compression::None => (FileFormat::of_uncompressed_name(&name), Compression::None),
        compression => (FileFormat::of_uncompressed_name(stem), compression),
    }
}

/// Detects the compression of the content. If the name has the extension of a compression, checks
/// that both agree.
fn detect_compression(path: &Path, named_compression: Compression, start: &[u8]) -> Result<Compression, Error> {
    let found = Compression::of_content(start);
    if named_compression != Compression::None && named_compression != found {
        let found = match found {
            Compression::None if start.is_empty() => "an empty file",
            Compression::None => "other content; correct the extension",
            other => other.name(),
        };
        let fault = Fault::malformed(format!("a {named_compression} stream, as the file name indicates"), found);
        return Err(fault.at(Location::File).into_error(path));
    }
    Ok(found)
}

/// Returns the fault of a value that does not fit the requested dtype.
fn overflow_fault(value: &Scalar, dtype: Prim) -> Fault {
    let number = value.to_f64().unwrap_or_default();
    let hint = match dtype {
        Prim::Bool => "only 0 and 1 fit; for the pattern, read the file without a dtype and compute `A(i,j) != 0`",
        Prim::F32 => "read the file as f64",
        // The fraction of an infinity is NaN.
        _ if number.fract() != 0.0 => "read the file as f32 or f64",
        Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64 if number < 0.0 => "read the file as a signed dtype",
        Prim::I64 | Prim::U64 => "read the file as f64",
        _ => "read the file as a wider dtype",
    };
    Fault::Overflow { value: value.to_string(), dtype, hint }
}

fn convert_fill(fill: &Scalar, dtype: Prim) -> Result<Scalar, LocatedFault> {
    let converted = Values::single(fill).convert(dtype);
    converted
        .map(|values| values.get(0))
        .map_err(|(_, value)| overflow_fault(&value, dtype).at(Location::Array("fill_value".into())))
}

/// Converts the values to a dtype. `location` returns the position of a value in the file. Its
/// arguments are the number of the entry and the coordinates of all entries, which are empty for
/// dense data.
fn convert(data: Data, dtype: Prim, location: &dyn Fn(usize, &[Vec<u64>]) -> Location) -> Result<Data, LocatedFault> {
    let converted = |values: Values, coordinates: &[Vec<u64>]| {
        let fault = |(entry, value)| overflow_fault(&value, dtype).at(location(entry, coordinates));
        values.convert(dtype).map_err(fault)
    };
    Ok(match data {
        Data::Dense(values) => Data::Dense(converted(values, &[])?),
        Data::Triples { coordinates, values } => {
            let values = converted(values, &coordinates)?;
            Data::Triples { coordinates, values }
        }
    })
}

/// Returns the position of the value of an entry: the line of a text file, otherwise the
/// coordinates of the entry.
fn value_location(content: &FileContent<'_>, info: &Info, coordinates: &[Vec<u64>], entry: usize) -> Location {
    if coordinates.is_empty() {
        let element = element_of(&info.shape, entry as u64);
        let line = (*info.file_format == MATRIX_MARKET).then(|| element_line(content.bytes(), &element)).flatten();
        return line.map_or(Location::Element(element), Location::Line);
    }
    let is_text = matches!(content.file_format.extension, "mtx" | "tns" | "csv" | "tsv");
    if let (true, [first, ..]) = (is_text, coordinates) {
        // An entry of one triangle of a symmetric matrix is followed by its mirrored entry.
        let is_mirrored = |k: usize| info.symmetry != Symmetry::General && first[k] != coordinates[1][k];
        let (mut record, mut next) = (0, 0);
        loop {
            next += if is_mirrored(next) { 2 } else { 1 };
            if next > entry {
                break;
            }
            record += 1;
        }
        let is_comment = |line: &[u8]| line.first().is_none_or(|byte| b"#%".contains(byte));
        let lines = content.bytes().split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let mut records = (1..).zip(lines).filter(|(_, line)| !is_comment(line));
        // The records before the entries belong to the header.
        let header = records.clone().count().saturating_sub(info.stored as usize);
        if let Some((line, _)) = records.nth(header + record) {
            return Location::Line(line);
        }
    }
    Location::Element(coordinates.iter().map(|mode| mode[entry]).collect())
}

/// Returns the coordinates of an element, from its row-major position.
fn element_of(shape: &[u64], mut position: u64) -> Vec<u64> {
    let mut coordinates = vec![0; shape.len()];
    for (coordinate, dimension) in coordinates.iter_mut().zip(shape).rev() {
        (*coordinate, position) = (position % dimension, position / dimension);
    }
    coordinates
}

impl Error {
    pub(crate) fn unknown_format(path: &Path) -> Error {
        Error::UnknownFormat { path: path.into(), extensions: extensions() }
    }
}
