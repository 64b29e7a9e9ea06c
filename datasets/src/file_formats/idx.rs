//! IDX, the format of MNIST: one dense array after a header of four bytes and big-endian
//! dimensions.
//!
//! Specified in Y. LeCun, C. Cortes, C. Burges, *The MNIST database of handwritten digits*. The
//! files of MNIST have the rank and the dtype in their extensions, as in `train-images.idx3-ubyte`,
//! so such files are detected by their first bytes. Files are written as `.idx`.

use super::npy::elements::decode;
use super::npy::header::ByteOrder;
use super::shared;
use crate::content::{Content, Data, Info, Layout, MAX_RANK, element_count};
use crate::error::{Count, Fault, LocatedFault, Location, StreamError, WriteError};
use crate::file_format::{FileFormat, WriteOptions};
use crate::memory::Memory;
use crate::values::Values;
use redpoll_logic::{Prim, Scalar};
use std::io::{Read, Write};

pub(crate) static IDX: FileFormat = FileFormat {
    name: "IDX",
    extension: "idx",
    summary: "one dense array, the format of MNIST: u8, i8, i16, i32, f32, f64; any rank",
    has_header: true,
    sniff: |start| matches!(start, [0, 0, code, rank, ..] if *rank > 0 && prim_of(*code).is_some()),
    read: |bytes, options| read(bytes, &options.memory).map(Into::into),
    info: |stream, _| info(stream),
    write,
    stored: None,
};

/// The codes of dtypes.
const CODES: [(u8, Prim); 6] =
    [(0x08, Prim::U8), (0x09, Prim::I8), (0x0B, Prim::I16), (0x0C, Prim::I32), (0x0D, Prim::F32), (0x0E, Prim::F64)];

fn prim_of(code: u8) -> Option<Prim> {
    CODES.iter().find(|(known, _)| *known == code).map(|(_, prim)| *prim)
}

fn header(bytes: &[u8]) -> Result<(Info, &[u8]), Fault> {
    let start = bytes.first_chunk::<4>().filter(|start| start[..2] == [0, 0]);
    let dtype_and_rank = start.and_then(|start| Some((prim_of(start[2])?, usize::from(start[3]))));
    let (dtype, rank) = dtype_and_rank.ok_or_else(|| {
        let found = bytes[..bytes.len().min(4)].escape_ascii();
        Fault::malformed("two zero bytes, the code of a dtype and a rank", format!("`{found}`"))
    })?;
    if rank > MAX_RANK {
        let size = Count(Some(rank as u64));
        return Err(Fault::TooLarge { quantity: "the number of modes", size, limit: MAX_RANK as u64 });
    }
    let (dimensions, rest) = bytes[4..].as_chunks::<4>().0.split_at_checked(rank).map_or_else(
        || {
            let expected = Count(Some(4 * rank as u64));
            Err(Fault::Truncated { content: "dimensions", expected, found: bytes.len() as u64 - 4 })
        },
        |(dimensions, _)| Ok((dimensions, &bytes[4 + 4 * rank..])),
    )?;
    let shape: Vec<u64> = dimensions.iter().map(|d| u64::from(u32::from_be_bytes(*d))).collect();
    let too_large = Fault::TooLarge { quantity: "the number of elements", size: Count(None), limit: u64::MAX };
    let stored = element_count(&shape).ok_or(too_large)?;
    Ok((Info::of_entries(&IDX, Layout::Array, (shape, stored), Scalar::zero(dtype)), rest))
}

fn info(stream: &mut dyn Read) -> Result<Info, StreamError> {
    let mut start = Vec::new();
    stream.take(4 + 4 * 255).read_to_end(&mut start)?;
    Ok(header(&start).map_err(|fault| fault.at(Location::File))?.0)
}

fn read(bytes: &[u8], memory: &Memory) -> Result<(Info, Data), LocatedFault> {
    let (info, rest) = header(bytes).map_err(|fault| fault.at(Location::File))?;
    let expected = info.stored.checked_mul(info.prim().bytes() as u64);
    shared::check_element_bytes(expected, rest.len() as u64).map_err(|fault| fault.at(Location::File))?;
    let values = decode(info.prim(), ByteOrder::Big, rest, memory).map_err(|fault| fault.at(Location::File))?;
    Ok((info, Data::Dense(values)))
}

fn write(content: &Content, options: &WriteOptions, out: &mut dyn Write) -> Result<(), WriteError> {
    if let Some(other) = options.layout.filter(|&l| l != Layout::Array) {
        return Err(Fault::unsupported(format!("the layout {other} in an .idx file"), "choose array, or .npz").into());
    }
    options.check_general("an .idx file")?;
    let dimensions: Option<Vec<u32>> = content.shape.iter().map(|d| u32::try_from(*d).ok()).collect();
    let rank = u8::try_from(content.shape.len()).ok().filter(|rank| *rank > 0);
    let (Some(dimensions), Some(rank)) = (dimensions, rank) else {
        let content = format!("a tensor of shape {:?} in an .idx file", content.shape);
        return Err(Fault::unsupported(content, "write it as .npy").into());
    };
    let Some((code, _)) = CODES.iter().find(|(_, prim)| *prim == content.prim()) else {
        let content = format!("the dtype {} in an .idx file", content.prim());
        return Err(Fault::unsupported(content, "write it as .npy, or cast it").into());
    };
    out.write_all(&[0, 0, *code, rank])?;
    dimensions.iter().try_for_each(|d| out.write_all(&d.to_be_bytes()))?;
    macro_rules! elements {
        ($($variant:ident),*) => {
            match &*shared::dense(content, &options.memory)? {
                $(Values::$variant(v) => v.iter().try_for_each(|x| out.write_all(&x.to_be_bytes()))?,)*
                other => unreachable!("values of {} have no code", other.prim()),
            }
        };
    }
    elements!(U8, I8, I16, I32, F32, F64);
    Ok(())
}
