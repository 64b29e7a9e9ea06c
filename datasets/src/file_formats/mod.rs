//! The file formats, one file each, and the registry that lists them.

pub mod edge_list;
pub(crate) mod frostt;
pub(crate) mod idx;
pub(crate) mod matrix_market;
pub(crate) mod netpbm;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod shared;

use crate::content::{Content, Data, Info};
use crate::error::{Located, StreamError, WriteError};
use crate::memory::Memory;
use crate::read::ReadOptions;
use crate::write::WriteOptions;
use edge_list::Dictionary;
use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

/// What a file holds.
pub(crate) struct Parsed {
    pub(crate) info: Info,
    pub(crate) data: Data,
    /// The names of the coordinates of each mode; empty where no mode has any.
    pub(crate) dictionaries: Vec<Option<Arc<Dictionary>>>,
}

impl From<(Info, Data)> for Parsed {
    fn from((info, data): (Info, Data)) -> Parsed {
        Parsed { info, data, dictionaries: Vec::new() }
    }
}

/// What reads the whole content of a file.
pub(crate) type ReadFile = fn(&[u8], &ReadOptions) -> Result<Parsed, Located>;

/// A file format: its names and its functions.
pub struct FileFormat {
    /// The name in messages and listings.
    pub name: &'static str,
    /// The extension, without dot.
    pub extension: &'static str,
    /// One line for listings: what it holds.
    pub summary: &'static str,
    /// Whether a file that begins so is of this format.
    pub(crate) sniff: fn(&[u8]) -> bool,
    /// The whole content.
    pub(crate) read: ReadFile,
    /// What the header says, from as little of the stream as that takes.
    pub(crate) info: fn(&mut dyn Read, &Memory) -> Result<Info, StreamError>,
    /// Writes a tensor.
    pub(crate) write: fn(&Content, &WriteOptions, &mut dyn Write) -> Result<(), WriteError>,
}

/// Every file format, in the order in which content is tried against them: the vaguest last.
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
    /// The file format with that extension, in any case.
    pub fn of_extension(extension: &str) -> Option<&'static FileFormat> {
        FILE_FORMATS.into_iter().find(|f| f.extension.eq_ignore_ascii_case(extension))
    }

    /// The file format of a file that begins so.
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
