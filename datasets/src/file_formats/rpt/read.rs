//! Reader of `.rpt` files: first the messages before the data, then the arrays.

use super::check::check_work;
use super::message::{MessageReader, check_end};
use super::schema::{TensorHeader, read_columns, read_header, stored_fault};
use crate::compression::Compression;
use crate::content::{Info, Symmetry};
use crate::entries::layout_of;
use crate::error::{Count, Fault, LocatedFault, Location, StreamError};
use crate::memory::Memory;
use arrow_buffer::Buffer;
use arrow_ipc::{RecordBatch, root_as_message};
use redpoll_logic::Prim;
use redpoll_storage::levels::level;
use redpoll_storage::{Array, Tensor};
use std::io::Read;

/// The element type and the location of an array in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArrayPlace {
    pub(super) prim: Prim,
    /// The offset of the first element, from the start of the file.
    pub(super) offset: u64,
    /// The number of elements.
    pub(super) len: u64,
    /// The offset of the bounds of the large list: two integers of 8 bytes, its start and its end.
    pub(super) ends: u64,
}

impl ArrayPlace {
    /// Returns the number of bytes of the elements.
    pub(super) fn bytes(&self) -> u64 {
        self.len.saturating_mul(self.prim.bytes() as u64)
    }
}

/// The messages before the data.
pub(super) struct FileHeader {
    pub(super) tensor: TensorHeader,
    pub(super) arrays: Vec<ArrayPlace>,
    /// The end of the data, from the start of the file.
    pub(super) body_end: u64,
    /// The hash of the messages and of the position of the data.
    pub(super) hash: blake3::Hash,
}

impl FileHeader {
    /// Returns the header in the form common to all file formats.
    pub(super) fn info(&self) -> Info {
        let ty = &self.tensor.ty;
        Info {
            file_format: &super::RPT,
            compression: Compression::None,
            layout: layout_of(&ty.format),
            shape: ty.shape.clone(),
            storage: Some(ty.format.clone()),
            dtype: ty.dtype.clone(),
            fill: ty.fill.clone(),
            symmetry: Symmetry::General,
            stored: self.tensor.stored,
            header_guess: None,
            columns: Vec::new(),
            separate_names: None,
            has_shape_comment: false,
        }
    }
}

/// Reads the header, without the data.
pub(super) fn info(stream: &mut dyn Read, memory: &Memory) -> Result<Info, StreamError> {
    Ok(read_file_header(stream, memory)?.info())
}

/// Reads the messages before the data.
pub(super) fn read_file_header(stream: &mut dyn Read, memory: &Memory) -> Result<FileHeader, StreamError> {
    let at_file = |fault: Fault| StreamError::Fault(fault.at(Location::File));
    let damaged = |e: flatbuffers::InvalidFlatbuffer| {
        let reason = e.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
        at_file(Fault::malformed("a valid message", reason))
    };
    let mut reader = MessageReader::open(stream, memory)?;
    let bytes = reader.message()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes);
    let message = root_as_message(&bytes).map_err(damaged)?;
    let schema = message.header_as_schema().ok_or_else(|| at_file(Fault::malformed("a schema", "another message")))?;
    let tensor = read_header(&schema).map_err(at_file)?;
    let prims = read_columns(&schema, &tensor.ty).map_err(at_file)?;
    let bytes = reader.message()?;
    // The offsets of the arrays also depend on the position of the data.
    hasher.update(&bytes).update(&reader.position.to_le_bytes());
    let message = root_as_message(&bytes).map_err(damaged)?;
    let batch = message.header_as_record_batch();
    let batch = batch.ok_or_else(|| at_file(Fault::malformed("a record batch", "another message")))?;
    let body = u64::try_from(message.bodyLength()).ok().and_then(|length| reader.position.checked_add(length));
    let negative = || at_file(Fault::malformed("the length of the data", message.bodyLength().to_string()));
    let body_end = body.ok_or_else(negative)?;
    let arrays = read_places(&batch, &prims, reader.position, body_end).map_err(at_file)?;
    Ok(FileHeader { tensor, arrays, body_end, hash: hasher.finalize() })
}

/// Reads the locations of the arrays. A column has two nodes and four buffers: one node and two
/// buffers for the list, and as many for its elements.
fn read_places(batch: &RecordBatch<'_>, prims: &[Prim], body: u64, end: u64) -> Result<Vec<ArrayPlace>, Fault> {
    if batch.compression().is_some() {
        return Err(Fault::unsupported("a compressed record batch", "write it without compression"));
    }
    let nodes: Vec<_> = batch.nodes().into_iter().flatten().collect();
    let buffers: Vec<_> = batch.buffers().into_iter().flatten().collect();
    if batch.length() != 1 || nodes.len() != 2 * prims.len() || buffers.len() != 4 * prims.len() {
        let found = format!("{} rows, {} nodes and {} buffers", batch.length(), nodes.len(), buffers.len());
        let expected = format!("1 row, {} nodes and {} buffers", 2 * prims.len(), 4 * prims.len());
        return Err(Fault::malformed(expected, found));
    }
    let mut places = Vec::with_capacity(prims.len());
    for ((&prim, nodes), buffers) in prims.iter().zip(nodes.chunks(2)).zip(buffers.chunks(4)) {
        if nodes.iter().any(|node| node.null_count() != 0) || nodes[0].length() != 1 {
            return Err(Fault::malformed("columns of one row without NULLs", "another column"));
        }
        let len = nodes[1].length();
        let within = |buffer: &arrow_ipc::Buffer, bytes: Option<u64>| {
            let start = u64::try_from(buffer.offset()).ok().and_then(|offset| body.checked_add(offset))?;
            let length = u64::try_from(buffer.length()).ok()?;
            let is_inside = start.checked_add(length)? <= end && bytes? <= length;
            is_inside.then_some(start)
        };
        let bytes = u64::try_from(len).ok().and_then(|len| len.checked_mul(prim.bytes() as u64));
        let starts = within(buffers[1], Some(16)).zip(within(buffers[3], bytes));
        let Some((ends, offset)) = starts else {
            return Err(Fault::malformed(
                "arrays within the data",
                format!("an array of length {len} that exceeds the data or its buffer"),
            ));
        };
        places.push(ArrayPlace { prim, offset, len: len as u64, ends });
    }
    Ok(places)
}

/// Reads a tensor into memory, and validates it.
pub(super) fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Tensor), LocatedFault> {
    let header = read_file_header(&mut &bytes[..], memory).map_err(|e| match e {
        StreamError::Fault(fault) => fault,
        StreamError::Io(e) => Fault::malformed("a complete file", e.to_string()).at(Location::File),
    })?;
    check_end(bytes.len() as u64, header.body_end, |buffer, offset| {
        buffer.copy_from_slice(&bytes[offset as usize..][..buffer.len()]);
        Ok::<_, Fault>(())
    })
    .map_err(|fault| fault.at(Location::File))?;
    let arrays = header.arrays.iter().map(|place| read_array(bytes, place, memory));
    let arrays = arrays.collect::<Result<Vec<Array>, Fault>>().map_err(|fault| fault.at(Location::File))?;
    let tensor = tensor_of_arrays(&header, arrays, memory).map_err(|fault| fault.at(Location::File))?;
    Ok((header.info(), tensor))
}

/// Copies an array out of the bytes of a file.
fn read_array(bytes: &[u8], place: &ArrayPlace, memory: &Memory) -> Result<Array, Fault> {
    let part = |start: u64, length: u64| {
        let end = start.checked_add(length).and_then(|end| usize::try_from(end).ok());
        let part = end.and_then(|end| bytes.get(start as usize..end));
        let (expected, found) = (Count(start.checked_add(length)), bytes.len() as u64);
        part.ok_or(Fault::Truncated { content: "the file", expected, found })
    };
    check_ends(part(place.ends, 16)?, place.len)?;
    let elements = part(place.offset, place.bytes())?;
    memory.charge("an array", place.bytes())?;
    Ok(array_of_buffer(place, Buffer::from_slice_ref(elements)))
}

/// Checks that the bounds of a large list are 0 and `len`, so that its only row has all elements of
/// the column.
pub(super) fn check_ends(ends: &[u8], len: u64) -> Result<(), Fault> {
    let words = ends.as_chunks::<8>().0;
    if words.len() == 2 && words[0] == [0; 8] && words[1] == len.to_le_bytes() {
        return Ok(());
    }
    Err(Fault::malformed("one list with all elements of its column", "other offsets"))
}

/// Returns the array of the elements in a buffer.
pub(super) fn array_of_buffer(place: &ArrayPlace, buffer: Buffer) -> Array {
    Array::new(place.prim, buffer, place.len as usize).expect("the buffer has all elements, and is aligned")
}

/// Validates the arrays, which are in the order of the columns, and the number of stored elements;
/// returns the tensor of the arrays.
pub(super) fn tensor_of_arrays(header: &FileHeader, arrays: Vec<Array>, memory: &Memory) -> Result<Tensor, Fault> {
    let ty = &header.tensor.ty;
    let bytes = arrays.iter().map(|array| array.bytes() as u64).sum();
    check_work(ty, bytes, memory)?;
    let (levels, leaf) = split_arrays(header, arrays);
    let tensor = Tensor::try_new(ty.clone(), levels, leaf)
        .map_err(|e| Fault::malformed("the arrays of a tensor", e.to_string()))?;
    let stored = tensor.count_stored().map_err(|e| Fault::malformed("the arrays of a tensor", e.to_string()))?;
    if stored == header.tensor.stored { Ok(tensor) } else { Err(stored_fault(header.tensor.stored, stored)) }
}

/// Splits arrays into the arrays of each level and the arrays of the leaf.
pub(super) fn split_arrays(header: &FileHeader, arrays: Vec<Array>) -> (Vec<Vec<Array>>, Vec<Array>) {
    let mut arrays = arrays.into_iter();
    let levels = &header.tensor.ty.format.levels;
    let levels = levels.iter().map(|l| arrays.by_ref().take(level(l.kind).arrays().len()).collect()).collect();
    (levels, arrays.collect())
}
