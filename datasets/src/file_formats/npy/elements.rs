//! Conversion between bytes and the elements that follow the header, and from column-major to
//! row-major order.

use super::header::ByteOrder;
use crate::error::Fault;
use crate::memory::Memory;
use crate::values::{Values, map_values, match_values};
use redpoll_logic::Prim;
use std::io::{self, Write};

/// A primitive type with a byte representation.
pub(super) trait NpyElement: Copy {
    /// Appends the little-endian bytes.
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! elements {
    ($($t:ty),*) => {$(
        impl NpyElement for $t {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
elements!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl NpyElement for bool {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }
}

/// Decodes all whole elements. A boolean is a byte, and any byte other than 0 is `true`, as in
/// NumPy.
///
/// # Errors
/// Fails if the memory limit is exceeded.
pub(in super::super) fn decode(
    prim: Prim,
    byte_order: ByteOrder,
    bytes: &[u8],
    memory: &Memory,
) -> Result<Values, Fault> {
    macro_rules! numbers {
        ($variant:ident, $t:ty) => {{
            let chunks = bytes.as_chunks::<{ size_of::<$t>() }>().0;
            let mut values: Vec<$t> = memory.allocate("elements", chunks.len())?;
            match byte_order {
                ByteOrder::Little => values.extend(chunks.iter().map(|c| <$t>::from_le_bytes(*c))),
                ByteOrder::Big => values.extend(chunks.iter().map(|c| <$t>::from_be_bytes(*c))),
            }
            Values::$variant(values)
        }};
    }
    Ok(match prim {
        Prim::Bool => {
            let mut values: Vec<bool> = memory.allocate("elements", bytes.len())?;
            values.extend(bytes.iter().map(|&b| b != 0));
            Values::Bool(values)
        }
        Prim::I8 => numbers!(I8, i8),
        Prim::I16 => numbers!(I16, i16),
        Prim::I32 => numbers!(I32, i32),
        Prim::I64 => numbers!(I64, i64),
        Prim::U8 => numbers!(U8, u8),
        Prim::U16 => numbers!(U16, u16),
        Prim::U32 => numbers!(U32, u32),
        Prim::U64 => numbers!(U64, u64),
        Prim::F32 => numbers!(F32, f32),
        Prim::F64 => numbers!(F64, f64),
    })
}

/// Reorders column-major values to row-major order.
///
/// # Errors
/// Fails if the memory limit is exceeded.
pub(super) fn to_row_major(values: Values, shape: &[u64], memory: &Memory) -> Result<Values, Fault> {
    if shape.iter().filter(|&&d| d != 1).count() < 2 || values.is_empty() {
        return Ok(values);
    }
    Ok(map_values!(values, v => transpose(&v, shape, memory)?))
}

fn transpose<T: Copy>(values: &[T], shape: &[u64], memory: &Memory) -> Result<Vec<T>, Fault> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &dimension in shape {
        strides.push(stride);
        stride *= dimension as usize;
    }
    let mut reordered = memory.allocate("elements in another order", values.len())?;
    let mut coordinates = vec![0; shape.len()];
    let mut source = 0;
    while reordered.len() < values.len() {
        reordered.push(values[source]);
        // Increment the coordinates; the last coordinate changes fastest.
        for mode in (0..shape.len()).rev() {
            coordinates[mode] += 1;
            source += strides[mode];
            if coordinates[mode] < shape[mode] {
                break;
            }
            source -= strides[mode] * shape[mode] as usize;
            coordinates[mode] = 0;
        }
    }
    Ok(reordered)
}

/// Writes values in little-endian order.
pub(in super::super) fn encode(values: &Values, out: &mut dyn Write) -> io::Result<()> {
    let mut sink = ElementSink::new(out);
    match_values!(values, v => for &x in v {
        sink.put(x)?;
    });
    sink.finish()
}

/// Buffer that combines elements into larger writes.
pub(super) struct ElementSink<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
}

impl<'a> ElementSink<'a> {
    const CAPACITY: usize = 1 << 16;

    pub(super) fn new(out: &'a mut dyn Write) -> ElementSink<'a> {
        ElementSink { out, buffer: Vec::with_capacity(ElementSink::CAPACITY + 8) }
    }

    pub(super) fn put(&mut self, element: impl NpyElement) -> io::Result<()> {
        element.put(&mut self.buffer);
        self.drain_if_full()
    }

    /// Writes the same bytes `count` times.
    pub(super) fn repeat(&mut self, bytes: &[u8], count: u64) -> io::Result<()> {
        for _ in 0..count {
            self.buffer.extend_from_slice(bytes);
            self.drain_if_full()?;
        }
        Ok(())
    }

    fn drain_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= ElementSink::CAPACITY {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.buffer)
    }
}
