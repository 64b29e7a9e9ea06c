//! NumPy archives, `.npz`: a sparse array of SciPy or PyData/Sparse, or one dense array.
//!
//! An archive with an array `format` is a sparse array. `scipy.sparse.save_npz` writes `coo`,
//! `csr`, `csc`, `bsr` or `dia`, as matrix or array (`_is_array`); a `coo` array may have any rank.
//! Entries need not be sorted or unique. All elements of a block of `bsr` are read. Zeros on the
//! diagonals of `dia`, and elements outside of the matrix, are left out, as SciPy's `tocoo` does.
//!
//! `sparse.save_npz` of PyData/Sparse also writes a `fill_value`. The `format` of such an archive
//! is `coo`, of any rank including 0, or `gcxs`. A `gcxs` array is stored like `csr`: its rows
//! combine the modes in `compressed_axes`, and its columns combine all other modes, in row-major
//! order. An archive of one array without `format` is a dense tensor. Archives with an array
//! `binsparse` follow the Binsparse specification. Pickles are never loaded.
//!
//! The writer produces archives for `scipy.sparse.load_npz`, with `csr`, `csc` or `coo` arrays.
//! Dense tensors are written as a single array `arr_0`. Sparse tensors with a fill value other than
//! zero are written for `sparse.load_npz` of PyData/Sparse: as `gcxs` if the layout is `csr` or
//! `csc`, otherwise as `coo`. Files named `.bsp.npz` are written as Binsparse.

mod archive;
mod binsparse;
mod sparse;
mod write;
mod write_binsparse;

use super::npy::{self, header};
use crate::content::{Data, Info, Layout, element_count};
use crate::error::{Count, Fault, LocatedFault, Location, StreamError};
use crate::file_format::FileFormat;
use crate::memory::{Memory, read_all};
use archive::Archive;
use redpoll_logic::Scalar;
use sparse::Scheme;
use std::io::Read;

pub(crate) static NPZ: FileFormat = FileFormat {
    name: "NumPy archive",
    extension: "npz",
    summary: "a sparse array of SciPy (coo of any rank, csr, csc, bsr, dia) or PyData (coo, gcxs), or one dense array",
    has_header: true,
    sniff: |start| start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06"),
    read: |bytes, options| read(bytes, &options.memory).map(Into::into),
    info,
    write: write::write,
    stored: None,
};

pub(crate) static BINSPARSE: FileFormat = FileFormat {
    name: "Binsparse archive",
    extension: "bsp.npz",
    summary: "a sparse tensor of Binsparse 0.1 in a NumPy archive, with its fill value",
    has_header: true,
    // An archive of Binsparse without this extension is read as `NPZ`.
    sniff: |_| false,
    read: |bytes, options| read_of(&BINSPARSE, bytes, &options.memory).map(Into::into),
    info: |stream, memory| Ok(Info { file_format: &BINSPARSE, ..info(stream, memory)? }),
    write: write_binsparse::write,
    stored: None,
};

fn read_of(file_format: &'static FileFormat, bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let (info, data) = read(bytes, memory)?;
    Ok((Info { file_format, ..info }, data))
}

fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let mut archive = Archive::open(bytes, memory)?;
    let (info, scheme) = archive_info(&mut archive)?;
    let data = match scheme {
        None => Data::Dense(archive.array(&archive.single_name()?)?.values),
        Some(scheme) => sparse::read(&mut archive, &scheme, &info)?,
    };
    Ok((info, data))
}

/// Reads the whole archive, because its directory is at the end, but decompresses only headers and
/// the small arrays that describe the tensor.
fn info(stream: &mut dyn Read, memory: &Memory) -> Result<Info, StreamError> {
    let bytes = read_all(stream, "the file", memory)?;
    Ok(archive_info(&mut Archive::open(&bytes, memory)?)?.0)
}

/// Reads the headers. Returns the header of the tensor, and the scheme if the array is sparse.
fn archive_info(archive: &mut Archive<'_>) -> Result<(Info, Option<Scheme>), LocatedFault> {
    if archive.contains(binsparse::DESCRIPTOR) {
        return binsparse_info(archive);
    }
    let (scheme, shape, values, name) = if archive.contains("format") {
        let format = archive.text("format")?;
        let values = archive.header("data")?;
        let scheme = sparse::scheme(archive, &format, &values)?;
        (Some(scheme), sparse::shape(archive, &format)?, values, "data".to_owned())
    } else {
        let name = archive.single_name()?;
        let values = archive.header(&name)?;
        (None, values.shape.clone(), values, name)
    };
    let in_data = |fault: Fault| fault.at(Location::Array(name.clone()));
    let (dtype, _) = values.element.number().map_err(in_data)?;
    let too_large = Fault::TooLarge { quantity: "the number of values", size: Count(None), limit: u64::MAX };
    let mut stored = element_count(&values.shape).ok_or(too_large).map_err(in_data)?;
    let layout = scheme.as_ref().map_or(Layout::Array, |scheme| scheme.layout(shape.len()));
    if shape.is_empty() {
        // An array without modes has one element, which counts as stored even if the file has no
        // entry for it.
        stored = 1;
    }
    let fill = match &scheme {
        Some(_) if archive.contains("fill_value") => sparse::fill(archive, dtype)?,
        _ => Scalar::zero(dtype),
    };
    Ok((Info::of_entries(&NPZ, layout, (shape, stored), fill), scheme))
}

/// Returns the header of a tensor of Binsparse.
fn binsparse_info(archive: &mut Archive<'_>) -> Result<(Info, Option<Scheme>), LocatedFault> {
    let descriptor = binsparse::descriptor(archive)?;
    let shape = (descriptor.shape.clone(), descriptor.stored);
    let info = Info::of_entries(&NPZ, descriptor.layout(), shape, descriptor.fill.clone());
    Ok((info, Some(Scheme::Binsparse(Box::new(descriptor)))))
}
