//! The file formats and their registry. PBM and PGM share a module; so do CSV and TSV, and the two
//! kinds of NumPy archives.

pub mod edge_list;
pub(crate) mod frostt;
pub(crate) mod idx;
pub(crate) mod matrix_market;
pub(crate) mod netpbm;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod rpt;
pub(crate) mod shared;

pub use crate::file_format::FileFormat;

use crate::read::parse_file_name;
use std::path::Path;

/// All file formats, in the order of detection by content: the least specific last.
pub static FILE_FORMATS: &[&FileFormat] = &[
    &matrix_market::MATRIX_MARKET,
    &npy::NPY,
    &npz::NPZ,
    &npz::BINSPARSE,
    &rpt::RPT,
    &netpbm::PBM,
    &netpbm::PGM,
    &idx::IDX,
    &edge_list::CSV,
    &edge_list::TSV,
    &frostt::FROSTT,
];

/// Returns the extensions of all file formats for messages, such as `.mtx, .npy`.
pub fn extensions() -> String {
    FILE_FORMATS.iter().map(|f| format!(".{}", f.extension)).collect::<Vec<_>>().join(", ")
}

impl FileFormat {
    /// Returns the file format of a file name from which the extension of a compression was
    /// removed. If several extensions match, the longest is used, because `.bsp.npz` is more
    /// specific than `.npz`.
    pub(crate) fn of_uncompressed_name(name: &str) -> Option<&'static FileFormat> {
        let name = name.to_ascii_lowercase();
        let is_of =
            |f: &&&FileFormat| name.strip_suffix(f.extension).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
        FILE_FORMATS.iter().filter(is_of).max_by_key(|f| f.extension.len()).copied()
    }

    /// Returns the file format of an extension, ignoring case.
    pub fn of_extension(extension: &str) -> Option<&'static FileFormat> {
        FILE_FORMATS.iter().copied().find(|f| f.extension.eq_ignore_ascii_case(extension))
    }

    /// Returns the file format of a file name, ignoring the extension of a compression: `a.mtx.gz`
    /// is Matrix Market.
    pub fn of_file_name(path: impl AsRef<Path>) -> Option<&'static FileFormat> {
        parse_file_name(path.as_ref()).0
    }

    /// Returns whether files of this format contain the arrays of a tensor in its storage format,
    /// instead of its entries.
    pub fn stores_arrays(&self) -> bool {
        self.stored.is_some()
    }

    /// Detects the file format by the first bytes of a file.
    pub fn of_content(start: &[u8]) -> Option<&'static FileFormat> {
        FILE_FORMATS.iter().copied().find(|f| (f.sniff)(start))
    }
}
