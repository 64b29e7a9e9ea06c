//! The file formats, one file each, and their registry.

pub mod edge_list;
pub(crate) mod frostt;
pub(crate) mod idx;
pub(crate) mod matrix_market;
pub(crate) mod netpbm;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod shared;

use crate::content::{Content, Data, Info};
use crate::error::{LocatedFault, StreamError, WriteError};
use crate::memory::Memory;
use crate::read::ReadOptions;
use crate::write::WriteOptions;
use edge_list::Dictionary;
use std::fmt;
use std::io::{Read, Write};
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
    /// The extension, without dot.
    pub extension: &'static str,
    /// A one-line description for listings.
    pub summary: &'static str,
    /// Returns whether a file with these first bytes is of this format.
    pub(crate) sniff: fn(&[u8]) -> bool,
    /// Reads the whole content.
    pub(crate) read: ReadFile,
    /// Reads the header, and only the needed part of the stream.
    pub(crate) info: fn(&mut dyn Read, &Memory) -> Result<Info, StreamError>,
    /// Writes a tensor.
    pub(crate) write: fn(&Content, &WriteOptions, &mut dyn Write) -> Result<(), WriteError>,
}

/// All file formats, in the order of detection by content: the least specific last.
pub static FILE_FORMATS: [&FileFormat; 9] = [
    &matrix_market::MATRIX_MARKET,
    &npy::NPY,
    &npz::NPZ,
    &netpbm::PBM,
    &netpbm::PGM,
    &idx::IDX,
    &edge_list::CSV,
    &edge_list::TSV,
    &frostt::FROSTT,
];

impl FileFormat {
    /// Returns the file format of an extension, ignoring case.
    pub fn of_extension(extension: &str) -> Option<&'static FileFormat> {
        FILE_FORMATS.into_iter().find(|f| f.extension.eq_ignore_ascii_case(extension))
    }

    /// Detects the file format by the first bytes of a file.
    pub fn of_content(start: &[u8]) -> Option<&'static FileFormat> {
        FILE_FORMATS.into_iter().find(|f| (f.sniff)(start))
    }
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
