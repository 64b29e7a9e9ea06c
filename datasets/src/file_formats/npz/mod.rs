//! NumPy archives, `.npz`: a SciPy sparse array, or one dense array.
//!
//! An archive with an array `format` is what `scipy.sparse.save_npz` writes: `coo`, `csr`, `csc`, `bsr` or `dia`, as
//! matrix or array (`_is_array`), `coo` of any rank. Entries need be neither sorted nor unique; the blocks of `bsr` come
//! as all their places, the diagonals of `dia` as their places that are inside and not zero, as SciPy's own `tocoo` does.
//! An archive of one array without `format` is a dense tensor. Nothing is ever unpickled.
//!
//! The writer makes what `scipy.sparse.load_npz` loads: `csr`, `csc` or `coo` arrays; dense tensors become the one array
//! `arr_0`.

mod archive;
mod sparse;
mod write;

use super::FileFormat;
use super::npy::{self, header};
use crate::compression::Compression;
use crate::content::{Data, Info, Layout, Symmetry, places};
use crate::error::{At, Count, Fault, Located, StreamError};
use archive::Archive;
use std::io::Read;

pub(crate) static NPZ: FileFormat = FileFormat {
    name: "NumPy archive",
    extension: "npz",
    summary: "a SciPy sparse array (coo of any rank, csr, csc, bsr, dia) or one dense array",
    sniff: |start| start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06"),
    read: |bytes, _| read(bytes).map(Into::into),
    info,
    write: write::write,
};

fn read(bytes: &[u8]) -> Result<(Info, Data), Located> {
    let mut archive = Archive::open(bytes)?;
    let info = archive_info(&mut archive)?;
    let data = match info.layout {
        Layout::Array => Data::Dense(archive.array(&archive.only_name()?)?.values),
        layout => sparse::read(&mut archive, layout, &info.shape)?,
    };
    Ok((info, data))
}

/// The directory of an archive is at its end, so all of it is read, but only headers are decompressed.
fn info(stream: &mut dyn Read) -> Result<Info, StreamError> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(archive_info(&mut Archive::open(&bytes)?)?)
}

fn archive_info(archive: &mut Archive<'_>) -> Result<Info, Located> {
    let (layout, shape, values) = if archive.contains("format") {
        let format = archive.text("format")?;
        let values = archive.header("data")?;
        let layout = sparse::layout(&format, &values)?;
        (layout, sparse::shape(archive, layout)?, values)
    } else {
        let values = archive.header(&archive.only_name()?)?;
        (Layout::Array, values.shape.clone(), values)
    };
    let in_data = |fault: Fault| fault.at(At::Array("data".into()));
    let (dtype, _) = values.element.number().map_err(in_data)?;
    let too_large = Fault::TooLarge { what: "the number of values", size: Count(None), limit: u64::MAX };
    let stored = places(&values.shape).ok_or(too_large).map_err(in_data)?;
    let (compression, symmetry) = (Compression::None, Symmetry::General);
    Ok(Info { file_format: &NPZ, compression, layout, shape, dtype, symmetry, stored })
}
