//! NumPy, `.npy`: one dense array.
//!
//! Specified in NumPy Enhancement Proposal 1: a magic string, a Python dictionary of element type,
//! order and shape, and the elements. The reader supports all primitive dtypes of redpoll, both
//! byte orders, and row-major and column-major order. The writer uses little-endian, row-major
//! order. Arrays of structures, complex numbers, half-precision floats, text, dates and objects are
//! rejected.

pub(super) mod elements;
pub(super) mod header;

use crate::content::{Content, Data, Info, Layout, element_count};
use crate::error::{Count, Fault, LocatedFault, Location, StreamError, WriteError};
use crate::file_format::{FileFormat, WriteOptions};
use crate::memory::Memory;
use crate::values::{Values, match_values};
use elements::NpyElement;
use header::{ElementType, NpyHeader};
use redpoll_logic::Scalar;
use std::io::{Read, Write};

pub(crate) static NPY: FileFormat = FileFormat {
    name: "NumPy array",
    extension: "npy",
    summary: "one dense array: bool, i8 to i64, u8 to u64, f32, f64; any rank, order and byte order",
    has_header: true,
    sniff: |start| start.starts_with(header::MAGIC),
    read: |bytes, options| read(bytes, &options.memory).map(Into::into),
    info: |stream, _| info(stream),
    write,
    stored: None,
};

/// An array with its shape.
#[derive(Debug)]
pub(super) struct NpyArray {
    pub(super) shape: Vec<u64>,
    /// The values, row-major.
    pub(super) values: Values,
}

fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let at_file = |fault: Fault| fault.at(Location::File);
    let (header, payload) = header::parse(bytes).map_err(at_file)?;
    let info = header_info(&header).map_err(at_file)?;
    let array = array(&header, payload, memory).map_err(at_file)?;
    Ok((info, Data::Dense(array.values)))
}

fn info(stream: &mut dyn Read) -> Result<Info, StreamError> {
    let at_file = |fault: Fault| StreamError::Fault(fault.at(Location::File));
    let bytes = header::read(stream)?;
    let (header, _) = header::parse(&bytes).map_err(at_file)?;
    header_info(&header).map_err(at_file)
}

fn header_info(header: &NpyHeader) -> Result<Info, Fault> {
    let (dtype, _) = header.element.number()?;
    let stored = element_count(&header.shape).ok_or(Fault::TooLarge {
        quantity: "the number of elements",
        size: Count(None),
        limit: u64::MAX,
    })?;
    Ok(Info::of_entries(&NPY, Layout::Array, (header.shape.clone(), stored), Scalar::zero(dtype)))
}

/// Decodes the array in `payload`, the bytes after the header.
pub(super) fn array(header: &NpyHeader, payload: &[u8], memory: &Memory) -> Result<NpyArray, Fault> {
    let (prim, byte_order) = header.element.number()?;
    check_length(header, payload)?;
    let mut values = elements::decode(prim, byte_order, payload, memory)?;
    if header.fortran_order {
        values = elements::to_row_major(values, &header.shape, memory)?;
    }
    Ok(NpyArray { shape: header.shape.clone(), values })
}

/// Checks that the payload has exactly the bytes of the elements.
pub(super) fn check_length(header: &NpyHeader, payload: &[u8]) -> Result<(), Fault> {
    super::shared::check_element_bytes(header.payload_bytes(), payload.len() as u64)
}

fn write(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    if let Some(other) = options.layout.filter(|&l| l != Layout::Array) {
        return Err(Fault::unsupported(format!("the layout {other} in a .npy file"), "choose array, or .npz").into());
    }
    options.check_general("a .npy file")?;
    let prim = content.prim();
    let header = NpyHeader { element: ElementType::native(prim), fortran_order: false, shape: content.shape.clone() };
    let count = element_count(&content.shape);
    let bytes = header.payload_bytes();
    if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
        let quantity = "the size of the file in bytes";
        return Err(Fault::TooLarge { quantity, size: Count(bytes), limit: i64::MAX as u64 }.into());
    }
    header::write(&header, out)?;
    match &content.data {
        Data::Dense(values) => elements::encode(values, out)?,
        Data::Triples { coordinates, values } => {
            let order = sort_positions(&content.shape, coordinates, values.len(), &options.memory)?;
            let count = count.expect("checked above");
            write_filled(values, &content.fill, &order, count, out)?;
        }
    }
    Ok(())
}

/// Returns the row-major position and the index of each entry, sorted by position.
fn sort_positions(
    shape: &[u64],
    coordinates: &[Vec<u64>],
    entries: usize,
    memory: &Memory,
) -> Result<Vec<(u64, usize)>, Fault> {
    let position = |k: usize| coordinates.iter().zip(shape).fold(0, |at, (c, &d)| at * d + c[k]);
    let mut order = memory.allocate("the order of entries", entries)?;
    order.extend((0..entries).map(|k| (position(k), k)));
    if !order.is_sorted() {
        order.sort_unstable();
    }
    Ok(order)
}

/// Writes all elements in order without storing them: the entries, and the fill value between them.
fn write_filled(
    values: &Values,
    fill: &Scalar,
    order: &[(u64, usize)],
    count: u64,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let mut sink = elements::ElementSink::new(out);
    let mut fill_bytes = Vec::new();
    redpoll_logic::match_prim!(fill, v => v.put(&mut fill_bytes), struct => unreachable!("values are primitives"));
    let mut next = 0;
    match_values!(values, v => for &(position, k) in order {
        sink.repeat(&fill_bytes, position - next)?;
        sink.put(v[k])?;
        next = position + 1;
    });
    sink.repeat(&fill_bytes, count - next)?;
    Ok(sink.finish()?)
}
