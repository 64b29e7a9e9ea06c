//! Writer of archives for `scipy.sparse.load_npz`, or for `numpy.load` if the tensor is dense.
//! Sparse tensors with a fill value other than zero are written for `sparse.load_npz` of
//! PyData/Sparse, because SciPy supports only the fill value zero.

use super::header::{self, ByteOrder, ElementType, NpyHeader};
use super::npy::{NPY, elements};
use crate::content::{Content, Data, Layout};
use crate::error::{Fault, WriteError};
use crate::file_format::WriteOptions;
use crate::file_formats::shared;
use crate::memory::{Memory, bytes_of};
use crate::values::Values;
use redpoll_logic::Scalar;
use std::io::{self, Write};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

pub(super) fn write(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    options.check_general("a .npz file")?;
    let layout = choose_layout(content, options, "a .npz file")?;
    let mut archive = ArchiveWriter::new(out);
    if layout == Layout::Array {
        archive.start("arr_0", u64::MAX)?;
        let options = WriteOptions { layout: None, ..options.clone() };
        (NPY.write)(content, &options, &mut archive.zip)?;
    } else {
        sparse(content, layout, &options.memory, &mut archive)?;
    }
    Ok(archive.finish()?)
}

/// Chooses the layout of the entries in an archive, and checks that an archive can store this
/// layout.
pub(super) fn choose_layout(content: &Content, options: &WriteOptions, file: &str) -> Result<Layout, Fault> {
    let matrix = content.shape.len() == 2;
    let layout = match options.layout {
        None if matches!(content.layout, Layout::Csr | Layout::Csc) && !matrix => Layout::Coordinate,
        None if matches!(content.layout, Layout::Array | Layout::Csr | Layout::Csc) => content.layout,
        None if content.shape.is_empty() => Layout::Array,
        None => Layout::Coordinate,
        Some(layout) => layout,
    };
    let possible = match layout {
        Layout::Array => true,
        Layout::Coordinate => !content.shape.is_empty(),
        Layout::Csr | Layout::Csc => matrix,
        Layout::Bsr { .. } | Layout::Dia => false,
    };
    if !possible {
        let message = format!("the layout {layout} for a tensor of rank {} in {file}", content.shape.len());
        let hint = match content.shape.is_empty() {
            true => "choose array",
            false => "choose array, coordinate, or for a matrix csr or csc",
        };
        return Err(Fault::unsupported(message, hint));
    }
    Ok(layout)
}

/// Returns whether the content is sparse and has a fill value other than zero.
fn has_other_fill(content: &Content) -> bool {
    matches!(content.data, Data::Triples { .. }) && content.fill != Scalar::zero(content.prim())
}

fn sparse(
    content: &Content,
    layout: Layout,
    memory: &Memory,
    archive: &mut ArchiveWriter<'_>,
) -> Result<(), WriteError> {
    let ((coordinates, values), fill) = match has_other_fill(content) {
        true => shared::entries_with_fill(content, memory)?,
        false => (shared::entries(content, "SciPy", memory)?, Scalar::zero(content.prim())),
    };
    let for_pydata = has_other_fill(content);
    let shape = &content.shape;
    let narrow = shape.iter().max().is_some_and(|&d| d <= i32::MAX as u64) && values.len() <= i32::MAX as usize;
    let indices = |naturals: &[u64]| {
        if narrow {
            Values::I32(naturals.iter().map(|&i| i as i32).collect())
        } else {
            Values::I64(naturals.iter().map(|&i| i as i64).collect())
        }
    };
    let entries = values.len() as u64;
    match layout {
        Layout::Csr | Layout::Csc => {
            let (outer, inner) = if layout == Layout::Csr { (0, 1) } else { (1, 0) };
            let (outer, inner, fibers) = (&coordinates[outer], &coordinates[inner], shape[outer]);
            let mut order: Vec<usize> = memory.allocate("the order of entries", values.len())?;
            order.extend(0..values.len());
            // The charge covers the sorted coordinates in two widths, the sorted values, and the
            // scratch space of the sort.
            memory.charge("entries in order", bytes_of(values.len(), 24 + values.prim().bytes()))?;
            order.sort_by_key(|&k| (outer[k], inner[k]));
            let sorted: Vec<u64> = order.iter().map(|&k| inner[k]).collect();
            let ptr = pointers(outer, fibers, memory)?;
            archive.array("indices", &[entries], &indices(&sorted))?;
            archive.array("indptr", &[fibers + 1], &indices(&ptr))?;
            archive.array("data", &[entries], &values.gather(&order))?;
        }
        _ if shape.len() == 2 && !for_pydata => {
            memory.charge("entries", bytes_of(values.len(), size_of::<u64>()))?;
            archive.array("row", &[entries], &indices(&coordinates[0]))?;
            archive.array("col", &[entries], &indices(&coordinates[1]))?;
            archive.array("data", &[entries], &values)?;
        }
        _ => {
            memory.charge("entries", bytes_of(values.len(), 2 * shape.len() * size_of::<u64>()))?;
            archive.array("coords", &[shape.len() as u64, entries], &indices(&coordinates.concat()))?;
            archive.array("data", &[entries], &values)?;
        }
    }
    let format = match layout {
        Layout::Csr | Layout::Csc if for_pydata => "gcxs",
        Layout::Csr => "csr",
        Layout::Csc => "csc",
        _ => "coo",
    };
    // SciPy reads the name of the format as bytes, PyData as a string.
    match for_pydata {
        true => archive.wide_text("format", format)?,
        false => archive.text("format", format)?,
    }
    archive.array("shape", &[shape.len() as u64], &Values::I64(shape.iter().map(|&d| d as i64).collect()))?;
    if for_pydata {
        if format == "gcxs" {
            archive.array("compressed_axes", &[1], &Values::I64(vec![i64::from(layout == Layout::Csc)]))?;
        }
        archive.array("fill_value", &[], &Values::single(&fill))?;
        return Ok(());
    }
    // Without this array, SciPy creates a `matrix`, which always has rank 2, and for which `*` is
    // the matrix product.
    archive.array("_is_array", &[], &Values::Bool(vec![true]))?;
    Ok(())
}

/// Returns the pointers to the entries of each fiber.
pub(super) fn pointers(outer: &[u64], fibers: u64, memory: &Memory) -> Result<Vec<u64>, Fault> {
    let length = usize::try_from(fibers).unwrap_or(usize::MAX).saturating_add(1);
    let mut ptr = memory.allocate("pointers to rows or columns", length)?;
    ptr.resize(length, 0u64);
    for &fiber in outer {
        ptr[fiber as usize + 1] += 1;
    }
    for k in 1..length {
        ptr[k] += ptr[k - 1];
    }
    Ok(ptr)
}

/// An archive that is being written.
pub(super) struct ArchiveWriter<'a> {
    zip: ZipWriter<StreamWriter<&'a mut dyn Write>>,
}

impl<'a> ArchiveWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> ArchiveWriter<'a> {
        ArchiveWriter { zip: ZipWriter::new_stream(out) }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.zip.finish().map_err(io::Error::from)?;
        Ok(())
    }

    /// Begins an array of at most the given number of bytes. Timestamps are the zip epoch, so equal
    /// tensors give equal files.
    fn start(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        const HEADROOM: u64 = 1 << 20;
        let large = bytes >= u64::from(u32::MAX) - HEADROOM;
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(large);
        Ok(self.zip.start_file(format!("{name}.npy"), options)?)
    }

    pub(super) fn array(&mut self, name: &str, shape: &[u64], values: &Values) -> io::Result<()> {
        self.start(name, values.len() as u64 * values.prim().bytes() as u64)?;
        let element = ElementType::native(values.prim());
        header::write(&NpyHeader { element, fortran_order: false, shape: shape.to_vec() }, &mut self.zip)?;
        elements::encode(values, &mut self.zip)
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.start(name, text.len() as u64)?;
        let element = ElementType::Text { width: 1, length: text.len(), byte_order: ByteOrder::Little };
        header::write(&NpyHeader { element, fortran_order: false, shape: vec![] }, &mut self.zip)?;
        self.zip.write_all(text.as_bytes())
    }

    /// Writes a text in NumPy's type of strings, which Python reads as `str`.
    pub(super) fn wide_text(&mut self, name: &str, text: &str) -> io::Result<()> {
        let characters: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        self.start(name, characters.len() as u64)?;
        let element = ElementType::Text { width: 4, length: characters.len() / 4, byte_order: ByteOrder::Little };
        header::write(&NpyHeader { element, fortran_order: false, shape: vec![] }, &mut self.zip)?;
        self.zip.write_all(&characters)
    }
}
