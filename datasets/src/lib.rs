//! Readers and writers of sparse and dense tensors in files, generators, and small real samples.
//!
//! - [`read`] returns the entries of a file of any format and compression;
//!   [`LoadedFile::into_tensor`] stores them.
//! - [`open`] returns a file as a tensor. A `.rpt` file contains the arrays of the tensor; the
//!   entries of other files are stored in a format that the caller may choose.
//! - [`write()`] writes a tensor to a file atomically.
//! - [`info`] returns the header of a file, and reads no more of the file than the header requires.
//! - [`mod@generate`] generates matrices and tensors of chosen sizes.
//!
//! The formats are the rows of [`file_formats::FILE_FORMATS`]: redpoll's own format, Matrix Market,
//! FROSTT, NumPy arrays and archives (SciPy, PyData/Sparse, Binsparse), Netpbm images, IDX arrays,
//! and edge lists as CSV and TSV. Each may be plain or compressed by gzip or zstd.

#![forbid(unsafe_code)]

mod compression;
mod content;
mod entries;
mod error;
mod file_format;
pub mod file_formats;
pub mod generate;
mod memory;
mod open;
mod read;
mod records;
mod sample;
mod tensor;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod values;
mod write;

pub use compression::Compression;
pub use content::{Content, Data, Info, Layout, Symmetry};
pub use error::{Count, Error, Fault, Location};
pub use file_format::{ReadOptions, WriteOptions};
pub use memory::Memory;
pub use open::{OpenedFile, open, open_as, open_bytes};
pub use read::{EntryMemory, LoadedFile, info, info_within, read, read_bytes, unpack};
pub use records::RecordFolder;
pub use sample::{SAMPLES, Sample, sample};
pub use tensor::write;
pub use values::Values;
pub use write::{check_folder, remove_unfinished, write_bytes, write_content, write_file, write_tensor_bytes};
