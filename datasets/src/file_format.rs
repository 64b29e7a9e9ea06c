//! The interface of file formats: the functions of a format, and their options and results.

use crate::content::{Content, Data, Info, Layout, Symmetry};
use crate::error::{Error, Fault, LocatedFault, StreamError, WriteError};
use crate::file_formats::edge_list::{Dictionary, EdgeListOptions};
use crate::memory::Memory;
use crate::records::RecordFolder;
use redpoll_logic::Prim;
use redpoll_storage::Tensor;
use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// The content of a file.
pub(crate) struct ParsedFile {
    pub(crate) info: Info,
    pub(crate) data: Data,
    /// The names of the coordinates of each mode; empty if no mode has names.
    pub(crate) dictionaries: Vec<Option<Arc<Dictionary>>>,
}

impl From<(Info, Data)> for ParsedFile {
    fn from((info, data): (Info, Data)) -> ParsedFile {
        ParsedFile { info, data, dictionaries: Vec::new() }
    }
}

/// Reader of the whole content of a file.
pub(crate) type ReadFile = fn(&[u8], &ReadOptions) -> Result<ParsedFile, LocatedFault>;

/// A file format: its names and its functions.
pub struct FileFormat {
    /// The name in messages and listings.
    pub name: &'static str,
    /// The extension, without the dot before it.
    pub extension: &'static str,
    /// A one-line description for listings.
    pub summary: &'static str,
    /// True if a header gives shape and dtype. If there is no header, [`info`](crate::info) reads
    /// the whole file.
    pub has_header: bool,
    /// Returns whether a file with these first bytes is of this format.
    pub(crate) sniff: fn(&[u8]) -> bool,
    /// Reads the whole content.
    pub(crate) read: ReadFile,
    /// Reads the header, and no more of the stream than the header requires. Formats without a
    /// header, and archives, are read as a whole.
    pub(crate) info: fn(&mut dyn Read, &Memory) -> Result<Info, StreamError>,
    /// Writes a tensor.
    pub(crate) write: fn(&Content, &WriteOptions, &mut dyn Write) -> Result<(), WriteError>,
    /// The functions for the arrays of tensors, if files of the format contain such arrays.
    pub(crate) stored: Option<StoredFormat>,
}

/// Reader of the arrays of a file, as a valid tensor.
pub(crate) type ReadTensor = fn(&[u8], &Memory) -> Result<(Info, Tensor), LocatedFault>;

/// The memory and the records for opening a file.
pub(crate) struct OpenContext<'a> {
    /// The memory that is charged for arrays loaded while the file is opened. The bytes are
    /// released when the file is open.
    pub(crate) scope: &'a Memory,
    /// The memory that is charged for arrays loaded later.
    pub(crate) memory: &'a Memory,
    pub(crate) records: &'a RecordFolder,
}

/// Function that opens a file on disk as a tensor.
pub(crate) type OpenTensor = fn(&Path, File, &OpenContext<'_>) -> Result<(Info, Tensor), Error>;

/// The functions of a format whose files contain the arrays of a tensor.
pub(crate) struct StoredFormat {
    /// Reads a tensor into memory, and validates it.
    pub(crate) read: ReadTensor,
    /// Opens a file on disk. Maps arrays of floats instead of reading them, where that is possible.
    pub(crate) open: OpenTensor,
    /// Records a file that was written from a valid tensor.
    pub(crate) record_written: fn(&Path, &mut File, &Tensor, &RecordFolder),
    /// Writes the arrays of a tensor.
    pub(crate) write: fn(&Tensor, &WriteOptions, &mut dyn Write) -> Result<(), WriteError>,
}

impl PartialEq for FileFormat {
    fn eq(&self, other: &FileFormat) -> bool {
        self.extension == other.extension
    }
}

impl Eq for FileFormat {}

impl fmt::Debug for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Options of reading.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The file format, which overrides the name and the first bytes.
    pub file_format: Option<&'static FileFormat>,
    /// The dtype of the values, by default the dtype in the file. A value that does not fit is an
    /// error; only 0 and 1 fit `bool`.
    pub dtype: Option<Prim>,
    /// Options of edge lists; other formats ignore them.
    pub edge_list: EdgeListOptions,
    /// The memory limit for reading the file, for the entries as long as they exist, and for
    /// storing the entries as a tensor.
    pub memory: Memory,
    /// The records of validated files. Only formats whose files contain the arrays of a tensor use
    /// them.
    pub records: RecordFolder,
}

/// Options of writing.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The file format, which overrides the extension.
    pub file_format: Option<&'static FileFormat>,
    /// The layout, by default the layout closest to the storage of the tensor.
    pub layout: Option<Layout>,
    /// The symmetry by which entries are omitted; the tensor must have it. Only Matrix Market
    /// supports symmetries.
    pub symmetry: Symmetry,
    /// The names of the coordinates of each mode, written in place of coordinates; empty for none.
    /// Only edge lists support names.
    pub dictionaries: Vec<Option<Arc<Dictionary>>>,
    /// The memory limit of writing.
    pub memory: Memory,
    /// The records of validated files. A file gets a record if [`write`](crate::write()) writes the
    /// arrays of a tensor to it without compression.
    pub records: RecordFolder,
}

impl WriteOptions {
    /// Rejects every symmetry except [`Symmetry::General`], because the file format supports no
    /// other.
    pub(crate) fn check_general(&self, file: &str) -> Result<(), Fault> {
        match self.symmetry {
            Symmetry::General => Ok(()),
            other => {
                Err(Fault::unsupported(format!("the symmetry {other} in {file}"), "write it as general, or as .mtx"))
            }
        }
    }
}
